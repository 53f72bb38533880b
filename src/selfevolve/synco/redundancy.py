"""Near-duplicates among recently admitted problems.

Paper: SynCo appendix B.2 ("redundancy with recently generated tasks", a quality signal) and D.4 (novelty, logged
only); no method is given. Ours: MinHash over pairs of neighbouring tokens and locality-sensitive hashing choose the
candidates, so that a query does not read the whole pool; edit similarity decides. A duplicate also has the same numbers
and signs in the same order: a known template with new numbers is a variant, not a duplicate.
"""

from __future__ import annotations

import zlib
from collections import deque
from functools import lru_cache
from typing import NamedTuple

from datasketch import MinHash, MinHashLSH
from rapidfuzz import fuzz

from selfevolve.synco.contamination import tokens

BANDS, ROWS = 21, 3  # a pair of problems sharing half of their shingles meets with probability 0.94, a tenth: 0.02
_EMPTY = MinHash(num_perm=BANDS * ROWS, seed=1, hashfunc=zlib.crc32)


class Nearest(NamedTuple):
    """Similarities in [0, 1] to the pool: `any_`, to its nearest problem; `same`, to the nearest with the same numbers
    and signs. 0 where there is no candidate."""

    any_: float
    same: float


class _Print(NamedTuple):
    text: str
    figures: tuple[str, ...]
    minhash: MinHash


class RecentPool:
    """The last `size` problems, searchable for near-duplicates."""

    def __init__(self, size: int):
        if size < 1:
            raise ValueError(f"size must be at least 1, not {size}")
        self.size = size
        self._index = MinHashLSH(num_perm=BANDS * ROWS, params=(BANDS, ROWS))
        self._prints: dict[int, _Print] = {}
        self._keys: deque[int] = deque()
        self._added = 0

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, problem: str) -> None:
        """Append a problem; the oldest leaves when the pool is full."""
        if len(self._keys) == self.size:
            oldest = self._keys.popleft()
            self._index.remove(oldest)
            del self._prints[oldest]
        key, self._added = self._added, self._added + 1
        self._prints[key] = _print(problem)
        self._index.insert(key, self._prints[key].minhash, check_duplication=False)
        self._keys.append(key)

    def nearest(self, problem: str) -> Nearest:
        """How close `problem` is to the pool."""
        own = _print(problem)
        any_ = same = 0.0
        for key in self._index.query(own.minhash):
            other = self._prints[key]
            similarity = fuzz.ratio(own.text, other.text) / 100.0
            any_ = max(any_, similarity)
            if similarity > same and other.figures == own.figures:
                same = similarity
        return Nearest(any_, same)


@lru_cache(maxsize=4096)
def _print(problem: str) -> _Print:
    words = tokens(problem)
    shingles = {f"{a} {b}".encode("utf-8", "surrogatepass") for a, b in zip(words, words[1:] or [""], strict=False)}
    minhash = _EMPTY.copy()
    minhash.update_batch(sorted(shingles))
    return _Print(" ".join(words), tuple(w for w in words if not w[0].isalpha()), minhash)
