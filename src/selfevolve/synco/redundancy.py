"""Near-duplicates among recently admitted problems.

Paper: SynCo appendix B.2 ("redundancy with recently generated tasks", a quality signal) and D.4 (novelty, logged
only); no method is given. Ours: MinHash over pairs of neighbouring tokens and locality-sensitive hashing choose the
candidates; edit similarity decides. A duplicate also has the same numbers and signs in the same order: a known template
with new numbers is a variant, not a duplicate.

A query costs the same in a pool of 10^3 and of 10^5 problems (benchmarks/pool.py), also where all problems look alike,
because every list that is read has a limit. `same`, which decides on admission, is looked for among the `GROUP` newest
problems with the same numbers and signs; problems that pass the verifier differ from each other, so such a group is
small. Novelty, which is only logged, compares with the `LIKELY` problems that share most bands out of the `BUCKET`
newest of each band: in a pool of look-alikes it is an upper bound.
"""

from __future__ import annotations

import zlib
from collections import Counter, deque
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
from datasketch import MinHash
from rapidfuzz import fuzz, process

from selfevolve.synco.contamination import tokens

BANDS, ROWS = 21, 3  # a pair of problems sharing half of their shingles meets with probability 0.94, a tenth: 0.02
BUCKET = 8  # newest problems kept of those that share a band
LIKELY = 16  # of them compared letter by letter
GROUP = 64  # newest problems compared of those with the same numbers and signs
_EMPTY = MinHash(num_perm=BANDS * ROWS, seed=1, hashfunc=zlib.crc32)
_MIX = np.random.default_rng(1).integers(1, 2**63, size=(BANDS, ROWS), dtype=np.uint64) | np.uint64(1)


class Nearest(NamedTuple):
    """Similarities in [0, 1] to the pool: `any_`, to its nearest problem; `same`, to the nearest with the same numbers
    and signs. 0 where there is no candidate."""

    any_: float
    same: float


class _Print(NamedTuple):
    text: str
    figures: tuple[str, ...]
    bands: tuple[int, ...]


class RecentPool:
    """The last `size` problems, searchable for near-duplicates."""

    def __init__(self, size: int):
        if size < 1:
            raise ValueError(f"size must be at least 1, not {size}")
        self.size = size
        self._prints: dict[int, _Print] = {}  # by key, which counts additions
        self._added = 0
        self._buckets: dict[int, list[int]] = {}  # band -> keys, oldest first
        self._groups: dict[tuple[str, ...], deque[int]] = {}  # numbers and signs -> keys, oldest first

    def __len__(self) -> int:
        return len(self._prints)

    def add(self, problem: str) -> None:
        """Append a problem; the oldest leaves when the pool is full."""
        if len(self._prints) == self.size:
            self._drop_oldest()
        new, key = _print(problem), self._added
        self._prints[key], self._added = new, key + 1
        for band in new.bands:
            bucket = self._buckets.setdefault(band, [])
            bucket.append(key)
            if len(bucket) > BUCKET:
                del bucket[0]
        self._groups.setdefault(new.figures, deque(maxlen=GROUP)).append(key)

    def nearest(self, problem: str) -> Nearest:
        """How close `problem` is to the pool."""
        own = _print(problem)
        group = [self._prints[key] for key in self._groups.get(own.figures, ())]
        bands = set(own.bands)
        same = _closest(own, [other for other in group if not bands.isdisjoint(other.bands)])
        shared = Counter(chain.from_iterable(self._buckets.get(band, ()) for band in own.bands))
        likely = sorted(shared, key=shared.__getitem__, reverse=True)[:LIKELY]
        return Nearest(max(same, _closest(own, [self._prints[key] for key in likely])), same)

    def _drop_oldest(self) -> None:
        key = self._added - len(self._prints)
        oldest = self._prints.pop(key)
        for table, names in ((self._buckets, oldest.bands), (self._groups, (oldest.figures,))):
            for name in names:
                keys = table.get(name)
                if keys and keys[0] == key:  # else newer ones have pushed it out
                    del keys[0]
                    if not keys:
                        del table[name]


def _closest(own: _Print, others: list[_Print]) -> float:
    best = process.extractOne(own.text, [other.text for other in others], scorer=fuzz.ratio)
    return best[1] / 100.0 if best else 0.0


@lru_cache(maxsize=4096)
def _print(problem: str) -> _Print:
    words = tokens(problem)
    shingles = {f"{a} {b}".encode("utf-8", "surrogatepass") for a, b in zip(words, words[1:] or [""], strict=False)}
    minhash = _EMPTY.copy()
    minhash.update_batch(sorted(shingles))
    mixed = (minhash.hashvalues.reshape(BANDS, ROWS) * _MIX).sum(axis=1, dtype=np.uint64)
    return _Print(" ".join(words), tuple(w for w in words if not w[0].isalpha()), tuple(mixed.tolist()))
