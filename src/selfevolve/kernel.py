"""The kernel of a stage: ipykernel, ended together with all its child processes as soon as the stage is gone.

ipykernel ends itself when its parent dies, but leaves the processes it started (samplers, trainers, checker workers)
running; they would keep writing into the work folder that the rerun resumes from. Jupyter starts every kernel as the
leader of its own process group, so one signal to the group ends them all.
"""

import os
import signal
import threading
import time

from ipykernel import kernelapp

POLL_S = 0.2


def end_with_parent(parent: int) -> None:
    """Return never; kill this process group (SIGKILL) once `parent` (a process id) is no longer the parent."""
    while os.getppid() == parent:
        time.sleep(POLL_S)
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    # Jupyter names itself as the parent here; getppid() could already be another process if the stage died meanwhile.
    parent = int(os.environ["JPY_PARENT_PID"])
    threading.Thread(target=end_with_parent, args=(parent,), daemon=True).start()
    kernelapp.launch_new_instance()
