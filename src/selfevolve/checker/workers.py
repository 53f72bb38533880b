"""The caller's side of the workers: start lazily, one pair each at a time, never wait past the cap.

Workers are fresh interpreters, not forks and not `multiprocessing` children, so they can be used from notebooks, from
threads, from scripts without a main guard and from daemonic processes, and share no state with the caller.
"""

import atexit
import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

_START_S = 120.0  # importing sympy on a busy machine
_GRACE_S = 0.6  # after which a supervisor that has not answered is killed itself
COUNT = max(1, min(2, os.cpu_count() or 1))  # about 100 MB each


@dataclass(frozen=True, slots=True)
class Task:
    """A pair for computer algebra; everything: no short cuts, the slow path."""

    reference: str
    answer: str
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    correct: bool | None
    method: str


class WorkerError(RuntimeError):
    """A worker could not be started."""


class _Worker:
    """One supervisor process (see `worker`)."""

    def __init__(self) -> None:
        root = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "selfevolve.checker.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )
        self.ready = False
        self.buffer = b""

    @property
    def output(self) -> int:
        return self.process.stdout.fileno()

    def send(self, task: Task, timeout_s: float) -> None:
        request = {
            "reference": task.reference,
            "answer": task.answer,
            "all": task.everything,
            "timeout_s": timeout_s,
        }
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict | None:
        """The next message if it is complete, {} at the end of the worker."""
        chunk = os.read(self.output, 1 << 16)
        if not chunk:
            return {}
        self.buffer += chunk
        if b"\n" not in self.buffer:
            return None
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def kill(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


_lock = threading.Lock()
_workers: list[_Worker] = []
_inherited: list[_Worker] = []  # a fork's copies of its parent's workers: never used, never collected


def solve(tasks: list[Task], timeout_s: float) -> list[Outcome]:
    """Outcomes in order. Each task gets `timeout_s` of wall time of its own; a killed one disturbs no other."""
    outcomes: list[Outcome | None] = [None] * len(tasks)
    waiting = list(range(len(tasks)))[::-1]
    with _lock:
        while len(_workers) < min(COUNT, len(tasks)):
            _workers.append(_Worker())
        busy: dict[_Worker, tuple[int, float]] = {}
        starting = {worker: time.monotonic() + _START_S for worker in _workers if not worker.ready}
        with selectors.DefaultSelector() as selector:
            for worker in _workers:
                selector.register(worker.output, selectors.EVENT_READ, worker)
            try:
                while waiting or busy:
                    for worker in list(_workers):
                        if waiting and worker.ready and worker not in busy:
                            _hand_over(worker, tasks, waiting, busy, timeout_s)
                    _listen(selector, busy, starting, outcomes)
            except BaseException:  # an interrupt: the workers are mid-answer and cannot be used again
                _drop(list(_workers))
                raise
    return outcomes


def _hand_over(worker: _Worker, tasks: list[Task], waiting: list[int], busy: dict, timeout_s: float) -> None:
    at = waiting.pop()
    busy[worker] = (at, time.monotonic() + timeout_s + _GRACE_S)
    with contextlib.suppress(BrokenPipeError):  # its end shows at the next read
        worker.send(tasks[at], timeout_s)


def _listen(selector: selectors.BaseSelector, busy: dict, starting: dict, outcomes: list) -> None:
    limits = [limit for _, limit in busy.values()] + list(starting.values())
    for key, _ in selector.select(max(0.0, min(limits, default=0.0) - time.monotonic())):
        worker = key.data
        message = worker.read()
        if message is None:
            continue
        if message.get("ready"):
            worker.ready = True
            starting.pop(worker, None)
        elif worker in busy:
            at, _ = busy.pop(worker)
            outcomes[at] = _outcome(message)
            if not message:
                _replace(selector, worker, starting)
        else:
            raise WorkerError("a checker worker ended while starting: run `python -m selfevolve.checker.worker` to see why")
    now = time.monotonic()
    for worker, (at, limit) in list(busy.items()):
        if now >= limit:
            del busy[worker]
            outcomes[at] = Outcome(False, "timeout")
            _replace(selector, worker, starting)
    if any(now >= limit for limit in starting.values()):
        raise WorkerError(f"a checker worker did not start within {_START_S:.0f} s: is the machine overloaded?")


def _outcome(message: dict) -> Outcome:
    if not message:
        return Outcome(False, "crash")
    if message.get("reference") is False:  # killed while still reading the reference
        return Outcome(None, message["method"])
    return Outcome(message["outcome"], message["method"])


def _replace(selector: selectors.BaseSelector, worker: _Worker, starting: dict) -> None:
    selector.unregister(worker.output)
    _drop([worker])
    fresh = _Worker()
    _workers.append(fresh)
    starting[fresh] = time.monotonic() + _START_S
    selector.register(fresh.output, selectors.EVENT_READ, fresh)


def _drop(workers: list[_Worker]) -> None:
    for worker in workers:
        if worker in _workers:
            _workers.remove(worker)
        worker.kill()


def close() -> None:
    """End this process's workers; the next pair that needs one starts it again."""
    with _lock:
        _drop(list(_workers))


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _inherited.extend(_workers)
    _workers.clear()


atexit.register(close)
os.register_at_fork(after_in_child=_after_fork)
