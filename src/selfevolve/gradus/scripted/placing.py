"""Binding the steps of a blueprint in order, each in the state that the earlier ones leave, with alternatives.

Paper: Gradus 2.4 (initialization) and A.7 (upgrade(A) -> cancel(A): the second step wants what the first one brings about).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from selfevolve.environments import Environment
from selfevolve.gradus.blueprints import Call, Step
from selfevolve.gradus.operators import Library
from selfevolve.gradus.scripted.entities import Entities, Start
from selfevolve.gradus.scripted.satisfying import Arguments, Facts, Satisfier, Wanted

ALTERNATIVES = 8  # calls that are tried for a step on which later ones depend
PLACED = 48  # calls that are tried in one attempt


@dataclass
class Found:
    """What has been bound so far. `executed`: those that are to be performed; `values`: of each symbolic entity, by parameter."""

    init_actions: Start
    told: Facts
    calls: list[Call] = field(default_factory=list)
    executed: list[Call] = field(default_factory=list)
    values: dict[str, dict[str, Any]] = field(default_factory=dict)

    def copy(self) -> Found:
        values = {symbol: dict(known) for symbol, known in self.values.items()}
        return Found(self.init_actions, dict(self.told), list(self.calls), list(self.executed), values)


@dataclass(frozen=True)
class Finder:
    """What is needed to find calls in one domain."""

    library: Library
    satisfier: Satisfier
    entities: Entities

    def wanted(self, step: Step) -> Wanted:
        return Wanted(step.action, frozenset(step.units), step.decision == "perform")


class Placing:
    """One attempt to bind steps from a start with a user."""

    def __init__(self, finder: Finder, env: Environment, steps: Sequence[Step], rng: random.Random):
        self._finder, self._env, self._steps, self._rng = finder, env, steps, rng
        self._left = PLACED

    def run(self, start: Start, group: Facts) -> Found | None:
        self._env.reset(start)
        return self._place(Found(start, dict(group)))[0]

    def _place(self, found: Found) -> tuple[Found | None, set[int]]:
        """All steps bound; or None, and the steps whose alternatives could help."""
        number = len(found.calls)
        if number == len(self._steps):
            return found, set()
        step, blob = self._steps[number], self._env.snapshot()
        related = {earlier for earlier in range(number) if earlier in step.after or self._steps[earlier].entity == step.entity}
        needed = any(number in later.after or later.entity == step.entity for later in self._steps[number + 1 :])
        makes_up = bool(self._finder.library.settable) and step.entity not in found.values
        blamed = set(related)
        for _ in range(ALTERNATIVES if needed or makes_up else 1):
            self._left -= 1
            if self._left < 0:
                return None, set()
            more = self._chosen(step, found.copy())
            if more is not None:
                whole, blame = self._place(more)
                if whole is not None or number not in blame:
                    return whole, blame
                blamed |= blame - {number}
            self._env.restore(blob)
            if more is None and not makes_up:
                break
        return None, blamed

    def _chosen(self, step: Step, found: Found) -> Found | None:
        """With a call for the step, executed if it is to be performed.

        A refused call may be asked for before the agent knows who the user is; then its facts say what was known of that.
        """
        number = len(found.calls)
        finder, wanted = self._finder, self._finder.wanted(step)
        operator = finder.library.operators[step.action]
        first = next(iter(operator.parameters), "")
        others = [known.get(first) for symbol, known in found.values.items() if symbol != step.entity]
        used = {value for value in others if isinstance(value, str | int | float)}
        known = found.values.get(step.entity, {})
        if not known:
            blob = self._env.snapshot()
            drawn = finder.entities.made_up(
                self._env, wanted, found.told, used, self._rng, lambda action: self._again((*found.init_actions, *action), found)
            )
            if drawn is not None:
                found.init_actions, known = (*found.init_actions, *drawn[0]), drawn[1]
                self._again(found.init_actions, found)
            else:
                self._env.restore(blob)
        made = self._call(wanted, found.told, known, used)
        if made is None and not wanted.perform and not self._depends(step, number):
            for told in self._before_identified(found.told):
                made = made or self._call(wanted, told, known, used)
        if (
            made is not None
            and not wanted.perform
            and any((call.name, call.arguments) == (step.action, made[0]) for call in found.executed)
        ):
            return None  # a call that must not be executed at any time cannot be one that is
        if made is None:
            return None
        arguments, facts = made
        conversation = {} if self._unidentified(facts) else {
            name: value for name, value in facts.items() if finder.library.facts[name].scope == "conversation"
        }  # fmt: skip
        found.told |= conversation
        if operator.parameters:
            found.values.setdefault(step.entity, {}).setdefault(first, arguments[first])
        local = {name: value for name, value in facts.items() if name not in conversation}
        call = Call(name=step.action, arguments=arguments, requestor=operator.requestor, facts=local)
        found.calls.append(call)
        if step.decision == "perform":
            if not self._env.call(call.name, call.arguments, call.requestor).ok:
                return None
            found.executed.append(call)
        return found

    def _depends(self, step: Step, number: int) -> bool:
        """Whether a step meets what earlier ones have left."""
        before = self._steps[:number]
        return bool(step.after) or any(each.entity == step.entity and each.decision == "perform" for each in before)

    def _unidentified(self, facts: Facts) -> bool:
        """Whether facts say that the agent has not found the user by a look-up."""
        identified = self._finder.library.conduct.identified
        found = {
            name: {each.facts[name] for each in identified if name in each.facts} for each in identified for name in each.facts
        }
        results = {each.result for each in identified}
        return any(value not in found.get(name, {value}) or (name in results and not value) for name, value in facts.items())

    def _before_identified(self, told: Facts) -> Iterator[Facts]:
        """What was told of the user before they were found by a look-up: who they say they are, or nothing."""
        identified = self._finder.library.conduct.identified
        made = {name for each in identified for name in each.facts}
        if made:
            yield {name: value for name, value in told.items() if name not in made}
        if identified:
            yield {name: value for name, value in told.items() if name not in made | {each.result for each in identified}}

    def _call(self, wanted: Wanted, told: Facts, known: dict[str, Any], used: set[Any]) -> tuple[Arguments, Facts] | None:
        """A call as wanted; for a refusal, if there is no other, one that more than the wanted policies deny."""
        tries = [wanted] if wanted.perform else [wanted, Wanted(wanted.action, wanted.units, False, clean=False)]
        for each in tries:
            entities = self._finder.entities.values(self._env, each, told, known, used, self._rng)
            made = next(self._finder.satisfier.calls(self._env, each, told, self._rng, entities), None)
            if made is not None:
                return made
        return None

    def _again(self, init_actions: Start, found: Found) -> None:
        """The state after the calls so far, from another start."""
        self._env.reset(init_actions)
        for call in found.executed:
            self._env.call(call.name, call.arguments, call.requestor)
