"""A small run of two arms on the desk, for `test_run.py`: `python tests/gradus/run_worker.py FOLDER`."""

import sys
from pathlib import Path

from selfevolve import params
from selfevolve.gradus import run

ARMS = {"full": 14, "model_prior": 6}


def settings():
    gradus = params.load("tiny").gradus
    arms = {name: gradus.arms[name].model_copy(update={"blueprints": count}) for name, count in ARMS.items()}
    recovery = gradus.recovery.model_copy(update={"scouts": 2})
    return gradus.model_copy(update={"arms": arms, "recovery": recovery})


if __name__ == "__main__":
    for name in ARMS:
        run.finish("desk", name, settings(), Path(sys.argv[1]))
