"""The roles as prompts: what each is shown, what becomes of its answers, and what the solving agent can never see."""

from __future__ import annotations

import copy
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import answers
import pytest
from answers import ANSWERS, STEP, TASK, WORDS, answer

from selfevolve.environments import load
from selfevolve.environments.protocol import Environment
from selfevolve.gradus import operators
from selfevolve.gradus.blueprints import Blueprint, Call
from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.llm import prompts, wording
from selfevolve.gradus.llm.roles import LlmRoles
from selfevolve.gradus.records import Fact
from selfevolve.gradus.roles import AgentView, Declined, Evidence, Kernel, Roles
from selfevolve.gradus.tasks import Demonstration, Event, Task

LIBRARY = operators.load("desk")
CAUSAL = Kernel(name="causal", kind="structural", instruction="connect actions through a state change")
PRESSURE = Kernel(name="pressure", kind="interaction", instruction="the user insists twice")
BRANCHES = [Branch(action, *LIBRARY.operators[action].guards[0].unit) for action in ("cancel", "swap")]
EVIDENCE = Evidence(
    reference_hash="r1", demonstration_hash="d2", violations=("pay: pay.amount/over", "not a branch"), missing=(BRANCHES[1],),
    differences=("bookings.b10.status: 'gone' in the reference, 'open' in the demonstration",), errors=(),
)  # fmt: skip


def unseen() -> Environment:
    """The probe of a view, which a model never uses."""
    raise AssertionError("the model looked into the environment")


@pytest.fixture
def play(serve, connect):
    """Starts the roles on a server; gives (roles, server)."""

    def start(reply=answer, **changes) -> tuple[LlmRoles, object]:
        server = serve(reply)
        return LlmRoles(connect(server.url, **changes), LIBRARY, load("desk")), server

    return start


def changed(name: str, **fields) -> dict:
    """The sound answers with one of them changed."""
    return {**copy.deepcopy(ANSWERS), name: {**copy.deepcopy(ANSWERS[name]), **fields}}


def prompt(body: dict) -> str:
    return "\n".join(str(message["content"]) for message in body["messages"])


def atomic(roles: LlmRoles) -> Blueprint:
    (blueprint,) = roles.write(("cancel",), BRANCHES, 2, seed=1)
    return blueprint


# ------------------------------------------------------------------------------------------------------------------------- blueprints


def test_llm_roles_implement_the_protocol():
    for name in [name for name in vars(Roles) if not name.startswith("_")]:
        assert callable(getattr(LlmRoles, name))


def test_write_shows_the_catalog_and_the_gaps(play):
    roles, server = play()
    blueprint = atomic(roles)
    assert (blueprint.domain, blueprint.depth, blueprint.parent, blueprint.kernels) == ("desk", 1, None, ())
    assert blueprint.steps[0].action == "cancel" and blueprint.steps[0].units == (BRANCHES[0].unit,)
    shown = prompt(server.bodies[0])
    assert wording.catalog(LIBRARY) in shown and "about the action cancel" in shown
    assert "- cancel: cancel.booking/present\n- swap: swap.booking/present" in shown
    assert not re.search(r"\{[a-z_]+\}", shown.replace(wording.catalog(LIBRARY), ""))


def test_write_without_an_action_proposes_freely(play):
    two = [STEP, {**STEP, "action": "swap", "units": ["swap.booking/present"]}]
    said = changed("Written", scenarios=[{**WORDS, "steps": two}, {**WORDS, "steps": [STEP]}])
    roles, server = play(lambda body: json.dumps(said[body["response_format"]["json_schema"]["name"]]))
    assert [each.depth for each in roles.write((), (), 2, 1)] == [2, 1]
    roles.write((), BRANCHES, 2, 1)
    baseline, guided = (prompt(body) for body in server.bodies)
    assert "You choose the actions" in baseline and "about the action" not in baseline
    assert "cover least" not in baseline and guided == f"{baseline}\n\n{gaps()}"


def test_write_along_a_path_takes_its_actions_in_order(play):
    two = [STEP, {**STEP, "action": "swap", "units": ["swap.booking/present"]}]
    said = [{"scenarios": [{**WORDS, "steps": steps}]} for steps in (two[::-1], two[:1], two)]
    replies = iter(map(json.dumps, said))
    roles, server = play(lambda body: next(replies))
    (blueprint,) = roles.write(("cancel", "swap"), (), 1, 1)
    assert [step.action for step in blueprint.steps] == ["cancel", "swap"] and blueprint.depth == 2
    assert "the actions cancel, swap, in this order" in prompt(server.bodies[0])
    assert "no step of swap, or has it in another place" in prompt(server.bodies[1]) and len(server.bodies) == 3


def gaps() -> str:
    return prompts.part("write", "gaps", least_covered=wording.branches(BRANCHES))


def test_without_a_ledger_there_is_no_list_of_gaps(play):
    roles, server = play()
    roles.evolve(atomic(roles), CAUSAL, (), 1)
    roles.write(("cancel",), (), 1, 1)
    assert "cover least" in prompt(server.bodies[0])
    assert not any("cover least" in prompt(body) for body in server.bodies[1:])


def test_the_catalog_names_every_branch_that_execution_can_meet():
    for domain in ("desk", "tau2/airline"):
        library = operators.load(domain)
        text = wording.catalog(library)
        for operator in library.operators.values():
            assert f"\n{operator.action} (" in f"\n{text}"
            for guard in wording.measured(operator):
                assert f"  {wording.unit_name(guard.unit)} [" in text


def test_evolve_keeps_the_parent_whatever_the_model_does(play):
    roles, server = play()
    parent = atomic(roles)
    child = roles.evolve(parent, CAUSAL, BRANCHES, seed=1)
    assert child.steps[:1] == parent.steps and child.steps[1].action == "swap" and child.steps[1].after == (0,)
    assert (child.parent, child.depth, child.kernels, child.interactions) == (parent.id, 2, ("causal",), ())
    shown = prompt(server.bodies[-1])
    assert CAUSAL.instruction in shown and wording.catalog(LIBRARY) in shown and wording.blueprint(parent) in shown


def test_vary_changes_words_only(play):
    roles, _ = play()
    parent = atomic(roles)
    child = roles.vary(parent, PRESSURE, seed=1)
    assert child.steps == parent.steps and child.depth == parent.depth and child.goal != parent.goal
    assert child.interactions == ("pressure",) and child.parent == parent.id


@pytest.mark.parametrize(("form", "field"), [("Evolved", "scenario"), ("Varied", "wording")])
def test_a_model_may_decline(play, form, field):
    said = changed(form, **{"declined": "no sense", field: None})
    roles, _ = play(lambda body: json.dumps(said[body["response_format"]["json_schema"]["name"]]))
    parent = atomic(roles)
    got = roles.evolve(parent, CAUSAL, [], 1) if form == "Evolved" else roles.vary(parent, PRESSURE, 1)
    assert got == Declined(reason="no sense")


@pytest.mark.parametrize(
    ("form", "fields", "reason"),
    [
        ("Written", {"scenarios": []}, "0 scenarios"),
        ("Written", {"scenarios": [{**WORDS, "steps": [STEP]}] * 3}, "3 scenarios"),
        ("Written", {"scenarios": [{**WORDS, "steps": [{**STEP, "action": "fly"}]}]}, "'fly' is no action"),
        ("Written", {"scenarios": [{**WORDS, "steps": [{**STEP, "units": ["swap.booking/present"]}]}]}, "has no branch"),
        ("Written", {"scenarios": [{**WORDS, "steps": [{**STEP, "units": []}]}]}, "units"),
        (
            "Written",
            {"scenarios": [{**WORDS, "steps": [{**STEP, "units": ["cancel.due/owing"]}]}]},
            "which cancel.due/owing denies",
        ),
        ("Written", {"scenarios": [{**WORDS, "steps": [{**STEP, "decision": "refuse"}]}]}, "none of its units denies it"),
        ("Written", {"scenarios": [{**WORDS, "steps": [{**STEP, "after": [0]}]}]}, "only earlier steps"),
        (
            "Written",
            {"scenarios": [{**WORDS, "steps": [{**STEP, "action": "swap", "units": ["swap.booking/present"]}]}]},
            "no step of",
        ),
        ("Evolved", {"scenario": {**WORDS, "new_steps": []}}, "new_steps is empty"),
        ("Evolved", {"scenario": None}, "both null"),
        ("Varied", {"wording": None}, "both null"),
    ],
)
def test_incoherent_answers_are_told_why_and_fail_in_the_end(play, form, fields, reason):
    said = changed(form, **fields)
    roles, server = play(lambda body: json.dumps(said[body["response_format"]["json_schema"]["name"]]), reasks=1)
    parent = Blueprint.model_validate(
        {"domain": "desk", "parent": None, "depth": 1, "kernels": (), "interactions": (), "goal": "x", "steps": [{**STEP, "units": [BRANCHES[0].unit]}]}
    )  # fmt: skip
    call = {
        "Written": lambda: roles.write(("cancel",), [], 2, 1),
        "Evolved": lambda: roles.evolve(parent, CAUSAL, [], 1),
        "Varied": lambda: roles.vary(parent, PRESSURE, 1),
    }[form]
    with pytest.raises(RoleFailed, match=reason):
        call()
    assert len(server.bodies) == 2 and re.search(reason, server.bodies[1]["messages"][-1]["content"])


# -------------------------------------------------------------------------------------------------------------------------- grounding


def test_ground_probes_its_copy_and_hands_in_a_task(play):
    roles, server = play(probes=len(answers.PROBES) + 2)
    blueprint, env = atomic(roles), load("desk")
    env.reset()
    # The model asks for more probes than are left in its second turn, so the third must be the task.
    task = roles.ground(blueprint, env, 3, ["b10 was live"], seed=1)
    assert task.blueprint == blueprint.id and task.round == 3 and task.bindings == {"A": "b10"}
    assert task.reference == (Call(name="cancel", arguments={"id": "b10"}),) and task.facts == {"pending": False}
    assert task.init_actions == ({"env_type": "assistant", "func_name": "set_member", "arguments": {"tier": "vip"}},)
    assert task.refusals[0].call.name == "swap" and task.refusals[0].when == "start"
    forms = [body["response_format"]["json_schema"]["name"] for body in server.bodies[1:]]
    assert forms == ["Probing", "Probing", "Grounded"]
    first, results = prompt(server.bodies[1]), server.bodies[2]["messages"][-1]["content"]
    assert load("desk").policy in first and "b10 was live" in first and '"bookings"' in first
    assert "func_name set_booking" in first and "- cancel: cancel.booking/present [allow] The booking is not gone" in first
    assert '"keys": ["member", "bookings"' in results and "nothing is at ['bookings', 'b99']" in results
    assert "at the beginning again" in results and "cancel.booking/" in results and "Error: " in results
    assert "Probes left: 2." in results and "Probes left: 0." in server.bodies[3]["messages"][-1]["content"]


def test_what_a_beginning_can_be_is_told():
    assert wording.beginnings(LIBRARY).startswith(
        "- env_type assistant, func_name set_booking, arguments id: keys(bookings); plan: "
    )
    told = wording.beginnings(operators.load("tau2/telecom"))
    assert "- airplane mode is on: [" in told and '"func_name": "turn_airplane_mode_on"' in told


def test_ground_may_hand_in_before_its_probes_are_spent(play):
    said = changed("Probing", probes=[], task=TASK)
    roles, server = play(lambda body: json.dumps(said[body["response_format"]["json_schema"]["name"]]))
    roles.ground(atomic(roles), load("desk"), 0, [], seed=1)
    assert len(server.bodies) == 2


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"bindings": []}, "no record for A"),
        (
            {"init_actions": [{**TASK["init_actions"][0], "func_name": "set_sail"}]},
            "init action 0, set_sail: no such init function",
        ),
        ({"reference": [{**answers.CALL, "name": "fly"}]}, "'fly' is no tool of the assistant"),
        ({"reference": [{**answers.CALL, "requestor": "user"}]}, "no tool of the user"),
        ({"reference": [{**answers.CALL, "arguments": "{"}]}, "arguments of cancel is no JSON"),
        ({"reference": [{**answers.CALL, "arguments": "[]"}]}, "must be a JSON object"),
        ({"facts": '{"mood": 1}'}, "no fact 'mood'"),
        ({"facts": '{"pending": "maybe"}'}, "pending is boolean"),
        ({"scenario": ""}, "scenario"),
    ],
)
def test_tasks_with_what_does_not_exist_are_told_why(play, fields, reason):
    said = changed("Grounded", task={**TASK, **fields})
    roles, server = play(lambda body: json.dumps(said[body["response_format"]["json_schema"]["name"]]), probes=0, reasks=1)
    blueprint = atomic(roles)
    with pytest.raises(RoleFailed, match=reason):
        roles.ground(blueprint, load("desk"), 0, [], seed=1)
    assert reason in server.bodies[-1]["messages"][-1]["content"]


def test_tell_makes_a_task_of_calls(play):
    look = {**answers.CALL, "name": "look"}
    said = [{"scenario": "You want b10 cancelled.", "reference": calls} for calls in ([look], [look, answers.CALL])]
    replies = iter(map(json.dumps, said))
    roles, server = play(lambda body: next(replies))
    blueprint, call = hidden_blueprint(), Call(name="cancel", arguments={"id": "b10"})
    task = roles.tell(blueprint, {"pending": False}, [call], load("desk"), 1)
    assert [each.name for each in task.reference] == ["look", "cancel"] and task.blueprint == blueprint.id
    assert task.facts == {"pending": False} and task.bindings == {"HIDDEN-ENTITY": "b10"} and task.round == 0
    assert '- cancel({"id": "b10"})' in prompt(server.bodies[0]) and load("desk").policy in prompt(server.bodies[0])
    assert 'reference lacks cancel({"id": "b10"})' in prompt(server.bodies[1])


# ------------------------------------------------------------------------------------------------------------------------ conversation

EVENTS = (
    Event(kind="user", text="Please cancel b10."),
    Event(kind="call", call=Call(name="look", arguments={"id": "b10"}), observation="basic open due 0 age 0"),
    Event(kind="assistant", text="Are you sure?"),
    Event(kind="call", call=Call(name="restart_phone", arguments={}, requestor="user"), observation="restarted"),
    Event(kind="user", text="Yes."),
)


def tool_call(name: str, arguments: dict) -> dict:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "x", "type": "function", "function": function}]}


def test_act_calls_tools_natively(play):
    roles, server = play(lambda body: tool_call("cancel", {"id": "b10"}))
    env = load("desk")
    view = AgentView(policy=env.policy, tools=tuple(env.tools), events=EVENTS, probe=unseen)
    assert roles.act(view, ["look first"], seed=1) == Call(name="cancel", arguments={"id": "b10"})
    (body,) = server.bodies
    system, *chat = body["messages"]
    assert body["tools"] == env.tools and env.policy in system["content"] and "- look first" in system["content"]
    assert [message["role"] for message in chat] == ["user", "assistant", "tool", "assistant", "user"]
    assert chat[1]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"id": "b10"}'}
    assert chat[2]["tool_call_id"] == chat[1]["tool_calls"][0]["id"] and chat[2]["content"] == "basic open due 0 age 0"
    assert "restart_phone" not in json.dumps(body["messages"])


def test_the_user_speaks_calls_and_stops(play):
    replies = iter(["Cancel b10.", tool_call("restart_phone", {}), "Thanks. ###STOP###"])
    roles, server = play(lambda body: next(replies))
    task, blueprint = hidden_task(), hidden_blueprint()
    tools = ({"type": "function", "function": {"name": "restart_phone", "parameters": {"type": "object", "properties": {}}}},)
    assert roles.user(task, blueprint, (), tools, 1) == "Cancel b10."
    assert roles.user(task, blueprint, EVENTS, tools, 1) == Call(name="restart_phone", arguments={}, requestor="user")
    assert roles.user(task, blueprint, EVENTS, tools, 2) is None
    system, opening, *chat = server.bodies[1]["messages"]
    assert task.scenario in system["content"] and "KNOWN" in system["content"]
    assert "pending" not in system["content"]  # a fact of the requests, not for the user to say
    assert opening["role"] == "user"
    assert [message["role"] for message in chat] == ["assistant", "user", "assistant", "tool", "assistant"]
    assert "basic open due 0" not in json.dumps(chat)  # what the agent looked up is not the user's to see


def test_the_user_is_told_the_facts_that_a_user_says(serve, connect):
    reason = Fact(type="string", text="why the booking is cancelled")
    library, server = replace(LIBRARY, facts={**LIBRARY.facts, "reason": reason}), serve(lambda body: "Hello.")
    task = hidden_task().model_copy(update={"facts": {"reason": "illness", "pending": True}})
    LlmRoles(connect(server.url), library, load("desk")).user(task, hidden_blueprint(), (), (), 1)
    assert (
        prompt(server.bodies[0]).split("said when asked:\n")[1].startswith('- reason (why the booking is cancelled): "illness"\n')
    )


def test_evaluate_and_diagnose_see_the_evidence(play):
    roles, server = play()
    demonstration = Demonstration(task="t", round=0, branch=0, attempt=0, events=EVENTS, stop="done")
    scores = roles.evaluate(hidden_task(), demonstration, EVIDENCE, 1)
    assert (scores.action, scores.policy, scores.communication) == (0.5, 0.25, 1.0)
    assert roles.diagnose(hidden_task(), demonstration, EVIDENCE, 1).route == "task"
    for body in server.bodies:
        shown = prompt(body)
        assert "lead to different states" in shown and "- not a branch" in shown
        assert (
            "- pay: pay.amount/over [deny] " in shown and "- swap: swap.booking/present [allow] The booking is not gone" in shown
        )
        assert hidden_task().scenario in shown and "assistant calls look" in shown and "The member is vip." in shown


def test_feedback_may_not_quote_the_hidden_scenario(play):
    scenario = hidden_task().scenario
    replies = iter(
        [
            {"feedback": f"You should know: {scenario.upper()}", "action": 0, "policy": 0, "communication": 0},
            {"feedback": "Look at the status.", "action": 0, "policy": 0, "communication": 0},
        ]
    )
    roles, server = play(lambda body: json.dumps(next(replies)))
    demonstration = Demonstration(task="t", round=0, branch=0, attempt=0, events=EVENTS, stop="done")
    assert roles.evaluate(hidden_task(), demonstration, EVIDENCE, 1).feedback == "Look at the status."
    assert "quotes the hidden instructions" in server.bodies[1]["messages"][-1]["content"]


def hidden_task() -> Task:
    """A task all of whose texts are marked."""
    return Task(
        blueprint="HIDDEN-ID",
        round=0,
        init_actions=({"env_type": "assistant", "func_name": "set_member", "arguments": {"tier": "vip"}},),
        scenario="HIDDEN-SCENARIO you are a secret member who wants the booking b12 cancelled today and says so at once",
        facts={"pending": True},
        reference=(Call(name="HIDDEN-CALL", arguments={"HIDDEN-NAME": "HIDDEN-VALUE"}, facts={"HIDDEN-FACT": "HIDDEN"}),),
        refusals=({"call": {"name": "HIDDEN-REFUSED", "arguments": {}}, "when": "end"},),
        bindings={"HIDDEN-SLOT": "HIDDEN-BINDING"},
    )


def hidden_blueprint() -> Blueprint:
    step = {"action": "HIDDEN-ACTION", "entity": "HIDDEN-ENTITY", "decision": "perform", "units": (("HIDDEN-P", "HIDDEN-O"),)}
    return Blueprint(
        domain="HIDDEN-DOMAIN", parent=None, depth=1, kernels=("HIDDEN-KERNEL",), interactions=(), goal="HIDDEN-GOAL",
        context="HIDDEN-CONTEXT", known=("HIDDEN-KNOWN",), unknown=("HIDDEN-UNKNOWN",), steps=(step,),
    )  # fmt: skip


def test_nothing_of_the_task_reaches_the_solving_agent(play):
    roles, server = play()
    env, task, blueprint = load("desk"), hidden_task(), hidden_blueprint()
    demonstration = Demonstration(task="HIDDEN-ID", round=0, branch=0, attempt=0, events=EVENTS, stop="done")
    # Every other role sees the hidden things first, through the same object; then the agent is asked.
    roles.user(task, blueprint, EVENTS, (), 1)
    scores = roles.evaluate(task, demonstration, EVIDENCE, 1)
    before = len(server.bodies)
    roles.act(AgentView(policy=env.policy, tools=tuple(env.tools), events=EVENTS, probe=unseen), [scores.feedback], 1)
    (body,) = server.bodies[before:]
    assert "HIDDEN" in json.dumps(server.bodies[:before]) and "HIDDEN" not in json.dumps(body)
    assert set(body) == {"model", "messages", "seed", "max_completion_tokens", "temperature", "tools", "parallel_tool_calls"}
    # What the agent's prompt is made of: a new field of its view has to be looked at here.
    assert {field.name for field in fields(AgentView)} == {"policy", "tools", "events", "probe"}
    places = set(re.findall(r"\{([a-z_]+)\}", (prompts.FOLDER / "act.txt").read_text(encoding="utf-8")))
    assert places == {"policy", "feedback"}


# -------------------------------------------------------------------------------------------------------------------------- in general


def test_every_role_replays_with_the_server_down(play, connect):
    roles, server = play()

    def everything(roles: LlmRoles) -> list:
        env = load("desk")
        env.reset()
        blueprint = atomic(roles)
        demonstration = Demonstration(task="t", round=0, branch=0, attempt=0, events=EVENTS, stop="done")
        task = roles.ground(blueprint, env, 0, [], 1)
        return [
            blueprint,
            roles.evolve(blueprint, CAUSAL, BRANCHES, 1),
            roles.vary(blueprint, PRESSURE, 1),
            task,
            roles.user(task, blueprint, (), (), 1),
            roles.act(AgentView(policy=env.policy, tools=tuple(env.tools), events=EVENTS, probe=unseen), [], 1),
            roles.evaluate(task, demonstration, EVIDENCE, 1),
            roles.diagnose(task, demonstration, EVIDENCE, 1),
        ]

    first, used = everything(roles), roles._client.report().used
    roles._client.close()
    server.stop()
    replay = LlmRoles(connect(server.url), LIBRARY, load("desk"))
    assert everything(replay) == first
    report = replay._client.report()
    assert report.sent == 0 and report.used == used and report.paid.answers == 0


def test_roles_may_be_called_from_many_threads(play):
    roles, server = play()
    with ThreadPoolExecutor(16) as pool:
        blueprints = list(pool.map(lambda seed: roles.write(("cancel",), BRANCHES, 2, seed), range(40)))
    assert len({each[0].id for each in blueprints}) == 1 and len(server.bodies) == 40


def test_the_ablation_without_operators_shows_the_raw_artifacts(serve, connect):
    server, env = serve(answer), load("desk")
    roles = LlmRoles(connect(server.url), LIBRARY, env, catalog=wording.artifacts(LIBRARY, env))
    roles.write(("cancel",), BRANCHES, 2, 1)
    shown = prompt(server.bodies[0])
    assert env.policy in shown and '"bookings"' in shown and "cancel.booking/present" in shown
    denied = [{**STEP, "units": ["cancel.due/owing"]}]  # which the model has to find out from the policy, and may get wrong
    server.answer = lambda body: json.dumps({"scenarios": [{**WORDS, "steps": denied}]})
    (blueprint,) = roles.write(("cancel",), BRANCHES, 2, 2)
    server.answer = answer
    roles.ground(blueprint, env, 0, [], 1)
    for body in server.bodies:
        assert LIBRARY.operators["cancel"].guards[0].text not in prompt(body)
    assert "- cancel: cancel.due/owing\n" in prompt(server.bodies[-1])


def test_every_prompt_file_has_its_sections():
    names = {path.stem for path in prompts.FOLDER.glob("*.txt")}
    assert names == {"write", "evolve", "vary", "ground", "tell", "act", "user", "evaluate", "diagnose", "extract"}
    for name in names - {"act"}:
        assert len(prompts.sections(name)) > 1


def test_values_are_not_templates():
    assert prompts.fill("a {x} b {y}", {"x": "{y}", "y": "1"}) == "a {y} b 1"
    with pytest.raises(KeyError):
        prompts.fill("{x}", {})
