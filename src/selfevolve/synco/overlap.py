"""How much every admitted card overlaps with every benchmark item, as a table (SynCo C.4: "do not copy or paraphrase").

The verifier rejects a card that shares `contamination_ngram` tokens in a row with an item (`contamination`). This report shows what is
below that line: for each card and each benchmark, the item that shares most of the card's shorter grams. Paper: none; ours.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import polars as pl

from selfevolve.synco.contamination import tokens

SCHEMA = {
    "seed": pl.Int64,
    "iteration": pl.Int64,
    "slot": pl.Int64,
    "benchmark": pl.String,
    "item": pl.String,
    "overlap": pl.Float64,
    "longest": pl.Int64,
    "items_touched": pl.Int64,
    "items": pl.Int64,
}
"""One row per admitted card and benchmark. `item` is the id of the nearest item (null if none shares a gram), `overlap` the share of the
card's grams found in it, in [0, 1], `longest` the longest run of tokens they share, `items_touched` how many of the benchmark's `items`
share a gram with the card."""


class Nearest(NamedTuple):
    """The item of one benchmark that is nearest to a problem."""

    item: str | None
    overlap: float
    longest: int
    items_touched: int


class OverlapIndex:
    """Benchmark items, searchable by the grams of `n` tokens they hold. A text shorter than a gram is a gram as a whole."""

    def __init__(self, items: Iterable[tuple[str, str, str]], n: int):
        """`items`: (benchmark, id, problem) of every item."""
        self.n = n
        self._items = [(benchmark, name, tokens(problem)) for benchmark, name, problem in items]
        self.sizes = Counter(benchmark for benchmark, _, _ in self._items)
        self._holders: dict[tuple[str, ...], list[int]] = {}
        for index, (_, _, words) in enumerate(self._items):
            for gram in self._grams(words):
                self._holders.setdefault(gram, []).append(index)

    def nearest(self, problem: str) -> Mapping[str, Nearest]:
        """The nearest item of every benchmark; of equally near ones the one with the longer run, then the first."""
        words = tokens(problem)
        grams = self._grams(words)
        shared = Counter(index for gram in grams for index in self._holders.get(gram, ()))
        found: dict[str, Nearest] = {}
        for benchmark in self.sizes:
            own = {index: count for index, count in shared.items() if self._items[index][0] == benchmark}
            if not own:
                found[benchmark] = Nearest(None, 0.0, 0, 0)
                continue
            most = max(own.values())
            runs = {index: _longest_run(words, self._items[index][2]) for index, count in own.items() if count == most}
            best = max(sorted(runs), key=runs.__getitem__)
            found[benchmark] = Nearest(self._items[best][1], most / len(grams), runs[best], len(own))
        return found

    def _grams(self, words: list[str]) -> set[tuple[str, ...]]:
        if not words:
            return set()
        return {tuple(words[i : i + self.n]) for i in range(max(1, len(words) - self.n + 1))}


def report(memory: pl.DataFrame, items: pl.DataFrame, n: int) -> pl.DataFrame:
    """The table of a run, ordered as its memory and then by benchmark.

    Args:
        memory: rows with seed, iteration, slot, admitted, problem.
        items: benchmark items with id, benchmark, problem (`evaluation.benchmarks.SCHEMA`).
        n: tokens of a gram, `verifier.overlap_ngram`.
    """
    index = OverlapIndex(items.select("benchmark", "id", "problem").iter_rows(), n)
    cards = memory.filter("admitted").select("seed", "iteration", "slot", "problem")
    nearest = {problem: index.nearest(problem) for problem in cards["problem"].unique(maintain_order=True)}
    rows = [
        (seed, iteration, slot, benchmark, *found, index.sizes[benchmark])
        for seed, iteration, slot, problem in cards.iter_rows()
        for benchmark, found in nearest[problem].items()
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """One row per benchmark: cards, the share that has a gram in common with an item, mean and highest overlap, longest run (tokens)."""
    return (
        table.group_by("benchmark")
        .agg(
            pl.first("items"),
            pl.len().alias("cards"),
            (pl.col("items_touched") > 0).mean().alias("cards_touching"),
            pl.mean("overlap").alias("mean_overlap"),
            pl.max("overlap").alias("highest_overlap"),
            pl.max("longest").alias("longest_run"),
        )
        .sort("benchmark")
    )


def _longest_run(one: list[str], other: list[str]) -> int:
    """Tokens of the longest stretch both texts hold."""
    best, previous = 0, [0] * (len(other) + 1)
    for word in one:
        current = [0] * (len(other) + 1)
        for j, there in enumerate(other):
            if word == there:
                current[j + 1] = previous[j] + 1
        best = max(best, *current)
        previous = current
    return best
