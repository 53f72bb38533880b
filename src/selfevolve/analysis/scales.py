"""Table 4 of SynCo: the comparison again at other scales, side by side (section D.1).

The paper repeats Table 1 with Qwen3-4B. Here a *run* is one pass of the pipeline under one profile; finished ones are kept in `runs/`
(`python -m selfevolve.keep <name>`), and this module puts those that exist beside the present one. Runs differ in more than size
(models, benchmarks, budget: their parameters are on the page of the runs), so a difference is taken within a run, never between two.
"""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from selfevolve.analysis.accuracy import accuracy_table, gains_table
from selfevolve.analysis.statistics import REPLICATES
from selfevolve.paths import RUNS

PREDICTIONS = "predictions.parquet"


def kept_predictions(folder: Path = RUNS) -> dict[str, pl.DataFrame]:
    """The predictions of every kept run, by its name in alphabetical order; {} if none is kept."""
    return {path.parent.name: pl.read_parquet(path) for path in sorted(folder.glob(f"*/{PREDICTIONS}"))}


def scales_table(
    runs: Mapping[str, pl.DataFrame], mode: str = "greedy", replicates: int = REPLICATES, seed: int = 0
) -> pl.DataFrame:
    """Table 4: ``accuracy_table`` of every run under ``mode``, stacked under a first column ``run``.

    ``runs`` maps a run's name to its predictions (artifacts/evaluation/predictions.parquet). Raises ValueError if there is no run.
    """
    return _stacked(runs, lambda frame: accuracy_table(frame, replicates, seed).drop("per_seed"), mode)


def scale_gains(
    runs: Mapping[str, pl.DataFrame], mode: str = "greedy", replicates: int = REPLICATES, seed: int = 0
) -> pl.DataFrame:
    """What co-training adds within each run: the gains of synco over vanilla and over the frozen Synthesizer, under a column ``run``."""
    pairs = (("synco", "vanilla"), ("synco", "frozen"))
    return _stacked(runs, lambda frame: gains_table(frame, pairs, replicates, seed), mode)


def _stacked(runs: Mapping[str, pl.DataFrame], table, mode: str) -> pl.DataFrame:
    if not runs:
        raise ValueError("scales: no run given; the present run's predictions are the least")
    parts = [
        table(frame.filter(pl.col("mode") == mode)).select(pl.lit(name).alias("run"), pl.all()) for name, frame in runs.items()
    ]
    return pl.concat(parts)
