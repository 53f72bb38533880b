from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from gradus_stub import Environment, Segment, reservation

from selfevolve import environments, paths
from selfevolve.gradus import operators
from selfevolve.gradus.expressions import MISSING, EvaluationError, Expression
from selfevolve.gradus.operators import Library, LibraryError, Undetermined, Unit

AIRLINE = Path(__file__).with_name("airline_cancel.yaml")
OLD, RECENT = "2024-05-01T10:00:00", "2024-05-15T14:00:00"
FLIGHTS = {
    "HAT1": {
        "dates": {
            "2024-05-20": {"status": "available"},
            "2024-05-15": {"status": "flying"},
            "2024-05-19": {"status": "cancelled"},
        }
    },
}


@pytest.fixture(scope="module")
def library() -> Library:
    return operators.load_file(AIRLINE)


def airline(**changes: Any) -> Environment:
    return Environment({"flights": FLIGHTS, "reservations": {"R": reservation(**changes)}})


def trip(*dates: str) -> list[Segment]:
    return [Segment(flight_number="HAT1", date=date) for date in dates]


BASE = {("cancel.exists", "found"), ("cancel.unflown", "unflown"), ("cancel.owner", "own"), ("cancel.confirmed", "yes")}
TOLD = {"user_id": "mia", "confirmed": True}


@pytest.mark.parametrize(
    ("changes", "facts", "outcomes", "violations", "undetermined"),
    [
        ({}, {"reason": "health"}, {"none"}, ("cancel.trigger",), ()),  # blocked: old, economy, uninsured (A.7, depth 0)
        ({}, {}, {"none"}, ("cancel.trigger",), ()),  # whatever the reason
        ({"cabin": "business"}, {}, {"business"}, (), ()),  # after the upgrade (A.7, depth 1)
        ({"insurance": "yes"}, {"reason": "health"}, {"insured"}, (), ()),
        ({"insurance": "yes"}, {"reason": "change_of_plan"}, {"none"}, ("cancel.trigger",), ()),
        ({"insurance": "yes"}, {}, set(), (), ("insured", "none")),  # the reason decides
        ({"insurance": "yes", "cabin": "business"}, {}, {"business"}, (), ("insured",)),
        ({"created_at": RECENT}, {}, {"24h"}, (), ()),
        ({"flights": trip("2024-05-20", "2024-05-19")}, {}, {"airline"}, (), ()),
        (
            {"flights": trip("2024-05-19"), "cabin": "business", "insurance": "yes", "created_at": RECENT},
            {"reason": "weather"},
            {"24h", "airline", "business", "insured"},
            (),
            (),
        ),
    ],
)
def test_the_cancellation_of_the_paper(
    library: Library, changes: dict, facts: dict, outcomes: set, violations: tuple, undetermined: tuple
) -> None:
    judgement = library.judge(airline(**changes), "cancel_reservation", {"reservation_id": "R"}, {**TOLD, **facts})
    assert judgement.units == {Unit(*pair) for pair in BASE | {("cancel.trigger", outcome) for outcome in outcomes}}
    assert judgement.violations == violations
    assert judgement.undetermined == tuple(Undetermined("cancel.trigger", outcome, ("reason",)) for outcome in undetermined)
    assert judgement.rejections == ()


@pytest.mark.parametrize("date", ["2024-05-15", "2024-05-10"])  # flying; left before the dates the flight still lists
def test_a_flown_segment_breaks_another_policy(library: Library, date: str) -> None:
    judgement = library.judge(airline(cabin="business", flights=trip(date)), "cancel_reservation", {"reservation_id": "R"}, TOLD)
    assert judgement.violations == ("cancel.unflown",)
    assert {("cancel.unflown", "flown"), ("cancel.trigger", "business")} <= judgement.units


def test_what_the_api_refuses_is_no_violation(library: Library) -> None:
    judgement = library.judge(airline(), "cancel_reservation", {"reservation_id": "Q"}, TOLD)
    assert judgement.units == {
        ("cancel.exists", "absent"),
        ("cancel.confirmed", "yes"),
    }  # all that is about the reservation is off
    assert judgement.rejections == ("cancel.exists",)
    assert judgement.violations == () and judgement.undetermined == ()
    assert library.judge(airline(), "cancel_reservation", {}, TOLD).rejections == ()


def test_nothing_told(library: Library) -> None:
    judgement = library.judge(airline(), "cancel_reservation", {"reservation_id": "R"})
    assert judgement.undetermined == (
        Undetermined("cancel.owner", "own", ("user_id",)),
        Undetermined("cancel.owner", "foreign", ("user_id",)),
        Undetermined("cancel.confirmed", "yes", ("confirmed",)),
        Undetermined("cancel.confirmed", "no", ("confirmed",)),
    )
    told = library.judge(airline(), "cancel_reservation", {"reservation_id": "R"}, {"user_id": None, "confirmed": None})
    assert told == judgement


def test_several_violations(library: Library) -> None:
    facts = {"user_id": "noah", "confirmed": False}
    judgement = library.judge(airline(flights=trip("2024-05-15")), "cancel_reservation", {"reservation_id": "R"}, facts)
    assert judgement.violations == ("cancel.confirmed", "cancel.owner", "cancel.trigger", "cancel.unflown")


def test_judging_reads_only(library: Library) -> None:
    env = airline()
    before, arguments = pickle.dumps(env.state), {"reservation_id": "R"}
    library.judge(env, "cancel_reservation", arguments, TOLD)
    assert pickle.dumps(env.state) == before and arguments == {"reservation_id": "R"}


def test_a_judgement_is_of_the_current_state(library: Library) -> None:
    env = airline()
    assert library.judge(env, "cancel_reservation", {"reservation_id": "R"}, TOLD).violations
    env.state["reservations"]["R"].cabin = "business"
    assert not library.judge(env, "cancel_reservation", {"reservation_id": "R"}, TOLD).violations


def test_effects_and_parameters(library: Library) -> None:
    operator = library.operators["cancel_reservation"]
    assert operator.kind == "write" and operator.requestor == "assistant"
    effect, refunds = operator.guards[0].effects
    assert (effect.path.path, refunds.path.path) == ("reservations.*.status", "reservations.*.payments")
    assert refunds.value is None
    env = airline()
    context = library.context(env, "cancel_reservation", {"reservation_id": "R"})
    assert effect.value.evaluate(context) == "cancelled" and effect.path.evaluate(context) is None
    env.state["reservations"]["R"].status = "cancelled"
    assert effect.path.evaluate(library.context(env, "cancel_reservation", {"reservation_id": "R"})) == "cancelled"
    values = operator.parameters["reservation_id"].values
    assert values.evaluate(library.context(env, "cancel_reservation", {})) == ["R"]
    assert operator.let["reservation"].evaluate(library.context(env, "cancel_reservation", {})) is MISSING


def test_guard_expressions_tell_what_they_need(library: Library) -> None:
    guards = {guard.unit: guard for guard in library.operators["cancel_reservation"].guards}
    insured = guards["cancel.trigger", "insured"].expression
    assert (
        insured.reads == {"reservations.*.insurance"} and insured.facts == {"reason"} and insured.arguments == {"reservation_id"}
    )
    listed = guards["cancel.list", "listed"]
    assert listed.when is None and listed.expression is None


def test_a_let_is_evaluated_once(library: Library) -> None:
    class Counted(dict):
        looked = 0

        def __getitem__(self, key: str) -> Any:
            type(self).looked += 1
            return super().__getitem__(key)

    env = Environment({"flights": FLIGHTS, "reservations": Counted(R=reservation(cabin="business"))})
    library.judge(env, "cancel_reservation", {"reservation_id": "R"}, TOLD)
    assert Counted.looked == 1


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"mood": "bad"}, "test/airline has no fact 'mood'; it has confirmed, reason, user_id"),
        (
            {"reason": "boredom"},
            "the fact 'reason' of test/airline is one of 'change_of_plan', 'airline_cancelled', .*, not 'boredom'",
        ),
        ({"confirmed": "yes"}, "the fact 'confirmed' of test/airline is a value of type boolean, not 'yes'"),
        ({"user_id": 1}, "of type string, not 1"),
    ],
)
def test_bad_facts(library: Library, facts: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        library.judge(airline(), "cancel_reservation", {"reservation_id": "R"}, facts)


def test_unknown_action(library: Library) -> None:
    with pytest.raises(KeyError) as caught:
        library.judge(airline(), "cancel", {})
    assert str(caught.value) == "test/airline has no operator for 'cancel'; it has cancel_reservation"


def test_too_much_work_names_the_guard(library: Library, tmp_path: Path) -> None:
    endless = "sum(1 for x in range(9999) for y in range(9999)) > 0"
    text = AIRLINE.read_text().replace("reservation_id in reservations", endless, 1)
    path = tmp_path / "slow.yaml"
    path.write_text(text)
    with pytest.raises(
        EvaluationError, match="operator cancel_reservation: guard cancel.exists/found: .* more than 200,000 steps"
    ):
        operators.load_file(path).judge(airline(), "cancel_reservation", {"reservation_id": "R"})


def test_a_library_cannot_be_changed(library: Library) -> None:
    with pytest.raises(TypeError):
        library.operators["x"] = None
    with pytest.raises(AttributeError):
        library.operators["cancel_reservation"].guards[0].verdict = "deny"
    expression = library.operators["cancel_reservation"].guards[0].expression
    assert isinstance(expression, Expression) and copy.copy(expression).text == expression.text


def test_load_by_domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "DATA", tmp_path)
    folder = tmp_path / "operators"
    folder.mkdir()
    with pytest.raises(FileNotFoundError, match=r"test-airline.yaml is missing \(libraries there: none\); `dvc pull data.dvc`"):
        operators.load("test/airline")
    (folder / "test-airline.yaml").write_text(AIRLINE.read_text())
    assert operators.load("test/airline").domain == "test/airline"
    (folder / "test-retail.yaml").write_text(AIRLINE.read_text())
    with pytest.raises(LibraryError, match="domain: is 'test/airline', but the file is that of 'test/retail'"):
        operators.load("test/retail")
    with pytest.raises(FileNotFoundError, match="libraries there: test-airline, test-retail"):
        operators.load("test/telecom")


def test_what_the_agent_does_of_its_own_accord_is_part_of_a_library() -> None:
    desk = operators.load("desk")
    assert desk.conduct.enabling == ("free", "pay", "up") and desk.conduct.actions == {"refuse", "done"}
    assert desk.conduct.refused is not None and dict(desk.conduct.refused.facts) == {"goal": "action"}
    assert desk.facts["pending"].source == "requests" and desk.facts["days"].source == "user"
    environment = environments.load("desk")
    (choice,) = desk.settable
    context = desk.context(environment, "done", {})
    values = {name: list(expression.evaluate(context)) for name, expression in choice.arguments.items()}
    environment.reset(
        [
            {"env_type": choice.env_type, "func_name": choice.func_name, "arguments": dict(zip(values, picked, strict=True))}
            for picked in zip(*(each[:2] for each in values.values()), strict=True)
        ]
    )
    assert environment.state["bookings"]["b11"]["plan"] == "plus"


def test_most_libraries_say_nothing_of_the_agents_conduct(library: Library) -> None:
    assert library.conduct == operators.Conduct() and not library.conduct.actions and not library.settable
    assert all(fact.scope == "call" and fact.source == "user" for fact in library.facts.values())


def test_facts_told_once_hold_for_the_whole_conversation() -> None:
    once = {
        domain: {name for name, fact in operators.load(domain).facts.items() if fact.scope == "conversation"}
        for domain in ("desk", "tau2/airline", "tau2/retail", "tau2/telecom")
    }
    assert once == {
        "desk": set(),
        "tau2/airline": {"user_id"},
        "tau2/retail": {"user_id", "authenticated_by"},
        "tau2/telecom": {"customer_id", "phone_number"},
    }
