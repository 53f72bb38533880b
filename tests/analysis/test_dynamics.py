import math

import polars as pl
import pytest

from selfevolve.analysis.dynamics import end_values, trajectories


def log(seed, values):
    return pl.DataFrame({"seed": [seed] * len(values), "iteration": range(1, len(values) + 1), "reward": values})


def test_moving_average_by_hand():
    curve = trajectories({"synco": log(0, [0.0, 1.0, 2.0, 3.0])}, "reward", window=2)
    assert curve["mean"].to_list() == [0.0, 0.5, 1.5, 2.5]
    assert curve["seeds"].to_list() == [1] * 4


def test_band_spans_the_seeds():
    both = pl.concat([log(0, [0.0, 0.0]), log(1, [1.0, 3.0])])
    curve = trajectories({"synco": both}, "reward", window=1)
    assert curve.select("mean", "low", "high", "seeds").rows() == [(0.5, 0.0, 1.0, 2), (1.5, 0.0, 3.0, 2)]


def test_gaps_are_skipped_not_zero():
    curve = trajectories({"synco": log(0, [1.0, None, math.nan, 3.0])}, "reward", window=2)
    assert curve["iteration"].to_list() == [1, 2, 4]
    assert curve["mean"].to_list() == [1.0, 1.0, 3.0]


def test_a_column_that_csv_read_as_text_has_no_curve():
    frame = log(0, [1.0, 2.0]).with_columns(pl.lit(None, dtype=pl.String).alias("reward"))
    assert trajectories({"frozen": frame}, "reward").is_empty()


def test_unknown_column_is_named(metrics):
    with pytest.raises(ValueError, match="no column 'nope'"):
        trajectories(metrics, "nope")


def test_end_values_use_full_windows():
    table = end_values({"synco": log(0, [float(i) for i in range(1, 21)])}, "reward", window=10)
    assert table.select("first", "last", "iteration").row(0) == (5.5, 15.5, 20)
    short = end_values({"synco": log(0, [1.0, 3.0])}, "reward", window=10)
    assert short.select("first", "last").row(0) == (2.0, 2.0)


def test_variants_in_fixed_order(metrics):
    curves = trajectories(metrics, "gradient_bearing_rate")
    assert curves["variant"].unique(maintain_order=True).to_list() == ["static_pool", "frozen", "synco"]
    assert trajectories({}, "reward").is_empty()
