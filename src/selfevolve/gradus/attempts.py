"""Attempts: the search for a demonstration of one task, in K branches of at most m attempts each.

Paper: Gradus 2.4 ("Code launches K parallel search branches with at most m attempts each. A trajectory evaluator scores each attempt ...
and returns feedback that guides the next attempts").

Choices the paper leaves open: an attempt that verifies needs no evaluator. The first attempts of all branches are made, whether one verifies
or not; of the later ones, those up to the first that verifies, in the order (attempt, branch). So the search is the same in any number of
threads.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from selfevolve.environments.protocol import Environment
from selfevolve.gradus.blueprints import Blueprint, Record
from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.operators import Library
from selfevolve.gradus.replay import Replayed
from selfevolve.gradus.roles import Roles
from selfevolve.gradus.simulation import simulate
from selfevolve.gradus.tasks import Demonstration, Task
from selfevolve.gradus.threads import each
from selfevolve.gradus.verification import Verdict, Verifier
from selfevolve.seeding import derive

Lend = Callable[[], AbstractContextManager[Environment]]
"""Lends an environment of the domain, in any state, for the time of a `with` block."""


class Attempt(Record):
    """One rollout. `reasons`: why it does not verify; `score`: the evaluator's, 0 to 1, None if it was not asked."""

    branch: int
    attempt: int
    verified: bool
    reasons: tuple[str, ...]
    score: float | None


@dataclass(frozen=True, slots=True)
class Tried:
    """An attempt with all that it showed. `advice`: what the evaluator said, empty if it was not asked."""

    record: Attempt
    demonstration: Demonstration
    verdict: Verdict
    advice: str

    @property
    def promise(self) -> tuple[float, int, int]:
        """How near it came: by the evaluator's score; of equal ones, the later attempt, which had more advice; then by failed checks."""
        score = -1.0 if self.record.score is None else self.record.score
        return score, self.record.attempt, -len(self.verdict.reasons)


@dataclass(frozen=True, slots=True)
class Search:
    """How one blueprint is searched: `branches` is K, `attempts` m; `guided`: the evaluator scores what does not verify."""

    roles: Roles
    lend: Lend
    library: Library
    blueprint: Blueprint
    branches: int
    attempts: int
    guided: bool
    max_turns: int
    workers: int

    def run(self, task: Task, reference: Replayed, advice: tuple[str, ...], seed: int) -> list[Tried]:
        """The attempts at a task, in the order (attempt, branch). `advice`: what every branch is told from the beginning."""
        verifier = Verifier(self.library, self.blueprint, task, reference)
        made: list[Tried] = []
        told = [advice] * self.branches
        for attempt in range(self.attempts):
            level = self._level(task, verifier, attempt, told, seed)
            made += level
            if any(tried.record.verified for tried in level):
                break
            told = [(*known, tried.advice) if tried.advice else known for known, tried in zip(told, level, strict=True)]
        return made

    def _level(self, task: Task, verifier: Verifier, attempt: int, told: list[tuple[str, ...]], seed: int) -> list[Tried]:
        level: list[Tried] = []
        for tried in each(
            lambda branch: self._try(task, verifier, branch, attempt, told[branch], seed), range(self.branches), self.workers
        ):
            level.append(tried)
            if tried.record.verified and attempt > 0:
                break
        return level

    def _try(self, task: Task, verifier: Verifier, branch: int, attempt: int, advice: tuple[str, ...], seed: int) -> Tried:
        own = derive(seed, "attempt", branch, attempt)
        with self.lend() as env, self.lend() as fork:
            rollout = simulate(self.roles, env, fork, self.blueprint, task, branch, attempt, advice, own, self.max_turns)
            verdict = verifier.verify(env, rollout)
        reasons, score, said = verdict.reasons, None, ""
        if self.guided and not verdict.accepted:
            try:
                found = self.roles.evaluate(task, rollout, verdict.evidence, derive(own, "evaluate"))
            except RoleFailed as error:
                reasons = (*reasons, f"not evaluated: {error}")
            else:
                score, said = (found.action + found.policy + found.communication) / 3, found.feedback
        record = Attempt(branch=branch, attempt=attempt, verified=verdict.accepted, reasons=reasons, score=score)
        return Tried(record, rollout, verdict, said)
