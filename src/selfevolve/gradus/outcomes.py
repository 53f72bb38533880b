"""What the policies make of a call: the outcomes that hold together, under each of the dialogue facts that matter.

Paper: Gradus section 2.2 (conditional outcomes) and 2.3 ((policy, outcome) pairs). `Library.judge` says which outcomes hold
given some facts; coverage, validation and the graph ask which can hold, whatever the user may say.

Which facts are tried, a choice the paper leaves open: booleans and facts with few values take each of them. Any other fact
takes the texts or numbers among the arguments and, if it is a text, those in the records the call is about that are ids (of
the user whose reservation it is, say) or stand in a field of the fact's name; and each takes one value more.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from selfevolve.environments import Environment
from selfevolve.gradus.candidates import Arguments, fields_of, leaves, scalars
from selfevolve.gradus.context import UNSET, Context
from selfevolve.gradus.operators import Guard, Library, Operator
from selfevolve.gradus.values import EvaluationError, Unknown, unwrap

FEW = 16  # values of a fact that are all tried
MANY = 100  # assignments of the facts of one policy that are tried
_SMALL = 400  # a list up to this size is searched for records that hold a text
_LONGEST = 200  # texts and numbers of records that are looked at; one with more is a table rather than what a call is about
_OTHERS: dict[str, tuple[Any, ...]] = {"string": ("something else",), "integer": (0, -1), "number": (0, -1), "array": ([],)}

Facts = dict[str, Any]
Outcomes = dict[str, dict[frozenset[str], Facts]]
"""policy_id -> sets of outcomes that can hold together, each with facts under which they do."""


def possible(
    library: Library,
    env: Environment,
    action: str,
    arguments: Arguments,
    only: Collection[str] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Outcomes:
    """What each policy can make of the call in the current state of `env`.

    Guards without `when` take no part. Policies are looked at one by one, so facts that two policies share may differ
    between them. A policy none of whose outcomes holds has the empty set among its keys.

    Args:
        only: look at these policies alone.
        facts: what the dialogue has told; all other facts take the values that matter.

    Raises:
        EvaluationError: naming the guard that takes too much work.
    """
    operator = library.operators[action]
    told = _Told(library, env, operator, arguments, facts or {})
    sure: dict[str, set[str]] = {}
    undecided: dict[str, list[tuple[Guard, frozenset[str]]]] = {}
    for guard in operator.guards:
        if guard.expression is None or (only is not None and guard.policy_id not in only):
            continue
        holds = _holds(guard, told.nothing)
        sure.setdefault(guard.policy_id, set())
        if holds is True:
            sure[guard.policy_id].add(guard.outcome)
        elif isinstance(holds, Unknown):
            undecided.setdefault(guard.policy_id, []).append((guard, holds.facts))
    found: Outcomes = {}
    for policy, certain in sure.items():
        guards = undecided.get(policy)
        if not guards:
            found[policy] = {frozenset(certain): {}}
            continue
        sets = found[policy] = {}
        for facts in told.assignments(frozenset[str]().union(*(names for _, names in guards))):
            holding = told.holding([guard for guard, _ in guards], facts)
            sets.setdefault(frozenset(certain.union(holding)), facts)
    return found


def units(found: Outcomes) -> set[tuple[str, str]]:
    """The (policy_id, outcome) pairs in a result of `outcomes`."""
    return {(policy, outcome) for policy, sets in found.items() for together in sets for outcome in together}


def fact_values(library: Library, env: Environment, action: str, arguments: Arguments, name: str) -> list[Any]:
    """The values of a fact that can matter to a call."""
    return _Told(library, env, library.operators[action], arguments, {}).values(name)


def _holds(guard: Guard, context: Context) -> bool | Unknown:
    assert guard.expression is not None
    try:
        return guard.expression.holds(context)
    except EvaluationError as error:
        raise EvaluationError(f"guard {guard.policy_id}/{guard.outcome}: {error}") from None


class _Told:
    """What the dialogue might tell about one call. `nothing`: the context with no facts but those `given`."""

    def __init__(self, library: Library, env: Environment, operator: Operator, arguments: Arguments, given: Mapping[str, Any]):
        self._library, self._env, self._operator, self._arguments = library, env, operator, arguments
        self._free = [index for index, named in enumerate(operator.let.values()) if not named.facts]
        self._values: dict[str, list[Any]] = {}
        self._given = dict(given)
        self.nothing = library.context(env, operator.action, arguments, given)

    def values(self, name: str) -> list[Any]:
        """The values of a fact that can matter."""
        if name not in self._values:
            self._values[name] = self._found(name)
        return self._values[name]

    def assignments(self, names: Collection[str]) -> Iterator[Facts]:
        """All combinations of values of the named facts, or `MANY` of them spread over all if there are more."""
        names = sorted(names)
        total = math.prod(len(self.values(name)) for name in names)
        for index in range(total) if total <= MANY else random.Random(total).sample(range(total), MANY):
            facts = {}
            for name in names:
                index, position = divmod(index, len(self.values(name)))
                facts[name] = self.values(name)[position]
            yield facts

    def holding(self, guards: Iterable[Guard], facts: Facts) -> list[str]:
        """The outcomes of the guards that hold under the facts. `let` names that read no fact are evaluated once."""
        context = self._library.context(self._env, self._operator.action, self._arguments, {**self._given, **facts})
        known = self.nothing.lets
        for index in self._free:
            context.lets[index] = known[index]
        holding = [guard.outcome for guard in guards if _holds(guard, context) is True]
        for index in self._free:
            known[index] = context.lets[index]
        return holding

    def _found(self, name: str) -> list[Any]:
        fact = self._library.facts[name]
        if fact.type == "boolean":
            return [True, False]
        if fact.values is not None and len(fact.values) <= FEW:
            return list(fact.values)
        if fact.type == "array":
            near = list(self._arguments.values())
        else:
            near = list(scalars([self._arguments]))
            if fact.type == "string":
                near += [*self._ids, *(value for field, value in leaves(self._records, _LONGEST) if field == name)]
            near = list(dict.fromkeys(near))
        found = [value for value in near if fact.accepts(value)]
        return found + [value for value in fact.values or _OTHERS[fact.type] if value not in found][:1]

    @cached_property
    def _records(self) -> list[Any]:
        """What the `let` names stand for."""
        named = []
        for index, expression in enumerate(self._operator.let.values()):
            if index in self._free:
                if self.nothing.lets[index] is UNSET:
                    self.nothing.lets[index] = expression.evaluate(self.nothing)
                named.append(self.nothing.lets[index])
        return named

    @cached_property
    def _ids(self) -> dict[Any, None]:
        return ids_near(self._env, [self._arguments], self._records)


def ids_near(env: Environment, values: Iterable[Any], records: Iterable[Any] = ()) -> dict[Any, None]:
    """The ids in `records` and in the records of the state that texts in `values` name, in order.

    An id is the key of a record in a table or, in a list, the record's first field. A record is named by its id and, in a
    list, by any field of its own (a phone number).
    """
    near, first = scalars(records, _LONGEST), set[Any]()
    texts = [scalar for scalar in scalars(values) if isinstance(scalar, str)]
    tables = [table for table in env.state.values() if isinstance(table, Mapping)]
    for table in tables:
        for text in texts:
            if text in table:
                near |= scalars([table[text]], _LONGEST)
    for table in env.state.values():
        if isinstance(table, list | tuple) and len(table) <= _SMALL:
            for record in table:
                fields = [unwrap(value) for _, value in fields_of(record)]
                first.update(field for field in fields[:1] if isinstance(field, str))
                if any(text in fields for text in texts):
                    near |= scalars([record])
    return {scalar: None for scalar in near if scalar in first or any(scalar in table for table in tables)}
