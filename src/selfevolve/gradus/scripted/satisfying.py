"""Calls that realise intended outcomes in a state: the arguments and dialogue facts are searched for, not guessed.

Paper: Gradus 2.4 (initialization: blueprints are grounded in executable entities, prices, availability and user state).

A backtracking search over the parameters of the action, in order. Arguments that are not chosen yet are unknown, as facts are that
nobody has told, so a condition is decided as soon as it can be and most wrong calls are given up after their first argument. The facts
come last.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from selfevolve.environments import Environment
from selfevolve.gradus import candidates, outcomes
from selfevolve.gradus.context import Context
from selfevolve.gradus.judgement import Unit
from selfevolve.gradus.operators import Guard, Library, Operator
from selfevolve.gradus.schema import overlap
from selfevolve.gradus.values import Unknown

WIDTH = 24  # values of one parameter that are tried
MANY = 60  # assignments of the facts of one policy that are tried
Arguments = dict[str, Any]
Facts = dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """Outcomes that a call must realise. If it is to be performed nothing may speak against it; if it is to be refused, only policies
    of these outcomes may, or others too (not `clean`)."""

    action: str
    units: frozenset[Unit]
    perform: bool
    clean: bool = True

    @property
    def policies(self) -> frozenset[str]:
        return frozenset(unit.policy_id for unit in self.units)


@dataclass(frozen=True)
class _Policy:
    id: str
    guards: tuple[Guard, ...]
    arguments: frozenset[str]
    facts: frozenset[str]


class Satisfier:
    """Searches with the operators of one library. Holds no state of a search."""

    def __init__(self, library: Library):
        self._library = library
        read = [effect.path.path for operator in library.operators.values() if operator.kind == "read" for guard in operator.guards
                for effect in guard.effects]  # fmt: skip
        self._by_reading = [path for path in read if path is not None]
        self._policies = {action: tuple(self._grouped(operator)) for action, operator in library.operators.items()}

    def calls(
        self,
        env: Environment,
        wanted: Wanted,
        facts: Mapping[str, Any],
        rng: random.Random,
        entities: Sequence[Any] | None = None,
        only: bool = False,
        checks: int = 400,
    ) -> Iterator[tuple[Arguments, Facts]]:
        """Arguments of calls that are as wanted in the current state of `env`, each with the facts that the dialogue must tell besides
        `facts`. What the agent's own reading brings about is taken for granted.

        Args:
            entities: values of the first parameter to try, in order; None: those that the library lists.
            only: look at the policies of the wanted outcomes alone.
            checks: policies that are evaluated before the search is given up.

        With `only`, arguments that do not matter to these policies are left out.
        """
        search = _Search(self._library, env, wanted, facts, rng, checks)
        few = only or not wanted.clean
        policies = [each for each in self._policies[wanted.action] if not few or each.id in wanted.policies]
        yield from search.run(policies, entities, only)

    def faults(self, env: Environment, wanted: Wanted, facts: Mapping[str, Any], arguments: Arguments) -> int:
        """How many policies are not as wanted whatever the other arguments and facts are."""
        search = _Search(self._library, env, wanted, facts, random.Random(0), 0)
        return search.faults(self._policies[wanted.action], arguments)

    def _grouped(self, operator: Operator) -> Iterator[_Policy]:
        grouped: dict[str, list[Guard]] = {}
        for guard in operator.guards:
            if guard.expression is not None:
                grouped.setdefault(guard.policy_id, []).append(guard)
        for id, guards in grouped.items():
            expressions = [guard.expression for guard in guards if guard.expression is not None]
            own = operator.kind != "read" and any(
                overlap(path, read) for path in self._by_reading for each in expressions for read in each.reads
            )
            if own:
                continue
            arguments = frozenset[str]().union(*(each.arguments for each in expressions))
            yield _Policy(id, tuple(guards), arguments, frozenset().union(*(each.facts for each in expressions)))


class _Search:
    def __init__(
        self, library: Library, env: Environment, wanted: Wanted, facts: Mapping[str, Any], rng: random.Random, checks: int
    ):
        self._library, self._env, self._wanted, self._rng, self._checks = library, env, wanted, rng, checks
        self._operator = library.operators[wanted.action]
        self._told = {name: value for name, value in facts.items() if value is not None}
        self._unknown = {name: Unknown(frozenset([name])) for name in self._operator.parameters}

    def run(self, policies: Sequence[_Policy], entities: Sequence[Any] | None, only: bool) -> Iterator[tuple[Arguments, Facts]]:
        parameters = self._operator.parameters
        read = frozenset[str]().union(*(each.arguments for each in policies))
        matters = set(read)
        for name in reversed(parameters):
            matters |= parameters[name].values.arguments if name in matters else frozenset()
        self._names = [name for name in parameters if name in matters or not only]
        wide = read if only else matters
        self._width = {name: WIDTH if name in wide else 1 for name in self._names}
        intended = self._wanted.policies
        self._open = sorted(policies, key=lambda each: (each.id not in intended, len(each.guards)))
        last = {each.id: max((self._names.index(name) for name in each.arguments), default=-1) for each in policies}
        self._decided_by = {  # what is wanted is looked at with every argument, the rest when all arguments are there
            name: [each for each in self._open if last[each.id] == place or (each.id in intended and name in each.arguments)]
            for place, name in enumerate(self._names)
        }
        if self._holds({}, [each for each in self._open if last[each.id] < 0 or each.id in intended]):
            yield from self._filled({}, entities)

    def _filled(self, arguments: Arguments, entities: Sequence[Any] | None) -> Iterator[tuple[Arguments, Facts]]:
        if len(arguments) == len(self._names):
            made = {name: value for name, value in arguments.items() if value is not None}
            facts = self._facts(made, [each for each in self._open if each.facts - set(self._told)], {})
            if facts is not None:
                yield made, facts
            return
        name = self._names[len(arguments)]
        if name == next(iter(self._operator.parameters)) and entities is not None:
            values = list(entities)
        else:
            values = candidates.values(self._library, self._env, self._wanted.action, name, arguments)
            values = self._rng.sample(values, min(self._width[name], len(values)))
        for value in values:
            self._checks -= 1
            longer = {**arguments, name: value}
            if self._holds(longer, self._decided_by[name]):
                yield from self._filled(longer, None)
            if self._checks < 0:
                return

    def _holds(self, arguments: Arguments, policies: Sequence[_Policy]) -> bool:
        """Whether the policies can still be as wanted."""
        context = self._context(self._unknown | arguments, {})
        return all(self._possible(policy, context) is not False for policy in policies)

    def faults(self, policies: Sequence[_Policy], arguments: Arguments) -> int:
        context = self._context(self._unknown | arguments, {})
        return sum(self._possible(policy, context) is False for policy in policies)

    def _possible(self, policy: _Policy, context: Context) -> bool | None:
        """Whether a policy is as wanted; None if facts decide it."""
        self._checks -= 1
        wanted, decided = self._wanted, True
        spared = not wanted.perform and policy.id in wanted.policies
        for guard in policy.guards:
            intended = guard.unit in wanted.units
            if not intended and (guard.verdict == "allow" or spared):
                continue
            assert guard.expression is not None
            holds = guard.expression.holds(context)
            if holds is not intended:
                if holds is True or holds is False:
                    return False
                decided = False
        return True if decided else None

    def _facts(self, arguments: Arguments, policies: Sequence[_Policy], facts: Facts) -> Facts | None:
        """Facts under which all these policies are as wanted, `facts` among them."""
        if not policies:
            return facts
        policy, *rest = policies
        if self._possible(policy, self._context(arguments, facts)):
            return self._facts(arguments, rest, facts)
        names = sorted(policy.facts - set(facts) - set(self._told))
        lists = [self._values(arguments, name) for name in names]
        for values in itertools.islice(itertools.product(*lists), MANY):
            told = facts | dict(zip(names, values, strict=True))
            if self._possible(policy, self._context(arguments, told)):
                found = self._facts(arguments, rest, told)
                if found is not None:
                    return found
        return None

    def _values(self, arguments: Arguments, name: str) -> list[Any]:
        """What a fact may be, in the order of trying: what the agent looks up it has looked up."""
        source = self._library.facts[name].source
        if source != "user":
            return [source == "reads", source != "reads"]
        values = outcomes.fact_values(self._library, self._env, self._wanted.action, arguments, name)
        return self._rng.sample(values, len(values))

    def _context(self, arguments: Arguments, facts: Facts) -> Context:
        made = {name: value for name, value in arguments.items() if value is not None}
        return Context(self._env.state, self._env.initial, self._env.now, made, {**self._told, **facts}, len(self._operator.let))
