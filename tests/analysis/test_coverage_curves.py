"""Coverage of accepted tasks: curves over random orders, growth at the end, comparison of arms at equal numbers."""

import polars as pl
import pytest

from selfevolve.analysis import coverage


def records(
    arm: str, realised: list[list[str]], actions: list[list[str]] | None = None, dropped: int = 0, depth: int = 1
) -> pl.DataFrame:
    n = len(realised)
    return pl.DataFrame(
        {
            "arm": [arm] * (n + dropped),
            "accepted": [True] * n + [False] * dropped,
            "realised": realised + [["x"]] * dropped,
            "actions": (actions or [[]] * n) + [["z"]] * dropped,
            "depth": [depth] * (n + dropped),
            "difficulty": [0.5] * n + [None] * dropped,
        },
        schema_overrides={"realised": pl.List(pl.String), "actions": pl.List(pl.String), "difficulty": pl.Float64},
    )


WIDE = records("full", [[f"u{i}", "common"] for i in range(20)], [[f"a{i}"] for i in range(20)], dropped=5, depth=3)
FLAT = records("model_prior", [["u0", "common"]] * 20, [["a0"]] * 20)


def test_a_curve_counts_what_accepted_tasks_realised_and_nothing_else():
    curve = coverage.curves(pl.concat([WIDE, FLAT]))
    ends = curve.group_by("arm", "measure").agg(pl.col("examples").max(), pl.col("mean").last())
    rows = {(row["arm"], row["measure"]): (row["examples"], row["mean"]) for row in ends.iter_rows(named=True)}
    assert rows["full", "branches"] == (20, 21.0) and rows["full", "action_sets"] == (20, 20.0)
    assert rows["model_prior", "branches"] == (20, 2.0) and rows["model_prior", "action_sets"] == (20, 1.0)
    assert (curve["low"] <= curve["mean"]).all() and (curve["mean"] <= curve["high"]).all()


def test_the_order_of_actions_does_not_make_a_new_set_and_the_order_of_tasks_is_random():
    same = records("full", [["u"], ["u"], ["v"]], [["a", "b"], ["b", "a"], ["a"]])
    curve = coverage.curves(same, orders=400)
    first = curve.filter(measure="branches", examples=2)["mean"][0]
    assert curve.filter(measure="action_sets", examples=3)["mean"][0] == 2
    assert first == pytest.approx(1 + 2 / 3, abs=0.1)  # two tasks of three cover both branches in two orders of three


def test_growth_tells_a_curve_that_goes_on_from_one_that_is_flat_and_says_so():
    table = coverage.growth(coverage.curves(pl.concat([WIDE, FLAT])))
    rows = {(row["arm"], row["measure"]): row for row in table.iter_rows(named=True)}
    assert rows["full", "branches"]["new_per_10"] == pytest.approx(10) and not rows["full", "branches"]["levels_off"]
    assert rows["model_prior", "branches"]["new_per_10"] == 0 and rows["model_prior", "branches"]["levels_off"]
    assert "so search covers more" in coverage.sentence(table) and "keeps growing faster than 1 of 1" in coverage.sentence(table)


def test_a_search_that_does_not_win_is_not_praised():
    swapped = pl.concat([WIDE.with_columns(arm=pl.lit("model_prior")), FLAT.with_columns(arm=pl.lit("full"))])
    said = coverage.sentence(coverage.growth(coverage.curves(swapped)))
    assert "does not cover more" in said and "does not keep growing" in said


def test_arms_are_compared_at_the_same_number_of_tasks_with_intervals():
    few = records("no_ledger", [[f"u{i}"] for i in range(5)], [["a"]] * 5, dropped=5)
    table = coverage.ablations(pl.concat([WIDE.with_columns(arm=pl.lit("matched")), few, FLAT, WIDE]), replicates=200)
    rows = {row["arm"]: row for row in table.iter_rows(named=True)}
    assert set(rows) == {"matched", "no_ledger"} and {row["examples"] for row in rows.values()} == {5}
    assert (
        rows["matched"]["branches"] == "6.00 [6.00, 6.00]"
        and rows["no_ledger"]["branches_minus_matched"] == "-1.00 [-1.00, -1.00]"
    )
    assert rows["matched"]["accepted_share"].startswith("80.0% [") and rows["matched"]["depth_minus_matched"] == ""
    assert rows["no_ledger"]["depth_minus_matched"] == "-2.00 [-2.00, -2.00]"


def test_an_arm_without_an_accepted_task_is_shown_and_does_not_break_the_others():
    table = coverage.ablations(
        pl.concat([WIDE.with_columns(arm=pl.lit("matched")), records("parallel", [], dropped=4)]), replicates=100
    )
    assert table.filter(arm="parallel")["accepted"][0] == 0 and table.filter(arm="parallel")["branches"][0] == "–"
    assert coverage.curves(records("full", [], dropped=2)).is_empty()
    assert coverage.sentence(coverage.growth(coverage.curves(records("full", [], dropped=2)))).startswith("No baseline")


def test_the_figure_has_a_panel_per_measure_and_a_line_per_arm():
    axes = coverage.figure(coverage.curves(pl.concat([WIDE, FLAT]))).axes
    assert len(axes) == 2 and all(len(ax.lines) == 2 for ax in axes)
