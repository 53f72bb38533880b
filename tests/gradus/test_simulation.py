import json

import played
import pytest
from played import CHAIN, call, chained, failed

from selfevolve.gradus.blueprints import Call
from selfevolve.gradus.simulation import simulate
from selfevolve.gradus.tasks import Demonstration


class Talk:
    """Both sides read their lines; what they saw is kept."""

    def __init__(self, user: list, agent: list):
        self._lines = {"user": list(user), "agent": list(agent)}
        self.views, self.heard, self.seeds, self.feedback = [], [], [], []

    def act(self, view, feedback, seed):
        self.views.append(view)
        self.seeds.append(seed)
        self.feedback.append(tuple(feedback))
        return self._next("agent", view)

    def user(self, task, blueprint, events, tools, seed):
        self.heard.append(events)
        self.seeds.append(seed)
        return self._next("user", events)

    def _next(self, side, seen):
        line = self._lines[side].pop(0)
        if isinstance(line, Exception):
            raise line
        return line(seen) if callable(line) else line


def run(talk: Talk, domain: str = "desk", task=None, plan=CHAIN, max_turns: int = 20, **options) -> Demonstration:
    env, fork = played.environment(domain), played.load(domain)
    options = {"branch": 1, "attempt": 2, "feedback": ("look first",), "seed": 3} | options
    return simulate(talk, env, fork, plan, task or chained(), max_turns=max_turns, **options)


def kinds(found: Demonstration) -> list[str]:
    return [event.kind for event in found.events]


def test_a_message_gives_the_turn_to_the_other_side():
    talk = Talk(["Cancel b10.", "Yes.", None], ["Sure?", call("look", id="b10"), call("up", id="b10"), "It is plus now."])
    found = run(talk)
    assert kinds(found) == ["user", "assistant", "user", "call", "call", "assistant"]
    assert [event.observation for event in found.events if event.call] == ["basic open due 0 age 1", "plus due 2"]
    assert found.stop == "done" and (found.task, found.branch, found.attempt, found.round) == (CHAIN.id, 1, 2, 0)
    assert [each.name for each in found.calls] == ["look", "up"]


def test_the_environment_starts_as_the_task_says_whatever_happened_before():
    env = played.environment("desk")
    env.reset()
    env.call("cancel", {"id": "b10"})
    run(Talk(["Hello.", None], [call("look", id="b10"), "Bye."]))
    assert env.state["bookings"]["b10"]["age"] == 1 and env.state["bookings"]["b10"]["status"] == "open"


def test_refused_calls_are_events_with_the_kind_of_error_and_the_conversation_goes_on():
    calls = [call("fly"), call("pay", id="b10"), call("free", id="b10"), call("look", id="b10")]
    found = run(Talk(["Hello.", None], [*calls, "Bye."]))
    assert [event.error for event in found.events[1:5]] == ["unknown_tool", "invalid_arguments", "tool_error", None]
    assert [each.name for each in found.calls] == ["look"]


def test_the_agent_sees_policy_tools_and_the_conversation_and_nothing_of_the_task():
    talk = Talk(["Hello.", None], [call("look", id="b10"), "Bye."])
    task = chained(scenario="the secret scenario", bindings={"A": "b10"})
    run(talk, task=task)
    env = played.environment("desk")
    for view in talk.views:
        assert set(vars(view)) == {"policy", "tools", "events", "probe"}
        assert view.policy == env.policy and list(view.tools) == env.tools
        assert "secret" not in json.dumps([event.model_dump() for event in view.events])
    assert [len(view.events) for view in talk.views] == [1, 2]
    assert talk.feedback == [("look first",)] * 2


def test_the_probe_is_a_copy_of_the_environment_as_it_is_now():
    states = []

    def spoil(view):
        copy = view.probe()
        states.append(copy.state["bookings"]["b10"]["plan"])
        assert copy.call("cancel", {"id": "b10"}).ok
        return call("up", id="b10") if len(states) == 1 else "Bye."

    found = run(Talk(["Hello.", None], [spoil, spoil]))
    assert states == ["basic", "plus"] and found.events[1].observation == "plus due 2"
    assert played.environment("desk").state["bookings"]["b10"]["status"] == "open"


def test_the_users_own_calls_are_the_users_and_hidden_from_the_agent():
    plan = played.blueprint("tau2/telecom", played.step("perform", "toggle_data", "some/unit"))
    talk = Talk(
        ["My data is off.", Call(name="toggle_data", arguments={}, requestor="user"), "I did.", None],
        [call("toggle_data"), "Please toggle your data.", "Bye."],
    )
    found = run(talk, "tau2/telecom", played.task(plan, ()), plan)
    assert kinds(found) == ["user", "call", "assistant", "call", "user", "assistant"]
    by_agent, by_user = (event for event in found.events if event.call)
    assert by_agent.error == "unknown_tool", "the assistant has no such tool"
    assert by_user.error is None and by_user.call.requestor == "user"
    assert [event.kind for event in talk.views[-1].events] == ["user", "call", "assistant", "user"]
    assert [event.kind for event in talk.heard[-1]] == kinds(found), "the user is told everything"


def test_no_side_can_call_in_the_others_name():
    found = run(Talk(["Hello.", None], [Call(name="look", arguments={"id": "b10"}, requestor="user"), "Bye."]))
    assert found.events[1].call.requestor == "assistant" and found.events[1].error is None


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_a_long_conversation_is_cut_off(turns):
    talk = Talk(["Hello."] * 9, [call("look", id="b10")] * 9)
    found = run(talk, max_turns=turns)
    assert found.stop == "max_turns" and len(found.events) == turns


def test_a_role_without_an_answer_ends_the_conversation_and_says_why():
    for user, agent, kind in ((["Hello."], [failed("act: nonsense")], "assistant"), ([failed("user: silent")], [], "user")):
        found = run(Talk(user, agent))
        assert found.stop == "error" and found.events[-1].kind == kind
        assert found.events[-1].error in ("act: nonsense", "user: silent") and found.events[-1].text == ""


def test_every_step_has_a_seed_of_its_own_and_the_same_one_each_time():
    lines = ["Hello.", "Go on.", None], [call("look", id="b10"), "Yes?", "Bye."]
    first, second, other = Talk(*lines), Talk(*lines), Talk(*lines)
    assert run(first) == run(second)
    run(other, seed=4)
    assert first.seeds == second.seeds and len(set(first.seeds)) == 6
    assert not set(first.seeds) & set(other.seeds)
