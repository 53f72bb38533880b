"""A model that plays every role on the desk from nothing but the words of its prompts, by asking the scripted roles.

Deterministic in the request. To play the agent it has to know the state of the desk: its users say how the conversation began, and the calls
are in the conversation. One answer in `BAD` is of no use (cut JSON, another schema, no words), always to the same requests.
"""

from __future__ import annotations

import json
import re
import zlib
from typing import Any

from selfevolve.environments import load
from selfevolve.gradus import graph, kernels, operators
from selfevolve.gradus.blueprints import Blueprint, Call
from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.roles import AgentView, Declined
from selfevolve.gradus.scripted.roles import ScriptedRoles
from selfevolve.gradus.scripted.settings import ScriptedSettings
from selfevolve.gradus.tasks import Event, Task

BAD = 23
SLIPS = ScriptedSettings.model_validate(
    {
        "grounding": {"base": 0.4, "per_depth": 0.0, "learning": 0.5},
        "agent": {"base": 0.3, "per_depth": 0.1, "per_interaction": 0.0, "learning": 0.3},
        "misroute": 0.0,
    }
)
_STEP = re.compile(r"step \d+: (perform|refuse) (\w+) on (\w+)(?:, needs the effects of ([\d, ]+))?: (.+)")
_GAP = re.compile(r"^- (\w+): (\S+)/(\S+)$", re.MULTILINE)


class Actor:
    """`answer(body)` is what the model says to a request."""

    def __init__(self) -> None:
        library = operators.load("desk")
        self._roles = ScriptedRoles(library, lambda: load("desk"), graph.edges(library, load("desk"), executed=1), SLIPS)
        self._kernels = {kernel.name: kernel for kernel in kernels.load()}

    def answer(self, body: dict[str, Any]) -> str | dict[str, Any]:
        luck = zlib.crc32(json.dumps(body, sort_keys=True).encode()) % BAD
        form = body.get("response_format")
        if form is None:
            opening = body["messages"][0]["content"]
            said = self._user(body) if opening.startswith("You play a user") else self._act(body)
            return "  " if luck == 0 else said
        try:
            text = json.dumps(getattr(self, f"_{form['json_schema']['name'].lower()}")(body))
        except RoleFailed as error:
            return str(error)
        return text[: len(text) // 2] if luck == 0 else '{"other": 1}' if luck == 1 else text

    def _written(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = body["messages"][1]["content"]
        count, action = re.search(r"Write (\d+) different scenarios about the action (\w+)", asked).groups()
        made = self._roles.write((action,), _gaps(asked), int(count), body["seed"])
        return {"scenarios": [{**_words(each), "steps": [_step(step) for step in each.steps]} for each in made]}

    def _evolved(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = body["messages"][1]["content"]
        parent, kernel = _blueprint(asked), re.search(r"in this way \((\w+)\)", asked)[1]
        child = self._roles.evolve(parent, self._kernels[kernel], _gaps(asked), body["seed"])
        if isinstance(child, Declined):
            return {"declined": child.reason, "scenario": None}
        new = child.steps[len(parent.steps) :]
        return {"declined": None, "scenario": {**_words(child), "new_steps": [_step(step) for step in new]}}

    def _varied(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = body["messages"][1]["content"]
        child = self._roles.vary(_blueprint(asked), self._kernels[re.search(r"in this way \((\w+)\)", asked)[1]], body["seed"])
        return {"declined": None, "wording": _words(child)}

    def _probing(self, body: dict[str, Any]) -> dict[str, Any]:
        if len(body["messages"]) > 2:
            return {**self._grounded(body), "probes": []}
        probes = [{"kind": "look", "path": []}, {"kind": "restart", "init_actions": []}]
        return {"thought": "what is there", "probes": probes, "task": None}

    def _grounded(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = body["messages"][1]["content"]
        wrong = asked.split("earlier versions of this task:\n")[1].split("\n\nYou may make")[0]
        feedback = [line for line in wrong.splitlines() if line != "- none"]
        env = load("desk")
        env.reset()
        task = self._roles.ground(_blueprint(asked), env, 0, feedback, body["seed"])
        begun = [{**action, "arguments": json.dumps(action["arguments"])} for action in task.init_actions]
        form = {
            "bindings": [{"entity": entity, "id": id} for entity, id in task.bindings.items()],
            "init_actions": begun,
            "scenario": f"{task.scenario}\nBegun: {json.dumps(task.init_actions)}",
            "facts": json.dumps(task.facts),
            "reference": [_call(call) for call in task.reference],
            "refusals": [{"call": _call(each.call), "when": each.when} for each in task.refusals],
        }
        return {"thought": "that is it", "task": form}

    def _evaluated(self, body: dict[str, Any]) -> dict[str, Any]:
        broken = re.findall(r"^- .* \[deny\] ", body["messages"][1]["content"], re.MULTILINE)
        return {"feedback": "Look everything up.", "action": 0.5, "policy": 0.5 ** len(broken), "communication": 1.0}

    def _diagnosed(self, body: dict[str, Any]) -> dict[str, Any]:
        sound = "what is wrong with the proposed solution: none" in body["messages"][1]["content"]
        return {"feedback": "Go by what the desk says.", "route": "solution" if sound else "task"}

    def _act(self, body: dict[str, Any]) -> str | dict[str, Any]:
        system, *chat = body["messages"]
        advice = system["content"].split("like this one:\n")[1].splitlines()
        env, events = load("desk"), list[Event]()
        begun = json.loads(chat[0]["content"].split("\nBegun: ")[1])
        env.reset(begun)
        for message in chat:
            if message["role"] == "tool":
                call = events[-1].call
                seen = env.call(call.name, call.arguments)
                assert seen.text == message["content"]
                events[-1] = Event(kind="call", call=call, observation=seen.text, error=seen.error)
            elif calls := message.get("tool_calls"):
                function = calls[0]["function"]
                events.append(Event(kind="call", call=Call(name=function["name"], arguments=json.loads(function["arguments"]))))
            else:
                events.append(Event(kind=message["role"], text=message["content"].split("\nBegun: ")[0]))
        view = AgentView(policy=env.policy, tools=tuple(env.tools), events=tuple(events), probe=lambda: env)
        said = self._roles.act(view, [line for line in advice if line != "- none"], body["seed"])
        if isinstance(said, str):
            return said
        function = {"name": said.name, "arguments": json.dumps(said.arguments)}
        return {"role": "assistant", "content": None, "tool_calls": [{"id": "x", "type": "function", "function": function}]}

    def _user(self, body: dict[str, Any]) -> str:
        system, _, *chat = body["messages"]
        scenario, begun = system["content"].split("Your instructions:\n")[1].split("\n\nWhat you know:")[0].split("\nBegun: ")
        task = Task(blueprint="x", round=0, scenario=scenario, reference=())
        sides = {"assistant": "user", "user": "assistant"}
        events = [Event(kind=sides[message["role"]], text=message["content"].split("\nBegun: ")[0]) for message in chat]
        said = self._roles.user(task, None, events, (), body["seed"])
        if said is None:
            return "###STOP###"
        return said if chat else f"{said}\nBegun: {begun}"


def _blueprint(text: str) -> Blueprint:
    """The scenario in a prompt; its lineage is not told."""
    fields = {name: re.search(rf"^{name}: (.*)$", text, re.MULTILINE)[1] for name in ("goal", "context", "known", "unknown")}
    steps = []
    for decision, action, entity, after, units in _STEP.findall(text):
        named = [unit.split("/") for unit in units.split(", ")]
        numbers = [int(number) for number in after.split(", ")] if after else []
        steps.append({"action": action, "entity": entity, "decision": decision, "units": named, "after": numbers})
    listed = {name: () if fields[name] == "nothing" else fields[name].split("; ") for name in ("known", "unknown")}
    lineage = {"domain": "desk", "parent": None, "depth": len(steps), "kernels": (), "interactions": ()}
    return Blueprint.model_validate({**lineage, **fields, **listed, "steps": steps})


def _words(blueprint: Blueprint) -> dict[str, Any]:
    known, unknown = list(blueprint.known), list(blueprint.unknown)
    return {"goal": blueprint.goal, "context": blueprint.context, "known": known, "unknown": unknown}


def _step(step: Any) -> dict[str, Any]:
    return {**step.model_dump(mode="json"), "units": ["/".join(unit) for unit in step.units]}


def _call(call: Call) -> dict[str, Any]:
    return {**call.model_dump(), "arguments": json.dumps(call.arguments), "facts": json.dumps(call.facts)}


def _gaps(text: str) -> list[Branch]:
    return [Branch(*found) for found in _GAP.findall(text.split("cover least")[-1])]
