"""kill -9 in the middle of a run, again and again: nothing recorded is asked for again, and the run ends as if undisturbed."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from loopback import Loopback

from selfevolve.gradus.llm.recording import read

CALLS, UNDER_WAY = 200, 16
WORKER = Path(__file__).with_name("kill_worker.py")


def start(server: Loopback, folder: Path) -> subprocess.Popen:
    command = [sys.executable, str(WORKER), server.url, str(folder), str(CALLS), str(UNDER_WAY), "50"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_killed_run_resumes_without_paying_twice(tmp_path):
    instants = (1, 70, 40)  # answers that the server gives before each kill
    with Loopback(lambda body: f"answer to {body['messages'][0]['content']}", latency_s=0.02) as server:
        for instant in instants:
            recorded, asked, answered = draws(tmp_path), len(server.bodies), len(server.answered)
            process = start(server, tmp_path)
            deadline = time.monotonic() + 120
            while len(server.answered) < answered + instant:
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.002)
            process.kill()
            process.communicate()
            time.sleep(0.2)  # what was under way arrives at the server, and is nobody's
            assert not recorded & {body["seed"] for body in server.bodies[asked:]}
        recorded, asked = draws(tmp_path), len(server.bodies)
        assert 0 < len(recorded) < CALLS
        lines, _ = start(server, tmp_path).communicate(timeout=120)
        assert lines.splitlines() == [f"'answer to question {number}'" for number in range(CALLS)]
        assert sorted(body["seed"] for body in server.bodies[asked:]) == sorted(set(range(CALLS)) - recorded)
        # Every call was answered; twice only what was under way at a kill.
        times = Counter(body["seed"] for body in server.answered)
        assert set(times) == set(range(CALLS))
        assert sum(times.values()) - CALLS <= len(instants) * UNDER_WAY
        assert len(draws(tmp_path)) == len(list(read(tmp_path))) == CALLS
    again = start(server, tmp_path)  # the server is down now
    assert again.communicate(timeout=120)[0] == lines and again.returncode == 0


def draws(folder: Path) -> set[int]:
    return {request.draw for request, _ in read(folder)}
