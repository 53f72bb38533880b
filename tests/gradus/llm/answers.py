"""Sound answers of every role for the desk, as a model would give them; `loopback` servers send them."""

from __future__ import annotations

import json
from typing import Any

STEP = {"action": "cancel", "entity": "A", "decision": "perform", "units": ["cancel.booking/present"], "after": []}
WORDS = {"goal": "The member wants a booking cancelled.", "context": "Nothing is due.", "known": ["the booking"], "unknown": []}
CALL = {"name": "cancel", "arguments": '{"id": "b10"}', "requestor": "assistant", "facts": "{}"}
TASK = {
    "bindings": [{"entity": "A", "id": "b10"}],
    "init_actions": [{"env_type": "assistant", "func_name": "set_member", "arguments": '{"tier": "vip"}'}],
    "scenario": "You are a vip member and want booking b10 cancelled. Say that you are sure when you are asked whether you are.",
    "facts": '{"pending": false}',
    "reference": [CALL],
    "refusals": [{"call": {**CALL, "name": "swap"}, "when": "start"}],
}
PROBES = [
    {"kind": "look", "path": []},
    {"kind": "look", "path": ["bookings", "b10"]},
    {"kind": "look", "path": ["bookings", "b99"]},
    {"kind": "restart", "init_actions": TASK["init_actions"]},
    {"kind": "call", "name": "look", "arguments": '{"id": "b10"}', "requestor": "assistant"},
    {"kind": "judge", "name": "cancel", "arguments": '{"id": "b10"}', "facts": "{}"},
    {"kind": "judge", "name": "fly", "arguments": "{", "facts": "{}"},
]

ANSWERS: dict[str, Any] = {
    "Written": {"scenarios": [{**WORDS, "steps": [STEP]}]},
    "Evolved": {
        "declined": None,
        "scenario": {
            **WORDS,
            "goal": "Two things.",
            "new_steps": [{**STEP, "action": "swap", "units": ["swap.booking/present"], "after": [0]}],
        },
    },
    "Varied": {"declined": None, "wording": {**WORDS, "goal": "That old thing of mine has to go."}},
    "Probing": {"thought": "look around", "probes": PROBES, "task": None},
    "Grounded": {"thought": "done", "task": TASK},
    "Evaluated": {"feedback": "Look at the booking first.", "action": 0.5, "policy": 0.25, "communication": 1},
    "Diagnosed": {"feedback": "The booking is not what the reference assumes.", "route": "task"},
}


def answer(body: dict[str, Any]) -> str:
    """What the model says to a request: JSON of the form that is asked for, or words."""
    form = body.get("response_format")
    return json.dumps(ANSWERS[form["json_schema"]["name"]]) if form else "How can I help?"
