import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfevolve.evaluation.passk import pass_at_1_over_runs, pass_at_k, pass_hat_k, pass_table

COUNTS = st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))


@given(COUNTS)
def test_agrees_with_binomials(counts):
    n, c, k = counts
    total = math.comb(n, k)
    assert pass_at_k(n, c, k) == pytest.approx(1 - math.comb(n - c, k) / total)
    assert pass_hat_k(n, c, k) == pytest.approx(math.comb(c, k) / total)


@given(COUNTS)
def test_bounds_and_order(counts):
    n, c, k = counts
    assert 0 <= pass_hat_k(n, c, k) <= c / n + 1e-12
    assert c / n - 1e-12 <= pass_at_k(n, c, k) <= 1


def test_large_counts_do_not_overflow():
    assert pass_at_k(10_000, 1, 100) == pytest.approx(0.01)
    assert pass_hat_k(10_000, 9_999, 100) == pytest.approx(0.99)
    assert pass_at_k(10**6, 0, 1000) == 0.0


def test_ends():
    assert (pass_at_k(5, 0, 3), pass_at_k(5, 5, 3), pass_at_k(5, 3, 3)) == (0.0, 1.0, 1.0)
    assert (pass_hat_k(5, 2, 3), pass_hat_k(5, 5, 5), pass_hat_k(4, 2, 1)) == (0.0, 1.0, 0.5)


@pytest.mark.parametrize("counts", [(3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0), (0, 0, 1)])
def test_impossible_counts_are_refused(counts):
    for estimate in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match="need"):
            estimate(*counts)


def predictions(cells):
    names = {"seed": pl.Int64, "item": pl.String, "draw": pl.Int64, "correct": pl.Boolean}
    frame = pl.DataFrame(cells, schema=names, orient="row")
    return frame.with_columns(system=pl.lit("synco"), benchmark=pl.lit("exam"), mode=pl.lit("sampled"))


def test_table_by_hand():
    cells = [(0, "a", d, d == 0) for d in range(2)] + [(0, "b", d, True) for d in range(2)] + [(0, "c", 0, None)]
    table = pass_table(predictions(cells), ks=(1, 2, 4))
    assert table.select("k", "pass_at_k", "pass_hat_k", "units").rows() == [(1, 0.75, 0.75, 2), (2, 1.0, 0.5, 2)]


def test_seeds_are_units_of_their_own():
    cells = [(seed, "a", 0, seed == 0) for seed in (0, 1)]
    assert pass_table(predictions(cells), ks=(1, 2)).select("k", "pass_at_k", "units").rows() == [(1, 0.5, 2)]


def test_runs_by_hand():
    cells = [(0, "a", 0, True), (0, "b", 0, False), (0, "a", 1, True), (0, "b", 1, True), (0, "c", 1, None)]
    row = pass_at_1_over_runs(predictions(cells)).row(0, named=True)
    assert (row["mean"], row["runs"]) == (0.75, 2)
    assert row["sd"] == pytest.approx(math.sqrt(0.125))


def test_single_run_has_no_deviation_and_none_no_row():
    assert pass_at_1_over_runs(predictions([(0, "a", 0, True)]))["sd"].to_list() == [None]
    assert pass_at_1_over_runs(predictions([])).is_empty()
    assert pass_table(predictions([(0, "a", 0, None)])).is_empty()
