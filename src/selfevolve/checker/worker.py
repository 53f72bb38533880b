"""The worker program: `python -m selfevolve.checker.worker`, started and spoken to by `workers`.

Two processes. The supervisor imports sympy once, forks a child that does the algebra, and kills and replaces it when a
pair runs past its time: a fresh child costs milliseconds, not an import. It never runs anything of the pair itself. The
child's memory is capped, and both end when the process they serve is gone: the child by a parent-death signal from the
supervisor, the supervisor by looking who its parent is, twice a second (a death signal would follow the *thread* that
started it, which may end long before its process).
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from typing import BinaryIO

MEMORY_BYTES = 1 << 30  # address space of the child
_TASKS_PER_CHILD = 200  # sympy's caches grow; a fork gives the memory back
_LOOK_S = 0.5


def main() -> None:
    """Serve requests, one JSON object a line on standard input, until it closes or the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)  # whatever a library prints goes nowhere
    os.dup2(nothing, 2)
    import latex2sympy2_extended  # noqa: F401  (imported here, once, for every child)

    from selfevolve.checker import symbolic  # noqa: F401

    _send(answers, {"ready": True})
    child: _Child | None = None
    pending = b""
    while True:
        if not select.select([0], [], [], _LOOK_S)[0]:
            if os.getppid() != parent:
                break
            continue
        chunk = os.read(0, 1 << 16)
        if not chunk:
            break
        pending += chunk
        while b"\n" in pending:
            line, pending = pending.split(b"\n", 1)
            if child is None:
                child = _Child()
            answer = child.ask(line, json.loads(line)["timeout_s"], parent)
            if not child.alive or child.tasks >= _TASKS_PER_CHILD:
                child.end()
                child = None
            _send(answers, answer)
    if child is not None:
        child.end()


def _send(stream: BinaryIO, message: dict) -> None:
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[stream.write(data) :]


class _Child:
    """One forked child and the pipes to it."""

    def __init__(self) -> None:
        request_out, self.request = os.pipe()
        self.reply, reply_in = os.pipe()
        supervisor = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.request)
                os.close(self.reply)
                _die_with(supervisor)
                _serve(request_out, reply_in)
            finally:
                os._exit(1)
        os.close(request_out)
        os.close(reply_in)
        self.alive = True
        self.tasks = 0

    def ask(self, line: bytes, timeout_s: float, parent: int) -> dict:
        """The child's answer; or {"method": "timeout"/"crash", "reference": had it read the reference?}."""
        self.tasks += 1
        deadline = time.monotonic() + timeout_s
        data = b""
        try:
            view = memoryview(line + b"\n")
            while view:
                view = view[os.write(self.request, view) :]
        except BrokenPipeError:
            self.alive = False
        while self.alive:
            left = deadline - time.monotonic()
            if left <= 0 or os.getppid() != parent:
                self.alive = False
                return {"outcome": False, "method": "timeout", "reference": data.startswith(b"r")}
            if not select.select([self.reply], [], [], min(left, _LOOK_S))[0]:
                continue
            chunk = os.read(self.reply, 1 << 16)
            if not chunk:
                self.alive = False
            data += chunk
            if data.endswith(b"\n"):
                return json.loads(data.lstrip(b"r"))
        return {"outcome": False, "method": "crash", "reference": data.startswith(b"r")}

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.request)
        os.close(self.reply)


def _die_with(supervisor: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != supervisor:
            os._exit(1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _serve(requests: int, replies: int) -> None:
    """Child: one request at a time. Writes "r" once the reference is read, then the answer's line."""
    sys.setrecursionlimit(5_000)  # sympy nests deep; a crash ends this child only
    with os.fdopen(requests, "rb") as stream:
        for line in stream:
            task = json.loads(line)
            try:
                answer = judge(task["reference"], task["answer"], task["all"], lambda: os.write(replies, b"r"))
            except (MemoryError, RecursionError) as error:
                answer = {"outcome": False, "method": "memory" if isinstance(error, MemoryError) else "too deep"}
            except Exception as error:  # sympy raises nearly anything on strange input; that decides nothing
                answer = {"outcome": False, "method": "undecided", "error": f"{type(error).__name__}: {error}"[:200]}
            os.write(replies, json.dumps(answer).encode() + b"\n")


def judge(reference: str, answer: str, everything: bool, reference_read) -> dict:
    """Verdict on one pair with computer algebra; `everything` sends all formulas through it."""
    from selfevolve.checker import symbolic
    from selfevolve.checker.compare import equal
    from selfevolve.checker.reading import read

    gold = read(reference)
    if gold is None or not symbolic.readable(gold):
        return {"outcome": None, "method": "reference"}
    reference_read()
    other = read(answer)
    if other is None:
        return {"outcome": False, "method": "unreadable"}
    same = equal(gold, other, symbolic.decide_all if everything else symbolic.decide)
    return {"outcome": bool(same), "method": "undecided" if same is None else "algebra"}


if __name__ == "__main__":
    main()
