import math
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfevolve.analysis.statistics import (
    Interval,
    matrix,
    mean_interval,
    paired_difference,
    pearson,
    proportion,
    ratio,
)

NOTHING = Interval(None, None, None, 0)


def frame(cells):
    return pl.DataFrame(cells, schema={"seed": pl.Int64, "item": pl.String, "correct": pl.Boolean}, orient="row")


def test_matrix_averages_draws_and_keeps_gaps():
    cells = frame([(1, "a", True), (1, "a", False), (1, "b", None), (0, "b", True)])
    assert np.array_equal(matrix(cells), [[math.nan, 1.0], [0.5, math.nan]], equal_nan=True)
    assert matrix(cells, items=["b"]).shape == (2, 1)


def test_mean_interval_of_a_frame_is_the_mean_over_readable_cells():
    found = mean_interval(frame([(0, "a", True), (0, "b", False), (0, "c", None), (0, "d", True)]))
    assert found.value == pytest.approx(2 / 3)
    assert found.n == 3
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_single_seed_interval_matches_the_binomial():
    data = np.zeros((1, 400))
    data[0, :240] = 1
    found = mean_interval(data)
    half = 1.96 * math.sqrt(0.6 * 0.4 / 400)
    assert found.low == pytest.approx(0.6 - half, abs=0.006)
    assert found.high == pytest.approx(0.6 + half, abs=0.006)


def test_seeds_that_disagree_widen_the_interval():
    agree = np.tile(np.repeat([1.0, 0.0], 100), (3, 1))
    disagree = np.vstack([np.ones(200), np.repeat([1.0, 0.0], 100), np.zeros(200)])
    narrow, wide = mean_interval(agree), mean_interval(disagree)
    assert narrow.value == wide.value == 0.5
    assert wide.high - wide.low > 3 * (narrow.high - narrow.low)


def test_coverage_of_tasks_and_seeds():
    # a population with task difficulty and seed luck; ten seeds, so that the seed part is not coarse
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    truth = weights @ (1 / (1 + np.exp(-(0.4 + math.sqrt(1 + 0.4**2) * nodes)))) / math.sqrt(2 * math.pi)
    rng = np.random.default_rng(0)
    hits, runs = 0, 200
    for run in range(runs):
        logit = 0.4 + rng.normal(0, 1, (1, 80)) + rng.normal(0, 0.4, (10, 1))
        data = (rng.random((10, 80)) < 1 / (1 + np.exp(-logit))).astype(float)
        found = mean_interval(data, replicates=300, seed=run)
        hits += found.low <= truth <= found.high
    assert 0.88 <= hits / runs <= 0.99


def test_average_of_benchmarks_is_unweighted():
    easy, hard = np.ones((2, 10)), np.zeros((2, 90))
    assert mean_interval([easy, hard]).value == 0.5
    assert mean_interval([easy, hard]).n == 100


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_constant_outcomes_collapse_to_a_point(value):
    assert mean_interval(np.full((3, 20), value)) == Interval(value, value, value, 20)


def test_nothing_to_count_is_null_without_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mean_interval(frame([])) == NOTHING
        assert mean_interval(frame([(0, "a", None)])) == NOTHING
        assert mean_interval(np.full((2, 3), np.nan)) == NOTHING
        assert mean_interval([]) == NOTHING
        assert paired_difference(np.empty((1, 0)), np.empty((3, 0))) == NOTHING


def test_intervals_are_deterministic_and_follow_the_seed():
    data = (np.random.default_rng(1).random((3, 50)) < 0.5).astype(float)
    assert mean_interval(data, seed=4) == mean_interval(data, seed=4)
    assert mean_interval(data, seed=4) != mean_interval(data, seed=5)


def test_large_inputs_are_resampled_in_blocks():
    data = (np.random.default_rng(2).random((2, 9000)) < 0.5).astype(float)
    found = mean_interval(data, replicates=500)  # 9000 tasks x 500 replicates exceed one block
    assert found.high - found.low < 0.05


def test_pairing_removes_what_the_tasks_share():
    rng = np.random.default_rng(3)
    base = (rng.random((1, 300)) < 0.5).astype(float)
    better = np.maximum(base, rng.random((1, 300)) < 0.1)
    paired = paired_difference(better, base)
    alone = mean_interval(better)
    assert paired.value == pytest.approx(better.mean() - base.mean())
    assert paired.low > 0
    assert paired.high - paired.low < alone.high - alone.low


def test_difference_of_equal_systems_is_zero_throughout():
    data = (np.random.default_rng(4).random((1, 60)) < 0.5).astype(float)
    assert paired_difference(data, data) == Interval(0.0, 0.0, 0.0, 60)


def test_difference_uses_only_tasks_both_can_be_judged_on():
    left, right = np.array([[1.0, 1.0, np.nan]]), np.array([[0.0, np.nan, 0.0]])
    assert paired_difference(left, right) == Interval(1.0, 1.0, 1.0, 1)


def test_difference_of_three_seeds_and_one():
    found = paired_difference(np.tile([1.0, 1.0, 0.0], (3, 1)), np.array([[1.0, 0.0, 0.0]]))
    assert found.value == pytest.approx(1 / 3)


def test_different_tasks_are_refused():
    with pytest.raises(ValueError, match="different tasks"):
        paired_difference(np.ones((1, 3)), np.ones((1, 4)))


def test_wilson_known_values():
    # Newcombe 1998, table I: 81/263 and 0/20
    found = proportion(81, 263)
    assert (round(found.low, 4), round(found.high, 4)) == (0.2553, 0.3662)
    found = proportion(0, 20)
    assert (found.low, round(found.high, 4)) == (0.0, 0.1611)
    assert proportion(20, 20).high == 1.0
    assert proportion(0, 0) == NOTHING


@given(st.integers(0, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_contains_its_share(pair):
    found = proportion(*pair)
    if pair[1]:
        assert 0 <= found.low <= found.value <= found.high <= 1


@pytest.mark.parametrize("pair", [(-1, 3), (4, 3)])
def test_impossible_counts_are_refused(pair):
    with pytest.raises(ValueError, match="need 0 <= successes"):
        proportion(*pair)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000))
def test_pearson_agrees_with_numpy(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=30)
    y = 0.5 * x + rng.normal(size=30)
    found = pearson(pl.Series(x), pl.Series(y))
    assert found.value == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert found.low < found.value < found.high


def test_pearson_of_the_paper_has_a_narrow_interval():
    # Table 5 (b): r = -0.041 over 2,940 tasks; the interval shows that it is not far from zero
    half = 1.96 / math.sqrt(2937)
    x = pl.Series(np.random.default_rng(0).normal(size=2940))
    found = pearson(x, pl.Series(np.random.default_rng(1).normal(size=2940)))
    assert found.high - found.low == pytest.approx(2 * half, rel=0.01)


def test_pearson_degenerate_sides_are_null():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pearson(pl.Series([0.1] * 5), pl.Series([True, False, True, True, False])).value is None
        assert pearson(pl.Series([1.0, 2.0]), pl.Series([1.0, 3.0])) == Interval(None, None, None, 2)
        assert pearson(pl.Series([], dtype=pl.Float64), pl.Series([], dtype=pl.Boolean)) == NOTHING
        x = pl.Series([0.0, 1.0, None, math.nan, 0.0])
        assert pearson(x, pl.Series([False, True, True, True, False])) == Interval(1.0, 1.0, 1.0, 3)


def test_ratio_of_medians():
    found = ratio(np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0]))
    assert found.value == 2.0
    assert found.low <= 2.0 <= found.high
    assert ratio(np.array([]), np.array([1.0])) == NOTHING
    assert ratio(np.array([1.0]), np.array([0.0])).value is None
    assert ratio(np.full(9, 3.0), np.full(9, 2.0)) == Interval(1.5, 1.5, 1.5, 9)
