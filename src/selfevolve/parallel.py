"""Independent jobs in processes of their own, which die with their parent."""

import ctypes
import importlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

_PR_SET_PDEATHSIG = 1


def run_all(target: str, jobs: Sequence[tuple], workers: int, threads: int) -> list[Any]:
    """Call `target` ("module:function") with each job, at most `workers` at a time with `threads` CPU threads each; results in order.

    The function is named rather than given, so that a notebook need not import what only its workers use: torch and TRL take
    ten seconds. When a job fails, the jobs under way are waited for, those not yet handed to a worker are dropped, and its
    exception is raised here.
    """
    context = multiprocessing.get_context("spawn")  # forking a process that has started torch's threads can deadlock
    with ProcessPoolExecutor(min(workers, max(1, len(jobs))), context, _initialise, (threads,)) as pool:
        futures = [pool.submit(_call, target, *job) for job in jobs]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _call(target: str, *job: Any) -> Any:
    module, _, name = target.partition(":")
    function = getattr(importlib.import_module(module), name)
    if torch := sys.modules.get("torch"):  # not every job needs it, and importing it takes seconds
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    return function(*job)


def _initialise(threads: int) -> None:
    if sys.platform == "linux":  # a killed notebook kernel must not leave its workers writing
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if not multiprocessing.parent_process().is_alive():  # killed before the line above
            os._exit(1)
    os.environ["OMP_NUM_THREADS"] = str(threads)  # for what is imported from now on
