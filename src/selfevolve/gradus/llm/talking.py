"""Conversations as chat messages, from the two sides. What one side may not see is not rendered for it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from selfevolve.gradus.blueprints import Requestor
from selfevolve.gradus.llm.calls import Message
from selfevolve.gradus.tasks import Event

STOP = "###STOP###"
"""What the user simulator says to end a conversation."""


def as_agent(events: Sequence[Event]) -> list[Message]:
    """The conversation as the solving agent has it: its own words and calls, and the user's words."""
    return _messages(events, me="assistant")


def as_user(events: Sequence[Event]) -> list[Message]:
    """The conversation as the user simulator has it, which speaks as the model: its own words and calls, and the agent's words."""
    return _messages(events, me="user")


def _messages(events: Sequence[Event], me: Requestor) -> list[Message]:
    chat: list[Message] = []
    for number, event in enumerate(events):
        if event.kind != "call":
            chat.append({"role": "assistant" if event.kind == me else "user", "content": event.text})
        elif event.call is not None and event.call.requestor == me:
            id = f"call{number:05d}"  # nine letters and digits: some servers accept no other
            function = {"name": event.call.name, "arguments": json.dumps(event.call.arguments)}
            chat.append(
                {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]}
            )
            chat.append({"role": "tool", "tool_call_id": id, "content": event.observation or ""})
    return chat
