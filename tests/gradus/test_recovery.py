"""The loop on the desk, with roles that follow scripts: what it asks for, what it accepts, what it records."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import played
import pytest
import recovery_worker
from played import CHAIN, CHAINED, Roles, call, chained, failed

from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.journal import Journal
from selfevolve.gradus.recovery import Outcome, Recovery, recover, recover_all
from selfevolve.gradus.roles import Diagnosis
from selfevolve.gradus.tasks import Refusal

LEND = played.lender("desk")
DESK = played.library("desk")
SMALL = Recovery(rounds=3, branches=2, attempts=3, revisions=1, max_turns=20, scouts=1)

GOOD = CHAINED
BAD = (call("look", id="b10"), call("cancel", id="b10"), played.DONE)  # breaks the policy
UNFIT = chained(refusals=(*chained().refusals, Refusal(call=call("look", id="b11"))))  # wants a permitted call refused
BROKEN = chained(reference=(call("up", id="b10"), call("fly")))
TO_TASK = Diagnosis(route="task", feedback="the task is wrong")
TO_SOLUTION = Diagnosis(route="solution", feedback="look first")


def always(script):
    return lambda feedback: script


def run(roles: Roles, validity: str = "full", settings: Recovery = SMALL, plan=CHAIN, **options) -> Outcome:
    found = recover(plan, roles, LEND, DESK, settings, validity, 7, **options)
    assert (found.reason is None) == found.accepted, "a drop is never without a reason"
    return found


def places(found: Outcome, number: int = -1) -> list[tuple[int, int, bool]]:
    return [(each.attempt, each.branch, each.verified) for each in found.trace[number].attempts]


# A round.


def test_what_verifies_at_once_is_accepted_in_round_0():
    roles = Roles([chained()], always(GOOD))
    found = run(roles)
    assert found.accepted and found.verified and found.round == 0 and not found.do_nothing
    assert found.task == chained() and found.demonstration.calls == GOOD and CHAIN.branches <= set(found.realised)
    assert (found.demonstration.branch, found.demonstration.attempt) == (0, 0)
    assert places(found) == [(0, 0, True), (0, 1, True)], "the first attempts are all made"
    assert len(found.trace) == 1 and found.trace[0].route is None and found.trace[0].feedback is None
    assert roles.asked("ground") == [(0, ())] and not roles.asked("evaluate") and not roles.asked("diagnose")


def test_retries_are_guided_by_what_was_said_of_their_own_branch():
    def agent(feedback):
        assert len({text.split()[-1] for text in feedback}) <= 1, "one branch does not hear what was said of another"
        return GOOD if len(feedback) == 2 and feedback[0].endswith("branch 1") else BAD

    roles = Roles([chained()], agent)
    found = run(roles)
    assert places(found) == [(0, 0, False), (0, 1, False), (1, 0, False), (1, 1, False), (2, 0, False), (2, 1, True)]
    assert (found.demonstration.branch, found.demonstration.attempt) == (1, 2)
    assert ("after attempt 0 of branch 1", "after attempt 1 of branch 1") in [asked[0] for asked in roles.asked("act")]
    assert [each.score for each in found.trace[0].attempts] == [0.5] * 5 + [None]
    assert found.trace[0].attempts[0].reasons[0].startswith("demonstration breaks policy: cancel: cancel.plan/aged_basic")


def test_later_attempts_stop_at_the_first_that_verifies():
    found = run(Roles([chained()], lambda feedback: GOOD if feedback else BAD))
    assert places(found) == [(0, 0, False), (0, 1, False), (1, 0, True)]


def test_the_best_scored_attempt_is_diagnosed():
    roles = Roles(
        [chained()], always(BAD), lambda shown: 0.9 if (shown.branch, shown.attempt) == (1, 1) else 0.1, [TO_SOLUTION] * 2
    )
    found = run(roles)
    assert roles.asked("diagnose") == [(1, 1), (1, 1)]
    assert not found.accepted and (found.demonstration.branch, found.demonstration.attempt) == (1, 1)


def test_of_equally_scored_attempts_the_best_advised_is_diagnosed():
    roles = Roles([chained()], always(BAD), routes=[TO_SOLUTION] * 2)
    assert not run(roles).accepted and roles.asked("diagnose") == [(0, 2), (0, 2)]


# Routes.


def test_a_flawed_task_is_initialized_again_with_what_the_diagnosis_said():
    roles = Roles([UNFIT, chained()], lambda feedback: GOOD, routes=[TO_TASK])
    found = run(roles)
    assert found.accepted and found.round == 1 == found.task.round == found.demonstration.round
    assert roles.asked("ground") == [(0, ()), (1, ("the task is wrong",))]
    assert [(entry.task_round, entry.route, entry.feedback) for entry in found.trace] == [
        (0, "task", TO_TASK.feedback),
        (1, None, None),
    ]
    assert all("refusal not called for" in each.reasons[0] for each in found.trace[0].attempts)


def test_advice_to_initialization_is_kept_and_that_to_the_agent_forgotten_with_the_task():
    again = Diagnosis(route="task", feedback="still wrong")
    roles = Roles([UNFIT, UNFIT, chained()], always(GOOD), routes=[TO_TASK, again])
    assert run(roles).round == 2
    assert roles.asked("ground")[-1] == (2, ("the task is wrong", "still wrong"))
    firsts = [asked[0] for asked in roles.asked("act")]
    assert firsts.count(()) == 6, "two branches of three rounds begin without advice"


def test_a_flawed_solution_is_searched_on_for_the_same_task():
    roles = Roles([chained()], lambda feedback: GOOD if "look first" in feedback else BAD, routes=[TO_SOLUTION])
    found = run(roles)
    assert found.accepted and found.round == 0 and roles.asked("ground") == [(0, ())]
    assert [entry.route for entry in found.trace] == ["solution", None] and [entry.task_round for entry in found.trace] == [0, 0]
    assert places(found) == [(0, 0, True), (0, 1, True)]


def test_when_no_round_is_left_the_failed_checks_are_the_reason():
    roles = Roles([UNFIT], always(BAD), routes=[TO_TASK, TO_SOLUTION])
    found = run(roles)
    assert not found.accepted and not found.verified
    assert found.reason == "refusal not called for, demonstration breaks policy, demonstration misses, states differ"
    assert [entry.route for entry in found.trace] == ["task", "solution", None], "nothing is diagnosed that goes nowhere"
    assert found.task is not None and found.demonstration is not None and found.round == 1


# Initialization.


def test_a_reference_that_does_not_execute_is_revised_within_the_round():
    roles = Roles([BROKEN, chained()], always(GOOD))
    found = run(roles)
    assert found.accepted and found.round == 0 and found.trace[0].revisions == 1
    (_, first), (round, second) = roles.asked("ground")
    assert first == () and round == 0
    assert second == ("reference fails: fly: no",)  # what breaks the policy is left to verification


def test_when_the_revisions_are_used_up_the_round_is_and_the_next_is_told():
    roles = Roles([BROKEN, BROKEN, chained()], always(GOOD))
    found = run(roles)
    assert found.accepted and found.round == 1
    first = found.trace[0]
    assert (first.task_round, first.revisions, first.route, first.attempts) == (0, 1, "task", ())
    assert "reference fails: fly: no" in first.error
    assert "reference fails: fly: no" in roles.asked("ground")[2][1]


@pytest.mark.parametrize(
    "task, reason",
    [
        (failed("ground: no entities realise it"), "no task"),
        (BROKEN, "reference fails"),
        (chained(init_actions=({"env_type": "assistant", "func_name": "burn", "arguments": {}},)), "task cannot begin"),
    ],
)
def test_a_blueprint_that_is_never_initialized_is_dropped_with_a_reason(task, reason):
    found = run(Roles([task], always(GOOD)))
    assert not found.accepted and found.reason == reason
    assert found.task is None and found.demonstration is None and found.realised == ()
    assert len(found.trace) == 3 and all(entry.error and not entry.attempts for entry in found.trace)
    assert [entry.route for entry in found.trace] == ["task", "task", None]


def test_a_given_task_is_not_initialized_and_not_revised():
    roles = Roles([chained()], always(GOOD))
    assert run(roles, task=chained(scenario="given")).task.scenario == "given" and not roles.asked("ground")
    roles = Roles([chained()], always(GOOD))
    found = run(roles, task=BROKEN)
    assert found.round == 1 and found.trace[0].revisions == 0 and found.trace[0].error
    assert [round for round, _ in roles.asked("ground")] == [1]


# Roles without an answer.


def test_a_role_that_fails_costs_its_attempt_or_round_and_is_recorded():
    failing = lambda feedback: (failed("act: nonsense"),) if not feedback else GOOD  # noqa: E731
    found = run(Roles([chained()], failing))
    assert found.accepted and places(found)[-1] == (1, 0, True)
    assert "conversation not ended: act: nonsense" in found.trace[0].attempts[0].reasons

    silent = run(Roles([chained()], always(BAD), lambda shown: failed("evaluate: nonsense"), [TO_SOLUTION] * 2))
    assert "not evaluated: evaluate: nonsense" in silent.trace[0].attempts[0].reasons
    assert "evaluate" not in silent.reason and silent.trace[0].attempts[0].score is None


@pytest.mark.parametrize("task, script, route", [(UNFIT, GOOD, "task"), (chained(), BAD, "solution")])
def test_without_a_diagnosis_the_evidence_routes(task, script, route):
    roles = Roles([task], always(script), routes=[failed("diagnose: nonsense")] * 2)
    found = run(roles)
    assert [entry.route for entry in found.trace] == [route, route, None]
    assert found.trace[0].error == "diagnose: nonsense" and found.trace[0].feedback is None


def test_the_failures_of_an_endpoint_propagate():
    class Down(RuntimeError):
        pass

    for roles in (Roles([Down()], always(GOOD)), Roles([chained()], always((Down(),)))):
        for workers in (1, 2):
            with pytest.raises(Down):
                run(roles, workers=workers)


# Validity ablations.


def test_reflection_retries_but_does_not_initialize_again():
    roles = Roles([UNFIT, chained()], always(GOOD), routes=[TO_TASK])
    found = run(roles, "reflection")
    assert not found.accepted and len(found.trace) == 1 and len(found.trace[0].attempts) == 6
    assert len(roles.asked("ground")) == 1 and not roles.asked("diagnose")
    assert run(Roles([chained()], lambda feedback: GOOD if feedback else BAD), "reflection").accepted


def test_parallel_makes_one_attempt_per_branch_without_evaluator():
    roles = Roles([chained()], lambda feedback: GOOD if feedback else BAD)
    found = run(roles, "parallel")
    assert not found.accepted and places(found) == [(0, 0, False), (0, 1, False)] and not roles.asked("evaluate")
    assert run(Roles([chained()], always(GOOD)), "parallel").accepted


def test_reject_keeps_one_rollout_only_if_it_verifies():
    assert places(run(Roles([chained()], always(GOOD)), "reject")) == [(0, 0, True)]
    found = run(Roles([chained()], always(BAD)), "reject")
    assert not found.accepted and places(found) == [(0, 0, False)]


def test_none_takes_the_first_rollout_and_says_what_verification_would_have():
    roles = Roles([BROKEN], always(BAD))
    found = run(roles, "none")
    assert found.accepted and not found.verified and len(roles.asked("ground")) == 1
    assert "reference fails" in found.trace[0].attempts[0].reasons[0] and len(found.trace[0].attempts) == 1
    assert run(Roles([chained()], always(GOOD)), "none").verified
    broken_off = run(Roles([chained()], always((failed(),))), "none")
    assert not broken_off.accepted and "conversation not ended" in broken_off.reason


# Threads, and many blueprints.


def by_chance(seed: int) -> Roles:
    return recovery_worker.roles(seed)


def test_the_outcome_does_not_depend_on_threads():
    plans = recovery_worker.blueprints(12)
    settings = SMALL.model_copy(update={"branches": 4})
    runs = []
    for workers in (1, 4):
        runs.append([recover(plan, by_chance(5), LEND, DESK, settings, "full", 7, workers=workers) for plan in plans])
    assert runs[0] == runs[1]
    together = recover_all(plans, by_chance(5), LEND, DESK, settings, "full", 7, Journal(None), workers=4)
    assert together == runs[0]
    assert {len(found.trace) for found in together} > {1} and {found.accepted for found in together} == {True, False}


def test_another_seed_gives_other_attempts():
    plans = recovery_worker.blueprints(6)
    first, again, other = (recover_all(plans, by_chance(5), LEND, DESK, SMALL, "full", seed, Journal(None)) for seed in (7, 7, 8))
    assert first == again != other


def test_what_is_journaled_is_not_made_again_and_reads_back_equal(tmp_path):
    plans = recovery_worker.blueprints(6)
    counts: list[int] = []
    with Journal(tmp_path / "j") as journal:
        made = recover_all(plans[:4], by_chance(5), LEND, DESK, SMALL, "full", 7, journal, done=counts.append)
        assert counts == [1, 2, 3, 4] and len(journal) == 4 and plans[0].id in journal
    with Journal(tmp_path / "j") as journal:
        roles = Roles([failed("asked again")], always(GOOD))
        assert recover_all(plans[:4], roles, LEND, DESK, SMALL, "full", 7, journal) == made
        more = recover_all(plans, by_chance(5), LEND, DESK, SMALL, "full", 7, journal)
    assert more[:4] == made and [found.blueprint for found in more] == [plan.id for plan in plans]


def test_a_blueprint_that_comes_twice_is_made_once():
    roles = Roles([chained()], always(GOOD))
    first, second = recover_all([CHAIN, CHAIN], roles, LEND, DESK, SMALL, "full", 7, Journal(None), workers=2)
    assert first == second and len(roles.asked("ground")) == 1


def test_first_tasks_are_given_by_blueprint():
    roles = Roles([RoleFailed("not asked")], always(GOOD))
    (found,) = recover_all([CHAIN], roles, LEND, DESK, SMALL, "reject", 7, Journal(None), tasks={CHAIN.id: chained()})
    assert found.accepted and found.task == chained()


def test_a_failure_leaves_what_was_done_in_the_journal():
    class Down(RuntimeError):
        pass

    plans = recovery_worker.blueprints(5)
    for workers in (1, 3):
        sound, journal = by_chance(5), Journal(None)
        ground = sound.ground

        def down(blueprint, *rest, ground=ground):
            if blueprint.id == plans[3].id:
                raise Down("no connection")
            return ground(blueprint, *rest)

        sound.ground = down
        with pytest.raises(Down):
            recover_all(plans, sound, LEND, DESK, SMALL, "full", 7, journal, workers=workers)
        assert all(plan.id in journal for plan in plans[:3]) and plans[3].id not in journal
        resumed = recover_all(plans, by_chance(5), LEND, DESK, SMALL, "full", 7, journal)
        assert resumed == recover_all(plans, by_chance(5), LEND, DESK, SMALL, "full", 7, Journal(None))


def test_a_run_killed_at_any_instant_goes_on_to_the_same_outcomes(tmp_path):
    worker, journal = Path(recovery_worker.__file__), tmp_path / "journal.jsonl"
    for line in sorted(random.Random(0).sample(range(1, recovery_worker.COUNT // 2), 3)):
        process = _start(worker, journal)
        while not journal.exists() or journal.read_bytes().count(b"\n") < line:
            assert process.poll() is None
            time.sleep(0.001)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    with Journal(journal) as found:
        left = recovery_worker.COUNT - len(found)
    assert 0 < left < recovery_worker.COUNT, "it was killed on the way"
    finished = _start(worker, journal)
    out, _ = finished.communicate(timeout=60)
    assert finished.returncode == 0 and out == f"made {left}\n", "what was done is not done again"
    with Journal(journal) as found:
        resumed = [Outcome.model_validate(found.get(plan.id)) for plan in recovery_worker.blueprints(recovery_worker.COUNT)]
    assert resumed == recovery_worker.run(Journal(None))


def _start(worker: Path, journal: Path) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, str(worker), str(journal)], stdout=subprocess.PIPE, text=True)
