import played
import pytest
from played import AGED, CHAIN, CHAINED, DONE, call, chained

from selfevolve.gradus.blueprints import Call
from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.replay import judge, replay
from selfevolve.gradus.tasks import Refusal

DESK = played.library("desk")


@pytest.fixture
def env():
    return played.environment("desk")


def test_calls_are_judged_in_the_state_they_meet(env):
    found = replay(env, DESK, chained(), CHAINED)
    assert found.errors == found.violations == found.undetermined == ()
    look, up, pay, cancel, done = found.executed
    assert Branch("up", "up.booking", "basic") in up and Branch("cancel", "cancel.plan", "plus") in cancel
    assert Branch("cancel", "cancel.plan", "aged_basic") not in cancel, "that was before it went up"
    assert CHAIN.branches <= found.realised
    (blocked,) = found.refused
    assert "cancel: cancel.plan/aged_basic" in blocked.violations and blocked.forbidden


def test_hashes_are_those_of_the_start_and_the_end(env):
    found = replay(env, DESK, chained(), CHAINED)
    assert found.end_hash == env.state_hash()
    env.reset(AGED)
    assert found.start_hash == env.state_hash() != found.end_hash


def test_what_went_before_does_not_matter(env):
    first = replay(env, DESK, chained(), CHAINED)
    env.call("cancel", {"id": "b12"})
    assert replay(env, DESK, chained(), CHAINED) == first


def test_a_breach_is_named_with_policy_and_outcome_and_executed(env):
    found = replay(env, DESK, chained(), [call("look", id="b10"), call("cancel", id="b10")])
    assert found.violations == ("cancel: cancel.plan/aged_basic",) and found.errors == ()
    assert env.state["bookings"]["b10"]["status"] == "gone"


def test_a_call_that_is_refused_is_an_error_and_exercises_nothing(env):
    found = replay(env, DESK, chained(), [call("up", id="nosuch"), call("fly", id="b10"), call("pay", id="b10"), DONE])
    assert found.errors == ("up: no", "fly: no", "pay: no")
    assert len(found.executed) == 1 and {branch.action for branch in found.realised} == {"done", "cancel"}, (
        "the refusal is cancel's"
    )


def test_facts_of_the_task_hold_for_every_call_and_those_of_a_call_come_first(env):
    done = Call(name="done", arguments={})
    assert replay(env, DESK, chained(), [done]).undetermined == ("done: done.requests/early (pending)",)
    assert replay(env, DESK, chained(facts={"pending": True}), [done]).violations == ("done: done.requests/early",)
    assert replay(env, DESK, chained(facts={"pending": True}), [DONE]).violations == ()


def test_a_call_that_cannot_be_judged_is_an_error(env):
    found = replay(env, DESK, chained(), [call("done", {"pending": "perhaps"})])
    assert found.errors == ("done: the fact 'pending' of desk is a value of type boolean, not 'perhaps'",)
    assert (
        judge(env, DESK, chained(), call("fly")).error
        == f"desk has no operator for 'fly'; it has {', '.join(sorted(DESK.operators))}"
    )


def test_refusals_are_judged_at_the_start_or_at_the_end_and_not_executed(env):
    again = [Refusal(call=call("up", id="b10"), when=when) for when in ("end", "start")]
    found = replay(env, DESK, chained(refusals=again), CHAINED)
    at_end, at_start = found.refused
    assert at_end.rejections == ("up: up.booking/gone",), "the environment itself refuses it"
    assert at_start.violations == ("up: up.looked/not_looked",)
    assert found.end_hash == replay(env, DESK, chained(), CHAINED).end_hash


def test_an_init_action_that_cannot_be_applied_raises(env):
    with pytest.raises(ValueError, match="no such init function"):
        replay(env, DESK, chained(init_actions=({"env_type": "assistant", "func_name": "burn", "arguments": {}},)), [])
