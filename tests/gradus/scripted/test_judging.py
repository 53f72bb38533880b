"""The scripted evaluator and diagnosis: routes follow the evidence, feedback keeps the hidden task, the declared rate flips the route."""

from __future__ import annotations

import pytest
from playing import booking, environments, language, library, play, task

from selfevolve.gradus.blueprints import Call
from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.roles import Evidence
from selfevolve.gradus.scripted.judging import Judge
from selfevolve.gradus.tasks import Demonstration

SOUND = Evidence(reference_hash="a", demonstration_hash="a", violations=(), missing=(), differences=(), errors=())
APART = SOUND.model_copy(update={"demonstration_hash": "b", "differences": ("bookings.b17.status",)})
LOOK, EXTEND = Call(name="look", arguments={"id": "b17"}), Call(name="extend", arguments={"id": "b17", "days": 4})
TASK = task('Ask: Please extend, id "b17", days 4.', [booking("b17", "gold", "open", 0, 1)]).model_copy(
    update={"reference": (LOOK, EXTEND)}
)
OPEN = TASK.model_copy(update={"scenario": 'Ask: Please extend, id "b17".\n  When asked: Any days will do.'})


def demonstration(*calls: Call, stop: str = "done") -> Demonstration:
    events = [{"kind": "call", "call": call.model_dump(), "observation": "ok"} for call in calls]
    return Demonstration.model_validate({"task": "t", "round": 0, "branch": 0, "attempt": 0, "events": events, "stop": stop})


def extended(days: int) -> Demonstration:
    return demonstration(LOOK, EXTEND.model_copy(update={"arguments": {"id": "b17", "days": days}}))


@pytest.mark.parametrize(
    ("of", "made", "evidence", "route", "reason"),
    [
        (
            TASK,
            extended(4),
            SOUND.model_copy(update={"errors": ("reference breaks policy: x",)}),
            "task",
            "The reference does not hold",
        ),
        (
            TASK,
            extended(4),
            APART.model_copy(update={"violations": ("extend: extend.due/owing",)}),
            "solution",
            "Something is due",
        ),
        (TASK, demonstration(LOOK), APART, "solution", "left out"),
        (TASK, demonstration(LOOK, EXTEND, stop="max_turns"), APART, "solution", "left out"),
        (TASK, extended(5), APART, "solution", "differ from what the user said"),
        (TASK, extended(4), APART.model_copy(update={"missing": (Branch("a", "b", "c"),)}), "solution", "did not come about"),
        (OPEN, extended(1), APART, "task", "as legitimate"),
    ],
)
def test_the_route_follows_the_evidence(of, made, evidence, route, reason) -> None:
    diagnosis = Judge(language("desk"), 0.0).diagnose(of, made, evidence, 0)
    assert diagnosis.route == route and reason in diagnosis.feedback
    assert Judge(language("desk"), 1.0).diagnose(of, made, evidence, 0).route != route


def test_some_routes_are_wrong_at_the_declared_rate() -> None:
    judge = Judge(language("desk"), 0.3)
    wrong = sum(judge.diagnose(TASK, demonstration(LOOK), APART, seed).route == "task" for seed in range(200))
    assert 40 <= wrong <= 80
    assert wrong == sum(judge.diagnose(TASK, demonstration(LOOK), APART, seed).route == "task" for seed in range(200))


def test_scores_fall_with_what_went_wrong_and_the_feedback_tells_no_secret() -> None:
    judge = Judge(language("desk"), 0.0)
    right = judge.evaluate(TASK, extended(4), SOUND)
    assert (right.action, right.policy, right.communication) == (1, 1, 1)
    broken = judge.evaluate(
        TASK, demonstration(LOOK, stop="max_turns"), APART.model_copy(update={"violations": ("extend: extend.due/owing",) * 2})
    )
    assert broken.action == 0 and broken.policy == 0.25 and broken.communication < 1
    said = [judge.evaluate(TASK, made, APART).feedback for made in (demonstration(LOOK), extended(5), extended(4))]
    assert len(set(said)) == 3 and all(said) and not any("b17" in text or "4" in text for text in said)


def test_a_scenario_in_other_words_is_judged_by_its_reference() -> None:
    other = TASK.model_copy(update={"scenario": "You want your booking extended by four days."})
    assert Judge(language("desk"), 0.0).diagnose(other, extended(5), APART, 0).route == "task"
    assert Judge(language("desk"), 0.0).diagnose(other, demonstration(LOOK), APART, 0).route == "solution"


def test_a_conversation_without_slips_needs_no_advice_but_the_last_resort() -> None:
    events = play("desk", TASK)
    made = Demonstration(task="t", round=0, branch=0, attempt=0, events=events, stop="done")
    assert environments("desk")[0].state["bookings"]["b17"]["extended"] == 4 and "extend" in library("desk").operators
    assert Judge(language("desk"), 0.0).evaluate(TASK, made, SOUND).action == 1
