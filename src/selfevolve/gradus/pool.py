"""Environments of one domain to borrow, so that no two threads ever share one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue

from selfevolve.environments import Environment, load


class Pool:
    """Lends environments; loads another one when all are out. Whoever borrows one resets it."""

    def __init__(self, domain: str):
        self.domain = domain
        self._free: SimpleQueue[Environment] = SimpleQueue()

    @contextmanager
    def lend(self) -> Iterator[Environment]:
        """An environment for the time of a `with` block, in any state."""
        try:
            env = self._free.get_nowait()
        except Empty:
            env = load(self.domain)
        try:
            yield env
        finally:
            self._free.put(env)
