import os
import signal
import subprocess
import sys
import time

import parallel_jobs
import psutil
import pytest

from selfevolve.parallel import run_all


def until(condition, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


def test_results_are_in_the_order_of_the_jobs_from_workers_with_their_thread_count():
    pauses = (1.0, 0.0, 0.3, 0.0)  # the first is done last
    results = run_all("parallel_jobs:describe", list(enumerate(pauses)), workers=2, threads=3)
    assert [number for number, _, _ in results] == [0, 1, 2, 3]
    processes = {process for _, process, _ in results}
    assert len(processes) <= 2 and os.getpid() not in processes
    assert {threads for _, _, threads in results} == {3}


def test_an_exception_is_raised_here_and_drops_the_jobs_that_wait(tmp_path):
    with pytest.raises(LookupError, match="job 0 failed"):
        run_all("parallel_jobs:fail_or_mark", [(number, tmp_path) for number in range(40)], workers=1, threads=1)
    assert len(list(tmp_path.iterdir())) < 20


def test_no_jobs_need_no_worker(monkeypatch):
    assert run_all("parallel_jobs:describe", [], workers=2, threads=1) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has died")
def test_workers_die_with_a_parent_that_is_killed(tmp_path):
    parent = subprocess.Popen([sys.executable, parallel_jobs.__file__, str(tmp_path)])
    children = []
    try:
        assert until(lambda: len(list(tmp_path.glob("*.pid"))) == 2, 120), "the workers did not start"
        children = [psutil.Process(int(path.stem)) for path in tmp_path.glob("*.pid")]
        assert all(child.is_running() and child.ppid() == parent.pid for child in children)
        parent.send_signal(signal.SIGKILL)
        parent.wait(10)
        gone = until(lambda: not any(map(runs, children)), 3)
        assert gone, "a worker outlived its parent by 3 seconds"
    finally:
        parent.kill()
        parent.wait(10)
        for child in filter(runs, children):
            child.kill()


def runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
