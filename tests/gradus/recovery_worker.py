"""A run of the loop on the desk that fails by chance, seeded, as a process that a test can kill: `python recovery_worker.py JOURNAL`."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from played import CHAINED, DONE, Roles, call, chained, lender, library, step

from selfevolve.gradus.blueprints import Blueprint
from selfevolve.gradus.journal import Journal
from selfevolve.gradus.recovery import Outcome, Recovery, recover_all
from selfevolve.gradus.roles import Diagnosis
from selfevolve.gradus.tasks import Refusal, Task

COUNT = 60
SETTINGS = Recovery(rounds=3, branches=2, attempts=2, revisions=1, max_turns=20, scouts=1)
_SCRIPTS = (CHAINED, CHAINED[:1], (*CHAINED[:2], CHAINED[3], DONE))
_TASKS = (chained(), chained(refusals=(Refusal(call=call("look", id="b11")),)), chained(reference=(call("fly"),)))


class ByChance(Roles):
    """Every answer is drawn from its seed."""

    def __init__(self, seed: int):
        super().__init__([chained()], lambda feedback: CHAINED)
        self._own = seed

    def ground(self, blueprint, env, round, feedback, seed) -> Task:
        self.log.append(("ground", round, tuple(feedback)))
        return self._drawn(seed, _TASKS).model_copy(update={"blueprint": blueprint.id, "round": round})

    def act(self, view, feedback, seed):
        number = sum(event.kind != "user" for event in view.events)
        script = self._drawn(sum(map(ord, "".join(feedback))), _SCRIPTS)  # one for the whole conversation
        return script[number] if number < len(script) else self._drawn(seed, ("Goodbye.", "Anything else?"))

    def diagnose(self, task, demonstration, evidence, seed) -> Diagnosis:
        return Diagnosis(route=self._drawn(seed, ("task", "solution")), feedback=f"round {seed % 7}")

    def _drawn(self, seed: int, options):
        return random.Random(self._own * 1_000_003 + seed).choice(options)


def roles(seed: int) -> ByChance:
    return ByChance(seed)


def blueprints(count: int) -> list[Blueprint]:
    """Different blueprints that one task fits."""
    steps = (step("refuse", "cancel", "cancel.plan/aged_basic"), step("perform", "cancel", "cancel.plan/plus"))
    return [
        Blueprint(domain="desk", parent=None, depth=2, kernels=(), interactions=(), goal=f"goal {number}", steps=steps)
        for number in range(count)
    ]


def run(journal: Journal, made: Roles | None = None) -> list[Outcome]:
    return recover_all(
        blueprints(COUNT), made or roles(5), lender("desk"), library("desk"), SETTINGS, "full", 7, journal, workers=2
    )


if __name__ == "__main__":
    with Journal(Path(sys.argv[1])) as journal:
        before = len(journal)
        run(journal)
        print(f"made {len(journal) - before}")
