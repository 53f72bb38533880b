"""How hard an accepted task is: independent rollouts without feedback, counted by the acceptance check.

Paper: Gradus 3.6 (success of the off-the-shelf student by depth) and 3.7 (scout rollouts). Every accepted task is measured in the same way,
whichever round it was accepted in; the attempts of the loop itself would flatter tasks that were accepted late, with feedback.
"""

from __future__ import annotations

from collections.abc import Sequence

from selfevolve.gradus.attempts import Lend
from selfevolve.gradus.blueprints import Blueprint
from selfevolve.gradus.journal import Journal
from selfevolve.gradus.operators import Library
from selfevolve.gradus.recovery import Outcome
from selfevolve.gradus.replay import replay
from selfevolve.gradus.roles import Roles
from selfevolve.gradus.settings import Recovery
from selfevolve.gradus.simulation import simulate
from selfevolve.gradus.threads import each
from selfevolve.gradus.verification import Verifier
from selfevolve.seeding import derive


def difficulty(
    blueprints: Sequence[Blueprint],
    outcomes: Sequence[Outcome],
    roles: Roles,
    lend: Lend,
    library: Library,
    settings: Recovery,
    seed: int,
    journal: Journal,
    workers: int = 1,
) -> list[float | None]:
    """1 - success of `settings.scouts` rollouts for each blueprint, in [0, 1]; None where no task was accepted. Journaled."""

    def one(pair: tuple[Blueprint, Outcome]) -> float | None:
        blueprint, outcome = pair
        if not outcome.accepted or outcome.task is None:
            return None
        key = f"difficulty {blueprint.id}"
        done = journal.get(key)
        if done is None:
            solved = 0
            with lend() as env:
                verifier = Verifier(library, blueprint, outcome.task, replay(env, library, outcome.task, outcome.task.reference))
            for number in range(settings.scouts):
                with lend() as env, lend() as fork:
                    own = derive(seed, "scout", blueprint.id, number)
                    rollout = simulate(roles, env, fork, blueprint, outcome.task, number, 0, (), own, settings.max_turns)
                    solved += verifier.verify(env, rollout).accepted
            done = {"difficulty": 1 - solved / settings.scouts}
            journal.put(key, done)
        return done["difficulty"]

    return list(each(one, zip(blueprints, outcomes, strict=True), workers))
