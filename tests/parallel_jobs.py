"""Jobs for `test_parallel.py`, in a module of their own because worker processes import them by name.

`python tests/parallel_jobs.py FOLDER` starts two workers that write their process ids to FOLDER and then sleep.
"""

import os
import sys
import time
from pathlib import Path

import torch

from selfevolve.parallel import run_all


def describe(number: int, pause: float) -> tuple[int, int, int]:
    """(number, process id, torch's threads), after `pause` seconds."""
    time.sleep(pause)
    return number, os.getpid(), torch.get_num_threads()


def fail_or_mark(number: int, folder: Path) -> None:
    """Job 0 fails; every other leaves a file."""
    if number == 0:
        raise LookupError("job 0 failed")
    time.sleep(0.2)
    (folder / str(number)).touch()


def sleep(folder: Path) -> None:
    partial = folder / f"{os.getpid()}.tmp"
    partial.touch()
    partial.rename(folder / f"{os.getpid()}.pid")
    time.sleep(300)


if __name__ == "__main__":
    run_all("parallel_jobs:sleep", [(Path(sys.argv[1]),)] * 2, workers=2, threads=1)
