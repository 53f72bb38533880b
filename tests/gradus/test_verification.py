"""Only tuples that agree, keep the policy and exercise what was intended are accepted; adversarial ones on the desk and in the airline."""

import random
from dataclasses import dataclass

import played
import pytest
from played import AMELIA, CANCEL, CANCELLED, CHAIN, CHAINED, DONE, FLOWN, SOPHIA, call, cancelled, chained, demonstration

from selfevolve.gradus import candidates, verification
from selfevolve.gradus.blueprints import Blueprint, Call
from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.replay import replay
from selfevolve.gradus.tasks import Demonstration, Refusal, Task
from selfevolve.gradus.verification import Verdict, Verifier, verify


@dataclass(frozen=True)
class Scene:
    """A sound blueprint and task, and calls to spoil them with."""

    domain: str
    plan: Blueprint
    task: Task
    breach: tuple[Call, ...]  # agrees with itself, and breaks a policy
    broken: str
    idle: tuple[Call, ...]  # executes and changes nothing
    other: tuple[Call, ...]  # fine in itself, and not what was intended
    missed: str
    forbidden: Refusal
    allowed: Refusal


DESK = Scene(
    domain="desk",
    plan=CHAIN,
    task=chained(),
    breach=(call("look", id="b10"), call("up", id="b10"), call("cancel", id="b10"), DONE),
    broken="cancel: cancel.due/owing",
    idle=(call("look", id="b10"),),
    other=(call("look", id="b10"), call("up", id="b10"), call("pay", id="b10", amount=2), DONE),
    missed="perform cancel A (cancel.plan/plus)",
    forbidden=Refusal(call=call("cancel", id="b16")),
    allowed=Refusal(call=call("look", id="b11")),
)
AIRLINE = Scene(
    domain="tau2/airline",
    plan=CANCEL,
    task=cancelled(),
    breach=(call("cancel_reservation", reservation_id="55VQNU"), *CANCELLED),
    broken="cancel_reservation: cancel.trigger/none",
    idle=(call("get_reservation_details", reservation_id="U8XRWI"),),
    other=(
        call(
            "update_reservation_baggages",
            reservation_id="6DHUJY",
            total_baggages=2,
            nonfree_baggages=0,
            payment_id="credit_card_9827456",
        ),
    ),
    missed="perform cancel_reservation A (cancel.trigger/business, cancel.identity/own)",
    forbidden=Refusal(call=call("cancel_reservation", reservation_id="55VQNU")),
    allowed=Refusal(call=call("cancel_reservation", reservation_id="9FNHDR")),
)


@pytest.fixture(params=[DESK, AIRLINE], ids=lambda scene: scene.domain)
def scene(request) -> Scene:
    return request.param


def verdict(scene: Scene, task: Task, demonstrated: Demonstration, plan: Blueprint | None = None) -> Verdict:
    env, library = played.environment(scene.domain), played.library(scene.domain)
    return verify(env, library, plan or scene.plan, task, demonstrated)


def both(scene: Scene, calls: tuple[Call, ...], **fields) -> Verdict:
    """The verdict on a reference and a demonstration that agree in every call."""
    task = scene.task.model_copy(update={"reference": calls, **fields})
    return verdict(scene, task, demonstration(scene.plan, calls))


def checks(found: Verdict) -> set[str]:
    assert found.accepted == (not found.reasons)
    return {reason.split(":")[0] for reason in found.reasons}


def test_a_sound_tuple_is_accepted(scene):
    found = verdict(scene, scene.task, demonstration(scene.plan, scene.task.reference))
    assert found.accepted and found.reasons == () and not found.do_nothing
    assert scene.plan.branches <= set(found.realised) and list(found.realised) == sorted(found.realised)
    evidence = found.evidence
    assert evidence.reference_hash == evidence.demonstration_hash
    assert evidence.violations == evidence.missing == evidence.differences == evidence.errors == ()


def test_reading_more_or_less_than_the_reference_is_no_difference(scene):
    found = verdict(scene, scene.task, demonstration(scene.plan, (*scene.idle, *scene.task.reference)))
    assert found.accepted


def test_a_pair_that_agrees_in_breaking_a_policy_is_not_accepted(scene):
    found = both(scene, scene.breach)
    assert {"reference breaks policy", "demonstration breaks policy"} <= checks(found)
    assert scene.broken in found.evidence.violations and f"reference breaks policy: {scene.broken}" in found.evidence.errors
    assert "states differ" not in checks(found)


def test_a_pair_that_agrees_in_doing_nothing_is_not_accepted(scene):
    found = both(scene, scene.idle, refusals=())
    assert "nothing to do" in checks(found) and found.do_nothing


def test_doing_nothing_passes_no_check_even_if_nothing_else_is_intended(scene):
    action = scene.idle[0].name
    plan = played.blueprint(scene.domain, played.step("perform", action, *_units(scene, scene.idle[0])))
    task = played.task(plan, scene.idle, init_actions=scene.task.init_actions, facts=scene.task.facts)
    found = verdict(scene, task, demonstration(plan, scene.idle), plan)
    assert checks(found) == {"nothing to do"}


def _units(scene: Scene, wanted: Call) -> list[str]:
    env = played.environment(scene.domain)
    env.reset(scene.task.init_actions)
    judged = played.library(scene.domain).judge(env, wanted.name, wanted.arguments, scene.task.facts)
    return ["/".join(unit) for unit in sorted(judged.units)]


def test_a_pair_that_agrees_in_missing_what_was_intended_is_not_accepted(scene):
    found = both(scene, scene.other)
    assert checks(found) == {"reference misses", "demonstration misses"}
    assert scene.missed in found.reasons[0] and scene.missed in found.reasons[1]
    last = scene.plan.steps[-1]
    assert set(found.evidence.missing) == {Branch(last.action, *unit) for unit in last.units}


def test_an_empty_criterion_is_never_met(scene):
    found = both(scene, (), refusals=())
    assert "nothing to check" in checks(found)


def test_a_forbidden_call_may_be_refused(scene):
    task = scene.task.model_copy(update={"refusals": (*scene.task.refusals, scene.forbidden)})
    found = verdict(scene, task, demonstration(scene.plan, task.reference))
    assert found.accepted


def test_refusing_what_is_allowed_is_not_accepted(scene):
    task = scene.task.model_copy(update={"refusals": (*scene.task.refusals, scene.allowed)})
    found = verdict(scene, task, demonstration(scene.plan, task.reference))
    assert checks(found) == {"refusal not called for"}
    assert scene.allowed.call.name in found.evidence.errors[0]


def test_doing_what_must_be_refused_is_not_accepted_though_both_do_it(scene):
    task = scene.task.model_copy(update={"refusals": (*scene.task.refusals, scene.forbidden)})
    calls = (*task.reference[:1], scene.forbidden.call, *task.reference[1:])
    found = verdict(scene, task.model_copy(update={"reference": calls}), demonstration(scene.plan, calls))
    assert {"reference does what it must refuse", "demonstration does what it must refuse"} <= checks(found)


def test_different_ends_are_not_accepted_and_told_apart_place_by_place(scene):
    task = scene.task
    found = verdict(scene, task, demonstration(scene.plan, (*scene.other, *task.reference)))
    assert "states differ" in checks(found) and found.evidence.reference_hash != found.evidence.demonstration_hash
    entity = scene.other[0].arguments["reservation_id" if scene.domain != "desk" else "id"]
    assert any(entity in line and "reference" in line and "demonstration" in line for line in found.evidence.differences)


def test_a_reference_that_fails_is_not_accepted(scene):
    wrong = Call(name=scene.task.reference[-1].name, arguments={"nonsense": 1})
    found = verdict(
        scene,
        scene.task.model_copy(update={"reference": (*scene.task.reference, wrong)}),
        demonstration(scene.plan, scene.task.reference),
    )
    assert checks(found) == {"reference fails"}
    assert found.evidence.errors[0].startswith(f"reference fails: {wrong.name}: ")


def test_calls_of_the_demonstration_that_the_environment_refused_are_listed_and_no_reason(scene):
    wrong = Call(name="fly", arguments={})
    shown = demonstration(scene.plan, (wrong, *scene.task.reference), errors={0: "unknown_tool"})
    found = verdict(scene, scene.task, shown)
    assert found.accepted and found.failed == ("fly: ...",)


def test_a_demonstration_cannot_claim_a_call_that_the_environment_refuses(scene):
    shown = demonstration(scene.plan, (*scene.task.reference, Call(name="fly", arguments={})))
    assert checks(verdict(scene, scene.task, shown)) == {"demonstration fails"}


@pytest.mark.parametrize("stop", ["max_turns", "error"])
def test_a_conversation_that_did_not_end_is_not_accepted(scene, stop):
    found = verdict(scene, scene.task, demonstration(scene.plan, scene.task.reference, stop=stop))
    assert found.reasons == (f"conversation not ended: {stop}",)


def test_a_replayed_reference_need_not_be_replayed_again(scene):
    env, library = played.environment(scene.domain), played.library(scene.domain)
    wanted = replay(env, library, scene.task, scene.task.reference)
    for calls in (scene.task.reference, scene.other, scene.breach):
        shown = demonstration(scene.plan, calls)
        assert verify(env, library, scene.plan, scene.task, shown, wanted) == verify(env, library, scene.plan, scene.task, shown)


def test_a_verifier_says_the_same_and_checks_alike_conversations_once(scene, monkeypatch):
    env, library = played.environment(scene.domain), played.library(scene.domain)
    wanted = replay(env, library, scene.task, scene.task.reference)
    verifier, checked = Verifier(library, scene.plan, scene.task, wanted), []
    real = verification.verify
    monkeypatch.setattr(verification, "verify", lambda *given: checked.append(1) or real(*given))
    for calls in (scene.task.reference, scene.other, scene.task.reference, scene.other):
        shown = demonstration(scene.plan, calls)
        assert verifier.verify(env, shown) == verify(env, library, scene.plan, scene.task, shown)
    cut = demonstration(scene.plan, scene.task.reference, stop="max_turns")
    assert not verifier.verify(env, cut).accepted and len(checked) == 3


# Steps.


def test_every_step_needs_a_call_of_its_own():
    twice = played.blueprint("tau2/airline", *CANCEL.steps, *CANCEL.steps)
    more = (*CANCELLED, call("cancel_reservation", reservation_id="6DHUJY"))
    for calls, accepted in ((CANCELLED, False), (more, True)):
        found = verdict(AIRLINE, cancelled(reference=calls), demonstration(twice, calls), twice)
        assert found.accepted == accepted
    found = verdict(AIRLINE, cancelled(reference=more), demonstration(twice, CANCELLED), twice)
    assert checks(found) == {"demonstration misses", "states differ"} and found.evidence.missing


def test_the_branches_of_a_step_are_exercised_by_one_call():
    plan = played.blueprint(
        "tau2/airline", played.step("perform", "cancel_reservation", "cancel.trigger/24h", "cancel.trigger/business")
    )
    env = played.environment("tau2/airline")
    env.reset()
    rows = [
        row for row in env.state["reservations"].values() if row.created_at >= "2024-05-14T16:00:00" and row.cabin == "economy"
    ]
    fresh = next(row for row in rows if row.created_at <= "2024-05-15T15:00:00" and row.flights[0].date > "2024-05-15")
    both_apart = (*CANCELLED, call("cancel_reservation", {"user_id": fresh.user_id}, reservation_id=fresh.reservation_id))
    found = verdict(AIRLINE, cancelled(reference=both_apart), demonstration(plan, both_apart), plan)
    assert checks(found) == {"reference misses", "demonstration misses"}
    assert plan.branches <= set(found.realised)


def test_steps_share_calls_out_whatever_their_order():
    either, one = (call("cancel_reservation", reservation_id=id) for id in ("9FNHDR", "U8XRWI"))
    loose = played.step("perform", "cancel_reservation", "cancel.trigger/business")  # met by both
    tight = played.step("perform", "cancel_reservation", "cancel.trigger/business", "cancel.trigger/airline")  # by 9FNHDR alone
    for steps in ((loose, tight), (tight, loose)):
        for calls in ((either, one), (one, either)):
            plan = played.blueprint("tau2/airline", *steps)
            assert verdict(AIRLINE, cancelled(reference=calls), demonstration(plan, calls), plan).accepted


def test_a_step_to_refuse_is_not_met_by_a_call_nor_one_to_perform_by_a_refusal():
    plan = played.blueprint("desk", played.step("refuse", "up", "up.booking/basic"), *CHAIN.steps)
    found = verdict(DESK, chained(), demonstration(plan, CHAINED), plan)
    assert checks(found) == {"reference misses", "demonstration misses"}


# Refusals alone.


def test_a_flown_reservation_is_refused_by_doing_nothing_and_that_is_told():
    refused = Refusal(call=call("cancel_reservation", reservation_id="5BGGWZ"))
    task = played.task(FLOWN, (), (refused,), facts=SOPHIA)
    env, library = played.environment("tau2/airline"), played.library("tau2/airline")
    found = verify(env, library, FLOWN, task, demonstration(FLOWN, ()))
    assert found.accepted and found.do_nothing and FLOWN.branches <= set(found.realised)
    executed = verify(env, library, FLOWN, task, demonstration(FLOWN, (refused.call,)))
    assert {"demonstration does what it must refuse", "demonstration breaks policy", "states differ"} <= checks(executed)


def test_a_reservation_that_only_looks_flown_is_not_refused():
    refused = Refusal(call=call("cancel_reservation", reservation_id="9FNHDR"))
    task = played.task(FLOWN, (), (refused,), facts=AMELIA)
    found = verify(played.environment("tau2/airline"), played.library("tau2/airline"), FLOWN, task, demonstration(FLOWN, ()))
    assert {"refusal not called for", "reference misses"} <= checks(found)


def test_a_refusal_at_the_start_may_be_performed_once_it_is_enabled():
    late = chained(refusals=(Refusal(call=call("cancel", id="b10"), when="end"),))
    found = verdict(DESK, late, demonstration(CHAIN, CHAINED))
    assert {"reference does what it must refuse", "reference misses"} <= checks(found)
    assert verdict(DESK, chained(), demonstration(CHAIN, CHAINED)).accepted


# Facts of the dialogue.


def test_an_agent_that_reports_facts_is_held_to_them():
    confirmed = played.blueprint("tau2/airline", played.step("perform", "cancel_reservation", "cancel.confirmation/yes"))
    facts = {name: value for name, value in AMELIA.items() if name != "confirmed"}
    known = call("cancel_reservation", {"confirmed": True}, reservation_id="U8XRWI")
    task = played.task(confirmed, (known,), facts=facts)
    for said, accepted in (({"confirmed": True}, True), ({"confirmed": False}, False), ({"reason": "health"}, False)):
        shown = demonstration(confirmed, (call("cancel_reservation", said, reservation_id="U8XRWI"),))
        assert verdict(AIRLINE, task, shown, confirmed).accepted == accepted, said


def test_an_agent_that_reports_none_is_judged_by_what_the_user_is_to_say():
    confirmed = played.blueprint("tau2/airline", played.step("perform", "cancel_reservation", "cancel.confirmation/yes"))
    facts = {name: value for name, value in AMELIA.items() if name != "confirmed"}
    known = call("cancel_reservation", {"confirmed": True}, reservation_id="U8XRWI")
    task = played.task(confirmed, (known,), facts=facts)
    assert verdict(AIRLINE, task, demonstration(confirmed, CANCELLED), confirmed).accepted
    other = demonstration(confirmed, (*CANCELLED, call("cancel_reservation", reservation_id="6DHUJY")))
    found = verdict(AIRLINE, task, other, confirmed)
    assert checks(found) == {"states differ"}, "nothing is known of the other reservation, so nothing is broken"


# States.


@pytest.mark.parametrize("domain", ["tau2/airline", "tau2/retail", "tau2/telecom"])
def test_states_agree_exactly_if_the_official_hashes_do(domain):
    env, library = played.environment(domain), played.library(domain)
    rng = random.Random(0)
    env.reset()
    writes = [operator for operator in library.operators.values() if operator.kind == "write"]
    listed = [
        Call(name=operator.action, arguments=arguments, requestor=operator.requestor)
        for operator in writes
        for arguments in candidates.calls(library, env, operator.action, 6, rng)
    ]
    changing = [each for each in listed if env.reset() or (env.call(each.name, each.arguments, each.requestor).ok)]
    plan = played.blueprint(domain, played.step("perform", changing[0].name, "some/unit"))
    agreed = set()
    for _ in range(12):
        sides = [tuple(rng.sample(changing, 2)) for _ in range(2)]
        sides[1] = rng.choice([sides[1], sides[0][::-1]])
        hashes = []
        for calls in sides:
            env.reset()
            for each in calls:
                env.call(each.name, each.arguments, each.requestor)
            hashes.append(env.official_hash())
        found = verify(env, library, plan, played.task(plan, sides[0]), demonstration(plan, sides[1]))
        agreed.add(agrees := "states differ" not in checks(found))
        assert agrees == (hashes[0] == hashes[1]) == (not found.evidence.differences)
    assert agreed == {True, False}
