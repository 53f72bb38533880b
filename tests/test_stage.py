"""The stage runner from the outside: what it refuses, what it writes, and what survives a kill."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from small_repository import PARAMETERS, RUNNER

from selfevolve import stage

NOISY = """
import sys, warnings
from selfevolve.progress import Progress
progress = Progress("iteration", 3)
for done in (1, 2, 3):
    progress.update(done, note="accuracy 0.5")
print("value", object())
print("to stderr", file=sys.stderr)
warnings.warn("about a cell")
"""
FACTS = """
import json, os, pathlib, sys
facts = {"executable": sys.executable, "cwd": os.getcwd(), "threads": os.environ.get("OMP_NUM_THREADS")}
pathlib.Path(out, "facts.json").write_text(json.dumps(facts))
"""
# Counts to 3 in the work folder, then hangs; resumed, it goes on to 5. Leaves a child process that outlives its kernel.
RESUMABLE = """
import os, pathlib, subprocess, time
state = pathlib.Path(work, "state")
start = int(state.read_text()) if state.exists() else 0
for step in range(start, 5):
    state.write_text(str(step + 1))
    if step == 2:
        child = subprocess.Popen(["sleep", "120"])
        pathlib.Path(work, "pids.part").write_text(f"{os.getpid()} {child.pid}")
        os.rename(pathlib.Path(work, "pids.part"), pathlib.Path(work, "pids"))
        time.sleep(120)
pathlib.Path(out, "start").write_text(str(start))
"""


def wait_for(condition, what: str, seconds: float = 60.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    pytest.fail(f"waited {seconds} s for {what}")


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def pids_of_hung_run(root: Path) -> list[int]:
    (path,) = wait_for(lambda: list(root.glob(".work/a/all/*/pids")), "the notebook to reach its third step")
    return [int(pid) for pid in path.read_text().split()]


def test_refuses_parameters_the_notebook_does_not_declare_or_nothing_sets(repository):
    repository.stage("a", ["1"], parameters='profile = "x"\nout = "x"\nextra = 1\n')
    result = repository.run("a")
    assert result.returncode == 1
    assert "does not declare ['work'] and declares ['extra'], which nothing sets" in result.stderr
    assert not (repository.root / "artifacts").exists()


def test_two_runs_give_identical_bytes_and_progress_stays_outside(repository, tmp_path):
    # A user's own `python3` kernel, first in Jupyter's search path unless the runner says otherwise.
    other = repository.write("data/kernels/python3/kernel.json", '{"argv": ["false"], "display_name": "", "language": ""}')
    environment = {"JUPYTER_DATA_DIR": str(other.parents[2]), "JUPYTER_PREFER_ENV_PATH": "0", "MPLBACKEND": "Agg"}
    figure = "import matplotlib.pyplot as plt\nplt.plot([1, 2]);"
    repository.stage("a", ["#md # Title", NOISY, FACTS, figure])
    written = repository.root / "artifacts/a/notebook.ipynb"
    first = repository.run("a", **environment)
    assert first.returncode == 0, first.stderr
    once = written.read_bytes()
    second = repository.run("a", PYTHONHASHSEED="7")
    assert second.returncode == 0, second.stderr
    assert written.read_bytes() == once

    assert "iteration 1/3" in first.stderr and "iteration 3/3" in first.stderr
    text = once.decode()
    assert "elapsed" not in text and "ipykernel_" not in text and str(tmp_path) not in text
    assert "image/png" in text
    facts = json.loads((repository.root / "artifacts/a/facts.json").read_text())
    assert facts == {"executable": sys.executable, "cwd": str(tmp_path), "threads": "1"}
    assert sorted(path.name for path in (repository.root / ".work/a").iterdir()) == ["all.lock"]


def test_a_failing_cell_is_named_and_the_notebook_saved(repository):
    write = "import pathlib; pathlib.Path(out, 'half.csv').write_text('x')"
    repository.stage("a", ["print('before')", write, "raise ValueError('no such card')", "print('after')"])
    result = repository.run("a")
    assert result.returncode == 1
    assert "notebooks/01_a.ipynb: code cell 5 of 6 failed" in result.stderr
    assert "ValueError: no such card" in result.stderr and "\x1b" not in result.stderr
    assert "The notebook as far as it came: .work/a/all/failed.ipynb" in result.stderr
    saved = (repository.root / ".work/a/all/failed.ipynb").read_text()
    assert "before\\n" in saved and "no such card" in saved
    assert not (repository.root / "artifacts/a").exists(), "what an incomplete run wrote must not pass for a result"


def test_killed_in_the_middle_it_resumes_and_leaves_no_process(repository):
    repository.stage("a", [RESUMABLE])
    process = repository.start("a")
    kernel, child = pids_of_hung_run(repository.root)
    process.kill()
    process.wait()
    result = repository.run("a")
    assert result.returncode == 0, result.stderr
    assert "resuming in .work/a/all/" in result.stderr
    assert (repository.root / "artifacts/a/start").read_text() == "3"
    assert gone(kernel) and gone(child)
    assert sorted(path.name for path in (repository.root / ".work/a").iterdir()) == ["all.lock"]


def test_under_dvc_the_work_is_kept_until_dvc_has_recorded_the_result(repository, root):
    repository.stage("a", ["import pathlib; pathlib.Path(work, 'state').write_text('5')"])
    lock = repository.write("dvc.lock", "an earlier record")
    result = repository.run("a", DVC_STAGE="a")
    assert result.returncode == 0, result.stderr
    stage._discard_recorded()
    assert len(list(root.glob(".work/a/all/*/state"))) == 1, "DVC may be killed before it has recorded the result"
    lock.write_text("the record of this result")
    stage._discard_recorded()
    assert sorted(path.name for path in (root / ".work/a").iterdir()) == ["all.lock"]


def test_ends_with_the_dvc_process_that_started_it(repository):
    repository.stage("a", [RESUMABLE])
    script = repository.write("runner.py", RUNNER)
    command = f"{sys.executable} {script} a  # selfevolve.stage\ntrue"  # `true`: the shell between the two stays
    dvc = subprocess.Popen(
        [sys.executable, "-c", f"import subprocess; subprocess.run(['bash', '-c', {command!r}])"],
        cwd=repository.root,
        env={**os.environ, "DVC_STAGE": "a"},
        stderr=subprocess.PIPE,
        text=True,
    )
    processes = pids_of_hung_run(repository.root)
    runner = psutil.Process(processes[0]).parent()
    dvc.kill()  # not waited for: a zombie must not pass for a living process
    wait_for(lambda: gone(runner.pid) and all(map(gone, processes)), "the stage and its kernel to end", 10)
    dvc.communicate()


def test_an_interrupt_says_how_to_go_on(repository):
    repository.stage("a", [RESUMABLE])
    process = repository.start("a")
    processes = pids_of_hung_run(repository.root)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted; a rerun resumes in .work/a/all/" in stderr and "Traceback" not in stderr
    wait_for(lambda: all(map(gone, processes)), "the kernel to end", 10)


def test_waits_for_the_process_that_holds_the_lock_of_its_variant(repository):
    cell = "import pathlib; pathlib.Path(out, 'variant').write_text(f'{variant} {profile}')"
    matrix = {"variant": ["x", "y"]}
    repository.stage("a", [cell], matrix=matrix, parameters=PARAMETERS + 'variant = "none"\n')
    with repository.write(".work/a/y.lock", "4711").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = repository.start("a", "--variant", "y")
        said = process.stderr.readline()
        assert "a y: process 4711 is already running it" in said and "waiting" in said
        assert process.poll() is None and not (repository.root / "artifacts").exists()
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    assert (repository.root / ".work/a/y.lock").read_text() == str(process.pid)
    assert (repository.root / "artifacts/a/y/variant").read_text() == "y tiny"
    assert (repository.root / "artifacts/a/y/notebook.ipynb").is_file()
