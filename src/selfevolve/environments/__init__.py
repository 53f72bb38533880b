"""Environments that Gradus explores, by name: the real tau2 domains and a small one of our own.

Paper: Gradus section 2.1. Importing this package imports no domain; the libraries of the tau2 domains take seconds to
import and are needed only by those who load one.
"""

from __future__ import annotations

from selfevolve.environments.protocol import Environment, Observation

__all__ = ["NAMES", "Environment", "Observation", "load"]

NAMES = ("tau2/airline", "tau2/retail", "tau2/telecom", "desk")


def load(name: str) -> Environment:
    """A fresh environment in its base state. Parsed base databases are kept per process; environments share no state.

    Args:
        name: one of `NAMES`.

    Raises:
        ValueError: for another name.
        ImportError: if a tau2 domain is asked for and `inspect-evals` is not installed.
    """
    if name == "desk":
        from selfevolve.environments.desk import Desk

        return Desk()
    if name not in NAMES:
        raise ValueError(f"unknown environment {name!r}; choose one of {', '.join(NAMES)}")
    try:
        if name == "tau2/telecom":
            from selfevolve.environments.telecom import Telecom

            return Telecom()
        from selfevolve.environments.tau2 import Tau2

        return Tau2(name)
    except ImportError as error:
        raise ImportError(
            f"{name} needs the package inspect-evals ({error}); install it with: pip install inspect-evals==0.26.0"
        ) from error
