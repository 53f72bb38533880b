"""A model in this process that answers the same requests, with transformers and without a server.

What a server does for a request is done here in words: tools and the JSON schema are described in the system message, calls are written as
JSON objects, and nothing constrains the answer, so `client` validates and asks again. Requests run one at a time, each with its draw index as
the seed: a batch would make an answer depend on its neighbours.

The weights behind `model` are not part of a request's key: give another recording folder to another checkpoint under the same path.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Any

from selfevolve.gradus.llm.calls import Answer, Message, Request
from selfevolve.gradus.settings import LlmSettings
from selfevolve.models import policy
from selfevolve.models.settings import Sampling

_TOOLS = 'Tools, as JSON schemas:\n{tools}\nTo call one, answer with nothing but {{"name": ..., "arguments": {{...}}}}.'
_SCHEMA = "Answer with nothing but a JSON object of this schema:\n{schema}"


class Local:
    """A loaded policy. Raises selfevolve.models.policy.ModelError if it cannot be loaded."""

    def __init__(self, settings: LlmSettings):
        self._policy = policy.load(settings.model, "auto", 1)
        self._turn = threading.Lock()

    async def send(self, request: Request) -> Answer:
        return await asyncio.to_thread(self._generate, request)

    async def close(self) -> None:
        """Nothing to let go of."""

    def _generate(self, request: Request) -> Answer:
        wanted = request.sampling
        sampling = Sampling(
            temperature=1.0 if wanted.temperature is None else wanted.temperature,
            top_p=wanted.top_p or 1.0,
            max_new_tokens=wanted.max_tokens,
        )
        with self._turn:
            start = time.perf_counter()
            (ids,) = self._policy.encode([_plain(request)])
            if len(ids) + wanted.max_tokens > self._policy.model.config.max_position_embeddings:
                return Answer(message={}, finish="too_long", prompt_tokens=0, completion_tokens=0, seconds=0)
            (completion,) = self._policy.generate([ids], sampling, request.draw)
            seconds = time.perf_counter() - start
        ended = completion.ids[-1:] == [self._policy.tokenizer.eos_token_id]
        return Answer(
            message=_message(completion.text, request),
            finish="stop" if ended else "length",
            prompt_tokens=len(ids),
            completion_tokens=len(completion.ids),
            seconds=round(seconds, 3),
        )


def _plain(request: Request) -> list[Message]:
    """The conversation in the three roles and the plain texts that every chat template knows."""
    extra = []
    if request.tools:
        extra.append(_TOOLS.format(tools="\n".join(json.dumps(tool["function"]) for tool in request.tools)))
    if request.output:
        extra.append(_SCHEMA.format(schema=json.dumps(request.output.json_schema)))
    chat = [_in_words(message) for message in request.messages]
    if extra:
        first = chat[0]["content"] + "\n\n" if chat and chat[0]["role"] == "system" else ""
        chat = [{"role": "system", "content": first + "\n\n".join(extra)}, *(chat[1:] if first else chat)]
    return chat


def _in_words(message: Message) -> Message:
    if message["role"] == "tool":
        return {"role": "user", "content": f"Result: {message['content']}"}
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    if calls:
        text = json.dumps({"name": calls[0]["name"], "arguments": json.loads(calls[0]["arguments"])})
        return {"role": "assistant", "content": text}
    return {"role": message["role"], "content": message["content"]}


def _message(text: str, request: Request) -> dict[str, Any]:
    """The message of an answer; a text that is a call of an offered tool becomes that call."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if request.tools:
        try:
            call = json.loads(text)
        except (ValueError, RecursionError):
            return message
        names = {tool["function"]["name"] for tool in request.tools}
        if isinstance(call, dict) and call.get("name") in names and isinstance(call.get("arguments", {}), dict):
            function = {"name": call["name"], "arguments": json.dumps(call.get("arguments", {}))}
            return {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "call00000", "type": "function", "function": function}],
            }
    return message
