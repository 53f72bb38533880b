"""Search and recovery: pass@k, difficulty by depth, the loop's flow, composition by round."""

import polars as pl
import pytest

from selfevolve.analysis import recovery


def attempts(*rows: tuple[str, int, int, int, bool]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=("blueprint", "pass", "branch", "attempt", "verified"), orient="row")


def records(*rows: tuple) -> pl.DataFrame:
    names = ("depth", "accepted", "passes", "round", "difficulty", "reason")
    return pl.DataFrame(
        rows,
        schema=dict(zip(names, (pl.Int64, pl.Boolean, pl.Int64, pl.Int64, pl.Float64, pl.String), strict=True)),
        orient="row",
    )


def test_pass_at_k_is_unbiased_and_retries_come_after_all_branches():
    table = recovery.search(
        attempts(
            ("a", 0, 0, 0, False), ("a", 0, 1, 0, True), ("b", 0, 0, 0, False), ("b", 0, 1, 0, False), ("b", 0, 0, 1, True),
            ("b", 1, 0, 0, True),  # a later pass of the loop
        )
    )  # fmt: skip
    rows = {(row["strategy"], row["tried"]): row["value"] for row in table.iter_rows(named=True)}
    assert rows == {("parallel", 1): 0.25, ("parallel", 2): 0.5, ("reflection", 1): 1.0}
    assert (table["low"] <= table["value"]).all() and (table["n"] == 2).all()


def test_depths_are_drawn_in_order_so_that_the_same_run_has_the_same_intervals():
    rows = [(depth, True, 1, 0, number % 4 / 4, None) for depth in (1, 2, 3, 4, 5) for number in range(9)]
    table = recovery.by_depth(records(*rows))
    assert table["depth"].to_list() == [1, 2, 3, 4, 5]
    assert table.row(0) == recovery.by_depth(records(*rows[:9])).row(0), "the first depth is drawn first"


def test_success_by_depth_is_of_accepted_tasks():
    table = recovery.by_depth(
        records(
            (1, True, 1, 0, 0.0, None), (1, True, 1, 0, 0.5, None), (2, True, 2, 1, 1.0, None), (2, False, 3, None, None, "x")
        )
    )
    assert table.select("depth", "value", "n").rows() == [(1, 0.75, 2), (2, 0.0, 1)]


def test_the_flow_adds_up_in_every_round():
    rounds = pl.DataFrame(
        [
            ("a", 0, True, None),
            ("b", 0, False, "task"),
            ("b", 1, True, None),
            ("c", 0, False, "solution"),
            ("c", 1, False, "task"),
            ("d", 0, False, None),
        ],
        schema=("blueprint", "pass", "accepted", "route"),
        orient="row",
    )
    table = recovery.flow(rounds)
    assert table.rows() == [(0, 4, 1, 1, 1, 1), (1, 2, 1, 0, 0, 1)]
    parts = table.select(pl.sum_horizontal("accepted", "to_task", "to_solution", "dropped"))
    assert parts.to_series().to_list() == table["entered"].to_list()
    assert table["entered"][1] == table["to_task"][0] + table["to_solution"][0]


@pytest.mark.parametrize(
    ("difficulty", "bin"), [(0.0, "easy"), (0.25, "easy"), (0.5, "medium"), (0.625, "medium-hard"), (1.0, "hard")]
)
def test_bins_of_difficulty(difficulty, bin):
    table = recovery.composition(records((1, True, 1, 0, difficulty, None)))
    assert table[bin][0] == 1 and table["tasks"][0] == 1


def test_recovered_tasks_are_compared_with_those_accepted_at_once():
    table = recovery.recovered(records(*[(1, True, 1, 0, 0.25, None)] * 10, *[(4, True, 3, 2, 0.75, None)] * 10))
    rows = {row["what"]: (row["value"], row["low"]) for row in table.iter_rows(named=True)}
    assert rows["difficulty, recovered minus at once"] == (0.5, 0.5) and rows["depth, recovered minus at once"] == (3.0, 3.0)
    both = records(*[(1, True, 1, 0, 0.25, None)] * 10, *[(4, True, 3, 2, 0.75, None)] * 10, (4, False, 3, 2, None, "why"))
    wanted = {"roles": "us", "proposed": 21, "accepted": 20, "recovered": 10, "rollouts": 4}
    assert recovery.headline(both, "us", 4) == wanted | {"harder": {"value": 0.5, "low": 0.5, "high": 0.5}}
    assert recovery.headline(both.head(3), "us", 4)["harder"] == {"value": None, "low": None, "high": None}
    nothing = recovery.recovered(records((1, True, 1, 0, 0.25, None)))
    assert "difficulty, recovered minus at once" not in nothing["what"].to_list()


def test_figures_are_drawn():
    rows = records((1, True, 1, 0, 0.0, None), (2, True, 2, 1, 1.0, None), (3, False, 3, None, None, "no round was left"))
    rounds = pl.DataFrame(
        [("a", 0, True, None), ("b", 0, False, "task"), ("b", 1, True, None)],
        schema=("blueprint", "pass", "accepted", "route"),
        orient="row",
    )
    assert len(recovery.figure(rows, rounds).axes) == 3
    assert recovery.search_figure(recovery.search(attempts(("a", 0, 0, 0, True), ("a", 0, 1, 0, False)))).axes
    assert recovery.drops(rows).rows() == [("no round was left", 1)]


def test_the_sentence_says_what_the_interval_says():
    harder = records(*[(1, True, 1, 0, 0.25, None)] * 10, *[(4, True, 3, 2, 0.75, None)] * 10)
    assert recovery.sentence(recovery.recovered(harder)) == (
        "Recovered tasks are harder than those accepted at once: difficulty +0.50 [+0.50, +0.50]."
    )
    mixed = records(*[(1, True, 1, 0, d, None) for d in (0.0, 1.0)] * 5, *[(4, True, 3, 2, d, None) for d in (0.0, 1.0)] * 5)
    assert "not harder on average, and the interval holds 0" in recovery.sentence(recovery.recovered(mixed))
    assert recovery.sentence(recovery.recovered(records((1, True, 1, 0, 0.25, None)))).startswith("No task was recovered")
