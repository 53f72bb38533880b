"""What goes wrong when a task is initialized: a sound task turned into one whose defect only execution shows.

Paper: Gradus A.7 (verification findings of rounds 0 and 1; Table 7: grounding and ambiguity defects).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from selfevolve.environments import Environment
from selfevolve.gradus import candidates
from selfevolve.gradus.blueprints import Blueprint, Call
from selfevolve.gradus.scripted.binding import Bound
from selfevolve.gradus.scripted.language import Language
from selfevolve.gradus.scripted.permitting import Permits
from selfevolve.gradus.scripted.phrases import Request, Whichever
from selfevolve.gradus.scripted.script import Script, Scripts
from selfevolve.gradus.tasks import Refusal, Task

MISTAKEN = 16  # other entities that are looked at for one whose state differs


class Spoiler:
    """Spoils tasks of one domain."""

    def __init__(self, language: Language, permits: Permits):
        self._library, self._permits, self._scripts = language.library, permits, Scripts(language)

    def spoil(
        self, task: Task, blueprint: Blueprint, bound: Bound, plan: Script, env: Environment, rng: random.Random
    ) -> Task | None:
        """The task with a defect; None if no way to spoil it is found. `env` is at the start of the task."""
        ways = [self._mistaken, self.left_open]
        rng.shuffle(ways)
        for way in ways:
            spoiled = way(task, blueprint, bound, plan, env, rng)
            if spoiled is not None:
                return spoiled
        return None

    def _mistaken(
        self, task: Task, blueprint: Blueprint, bound: Bound, plan: Script, env: Environment, rng: random.Random
    ) -> Task | None:
        """An entity that realises another outcome takes the place of one that would realise what is intended."""
        for number in rng.sample(range(len(bound.steps)), len(bound.steps)):
            step, call = bound.steps[number], bound.calls[number]
            if step.after or not call.arguments:
                continue
            first, value = next(iter(call.arguments.items()))
            if not isinstance(value, str):
                continue
            taken = set(task.bindings.values())
            listed = candidates.values(self._library, env, call.name, first, {})
            others = [each for each in listed if isinstance(each, str) and each not in taken]
            for other in rng.sample(others, min(MISTAKEN, len(others))):
                arguments = call.arguments | {first: other}
                judgement = self._permits.judge(env, call.name, arguments, task.facts | call.facts)
                denied = bool(judgement.violations or judgement.rejections)
                if not set(step.units) <= judgement.units and denied is (step.decision == "perform"):
                    return _with(task, value, other)
        return None

    def left_open(
        self, task: Task, blueprint: Blueprint, bound: Bound, plan: Script, env: Environment, rng: random.Random
    ) -> Task | None:
        """An argument that the reference needs is left to the agent, who may choose another value."""
        for place in rng.sample(range(len(plan.asks)), len(plan.asks)):
            ask = plan.asks[place]
            names = [name for name in list(ask.request.values)[1:] if name not in self._library.facts]
            for name in rng.sample(names, len(names)):
                call = next((call for call in task.reference if call.name == ask.request.action), None)
                if call is None or name not in call.arguments:
                    continue
                values = candidates.values(self._library, env, call.name, name, call.arguments)
                if self._first(env, task, call, name, values) in (None, call.arguments[name]):
                    continue
                left = {other: value for other, value in ask.request.values.items() if other != name}
                changed = replace(ask, request=Request(call.name, left), answers=(*ask.answers, Whichever(name)))
                asks = (*plan.asks[:place], changed, *plan.asks[place + 1 :])
                scenario = self._scripts.write(Script(asks, plan.opening), blueprint.goal)
                return task.model_copy(update={"scenario": scenario})
        return None

    def _first(self, env: Environment, task: Task, call: Call, name: str, values: list[Any]) -> Any:
        """The value that the agent will choose."""
        for value in values:
            judgement = self._permits.judge(env, call.name, call.arguments | {name: value}, task.facts | call.facts)
            if not judgement.violations and not judgement.rejections:
                return value
        return None


def _with(task: Task, value: str, other: str) -> Task:
    """The task with another entity in one's place; what the user says and what the reference does, but not the start."""

    def changed(part: Any) -> Any:
        if isinstance(part, str):
            return other if part == value else part
        if isinstance(part, Mapping):
            return {key: changed(item) for key, item in part.items()}
        return [changed(item) for item in part] if isinstance(part, list | tuple) else part

    def call(made: Call) -> Call:
        return made.model_copy(update={"arguments": changed(made.arguments), "facts": changed(made.facts)})

    refusals = tuple(Refusal(call=call(refusal.call), when=refusal.when) for refusal in task.refusals)
    return task.model_copy(
        update={
            "scenario": task.scenario.replace(f'"{value}"', f'"{other}"'),
            "reference": tuple(map(call, task.reference)),
            "refusals": refusals,
            "bindings": changed(task.bindings),
        }
    )
