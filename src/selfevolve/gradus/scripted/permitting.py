"""What the policy makes of a call here and now, and what can be done about a call that it denies.

Paper: Gradus A.7 (an intermediate action that changes the governing policy condition; refusal with the reason).

The scripted agent knows the guards and judges in a private copy of the environment, where a model would reason from policy and look-ups.
Judgements are remembered: the same call in the same state is judged once.
"""

from __future__ import annotations

import itertools
import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any

from selfevolve.environments import Environment
from selfevolve.gradus import candidates
from selfevolve.gradus.context import Context
from selfevolve.gradus.judgement import Judgement
from selfevolve.gradus.operators import Library, Operator

LONGEST = 6  # calls that make a request possible: on the desk free, pay, up, pay, up, pay
REMEMBERED = 20_000

_encode = json.JSONEncoder(sort_keys=True).encode  # as json.dumps would, without a new encoder each time

Arguments = dict[str, Any]
Chain = tuple[tuple[str, Arguments], ...]


class Permits:
    """Judges calls of one library. Used from several threads."""

    def __init__(self, library: Library):
        self._library = library
        self._deny = {
            action: [guard for guard in operator.guards if guard.verdict == "deny" and guard.expression is not None]
            for action, operator in library.operators.items()
        }
        self._units = {action: {guard.unit for guard in guards} for action, guards in self._deny.items()}
        self.facts = {
            action: frozenset[str]().union(*(guard.expression.facts for guard in operator.guards if guard.expression is not None))
            for action, operator in library.operators.items()
        }
        """The facts that the conditions of each action depend on."""
        self._remembered: OrderedDict[tuple, Any] = OrderedDict()
        self._lock = Lock()

    def judge(self, env: Environment, action: str, arguments: Arguments, facts: Mapping[str, Any]) -> Judgement:
        """As `Library.judge`."""
        key = ("judge", *_key(env, action, arguments, facts))
        found = self._recall(key)
        return found if found is not None else self._keep(key, self._library.judge(env, action, arguments, facts))

    def denials(self, action: str, judgement: Judgement) -> list[str]:
        """Why the call is denied, in the guards' words."""
        return [guard.text for guard in self._deny[action] if guard.unit in judgement.units]

    def undecided(self, action: str, judgement: Judgement) -> frozenset[str]:
        """The facts on which it depends whether the call is denied."""
        found = (each.facts for each in judgement.undetermined if (each.policy_id, each.outcome) in self._units[action])
        return frozenset[str]().union(*found)

    def chain(self, env: Environment, action: str, arguments: Arguments, facts: Mapping[str, Any]) -> Chain:
        """The shortest sequence of enabling calls about the same entity after which the call is permitted; empty if there is none.

        `env` is tried out and put back.
        """
        operators = self._library.operators
        if not self._library.conduct.enabling or not arguments:
            return ()
        start, *rest = _key(env, action, arguments, facts)
        found = self._recall(("chain", start, *rest))
        if found is None:
            states, found = self._search(env, start, operators[action], arguments, facts)
            env.restore(start)
            for number, state in enumerate(states):  # it will be asked again after each of its calls
                self._keep(("chain", state, *rest), found[number:])
        return found

    def refusal(self, env: Environment, action: str, arguments: Arguments) -> tuple[Arguments, dict[str, Any]] | None:
        """Arguments and facts of the call that records the refusal of a request, as the policy wants it; None if no call does."""
        refused = self._library.conduct.refused
        if refused is None or not arguments:
            return None
        operator, facts = self._library.operators[refused.action], self.about_refused(action, arguments)
        if any(name not in facts for name in refused.facts):
            return None
        for tried in self.calls(env, operator, next(iter(arguments.values()))):
            if self._permitted(env, operator, tried, facts):
                return tried, facts
        return None

    def about_refused(self, action: str, arguments: Arguments) -> dict[str, Any]:
        """The facts of a refusal that are about the request, as far as the library lets them be said."""
        refused = self._library.conduct.refused
        facts = dict.fromkeys(refused.facts, action) if refused else {}
        facts |= {name: value for name, value in arguments.items() if name in self._library.facts}
        return {name: value for name, value in facts.items() if self._library.facts[name].accepts(value)}

    def _search(
        self, env: Environment, start: bytes, goal: Operator, arguments: Arguments, facts: Mapping[str, Any]
    ) -> tuple[list[bytes], Chain]:
        """The chain, and the state before each of its calls; breadth first."""
        entity = next(iter(arguments.values()))
        seen, frontier = {start}, [([start], ())]
        for _ in range(LONGEST):
            reached = []
            for states, path in frontier:
                env.restore(states[-1])
                for name in self._library.conduct.enabling:
                    operator = self._library.operators[name]
                    for tried in self.calls(env, operator, entity):
                        if not self._permitted(env, operator, tried, facts):
                            continue
                        env.call(name, tried, operator.requestor)
                        after, longer = env.snapshot(), (*path, (name, tried))
                        if after not in seen:
                            seen.add(after)
                            if self._permitted(env, goal, arguments, facts):
                                return states, longer
                            reached.append(([*states, after], longer))
                        env.restore(states[-1])
            frontier = reached
        return [start], ()

    def calls(self, env: Environment, operator: Operator, entity: Any) -> Iterator[Arguments]:
        """The calls about an entity, in the order of the library; of actions with few parameters only."""
        first, *others = operator.parameters
        start = {first: entity}
        lists = [candidates.values(self._library, env, operator.action, name, start) for name in others]
        for values in itertools.product(*lists):
            yield {**start, **dict(zip(others, values, strict=True))}

    def _permitted(self, env: Environment, operator: Operator, arguments: Arguments, facts: Mapping[str, Any]) -> bool:
        """Whether nothing speaks against the call, whatever is not known yet. Stops at the first guard that does."""
        known = {name: value for name, value in facts.items() if value is not None}
        context = Context(env.state, env.initial, env.now, arguments, known, len(operator.let))
        return not any(guard.expression.holds(context) is True for guard in self._deny[operator.action] if guard.expression)

    def _recall(self, key: tuple) -> Any:
        with self._lock:
            if key in self._remembered:
                self._remembered.move_to_end(key)
            return self._remembered.get(key)

    def _keep(self, key: tuple, value: Any) -> Any:
        with self._lock:
            self._remembered[key] = value
            if len(self._remembered) > REMEMBERED:
                self._remembered.popitem(last=False)
        return value


def _key(env: Environment, action: str, arguments: Arguments, facts: Mapping[str, Any]) -> tuple[bytes, str, str, str]:
    return env.snapshot(), action, _encode(arguments), _encode(facts)
