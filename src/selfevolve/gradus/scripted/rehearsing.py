"""What the scripted writer can try out before it proposes something: starts that offer steps together, and how the agent lifts a denial.

Paper: Gradus 2.3 ("declines when the scenario-kernel combination is unrealistic") and A.7 (blocked, enabled, performed). A model judges by
its sense of what can be; this asks the environment. It does not search for entities: whether a blueprint can be grounded shows later.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence

from selfevolve.environments import Environment
from selfevolve.gradus.blueprints import Call, Step
from selfevolve.gradus.judgement import Branch, Unit
from selfevolve.gradus.operators import Library
from selfevolve.gradus.scripted.binding import Binder, Bound
from selfevolve.gradus.scripted.permitting import Permits
from selfevolve.seeding import derive

TRIED = 10  # records for which a denial is rehearsed

Steps = tuple[Step, ...]


class Rehearsal:
    """Tries out steps in an environment of its own; answers are the same whatever was asked before. Used from several threads."""

    def __init__(self, library: Library, permits: Permits, binder: Binder, env: Environment):
        self._library, self._permits, self._env = library, permits, env
        self._binder = binder
        self._offered: dict[Steps, bool] = {}
        self._possible: dict[Steps, bool] = {}
        self._lock = threading.Lock()

    def offered(self, steps: Sequence[Step]) -> bool:
        """Whether some start offers all steps that depend on no other, as far as any does."""
        if not self._library.situations:
            return True
        key = tuple(steps)
        with self._lock:
            if key not in self._offered:
                self._offered[key] = self._binder.offers(steps, self._env)
            return self._offered[key]

    def possible(self, steps: Steps) -> bool:
        """Whether records are found with which the steps can be taken, in a short search."""
        with self._lock:
            if steps not in self._possible:
                seed = derive(0, "possible", *(step.action for step in steps))
                self._possible[steps] = next(self._binder.bind(steps, self._env, seed, 1), None) is not None
            return self._possible[steps]

    def lifted(self, branch: Branch) -> list[Steps]:
        """Steps about an entity A in which the branch denies a call, the agent takes what enables it, and the call is made; without the
        latter for records with which the agent cannot do so. What brings the denial about comes first, if no record has it at the start."""
        denied = Step(action=branch.action, entity="A", decision="refuse", units=(branch.unit,))
        found: dict[Steps, None] = {}
        with self._lock:
            for number in range(TRIED):
                seed = derive(0, "lifted", *branch, number)
                bound = next(self._binder.bind((denied,), self._env, seed, 1), None)
                if bound is not None:
                    found[self._enabled(denied, bound, random.Random(seed))] = None
        return list(found)

    def _enabled(self, denied: Step, bound: Bound, rng: random.Random) -> Steps:
        """The steps for one record."""
        env, call = self._env, bound.calls[-1]
        env.reset(bound.init_actions)
        for before in bound.calls[:-1]:
            env.call(before.name, before.arguments, before.requestor)
        self._look(call)
        facts = bound.told | call.facts
        chain = self._permits.chain(env, call.name, call.arguments, facts)
        steps = [*bound.steps]
        first = len(steps)
        for name, arguments in (*chain, (call.name, call.arguments)) if chain else ():
            judged = self._library.judge(env, name, arguments, facts)
            allowed = [unit for unit in self._allowed(name) if unit in judged.units]
            wanted = [unit for unit in allowed if name == call.name and unit.policy_id == denied.units[0].policy_id]
            env.call(name, arguments, self._library.operators[name].requestor)
            after = (len(steps) - 1,) if len(steps) > first else ()
            steps.append(Step(action=name, entity="A", decision="perform", units=(rng.choice(wanted or allowed),), after=after))
        return tuple(steps)

    def _look(self, call: Call) -> None:
        for action, operator in self._library.operators.items():
            first = next(iter(operator.parameters), None)
            if operator.kind == "read" and len(operator.parameters) == 1 and first in call.arguments:
                self._env.call(action, {first: call.arguments[first]}, operator.requestor)

    def _allowed(self, action: str) -> Iterator[Unit]:
        return (guard.unit for guard in self._library.operators[action].guards if guard.verdict == "allow")
