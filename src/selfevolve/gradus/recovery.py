"""Recovery: initialization, simulation and verification of one blueprint, round after round, until its pair is accepted or the budget ends.

Paper: Gradus 2.4 and A.6 (the validity ablations). A round initializes a task and replays its reference, with local revisions on execution
errors; searches for a demonstration (`attempts`); and verifies. What does not verify is diagnosed: back to initialization, or to further
search. `verification.verify` alone accepts.

Choices the paper leaves open:

* Advice to the agent is about one task, and is forgotten when the task is initialized anew. Advice to initialization is kept.
* A role without a usable answer (`RoleFailed`) costs its attempt or round, no more. If it is the diagnosis, the evidence routes: to the task
  if the reference is at fault. The failures of an endpoint propagate; what is journaled is not lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from selfevolve.gradus.attempts import Attempt, Lend, Search, Tried
from selfevolve.gradus.blueprints import Blueprint, Record
from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.journal import Journal
from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.operators import Library
from selfevolve.gradus.replay import Replayed, replay
from selfevolve.gradus.roles import Roles
from selfevolve.gradus.settings import Recovery, Validity
from selfevolve.gradus.tasks import Demonstration, Task
from selfevolve.gradus.threads import each
from selfevolve.seeding import derive


class RoundRecord(Record):
    """One pass of the loop.

    `task_round`: that of the task (0 = initial); `revisions`: of its reference, in this pass; `route`: where a failure goes, None if accepted
    or if no round is left; `feedback`: what the diagnosis said; `error`: why there was no task, or no diagnosis.
    """

    task_round: int
    revisions: int = 0
    attempts: tuple[Attempt, ...] = ()
    route: Literal["task", "solution"] | None = None
    feedback: str | None = None
    error: str | None = None


class Outcome(Record):
    """What became of a blueprint.

    `verified`: whether verification accepts the pair; `accepted` says the same, except where it takes the first rollout unverified
    (validity none). `round`: of the task. `reason`: the failed checks, None if accepted. `task` and `demonstration`: the accepted ones, or
    the last task and its best attempt. `realised` and `do_nothing` are of that demonstration, see `Verdict`.
    """

    blueprint: str
    accepted: bool
    verified: bool
    round: int
    reason: str | None
    task: Task | None
    demonstration: Demonstration | None
    realised: tuple[Branch, ...]
    do_nothing: bool
    trace: tuple[RoundRecord, ...]


def recover(
    blueprint: Blueprint,
    roles: Roles,
    lend: Lend,
    library: Library,
    settings: Recovery,
    validity: Validity,
    seed: int,
    task: Task | None = None,
    workers: int = 1,
) -> Outcome:
    """Take one blueprint through the loop.

    Args:
        validity: full; reflection, without re-initialization; parallel, with one attempt per branch; reject, with one rollout; none, with
            one rollout that is accepted as it is.
        task: the first round's task, if it need not be initialized.
        workers: threads for the branches.
    """
    return _Loop(blueprint, roles, lend, library, settings, validity, seed, workers).run(task)


def recover_all(
    blueprints: Sequence[Blueprint],
    roles: Roles,
    lend: Lend,
    library: Library,
    settings: Recovery,
    validity: Validity,
    seed: int,
    journal: Journal,
    tasks: Mapping[str, Task] | None = None,
    workers: int = 1,
    done: Callable[[int], None] | None = None,
) -> list[Outcome]:
    """`recover` for every blueprint, each journaled under its id when it is done.

    Args:
        tasks: first tasks by blueprint id.
        workers: threads, a blueprint each.
        done: called with the number of blueprints that are done.

    Returns:
        Outcomes in the order of the blueprints.
    """

    def one(blueprint: Blueprint) -> Outcome:
        record = journal.get(blueprint.id)
        if record is not None:
            return Outcome.model_validate(record)
        task = (tasks or {}).get(blueprint.id)
        outcome = recover(blueprint, roles, lend, library, settings, validity, seed, task)
        journal.put(blueprint.id, outcome.model_dump(mode="json"))
        return outcome

    found: dict[str, Outcome] = {}
    distinct = {blueprint.id: blueprint for blueprint in blueprints}
    for number, outcome in enumerate(each(one, distinct.values(), workers), start=1):
        found[outcome.blueprint] = outcome
        if done is not None:
            done(number)
    return [found[blueprint.id] for blueprint in blueprints]


class _NoTask(Exception):
    """Initialization brought no task. `faults`: what its reference did wrong, as advice for the next round."""

    def __init__(self, reason: str, text: str, revisions: int, faults: tuple[str, ...] = ()):
        super().__init__(text)
        self.reason, self.revisions, self.faults = reason, revisions, faults


class _Loop:
    def __init__(
        self,
        blueprint: Blueprint,
        roles: Roles,
        lend: Lend,
        library: Library,
        settings: Recovery,
        validity: Validity,
        seed: int,
        workers: int,
    ):
        guided = validity in ("full", "reflection")
        self._blueprint, self._roles, self._lend, self._library = blueprint, roles, lend, library
        self._validity, self._seed = validity, derive(seed, "recovery", blueprint.id)
        self._rounds = settings.rounds if validity == "full" else 1
        self._revisions = 0 if validity == "none" else settings.revisions
        self._search = Search(
            roles,
            lend,
            library,
            blueprint,
            branches=settings.branches if guided or validity == "parallel" else 1,
            attempts=settings.attempts if guided else 1,
            guided=guided,
            max_turns=settings.max_turns,
            workers=workers,
        )

    def run(self, task: Task | None) -> Outcome:
        trace: list[RoundRecord] = []
        best, reason, round = None, "", task.round if task else 0
        reference: Replayed | None = None
        hints, advice = (), ()
        for number in range(self._rounds):
            more, revisions = number + 1 < self._rounds, 0
            if reference is None:
                try:
                    task, reference, revisions = self._initialised(task, round, hints)
                except _NoTask as error:
                    route = "task" if more else None
                    trace.append(RoundRecord(task_round=round, revisions=error.revisions, route=route, error=str(error)))
                    task, round, hints, reason = None, round + 1, (*hints, *error.faults), error.reason
                    continue
            assert task is not None
            tried = self._search.run(task, reference, advice, derive(self._seed, "search", number))
            found = next((each for each in tried if each.record.verified), None) or max(tried, key=lambda each: each.promise)
            best = task, found
            entry = RoundRecord(task_round=round, revisions=revisions, attempts=tuple(each.record for each in tried))
            if self._accepts(found):
                return self._outcome(best, None, [*trace, entry])
            reason = ", ".join(reason.split(":")[0] for reason in found.verdict.reasons)
            entry = self._diagnosed(task, found, number, entry) if more else entry
            trace.append(entry)
            said = (entry.feedback,) if entry.feedback else ()
            if entry.route == "task":
                task, reference, round, hints, advice = None, None, round + 1, (*hints, *said), ()
            else:
                advice = (*advice, *said)
        return self._outcome(best, reason, trace)

    def _initialised(self, task: Task | None, round: int, hints: tuple[str, ...]) -> tuple[Task, Replayed, int]:
        """A task whose reference executes, its replay, and how often it was revised. Raises _NoTask."""
        given, faults = task, ()
        for revision in range(1 if given else self._revisions + 1):
            task = given or self._grounded(round, revision, (*hints, *faults))
            try:
                with self._lend() as env:
                    replayed = replay(env, self._library, task, task.reference)
            except ValueError as error:
                faults = (f"task cannot begin: {error}",)
                continue
            faults = tuple(f"reference fails: {line}" for line in replayed.errors)
            if not faults or self._validity == "none":
                return task, replayed, revision
        raise _NoTask(faults[0].split(":")[0], "; ".join(faults), revision, faults)

    def _grounded(self, round: int, revision: int, hints: tuple[str, ...]) -> Task:
        try:
            with self._lend() as env:
                env.reset()
                return self._roles.ground(self._blueprint, env, round, hints, derive(self._seed, "ground", round, revision))
        except RoleFailed as error:
            raise _NoTask("no task", str(error), revision) from None

    def _diagnosed(self, task: Task, found: Tried, number: int, entry: RoundRecord) -> RoundRecord:
        evidence = found.verdict.evidence
        try:
            diagnosis = self._roles.diagnose(task, found.demonstration, evidence, derive(self._seed, "diagnose", number))
        except RoleFailed as error:
            return entry.model_copy(update={"route": "task" if evidence.errors else "solution", "error": str(error)})
        return entry.model_copy(update={"route": diagnosis.route, "feedback": diagnosis.feedback})

    def _accepts(self, found: Tried) -> bool:
        return found.verdict.accepted or (self._validity == "none" and found.demonstration.stop != "error")

    def _outcome(self, best: tuple[Task, Tried] | None, reason: str | None, trace: list[RoundRecord]) -> Outcome:
        task, found = best or (None, None)
        return Outcome(
            blueprint=self._blueprint.id,
            accepted=reason is None,
            verified=found is not None and found.verdict.accepted,
            round=task.round if task else 0,
            reason=reason,
            task=task,
            demonstration=found.demonstration if found else None,
            realised=found.verdict.realised if found else (),
            do_nothing=found is not None and found.verdict.do_nothing,
            trace=tuple(trace),
        )
