"""Killable workers: caps enforced from outside, neighbours unharmed, no orphans, usable from anywhere."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from selfevolve.checker import check, check_batch, worker, workers

HANGS = "\\int_0^{\\infty}\\frac{\\sin(x^{100})}{x^{99}+1}dx"
SUM = ("\\boxed{\\sum_{k=1}^{10} k}", "55")
CAP_S = 1.0


def _take_memory() -> dict:
    return {"outcome": bool(bytearray(2 * worker.MEMORY_BYTES)), "method": "had it"}


@pytest.fixture(scope="module", autouse=True)
def started():
    """Workers that have imported sympy, so that times below are those of pairs."""
    assert check(*SUM).correct
    yield
    workers.close()


def test_a_stuck_pair_is_killed_and_costs_its_neighbours_nothing():
    start = time.monotonic()
    verdicts = check_batch([SUM, (f"\\boxed{{{HANGS}}}", "14"), SUM, SUM], timeout_s=CAP_S)
    assert time.monotonic() - start < CAP_S + 3  # room for a second worker's start
    assert [verdict.correct for verdict in verdicts] == [True, False, True, True]
    assert verdicts[1].method == "timeout"


def test_no_pair_takes_longer_than_the_cap_and_a_second():
    for _ in range(3):
        start = time.monotonic()
        assert check_batch([(f"\\boxed{{{HANGS}}}", "14")], timeout_s=CAP_S)[0].method == "timeout"
        assert time.monotonic() - start < CAP_S + 1


def test_a_reference_that_hangs_has_no_verdict():
    """Reading it is the reference's own cost; here 10^5 brackets' worth of LaTeX for the ANTLR parser."""
    reference = "\\int " + "+".join(["\\frac{\\sqrt{x^{2}}}{\\sum_{k=1}^{3} k}"] * 90)
    verdict = check_batch([("\\boxed{14}", reference)], timeout_s=0.05)[0]
    assert (verdict.correct, verdict.method) == (None, "timeout")


@pytest.mark.parametrize(("harm", "method"), [(_take_memory, "memory"), (lambda: os._exit(3), "crash")])
def test_a_child_that_takes_too_much_memory_or_dies(monkeypatch, harm, method):
    def judge(reference, answer, everything, reference_read):
        reference_read()
        return harm()

    monkeypatch.setattr(worker, "judge", judge)  # the forked child inherits it
    child = worker._Child()
    request = {"reference": "1", "answer": "1", "all": False, "timeout_s": 20}
    answer = child.ask(json.dumps(request).encode(), 20, os.getppid())
    child.end()
    assert (answer["outcome"], answer["method"]) == (False, method)


def test_a_killed_worker_is_replaced():
    os.kill(workers._workers[0].process.pid, signal.SIGKILL)
    check(*SUM)
    assert check(*SUM).correct


def test_numbers_start_no_process():
    workers.close()
    pairs = [("\\boxed{14}", "14"), ("Answer 14", "15"), ("\\boxed{2.50}", "2.5"), ("\\boxed{\\sqrt{8}}", "2\\sqrt2")]
    assert [verdict.correct for verdict in check_batch(pairs)] == [True, False, True, True]
    assert workers._workers == []
    assert check(*SUM).correct


def test_threads():
    results: list[bool | None] = []
    threads = [threading.Thread(target=lambda: results.append(check(*SUM).correct)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4
    assert check(*SUM).correct  # the threads that used the workers are gone, the workers are not


def _in_child(queue) -> None:
    queue.put((check(*SUM).correct, [worker.process.pid for worker in workers._workers]))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_inside_a_daemonic_child(method):
    """A daemonic process may have no multiprocessing children; a forked one must not use its parent's workers."""
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue,), daemon=True)
    child.start()
    correct, pids = queue.get(timeout=60)
    child.join()
    assert correct
    assert not set(pids) & {worker.process.pid for worker in workers._workers}
    assert _gone(pids)
    assert check(*SUM).correct


def _gone(pids: list[int], within_s: float = 10.0) -> bool:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if not any(_alive(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="looks processes up in /proc")
def test_no_orphans_when_the_parent_is_killed():
    script = textwrap.dedent(
        f"""
        import threading
        from selfevolve.checker import check_batch, workers
        check_batch([{SUM!r}])
        print(workers._workers[0].process.pid, flush=True)
        check_batch([("\\\\boxed{{" + {HANGS!r} + "}}", "14")], timeout_s=60)
        """
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    supervisor = int(parent.stdout.readline())
    end = time.monotonic() + 20
    while not (children := _children(supervisor)) and time.monotonic() < end:
        time.sleep(0.05)
    assert children
    parent.kill()
    parent.wait()
    assert _gone([supervisor, *children])


def _children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as children:
            return [int(child) for child in children.read().split()]
    except FileNotFoundError:
        return []


def test_a_script_without_a_main_guard():
    script = f"from selfevolve.checker import check\nprint(check(*{SUM!r}).correct)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert run.stdout == "True\n", run.stderr


def test_inside_a_notebook():
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    source = f"from selfevolve.checker import check\nprint(check(*{SUM!r}).correct)"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    assert notebook.cells[0].outputs[0]["text"] == "True\n"
