"""Table 1 of SynCo: reasoning accuracy by system and benchmark, with the gains between systems (sections 4, 4.1).

Deviations: every value carries a crossed bootstrap interval (statistics.py), the paper gives points; systems are the
ones this repository trains; accuracies are shares in [0, 1]. Tasks whose reference the checker cannot read
(``correct`` null) are no evidence either way: they are left out and counted in ``unreadable``. The row ``average`` is
the paper's "Avg.", the unweighted mean over benchmarks, and appears when there is more than one.
"""

import numpy as np
import polars as pl

from selfevolve.analysis.statistics import REPLICATES, Interval, matrix, mean_interval, paired_difference
from selfevolve.analysis.variants import COMPARISONS, label, ordered

AVERAGE = "average"
_INTERVAL = {"value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}
_TABLE = {
    "benchmark": pl.String,
    "mode": pl.String,
    "system": pl.String,
    **_INTERVAL,
    "unreadable": pl.Int64,
    "seeds": pl.Int64,
    "per_seed": pl.List(pl.Float64),
}
_GAINS = {
    "benchmark": pl.String,
    "mode": pl.String,
    "comparison": pl.String,
    "system": pl.String,
    "reference": pl.String,
    **_INTERVAL,
    "excludes_zero": pl.Boolean,
}


def accuracy_table(predictions: pl.DataFrame, replicates: int = REPLICATES, seed: int = 0) -> pl.DataFrame:
    """Accuracy of every (benchmark, mode, system): value, low, high, n tasks, unreadable tasks, seeds, per-seed values.

    ``predictions`` follows artifacts/evaluation/predictions.parquet; draws of one task are averaged first. Values in
    [0, 1], null where a system has no readable task. ``per_seed`` is ordered by seed.
    """
    rows = []
    for benchmark, mode in _settings(predictions):
        for system in ordered(predictions["system"]):
            parts = _parts(predictions, system, benchmark, mode)
            if not parts:
                continue
            strata = [matrix(part) for part in _same_seeds(parts)]
            interval = mean_interval(strata, replicates, seed)
            rows.append(
                {
                    "benchmark": benchmark,
                    "mode": mode,
                    "system": system,
                    **interval._asdict(),
                    "unreadable": sum(_unreadable(part) for part in parts),
                    "seeds": strata[0].shape[0],
                    "per_seed": _per_seed(strata),
                }
            )
    return pl.DataFrame(rows, schema=_TABLE)


def gains_table(
    predictions: pl.DataFrame,
    comparisons: tuple[tuple[str, str], ...] = COMPARISONS,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> pl.DataFrame:
    """Differences in accuracy, ``system`` minus ``reference``, on the tasks both answered, with paired intervals.

    One row per (benchmark, mode, comparison) whose two systems are present. Values in [-1, 1]; ``excludes_zero`` says
    whether the interval lies on one side of 0 (null where there is no interval).
    """
    rows = []
    for benchmark, mode in _settings(predictions):
        for left, right in comparisons:
            interval = gain(predictions, left, right, benchmark, mode, replicates, seed)
            if interval is None:
                continue
            sided = None if interval.low is None else interval.low > 0 or interval.high < 0
            names = {"comparison": f"{label(left)} − {label(right)}", "system": left, "reference": right}
            rows.append({"benchmark": benchmark, "mode": mode, **names, **interval._asdict(), "excludes_zero": sided})
    return pl.DataFrame(rows, schema=_GAINS)


def gain(
    predictions: pl.DataFrame,
    left: str,
    right: str,
    benchmark: str,
    mode: str,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Interval | None:
    """``left`` minus ``right`` on one benchmark (or ``average``), paired by task; None if a system has no predictions
    there.
    """
    names = _benchmarks(predictions, mode) if benchmark == AVERAGE else [benchmark]
    sides = []
    for system in (left, right):
        parts = [_select(predictions, system, name, mode) for name in names]
        if not parts or any(part.is_empty() for part in parts):
            return None
        sides.append(_same_seeds(parts))
    common = [sorted(set(a["item"]) & set(b["item"])) for a, b in zip(*sides, strict=True)]
    matrices = [[matrix(part, items=items) for part, items in zip(side, common, strict=True)] for side in sides]
    return paired_difference(*matrices, replicates, seed)


def accuracy_by(
    predictions: pl.DataFrame,
    by: str,
    mode: str = "greedy",
    benchmark: str | None = None,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> pl.DataFrame:
    """Accuracy of every system within each value of ``by`` ("level" or "skill"): system, ``by``, value, low, high, n.

    Tasks without that column are left out. ``benchmark`` None pools all benchmarks that carry it, task by task.
    """
    if by not in ("level", "skill"):
        raise ValueError(f"accuracy_by: by={by!r}; choose 'level' or 'skill'")
    rows = predictions.filter(pl.col("mode") == mode).drop_nulls(by)
    if benchmark is not None:
        rows = rows.filter(pl.col("benchmark") == benchmark)
    rows = rows.with_columns(pl.concat_str("benchmark", "item", separator="/").alias("item"))
    out = [
        {
            "system": system,
            by: group,
            **mean_interval(rows.filter(system=system, **{by: group}), replicates, seed)._asdict(),
        }
        for system in ordered(rows["system"])
        for group in sorted(rows.filter(system=system)[by].unique().to_list())
    ]
    return pl.DataFrame(out, schema={"system": pl.String, by: predictions.schema[by], **_INTERVAL})


def _settings(predictions: pl.DataFrame) -> list[tuple[str, str]]:
    """(benchmark, mode) pairs in a fixed order, ``average`` last where a mode has several benchmarks."""
    out = []
    for mode in sorted(predictions["mode"].unique().to_list()):
        names = _benchmarks(predictions, mode)
        out += [(name, mode) for name in names] + ([(AVERAGE, mode)] if len(names) > 1 else [])
    return out


def _benchmarks(predictions: pl.DataFrame, mode: str) -> list[str]:
    return sorted(predictions.filter(pl.col("mode") == mode)["benchmark"].unique().to_list())


def _select(predictions: pl.DataFrame, system: str, benchmark: str, mode: str) -> pl.DataFrame:
    return predictions.filter(system=system, benchmark=benchmark, mode=mode).select("seed", "item", "correct")


def _parts(predictions: pl.DataFrame, system: str, benchmark: str, mode: str) -> list[pl.DataFrame]:
    """The system's predictions per benchmark; empty if it lacks one, since an average over fewer would not compare."""
    names = _benchmarks(predictions, mode) if benchmark == AVERAGE else [benchmark]
    parts = [_select(predictions, system, name, mode) for name in names]
    return [] if any(part.is_empty() for part in parts) else parts


def _same_seeds(parts: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """Only the seeds that every benchmark has, so that one resampled seed means one trained model throughout."""
    common = set.intersection(*(set(part["seed"]) for part in parts))
    if not common:
        raise ValueError("accuracy: no seed was evaluated on every benchmark; evaluate the same seeds on each")
    return [part.filter(pl.col("seed").is_in(sorted(common))) for part in parts]


def _unreadable(part: pl.DataFrame) -> int:
    return int(part.group_by("item").agg(pl.col("correct").is_null().all().alias("null"))["null"].sum())


def _per_seed(strata: list[np.ndarray]) -> list[float | None]:
    rows = [[row[~np.isnan(row)] for row in seed] for seed in zip(*strata, strict=True)]
    return [None if any(r.size == 0 for r in seed) else float(np.mean([r.mean() for r in seed])) for seed in rows]
