"""Scripted initialization: what can be realised is, with a reference that verification confirms; slips are defects that it finds."""

from __future__ import annotations

import random

import pytest
from playing import DOMAINS, EXACT, agent, blueprint, calls, environments, grounder, language, library, play, step

from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.scripted.phrases import Nth, Sum, Whichever
from selfevolve.gradus.scripted.script import Scripts
from selfevolve.gradus.scripted.settings import FAULTLESS, GroundingSlips
from selfevolve.gradus.tasks import Demonstration
from selfevolve.gradus.verification import verify

SLIP = GroundingSlips(base=1, per_depth=0, learning=0.5)

PLANS = {
    "desk": [
        blueprint("desk", step("refuse", "cancel", "A", "cancel.status/live"), step("perform", "swap", "B", "swap.plan/gold")),
        blueprint(
            "desk",
            step("refuse", "cancel", "A", "cancel.plan/aged_basic"),
            step("perform", "up", "A", "up.booking/basic", after=(0,)),
            step("perform", "pay", "A", "pay.booking/owing", after=(1,)),
            step("perform", "cancel", "A", "cancel.plan/plus", "cancel.due/clear", after=(2,)),
        ),
        blueprint("desk", step("perform", "extend", "A", "extend.days/gold"), interactions=("ambiguity", "indirect_reference")),
        blueprint("desk", step("refuse", "swap", "A", "swap.booking/gone"), interactions=("pressure", "reasoning")),
        blueprint("desk", step("refuse", "up", "A", "up.booking/unknown"), step("perform", "pay", "B", "pay.amount/late_fee")),
    ],
    "tau2/airline": [
        blueprint(
            "tau2/airline",
            step("refuse", "cancel_reservation", "A", "cancel.trigger/none"),
            step("perform", "update_reservation_flights", "A", "flights.cabin/unflown", after=(0,)),
            step("perform", "cancel_reservation", "A", "cancel.trigger/business", after=(1,)),
            step("perform", "update_reservation_baggages", "B", "bags.price/charged"),
            interactions=("pressure", "ambiguity"),
        ),
        blueprint("tau2/airline", step("perform", "book_reservation", "A", "book.insurance/bought"), interactions=("reasoning",)),
        blueprint("tau2/airline", step("refuse", "cancel_reservation", "A", "cancel.flown/flown"), interactions=("pressure",)),
        blueprint("tau2/airline", step("refuse", "cancel_reservation", "A", "cancel.identity/other")),
        blueprint("tau2/airline", step("refuse", "update_reservation_passengers", "A", "passengers.exists/unknown")),
    ],
    "tau2/retail": [
        blueprint(
            "tau2/retail",
            step("perform", "modify_pending_order_items", "A", "items.difference/to_pay"),
            step("refuse", "cancel_pending_order", "A", "cancel.status/items_modified", after=(0,)),
            step("perform", "return_delivered_order_items", "B", "return.refund/original"),
        ),
        blueprint(
            "tau2/retail",
            step("refuse", "cancel_pending_order", "A", "cancel.identity/claimed"),
            step("perform", "modify_user_address", "B", "user_address.owner/own"),
        ),
        blueprint("tau2/retail", step("refuse", "get_order_details", "A", "order_details.owner/other")),
    ],
    "tau2/telecom": [
        blueprint("tau2/telecom", step("perform", "make_payment", "A", "payment.make/pays")),
        blueprint(
            "tau2/telecom",
            step("perform", "enable_roaming", "A", "roaming.enable/abroad"),
            step("perform", "toggle_data", "B", "data.switch/turns_on"),
        ),
        blueprint(
            "tau2/telecom", step("refuse", "refuel_data", "A", "refuel.maximum/above"), interactions=("ambiguity", "pressure")
        ),
        blueprint("tau2/telecom", step("refuse", "resume_line", "A", "identity/unidentified")),
    ],
}
CASES = [(domain, number) for domain in DOMAINS for number in range(len(PLANS[domain]))]


def found(domain: str, plan, task) -> tuple[bool, tuple[str, ...]]:
    """What verification says of the faultless agent's conversation."""
    events = play(domain, task, agent(domain, FAULTLESS), most=120)
    demonstration = Demonstration(task=plan.id, round=0, branch=0, attempt=0, events=events, stop="done")
    verdict = verify(environments(domain)[0], library(domain), plan, task, demonstration)
    return verdict.accepted, verdict.reasons


@pytest.mark.parametrize(("domain", "number"), CASES)
def test_what_is_initialized_without_slips_is_accepted(domain: str, number: int) -> None:
    plan, env = PLANS[domain][number], environments(domain)[0]
    for seed in range(3):
        task = grounder(domain).ground(plan, env, 0, (), seed)
        assert found(domain, plan, task) == (True, ())
        assert set(task.bindings) <= {each.entity for each in plan.steps} and task.blueprint == plan.id
    assert grounder(domain).ground(plan, env, 1, (), 2) == task.model_copy(update={"round": 1})


def test_a_task_does_not_depend_on_what_was_asked_before() -> None:
    env, plans = environments("desk")[0], PLANS["desk"]
    alone = [grounder("desk").ground(plan, env, 0, (), 5) for plan in plans]
    together = grounder("desk")
    order = random.Random(0).sample(range(len(plans)), len(plans))
    assert {number: together.ground(plans[number], env, 0, (), 5) for number in order} == dict(enumerate(alone))


def test_what_no_user_offers_is_prepared_by_one_more_request() -> None:
    plan = blueprint("tau2/retail", step("refuse", "modify_pending_order_payment", "A", "payment.status/items_modified"))
    task = grounder("tau2/retail").ground(plan, environments("tau2/retail")[0], 0, (), 0)
    assert "modify_pending_order_items" in [call.name for call in task.reference]
    assert found("tau2/retail", plan, task) == (True, ())


def test_the_agents_own_conduct_is_not_asked_for() -> None:
    plan = PLANS["desk"][1]
    task = grounder("desk").ground(plan, environments("desk")[0], 0, (), 0)
    asks = Scripts(language("desk")).read(task.scenario).asks
    assert [ask.request.action for ask in asks] == ["cancel"]
    assert [call.name for call in task.reference] == ["look", "up", "pay", "cancel", "done"]
    assert [refusal.when for refusal in task.refusals] == ["start"]


def test_kernels_change_how_a_request_is_put() -> None:
    env = environments("desk")[0]
    made = {}
    for kernel in ("ambiguity", "indirect_reference", "reasoning", "pressure"):
        plan = blueprint("desk", step("perform", "extend", "A", "extend.days/gold"), interactions=(kernel,))
        task = grounder("desk").ground(plan, env, 0, (), 0)
        (made[kernel],) = Scripts(language("desk")).read(task.scenario).asks
    assert "days" not in made["ambiguity"].request.values and made["ambiguity"].answers
    assert isinstance(made["indirect_reference"].request.values["id"], Nth)
    assert isinstance(made["reasoning"].request.values["days"], Sum)
    assert made["pressure"].said and not made["pressure"].insist
    refused = blueprint("desk", step("refuse", "extend", "A", "extend.booking/gone"), interactions=("pressure",))
    (ask,) = Scripts(language("desk")).read(grounder("desk").ground(refused, env, 0, (), 0).scenario).asks
    assert ask.insist == 2


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (blueprint("desk", step("perform", "cancel", "A", "cancel.status/held")), "a denied call cannot be performed"),
        (blueprint("desk", step("refuse", "cancel", "A", "cancel.status/open")), "nothing denies the call that is to be refused"),
        (blueprint("desk", step("perform", "cancel", "A", "cancel.mood/good")), "no such branch as cancel.mood/good"),
        (blueprint("desk", step("perform", "fly", "A", "fly.sky/blue")), "no such branch as fly.sky/blue"),
        (
            blueprint(
                "desk", step("perform", "pay", "A", "pay.amount/late_fee"), step("perform", "pay", "B", "pay.amount/fee_waived")
            ),
            "ground: no entities realise perform pay with pay.amount/late_fee; perform pay with pay.amount/fee_waived",
        ),
        (
            blueprint("tau2/airline", step("perform", "get_user_details", "A", "user.exists/known")),
            "nothing changes and nothing is ref",
        ),
    ],
)
def test_what_cannot_be_realised_is_said(plan, reason: str) -> None:
    with pytest.raises(RoleFailed, match=reason):
        grounder(plan.domain).ground(plan, environments(plan.domain)[0], 0, (), 0)


@pytest.mark.parametrize("domain", ["desk", "tau2/airline"])
def test_a_slip_is_a_defect_that_execution_shows_and_feedback_makes_it_rarer(domain: str) -> None:
    plan, env = PLANS[domain][0], environments(domain)[0]
    sound, faulty = grounder(domain, EXACT), grounder(domain, SLIP)
    spoiled, left_open = 0, 0
    for seed in range(12):
        right, wrong = (each.ground(plan, env, 0, (), seed) for each in (sound, faulty))
        if wrong == right:
            continue
        accepted, reasons = found(domain, plan, wrong)
        assert not accepted and reasons
        asks = Scripts(language(domain)).read(wrong.scenario).asks
        left_open += any(isinstance(answer, Whichever) for ask in asks for answer in ask.answers)
        spoiled += 1
    assert spoiled >= 4 and left_open < spoiled
    assert [round(SLIP.rate(1, lessons), 3) for lessons in range(3)] == [1, 0.5, 0.25]
    again = sum(
        faulty.ground(plan, env, 1, ("a", "b", "c", "d"), seed) == sound.ground(plan, env, 1, (), seed) for seed in range(12)
    )
    assert again >= 10


def test_the_task_of_a_trajectory_is_its_own() -> None:
    plan = blueprint("desk", step("perform", "swap", "A", "swap.plan/gold"))
    env = environments("desk")[0]
    bound = grounder("desk").ground(plan, env, 0, (), 0)
    (call,) = [call for call in bound.reference if call.name == "swap"]
    open_ = next(id for id, record in env.initial["bookings"].items() if record["plan"] == "gold" and record["status"] == "open")
    with pytest.raises(RoleFailed, match="tell: the user's requests do not lead to perform swap"):
        grounder("desk").tell(plan, {}, [call.model_copy(update={"arguments": {"id": "b40"}})], env, 0)
    env.reset()
    due = env.state["bookings"][open_]["due"]
    task = grounder("desk").tell(plan, {}, [call.model_copy(update={"arguments": {"id": open_}})], env, 0)
    assert task.init_actions == () and found("desk", plan, task) == (True, ())
    assert ("pay" in [made[0] for made in calls(play("desk", task))]) is (due > 0)
