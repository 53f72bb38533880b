"""The scripted agent and user in conversation: policy-conform without slips, and every kind of slip at its rate."""

from __future__ import annotations

import json

import pytest
from playing import ALWAYS, agent, booking, calls, environments, language, library, play, said, task

from selfevolve.gradus.scripted.memory import Recall
from selfevolve.gradus.scripted.settings import AgentSlips
from selfevolve.gradus.scripted.user import User

AIRLINE, RETAIL, TELECOM = "tau2/airline", "tau2/retail", "tau2/telecom"
CONFIRM = "  When asked: Confirmed: yes."
MEI = 'At first: My user id is "mei_ito_6207".\n'
BAGS = (
    'Ask: Please update reservation baggages, reservation id "I9GT07", total baggages 5, nonfree baggages 4, '
    'payment id "credit_card_8547862".\n'
)


def broken(domain: str, told, events) -> list[str]:
    """Policies that the executed calls break."""
    env, _ = environments(domain)
    env.reset(told.init_actions)
    found = []
    for event in events:
        if event.call is not None and event.error is None:
            facts = told.facts | event.call.facts
            found += library(domain).judge(env, event.call.name, event.call.arguments, facts).violations
            env.call(event.call.name, event.call.arguments, event.call.requestor)
    return found


def test_the_desks_agent_makes_a_request_possible_by_itself() -> None:
    told = task('Ask: Please cancel, id "b17".', [booking("b17", "basic", "held", 3, 2)])
    events = play("desk", told)
    assert calls(events) == [
        ("look", "b17"), ("free", "b17"), ("pay", "b17", 3), ("up", "b17"), ("pay", "b17", 2), ("cancel", "b17"), ("done",)
    ]  # fmt: skip
    assert said(events) == ['Done: cancel, id "b17". Is there anything else?']
    assert broken("desk", told, events) == []


def test_payments_are_exact_with_the_late_fee_and_the_chain_may_be_long() -> None:
    told = task('Ask: Please extend, id "b11", days 9.', [booking("b11", "basic", "open", 3, 7)])
    made = calls(play("desk", told))
    assert [call for call in made if call[0] == "pay"] == [("pay", "b11", 4), ("pay", "b11", 3), ("pay", "b11", 4)]
    assert made[-2:] == [("extend", "b11", 9), ("done",)]


@pytest.mark.parametrize(
    ("wish", "record", "member", "reason"),
    [
        ("cancel", ("basic", "held", 0, 5), "reg", "held"),
        ("swap", ("gold", "live", 0, 5), "reg", "live"),
        ("up", ("gold", "open", 0, 5), "reg", "top"),
        ("swap", ("plus", "open", 0, 5), "new", "tier"),
        ("pay", ("plus", "open", 0, 5), "reg", "none"),
        ("cancel", ("plus", "gone", 0, 5), "vip", "gone"),
    ],
)
def test_what_no_sequence_of_calls_meets_is_looked_at_and_refused_with_the_reason(wish, record, member, reason) -> None:
    start = [{"env_type": "assistant", "func_name": "set_member", "arguments": {"tier": member}}, booking("b20", *record)]
    amount = ", amount 2" if wish == "pay" else ""
    told = task(f'Ask: Please {wish}, id "b20"{amount}.\n  When refused: insist 2 times.', start)
    events = play("desk", told)
    assert calls(events) == [("look", "b20"), ("refuse", "b20", reason), ("done",), ("done",), ("done",)]
    assert broken("desk", told, events) == []
    assert said(events)[0] == f'I cannot {wish}, id "b20": {reason}.\nIs there anything else?'
    assert said(events, "user")[1:] == [f'I insist: {wish}, id "b20". I was told that it is allowed.'] * 2


def test_requests_of_one_message_are_met_in_one_turn() -> None:
    told = task(
        'Ask: Please swap, id "b12".\nWith it, ask: Please extend, id the second of ["b10", "b20"].\n  When asked: The days is 3 + 2.\n'
        'Ask: Please pay, id "b20", amount 9.',
        [booking("b12", "gold", "open", 0, 1), booking("b20", "gold", "open", 0, 1)],
    )
    events = play("desk", told)
    assert calls(events) == [
        ("look", "b12"), ("swap", "b12"), ("look", "b20"), ("extend", "b20", 5), ("done",), ("refuse", "b20", "none"), ("done",)
    ]  # fmt: skip
    assert said(events)[0] == 'Done: swap, id "b12". Before I extend, id "b20": what is the days?'


def test_a_reservation_is_read_with_its_flights_and_the_cancellation_confirmed() -> None:
    again = 'Ask: Please cancel reservation, reservation id "5QGJJ1". My reason is "change_of_plan".'
    told = task(MEI + again, user_id="mei_ito_6207")
    events = play(AIRLINE, told)
    assert [call[0] for call in calls(events)] == ["get_reservation_details", *["get_flight_status"] * 4]
    assert said(events) == [
        'I cannot cancel reservation, reservation id "5QGJJ1": None of the four holds.\nIs there anything else?'
    ]
    upgrade = (
        'Ask: Please update reservation flights, reservation id "5QGJJ1", cabin "business", flights '
        '[{"flight_number": "HAT033", "date": "2024-05-20"}, {"flight_number": "HAT125", "date": "2024-05-20"}, '
        '{"flight_number": "HAT248", "date": "2024-05-22"}, {"flight_number": "HAT240", "date": "2024-05-22"}], '
        'payment id "credit_card_8547862".'
    )
    told = told.model_copy(update={"scenario": "\n".join([told.scenario, upgrade, CONFIRM, again, CONFIRM])})
    events = play(AIRLINE, told)
    assert [call[0] for call in calls(events)][5:] == ["get_user_details", "update_reservation_flights", "cancel_reservation"]
    assert 'Before I cancel reservation, reservation id "5QGJJ1": do you confirm, yes or no?' in said(events)
    assert broken(AIRLINE, told, events) == []


def test_without_a_yes_nothing_is_done() -> None:
    events = play(AIRLINE, task(MEI + BAGS + "  When asked: Confirmed: no.", user_id="mei_ito_6207"))
    assert "update_reservation_baggages" not in [call[0] for call in calls(events)]
    assert said(events)[-1].startswith("I cannot update reservation baggages") and "did not confirm" in said(events)[-1]


def test_a_caller_is_located_before_anything_else_and_a_transfer_is_announced() -> None:
    told = task(
        'At first: My email is "ava.kovacs4827@example.com".\n'
        'Ask: Please cancel pending order, order id "#W4184032", reason "no longer needed". My reason is "no longer needed".\n'
        + CONFIRM
        + '\nAsk: Please transfer to human agents, summary "The user asks for something that the tools do not offer.".\n'
        "  When asked: In scope: no.",
        user_id="ava_kovacs_3448",
        authenticated_by="email",
    )
    events = play(RETAIL, told)
    made = [call[0] for call in calls(events)]
    assert made[0] == "find_user_id_by_email" and made[-1] == "transfer_to_human_agents" and "get_order_details" in made
    assert said(events)[-1].startswith(
        "YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON.\nDone: transfer to human agents"
    )
    assert broken(RETAIL, told, events) == []


def test_who_cannot_be_located_is_told_nothing() -> None:
    ask = 'Ask: Please cancel pending order, order id "#W4184032", reason "no longer needed". My reason is "no longer needed".'
    told = task(f'At first: My user id is "ava_kovacs_3448".\n{ask}', user_id="ava_kovacs_3448", authenticated_by="claimed_id")
    events = play(RETAIL, told)
    assert calls(events) == [] and said(events)[0].endswith("what is your email?")
    assert said(events, "user")[1] == "I do not know the email."
    assert said(events)[1].startswith('I cannot cancel pending order, order id "#W4184032": I could not find out who you are.')


def test_the_user_uses_their_own_tools_when_told_to() -> None:
    start = [action.model_dump() for action in library(TELECOM).situations[2].actions]
    events = play(TELECOM, task("Ask: Please toggle airplane mode.", start))
    assert calls(events) == [("toggle_airplane_mode",)] and events[2].call is not None and events[2].call.requestor == "user"
    assert said(events) == ["On your side, please toggle airplane mode.", "Done: toggle airplane mode. Is there anything else?"]
    assert json.dumps(events[2].observation, ensure_ascii=False) in said(events, "user")[1]


def test_what_is_left_to_the_agent_is_the_first_thing_the_policy_permits() -> None:
    told = task('Ask: Please extend, id "b20".\n  When asked: Any days will do.', [booking("b20", "plus", "open", 0, 1)])
    assert ("extend", "b20", 1) in calls(play("desk", told))


def test_a_scenario_in_other_words_is_none_for_the_scripted_user() -> None:
    with pytest.raises(ValueError, match="not a script"):
        User(language("desk")).answer(task("You want booking b10 cancelled."), ())


def test_slips_spoil_conversations_in_different_ways_and_are_seeded() -> None:
    told = task(MEI + BAGS + CONFIRM, user_id="mei_ito_6207")
    right = [call[0] for call in calls(play(AIRLINE, told))]
    assert sorted(right[:2]) == ["get_reservation_details", "get_user_details"] and right[2:] == ["update_reservation_baggages"]
    slipped = {seed: play(AIRLINE, told, agent(AIRLINE, ALWAYS), seed=seed) for seed in range(0, 2000, 100)}
    assert play(AIRLINE, told, agent(AIRLINE, ALWAYS), seed=500) == slipped[500]
    done, denied, claimed = 0, 0, 0
    for events in slipped.values():
        assert [call[0] for call in calls(events)] != right
        if calls(events):  # without look-ups or confirmation, though allowed
            assert calls(events)[0][0] == "update_reservation_baggages"
            assert broken(AIRLINE, told, events) == ["bags.confirmation"]
            done += 1
        else:
            denied += said(events)[-1].startswith("I cannot")
            claimed += said(events)[-1].startswith("Done")
    assert done and denied and claimed


def test_feedback_makes_slips_rarer_and_awkward_requests_more_frequent() -> None:
    slips = AgentSlips(base=0.5, per_depth=0, per_interaction=0.3, learning=0.2)
    assert [round(slips.rate(1, 0, lessons), 3) for lessons in range(3)] == [0.5, 0.1, 0.02]
    assert slips.rate(1, 2, 0) == 1 and slips.rate(3, 0, 0) == 0.5
    told = task('Ask: Please cancel, id "b17".', [booking("b17", "plus", "open", 0, 1)])
    solver, right = agent("desk", slips), calls(play("desk", told))

    def failures(feedback: tuple[str, ...]) -> int:
        return sum(calls(play("desk", told, solver, feedback, seed)) != right for seed in range(0, 6000, 100))

    assert failures(("Look first.", "Look first.")) < failures(()) / 2


def test_two_conversations_at_once_are_recalled_as_if_each_were_alone() -> None:
    told = [task(f'Ask: Please cancel, id "{id}".', [booking(id, "basic", "held", 3, 2)]) for id in ("b17", "b18")]
    alone = [play("desk", each) for each in told]
    recall = Recall(language("desk"))
    for number in range(max(map(len, alone)) + 1):
        for events in alone:
            assert recall(events[:number]) == Recall(language("desk"))(events[:number])
