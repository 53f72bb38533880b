"""Threads that do not change what a run does: results come in the order of the items, whatever their number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


def each(make: Callable[[_Item], _Made], items: Iterable[_Item], workers: int) -> Iterator[_Made]:
    """`map` in so many threads. What has not begun when an item fails, or the caller stops, is not made."""
    if workers == 1:
        yield from map(make, items)
        return
    with ThreadPoolExecutor(workers) as executor:
        futures = [executor.submit(make, item) for item in items]
        try:
            for future in futures:
                yield future.result()
        finally:
            for future in futures:
                future.cancel()
