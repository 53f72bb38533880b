"""The whole method, from the first blueprint to the last verified pair, with a model behind an endpoint that fails and a run that is killed."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from collections import Counter, deque
from pathlib import Path

import pytest
from actor import Actor
from loopback import Loopback, drop, garbage, half_body, hang, status
from whole_worker import WORKERS, run

from selfevolve.gradus.llm.errors import EndpointError
from selfevolve.gradus.llm.recording import read

WORKER = Path(__file__).with_name("whole_worker.py")
KILLS = 2
FAULTS = (status(429), status(429, retry_after="0.1"), status(500), status(503), drop, half_body, garbage, hang)


@pytest.fixture(scope="module")
def actor() -> Actor:
    return Actor()


@pytest.fixture(scope="module")
def undisturbed(actor, tmp_path_factory):
    """What a run makes that nothing befalls, its report, its folder, and what it asked the model."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with Loopback(actor.answer) as server:
        curriculum, report = run(server.url, folder)
    return curriculum, report, folder, asked(server)


def asked(server: Loopback) -> Counter[str]:
    """How often each request was answered."""
    return Counter(json.dumps(body, sort_keys=True) for body in server.answered)


def test_the_whole_method_runs_on_a_model(undisturbed):
    curriculum, report, _, times = undisturbed
    assert [each["depth"] for each in curriculum["blueprints"]] == [1, 1, 1, 2, 2, 3]
    outcomes = curriculum["outcomes"]
    assert all(each["accepted"] and each["verified"] for each in outcomes if each["reason"] is None)
    assert sum(each["accepted"] for each in outcomes) >= len(outcomes) / 2
    # The model is wrong often enough that the loop has to do its work.
    passes = [entry for each in outcomes for entry in each["trace"]]
    assert any(not attempt["verified"] for entry in passes for attempt in entry["attempts"])
    assert any(entry["route"] or entry["error"] for entry in passes) and report.unusable
    assert report.failures == report.retries == {} and set(times.values()) == {1}
    assert report.sent == len(times) == report.paid.answers == report.held.answers


def test_the_recorded_calls_alone_give_the_same_curriculum(undisturbed, tmp_path):
    curriculum, report, folder, _ = undisturbed
    shutil.copytree(folder / "calls", tmp_path / "calls")
    again, replayed = run("http://127.0.0.1:9/v1", tmp_path)
    assert again == curriculum and replayed.sent == 0 and replayed.used == report.used


def test_faults_and_kills_change_nothing(actor, undisturbed, tmp_path):
    curriculum, _, _, wanted = undisturbed
    rng = random.Random(7)
    with Loopback(actor.answer) as server:
        for number in range(KILLS + 1):
            server.faults = storm(rng)
            process = start(server, tmp_path)
            if number < KILLS:
                kill(process, server, rng.randint(5, len(wanted) // (KILLS + 1)))
        out, errors = process.communicate(timeout=200)
        assert process.returncode == 0, errors
        assert json.loads((tmp_path / "curriculum.json").read_text()) == curriculum
        times = asked(server)
    # The same requests, each answered once; twice only what was under way at a kill and could not be kept.
    assert set(times) == set(wanted) and sum(times.values()) - len(times) <= KILLS * WORKERS
    assert len(list(read(tmp_path / "calls"))) == len(wanted)
    assert f"recorded by all sessions: {len(wanted):,} answers" in out and "; 0 failed" in out and "http_500" in out


def test_an_endpoint_that_refuses_ends_the_run_and_loses_nothing(actor, undisturbed, tmp_path):
    curriculum, _, _, wanted = undisturbed
    with Loopback(actor.answer, [None] * 60 + [status(401)]) as first, pytest.raises(EndpointError, match="HTTP 401"):
        run(first.url, tmp_path)
    with Loopback(actor.answer) as second:  # at another address
        again, _ = run(second.url, tmp_path)
    assert again == curriculum and asked(first) + asked(second) == wanted


def storm(rng: random.Random) -> deque:
    """Every fault, among requests that go well."""
    faults = [*FAULTS, *[None] * 12]
    rng.shuffle(faults)
    return deque(faults)


def start(server: Loopback, folder: Path) -> subprocess.Popen:
    command = [sys.executable, str(WORKER), server.url, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def kill(process: subprocess.Popen, server: Loopback, after: int) -> None:
    """kill -9 when the server has given so many more answers."""
    until, deadline = len(server.answered) + after, time.monotonic() + 120
    while len(server.answered) < until:
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.002)
    process.kill()
    process.communicate()
