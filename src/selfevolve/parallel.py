"""Independent jobs in processes of their own, which die with their parent."""

import ctypes
import multiprocessing
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")
_PR_SET_PDEATHSIG = 1


def run_all(function: Callable[..., Result], jobs: Sequence[tuple], workers: int, threads: int) -> list[Result]:
    """`function(*job)` for every job, at most `workers` at a time with `threads` CPU threads each; results in order.

    `function` must be importable by name. The first exception is raised here, after the jobs already started have ended.
    """
    context = multiprocessing.get_context("spawn")  # forking a process that has started torch's threads can deadlock
    with ProcessPoolExecutor(min(workers, max(1, len(jobs))), context, _initialise, (threads,)) as pool:
        return [future.result() for future in [pool.submit(function, *job) for job in jobs]]


def _initialise(threads: int) -> None:
    if sys.platform == "linux":  # a killed notebook kernel must not leave its workers writing
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    import torch

    torch.set_num_threads(threads)
