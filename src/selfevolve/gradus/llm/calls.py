"""One call of a language model: what is asked, what came back, and the name under which it is recorded.

design.md section 6: a call is stored under the hash of (model, messages, sampling, schema, draw index). The tools offered are part of the
schema: they constrain the answer too. The address of the endpoint is not, so that a recording outlives a server.

Conversations repeat their messages at every turn, so a request is hashed and stored in two steps: messages, schema and list of tools are
pieces, each with a digest, and the rest holds the digests.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

from pydantic import Field

from selfevolve.gradus.blueprints import Record
from selfevolve.gradus.settings import Sampling

Message = dict[str, Any]
"""A chat message as the API has it: role, content, tool_calls, tool_call_id."""


class Output(Record):
    """The JSON schema that an answer must have, under a name."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    json_schema: dict[str, Any]


class Request(Record):
    """What is asked. Equal requests, and only those, have equal keys."""

    model: str
    messages: tuple[Message, ...]
    sampling: Sampling
    output: Output | None = None
    tools: tuple[dict[str, Any], ...] = ()
    draw: int = Field(ge=0, lt=2**31, description="draw index: sent as the sampling seed; a new one asks for another answer")

    def spelled(self) -> Spelled:
        """The request as it is named and stored."""
        pieces: dict[str, str] = {}

        def digest(value: Any) -> str:
            text = canonical(value)
            name = hashlib.sha256(text.encode()).hexdigest()[:32]
            pieces[name] = text
            return name

        rest = canonical(
            {
                "model": self.model,
                "messages": [digest(message) for message in self.messages],
                "sampling": self.sampling.model_dump(),
                "output": digest(self.output.model_dump()) if self.output else None,
                "tools": digest(self.tools) if self.tools else None,
                "draw": self.draw,
            }
        )
        return Spelled(hashlib.sha256(rest.encode()).hexdigest(), rest, pieces)

    @property
    def key(self) -> str:
        """SHA-256, 64 hex digits, under which the call is recorded."""
        return self.spelled().key


class Spelled(NamedTuple):
    """A request in words: its key; canonical JSON, with digests in place of its pieces; and the JSON of the pieces by digest."""

    key: str
    rest: str
    pieces: dict[str, str]


class ToolCall(Record):
    """A call the model wants to make; `arguments` is JSON text, as it came."""

    id: str
    name: str
    arguments: str


class Answer(Record):
    """What came back, complete: `message` is the server's, whatever fields it has."""

    message: dict[str, Any]
    finish: str = Field(description="stop, length, tool_calls, content_filter, ...; too_long: the prompt exceeds the context")
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
    seconds: float = Field(ge=0, description="from sending to the whole answer, of the attempt that succeeded")

    @property
    def text(self) -> str:
        content = self.message.get("content")
        return content if isinstance(content, str) else ""

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls; what is no function call is left out."""
        found = []
        for call in self.message.get("tool_calls") or ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict) and isinstance(function.get("name"), str):
                arguments = function.get("arguments")
                text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})  # some servers send an object
                found.append(ToolCall(id=str(call.get("id") or ""), name=function["name"], arguments=text))
        return tuple(found)


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def canonical(value: Any) -> str:
    """JSON with one spelling per value; ASCII, so that lone surrogates survive."""
    return _ENCODER.encode(value)
