"""The paper's worked example (A.7) through the loop, in the real airline and with the paper's own reservations.

Initialization tells the paper's story, round by round; user, agent, evaluator and diagnosis are the scripted ones. Round 0: reservation 9FNHDR
was taken for flown, but the airline has cancelled its first flight. Round 1: the user of a truly flown reservation has left open which
cabin the replacement may be in, so that it can be booked. Round 2: the request is explicit.

Abridged: no request for compensation, no conditions on prices; and what is open in round 1 is the cabin, not whether to change planes.
"""

from __future__ import annotations

import functools

import played
import pytest
from played import step

from selfevolve.gradus.blueprints import Blueprint, Call
from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.recovery import Outcome, Recovery, recover
from selfevolve.gradus.replay import Replayed, replay
from selfevolve.gradus.roles import Diagnosis, Evaluation, Evidence
from selfevolve.gradus.scripted.judging import Judge
from selfevolve.gradus.scripted.language import Language
from selfevolve.gradus.scripted.permitting import Permits
from selfevolve.gradus.scripted.phrases import Cannot, Request, Told, Whichever
from selfevolve.gradus.scripted.script import Ask, Script, Scripts
from selfevolve.gradus.scripted.settings import FAULTLESS
from selfevolve.gradus.scripted.solving import Agent
from selfevolve.gradus.scripted.user import User
from selfevolve.gradus.tasks import Demonstration, Refusal, Task

AIRLINE = "tau2/airline"
SETTINGS = Recovery(rounds=4, branches=1, attempts=3, revisions=1, max_turns=120, scouts=1)
DIRECT = {"flight_number": "HAT105", "date": "2024-05-17"}  # Denver to Chicago; no seat in economy

# upgrade(A) -> cancel(A), which is blocked at first; cancel(C); refuse cancel(D); update_baggage(B); refuse the replacement.
PLAN = Blueprint(
    domain=AIRLINE,
    parent=None,
    depth=5,
    kernels=("causal", "parallel", "causal", "repetition"),
    interactions=(),
    goal="cancel all my reservations except B, add bags to B, and travel from Denver to Chicago instead",
    steps=(
        step("refuse", "cancel_reservation", "cancel.trigger/none"),
        step("perform", "update_reservation_flights", "flights.cabin/unflown", "flights.price/higher"),
        step("perform", "cancel_reservation", "cancel.trigger/business").model_copy(update={"after": (1,)}),
        step("perform", "cancel_reservation", "cancel.trigger/business", entity="C"),
        step("refuse", "cancel_reservation", "cancel.flown/flown", entity="D"),
        step("perform", "update_reservation_baggages", "bags.allowance/gold/business", "bags.price/charged", entity="B"),
        step("refuse", "book_reservation", "book.availability/no_seats", entity="E"),
    ),
)


class Case:
    """The calls of one user. `kept` gets six bags, of which a gold member in business pays two."""

    def __init__(self, user: str, born: str, card: str, upgraded: str, flights: list[dict], direct: str, flown: str, kept: str):
        yes = {"confirmed": True}
        cancel = functools.partial(played.call, "cancel_reservation", yes | {"reason": "change_of_plan"})
        first, last, _ = user.split("_")
        person = {"first_name": first.capitalize(), "last_name": last.capitalize(), "dob": born}
        self.user = user
        self.bindings = {"A": upgraded, "B": kept, "C": direct, "D": flown, "E": user}
        self.cancel, self.direct, self.flown = (cancel(reservation_id=id) for id in (upgraded, direct, flown))
        self.upgrade = played.call(
            "update_reservation_flights", yes, reservation_id=upgraded, cabin="business", flights=flights, payment_id=card
        )
        self.bags = played.call(
            "update_reservation_baggages", yes, reservation_id=kept, total_baggages=6, nonfree_baggages=2, payment_id=card
        )
        self.replacement = played.call(
            "book_reservation", yes | {"insurance_answer": "no"}, user_id=user, cabin="economy", flights=[DIRECT], origin="DEN",
            destination="ORD", flight_type="one_way", passengers=[person], insurance="no", total_baggages=0, nonfree_baggages=0,
            payment_methods=[{"payment_id": card, "amount": 151}],
        )  # fmt: skip


AMELIA = Case(
    "amelia_khan_8728", "1987-12-21", "credit_card_9827456", upgraded="55VQNU",
    flights=[{"flight_number": "HAT225", "date": "2024-05-17"}], direct="U8XRWI", flown="9FNHDR", kept="6DHUJY",
)  # fmt: skip
SOPHIA = Case(
    "sophia_martin_4574", "1990-10-25", "credit_card_1402274", upgraded="HTR26G",
    flights=[{"flight_number": "HAT300", "date": "2024-05-16"}, {"flight_number": "HAT231", "date": "2024-05-16"}],
    direct="PUNERT", flown="5BGGWZ", kept="MFRB94",
)  # fmt: skip


class Story:
    """All roles: initialization as in the story, the others scripted. `hints`, `tried` and `diagnosed` are what they were asked about."""

    def __init__(self) -> None:
        library = played.library(AIRLINE)
        self._language = Language(library)
        self._scripts, self._user, self._judge = Scripts(self._language), User(self._language), Judge(self._language, misroute=0)
        self._agent = Agent(self._language, Permits(library), FAULTLESS)
        self.hints: list[tuple[str, ...]] = []
        self.tried: list[tuple[Task, Demonstration, Evidence]] = []
        self.diagnosed: list[Demonstration] = []

    def ground(self, blueprint, env, round, feedback, seed) -> Task:
        self.hints.append(tuple(feedback))
        case, any_cabin = ((AMELIA, True), (SOPHIA, True), (SOPHIA, False))[round]
        calls = (case.cancel, case.upgrade, case.cancel, case.direct, case.flown, case.bags)
        asks = [*map(_ask, calls), _ask(case.replacement, ("cabin", "payment_methods") if any_cabin else ())]
        return Task(
            blueprint=PLAN.id,
            round=round,
            scenario=self._scripts.write(Script(tuple(asks), (Told("user_id", case.user),)), PLAN.goal),
            facts={"user_id": case.user},
            reference=(case.upgrade, case.cancel, case.direct, case.bags),
            refusals=(Refusal(call=case.cancel, when="start"), Refusal(call=case.flown), Refusal(call=case.replacement)),
            bindings=case.bindings,
        )

    def user(self, task, blueprint, events, tools, seed):
        return self._user.answer(task, events)

    def act(self, view, feedback, seed):
        done = self._agent.act(view, feedback, seed)
        if len(feedback) < 2 and isinstance(done, Call) and "9FNHDR" in done.arguments.values():
            return self._language.say(
                Cannot("cancel_reservation", {"reservation_id": "9FNHDR"}, "a flight has been flown, by its date")
            )
        return done

    def evaluate(self, task, demonstration, evidence, seed) -> Evaluation:
        self.tried.append((task, demonstration, evidence))
        return self._judge.evaluate(task, demonstration, evidence)

    def diagnose(self, task, demonstration, evidence, seed) -> Diagnosis:
        self.diagnosed.append(demonstration)
        return self._judge.diagnose(task, demonstration, evidence, seed)


def _ask(call: Call, left_open: tuple[str, ...] = ()) -> Ask:
    said = {name: value for name, value in call.arguments.items() if name not in left_open}
    told = [Told(name, value) for name, value in call.facts.items()]
    return Ask(Request(call.name, said), answers=(*told, *map(Whichever, left_open)))


@pytest.fixture(scope="module")
def story() -> Story:
    return Story()


@pytest.fixture(scope="module")
def outcome(story) -> Outcome:
    return recover(PLAN, story, played.lender(AIRLINE), played.library(AIRLINE), SETTINGS, "full", 7)


def replayed(task: Task, calls) -> tuple[Replayed, str]:
    """The replay, and the official hash of its end."""
    env = played.environment(AIRLINE)
    return replay(env, played.library(AIRLINE), task, calls), env.official_hash()


def test_the_task_is_recovered_in_round_2_by_way_of_two_initializations(story, outcome):
    assert outcome.accepted and outcome.verified and outcome.round == 2 and not outcome.do_nothing
    assert [(entry.task_round, entry.route) for entry in outcome.trace] == [(0, "task"), (1, "task"), (2, None)]
    said = [entry.feedback for entry in outcome.trace]
    assert said[0] and said[1] and said[2] is None
    assert story.hints == [(), (said[0],), (said[0], said[1])], "each initialization is told what was wrong with those before"
    assert all(attempt.score is not None for entry in outcome.trace[:2] for attempt in entry.attempts)


def test_in_round_0_a_flight_that_looks_flown_turns_out_to_be_cancelled(story, outcome):
    assert [(each.attempt, each.verified) for each in outcome.trace[0].attempts] == [(0, False), (1, False), (2, False)]
    first, second, third = (tried for tried in story.tried if tried[0].round == 0)
    status = ("get_flight_status", {"flight_number": "HAT277", "date": "2024-05-10"})
    for _, shown, _ in (first, second):
        made = [(call.name, call.arguments) for call in shown.calls]
        assert status not in made and ("cancel_reservation", {"reservation_id": "9FNHDR"}) not in made
    seen = [event.observation for event in third[1].events if event.call and (event.call.name, event.call.arguments) == status]
    assert seen == ["cancelled"], "with the evaluator's advice the recorded status is looked up"
    assert ("cancel_reservation", {"reservation_id": "9FNHDR"}) in [(call.name, call.arguments) for call in third[1].calls]
    evidence = third[2]
    assert not evidence.violations, "the agent is right"
    assert any(
        line.startswith("refusal not called for: cancel_reservation {'reservation_id': '9FNHDR'}") for line in evidence.errors
    )
    assert any(line.startswith("reservations.9FNHDR.status") for line in evidence.differences)
    assert story.diagnosed[0] == third[1] and "9FNHDR" in outcome.trace[0].feedback


def test_in_round_1_what_was_left_open_is_legitimately_booked(story, outcome):
    env = played.environment(AIRLINE)
    env.reset()
    assert env.state["flights"]["HAT231"].dates["2024-05-10"].status == "landed", "the first segment of 5BGGWZ is truly flown"
    _, shown, evidence = next(tried for tried in story.tried if tried[0].round == 1)
    (booked,) = (call for call in shown.calls if call.name == "book_reservation")
    assert booked.arguments["cabin"] != "economy" and booked.arguments["flights"] == [DIRECT]
    assert not evidence.violations and not evidence.errors and not evidence.missing, "both sides are clean, and differ"
    assert evidence.reference_hash != evidence.demonstration_hash
    assert any(line.startswith("reservations.HATHAT") for line in evidence.differences)


def test_the_recovered_task_keeps_the_lesson(outcome):
    wanted, _ = replayed(outcome.task, outcome.task.reference)
    found, _ = replayed(outcome.task, outcome.demonstration.calls)
    business, none = (Branch("cancel_reservation", "cancel.trigger", name) for name in ("business", "none"))
    for side in (wanted, found):
        assert PLAN.branches <= side.realised and not side.violations and not side.errors
        blocked, flown, full = side.refused
        assert none in blocked.branches, "cancel(A) is blocked at the start ..."
        assert sum(business in branches for branches in side.executed) == 2, (
            "... and carried out after the upgrade, as cancel(C) is"
        )
        assert Branch("cancel_reservation", "cancel.flown", "flown") in flown.branches
        assert Branch("book_reservation", "book.availability", "no_seats") in full.branches
    assert PLAN.branches <= set(outcome.realised)
    names = [call.name for call in outcome.demonstration.calls if call.name in {each.name for each in outcome.task.reference}]
    assert names.index("update_reservation_flights") < names.index("cancel_reservation")


def test_both_sides_of_the_recovered_task_end_in_the_same_official_state(outcome):
    (wanted, gold), (found, predicted) = (
        replayed(outcome.task, calls) for calls in (outcome.task.reference, outcome.demonstration.calls)
    )
    env = played.environment(AIRLINE)
    paid = {id: env.state["reservations"][id].payment_history for id in ("HTR26G", "MFRB94")}
    assert predicted == gold and wanted.end_hash == found.end_hash != wanted.start_hash
    assert 273 in [payment.amount for payment in paid["HTR26G"]], "the paper's price of the upgrade"
    assert paid["MFRB94"][-1].amount == 100, "and of the bags"
