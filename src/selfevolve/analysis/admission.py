"""What the verifier let through: acceptance, reasons for rejection, how often an admitted key is truly right, overlap with benchmarks.

The paper reports the acceptance rate (Table 8 c). Reasons and true keys go beyond it: a rule-based verifier can admit
a task whose key is wrong, and the tiny tasks have an oracle that knows. The oracle reads only the problems it can
parse, so its coverage stands beside every rate.
"""

import polars as pl

from selfevolve.analysis.statistics import proportion

ADMITTED = "admitted"


def acceptance_table(memory: pl.DataFrame) -> pl.DataFrame:
    """Acceptance per seed and over all (seed null): seed, proposed, admitted, rate, low, high (Wilson)."""
    rows = []
    for seed, cards in [*_seeds(memory), (None, memory)]:
        rate = proportion(int(cards["admitted"].sum()), cards.height)
        rows.append((seed, cards.height, int(cards["admitted"].sum()), rate.value, rate.low, rate.high))
    return pl.DataFrame(rows, schema=_schema("proposed", "admitted"), orient="row")


def rejection_reasons(memory: pl.DataFrame, detailed: bool = False) -> pl.DataFrame:
    """Fate of every proposed card: reason, cards, share of the proposed, low, high; "admitted" first, then by count.

    ``reason`` is the first failing check; the part before ":" unless ``detailed`` ("schema" for "schema:truncated").
    """
    reason = pl.col("reason") if detailed else pl.col("reason").str.split(":").list.first()
    counts = (
        memory.select(pl.when("admitted").then(pl.lit(ADMITTED)).otherwise(reason).alias("reason"))
        .group_by("reason")
        .agg(pl.len().cast(pl.Int64).alias("cards"))
        .sort(pl.col("reason") != ADMITTED, -pl.col("cards"), "reason")
    )
    rows = []
    for name, cards in counts.iter_rows():
        share = proportion(cards, memory.height)
        rows.append((name, cards, share.value, share.low, share.high))
    schema = {"reason": pl.String, "cards": pl.Int64, "share": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def key_table(memory: pl.DataFrame) -> pl.DataFrame:
    """Answer keys of admitted cards per seed and over all (seed null).

    Columns: seed, admitted, read (cards the oracle could judge), coverage (read / admitted), rate (true keys / read),
    low, high (Wilson). Rates in [0, 1], null where nothing was read.
    """
    rows = []
    for seed, cards in [*_seeds(memory), (None, memory)]:
        admitted = cards.filter("admitted")
        keys = admitted["true_key"].drop_nulls()
        rate = proportion(int(keys.sum()), keys.len())
        coverage = keys.len() / admitted.height if admitted.height else None
        rows.append((seed, admitted.height, keys.len(), coverage, rate.value, rate.low, rate.high))
    schema = {"seed": pl.Int64, "admitted": pl.Int64, "read": pl.Int64, "coverage": pl.Float64}
    return pl.DataFrame(rows, schema={**schema, "rate": pl.Float64, "low": pl.Float64, "high": pl.Float64}, orient="row")


def overlap_table(contamination: pl.DataFrame) -> pl.DataFrame:
    """What admitted cards share with the benchmarks below the line at which they are rejected (synco/overlap.py), per benchmark.

    ``contamination`` follows artifacts/cotraining/<variant>/contamination.parquet. Columns: benchmark, items, cards, touching (share of the
    cards that share a short gram with an item) with low and high (Wilson), mean_overlap, highest_overlap (shares of a card's grams found in
    its nearest item), longest_run (tokens in a row).
    """
    rows = []
    for (benchmark,), part in contamination.group_by("benchmark", maintain_order=True):
        share = proportion(int((part["items_touched"] > 0).sum()), part.height)
        overlap = part["overlap"]
        found = (share.value, share.low, share.high, overlap.mean(), overlap.max(), part["longest"].max())
        rows.append((benchmark, part["items"][0], part.height, *found))
    floats = dict.fromkeys(("touching", "low", "high", "mean_overlap", "highest_overlap"), pl.Float64)
    schema = {"benchmark": pl.String, "items": pl.Int64, "cards": pl.Int64, **floats, "longest_run": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("benchmark")


def _seeds(memory: pl.DataFrame) -> list[tuple[int, pl.DataFrame]]:
    return [(seed, memory.filter(pl.col("seed") == seed)) for seed in sorted(memory["seed"].unique().to_list())]


def _schema(*counts: str) -> dict:
    return {
        "seed": pl.Int64,
        **dict.fromkeys(counts, pl.Int64),
        **dict.fromkeys(("rate", "low", "high"), pl.Float64),
    }
