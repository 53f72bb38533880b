"""The one runner of every pipeline stage: `python -m selfevolve.stage <name> [--<parameter> value ...]`.

A stage is a notebook, `notebooks/<two digits>_<name>.ipynb`, whose parameters cell declares `profile`, `out`, `work`
and the stage's own matrix parameters in `dvc.yaml`. The runner gives it these, runs it strictly (`selfevolve.notebook`)
and writes the executed notebook to `<out>/notebook.ipynb` last: a folder without it is not a result. Only `report` has
no notebook.

    .work/<stage>/<item>.lock            held while the stage runs
    .work/<stage>/<item>/<key>/          the notebook's own: what it needs to resume (`work`); outlives any interruption
    .work/<stage>/<item>/failed.ipynb    the notebook as far as it came, after a failure
    .work/<stage>/<item>/runner/         the runner's own files

The key hashes the parameters, inputs and code that `dvc.yaml` lists for the stage, so a rerun resumes half-finished
work exactly when DVC would call it the same computation. Success removes the item's folder, older keys included; under
DVC not before DVC has recorded the result, which takes a moment in which it, too, can be killed.
"""

import argparse
import concurrent.futures
import contextlib
import fcntl
import os
import shutil
import sys
from pathlib import Path

import psutil

from selfevolve import notebook, params, paths, pipeline, progress

POLL_S = 0.2
FAILED = "failed.ipynb"
DONE = "done"
INTERRUPTED = 130


def main(argv: list[str] | None = None) -> int:
    """Run one stage; the exit status: 0 done, 1 the notebook failed, 2 refused before any work (bad parameters)."""
    os.chdir(paths.ROOT)
    try:
        stage, item = _arguments(argv)
        profile = params.load().profile
        path = pipeline.notebook(stage)
        if path is None and stage != "report":
            raise pipeline.PipelineError(f"stage {stage}: no notebook notebooks/<two digits>_{stage}.ipynb")
        key = pipeline.key(stage, item)
    except (params.ParamsError, pipeline.PipelineError) as error:
        say(str(error))
        return 2
    _discard_recorded()
    if path is None:
        from selfevolve import report  # nbconvert is slow to import, and no other stage needs it

        report.render()
        return 0
    label = "-".join(item.values()) or "all"
    home = paths.WORK.relative_to(paths.ROOT) / stage / label
    with _locked(home.with_name(f"{label}.lock"), f"{stage} {label}"):
        _end_leftovers(home)
        try:
            _run(path, home, key[:16], pipeline.out(stage, item), {"profile": profile, **item})
        except notebook.NotebookError as error:
            say(str(error))
            if (home / FAILED).is_file():
                say(f"The notebook as far as it came: {home / FAILED}; after a repair, the rerun resumes what it can")
            return 1
    return 0


def _arguments(argv: list[str] | None) -> tuple[str, dict[str, str]]:
    parser = argparse.ArgumentParser(prog="python -m selfevolve.stage", allow_abbrev=False)
    commands = parser.add_subparsers(dest="stage", required=True, metavar="stage", help=", ".join(pipeline.stages()))
    for stage in pipeline.stages():
        command = commands.add_parser(stage, allow_abbrev=False)
        for name, values in pipeline.choices(stage).items():
            command.add_argument(f"--{name}", choices=values, required=True)
    item = vars(parser.parse_args(argv))
    return item.pop("stage"), item


def _run(path: Path, home: Path, key: str, out: Path, given: dict[str, str]) -> None:
    """Run the notebook with its folders and environment in place; `home`, `out` and `path` are relative to the root."""
    work, runner = home / key, home / "runner"
    given = {**given, "out": out.as_posix(), "work": work.as_posix()}
    notebook.check_parameters(path, given)  # before the previous result is removed
    say(f"{path}: {'resuming in' if work.is_dir() else 'working in'} {work}")
    for folder in (runner, out):
        shutil.rmtree(folder, ignore_errors=True)
    for folder in (runner, out, work):
        folder.mkdir(parents=True, exist_ok=True)
    _set_environment(runner.resolve())
    running, failed = runner / "notebook.ipynb", home / FAILED
    failed.unlink(missing_ok=True)
    (home / DONE).unlink(missing_ok=True)
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        # Not in the main thread: nbclient takes over SIGINT and SIGTERM there and reports a dead kernel.
        future = executor.submit(notebook.execute, path, given, running, paths.ROOT)
        try:
            _wait(future, runner / "progress.txt")
        except KeyboardInterrupt:
            say(f"{path}: interrupted; a rerun resumes in {work}")
            os._exit(INTERRUPTED)  # the kernel ends itself; a normal exit would wait for the running cell
        try:
            nb = future.result()
        except Exception:
            shutil.rmtree(out)  # what an incomplete run wrote must not pass for a result
            if running.is_file():
                running.replace(failed)
            raise
    finished = runner / "finished.ipynb"
    notebook.write(nb, finished)
    finished.replace(out / "notebook.ipynb")
    if "DVC_STAGE" in os.environ:
        (home / DONE).touch()
    else:
        _discard(home)


def _discard_recorded() -> None:
    """Remove the work of every finished item that DVC has recorded: `dvc.lock`, written after each stage, is newer."""
    lock = paths.ROOT / "dvc.lock"
    for done in paths.WORK.glob(f"*/*/{DONE}"):
        if lock.is_file() and lock.stat().st_mtime_ns > done.stat().st_mtime_ns:
            _discard(done.parent)


def _discard(home: Path) -> None:
    trash = home.with_name(f"{home.name}.trash")
    shutil.rmtree(trash, ignore_errors=True)
    home.replace(trash)  # first of all, and at once: half a removed folder must not look resumable
    shutil.rmtree(trash)


def _set_environment(runner: Path) -> None:
    """What the kernel inherits: set outright where results depend on it, by default where it is the user's choice."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # two threads make a model of this size 2 to 15 times slower
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    notebook.install_kernel(runner / "jupyter")
    sources = [str(paths.ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    os.environ.update(
        {
            progress.VARIABLE: str(runner / "progress.txt"),
            "JUPYTER_PATH": str(runner / "jupyter"),  # wins over every kernel the user has installed
            "IPYTHONDIR": str(runner / "ipython"),  # not the user's start-up files and configuration
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",  # any other leaves the figures out
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": os.pathsep.join(filter(None, sources)),  # the code that the key hashed, wherever installed
            "TQDM_DISABLE": "1",  # bars hold wall times; `selfevolve.progress` is for the person waiting
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "PYTHONWARNINGS": "ignore:IProgress not found",  # tqdm's, for want of ipywidgets, in every notebook
        }
    )


def _wait(future: concurrent.futures.Future, lines: Path) -> None:
    """Return when `future` is done; meanwhile print what is appended to `lines`, and end this process if DVC's ends."""
    parents = _dvc_parents()
    lines.touch()
    with lines.open(encoding="utf-8") as file:
        while True:
            done = concurrent.futures.wait([future], timeout=POLL_S).done
            for line in file:
                say(line.rstrip("\n"))
            if done:
                return
            if not all(_alive(parent) for parent in parents):
                say("the process that ran this stage is gone: ending; a rerun resumes")
                os._exit(INTERRUPTED)


def _dvc_parents() -> list[psutil.Process]:
    """The DVC process that runs this stage, and the shell between the two if it stays (DVC runs `$SHELL -c <cmd>`;
    bash, zsh and dash become the command). [] for a stage started by hand, which may outlive its terminal."""
    if "DVC_STAGE" not in os.environ:
        return []
    parents = [psutil.Process().parent()]
    while parents[-1] and "selfevolve.stage" in " ".join(parents[-1].cmdline()):
        parents.append(parents[-1].parent())
    return [parent for parent in parents if parent]


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextlib.contextmanager
def _locked(path: Path, label: str):
    """Hold the item's lock; wait for the process that has it. The system lets go of it however that process ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            say(f"{label}: process {file.read().strip() or '?'} is already running it ({path}); waiting for its end")
            fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        yield


def _end_leftovers(home: Path) -> None:
    """Kill what an earlier, killed run of this item left behind: processes whose progress file is the item's."""
    marker = str((home / "runner" / "progress.txt").resolve())
    left = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get(progress.VARIABLE) == marker:
                process.kill()
                left.append(process)
    psutil.wait_procs(left, timeout=30)


def say(line: str) -> None:
    """Print a line for the person waiting, at once."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
