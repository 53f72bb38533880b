import polars as pl
import pytest

from selfevolve.analysis import reference
from selfevolve.analysis.attribution import attribution_figure, attribution_table, learn_share


def answers(system, corrects, **other):
    return [{"system": system, "item": f"t{i}", "correct": correct, **other} for i, correct in enumerate(corrects)]


def test_by_hand(make_predictions):
    """Six problems: vanilla has the first two right; the last one's reference cannot be read."""
    rows = answers("vanilla", [True, True, False, False, False, None])
    rows += answers("frozen", [True, False, True, False, False, None], seed=0)
    rows += answers("frozen", [True, True, False, False, False, None], seed=1)
    rows += answers("synco", [True, True, True, True, False, None])
    table = attribution_table(make_predictions(rows), replicates=200)
    assert table["subset"].to_list() == ["retain", "learn", "net"]
    retain, learn, net = table.rows(named=True)
    assert (retain["n"], retain["reference_solved"], retain["system_solved"], retain["additional"]) == (2, 1.5, 2.0, 0.5)
    assert (learn["n"], learn["reference_solved"], learn["system_solved"], learn["additional"]) == (3, 0.5, 2.0, 1.5)
    assert (net["n"], net["additional"]) == (5, pytest.approx(2.0))
    assert learn["reference_rate"] == pytest.approx(0.5 / 3) and learn["system_rate"] == pytest.approx(2 / 3)
    assert learn["low"] <= learn["additional"] <= learn["high"] <= 3
    assert learn_share(table) == pytest.approx(0.75)


def test_parts_add_up_and_benchmarks_are_pooled(predictions):
    table = attribution_table(predictions, replicates=50)
    assert table["benchmark"].unique(maintain_order=True).to_list() == ["exam", "svamp", "pooled"]
    for (_,), rows in table.group_by("benchmark"):
        n, additional = (rows[name].to_list() for name in ("n", "additional"))
        assert n[2] == n[0] + n[1]
        assert additional[2] == pytest.approx(additional[0] + additional[1])
    pooled = table.filter(benchmark="pooled")["n"].to_list()
    assert (
        pooled
        == table.filter(pl.col("benchmark") != "pooled")
        .group_by("subset", maintain_order=True)
        .agg(pl.col("n").sum())["n"]
        .to_list()
    )


def test_the_papers_counts_come_out_of_its_predictions(make_predictions):
    """Predictions made to have the paper's SVAMP counts give its row of Table 2 back."""
    svamp = reference.table_2().filter(benchmark="SVAMP")
    rows, start = [], 0
    for part in svamp.iter_rows(named=True):
        for i in range(part["n"]):
            item = {"item": f"t{start + i}", "benchmark": "svamp"}
            rows.append({**item, "system": "vanilla", "correct": part["subset"] == "retain"})
            rows.append({**item, "system": "frozen", "correct": i < part["reference_solved"]})
            rows.append({**item, "system": "synco", "correct": i < part["system_solved"]})
        start += part["n"]
    table = attribution_table(make_predictions(rows), replicates=20)
    expected = svamp.select("subset", "n", "reference_solved", "system_solved", "additional").rows()
    names = ("subset", "n", "reference_solved", "system_solved", "additional")
    assert table.head(2).select(names).rows() == [pytest.approx(row) for row in expected]
    assert table["reference_rate"][1] == 0.5 and table["additional"][2] == pytest.approx(5)


def test_a_subset_without_problems_is_null(make_predictions):
    rows = [row for system in ("vanilla", "frozen", "synco") for row in answers(system, [True, True])]
    learn = attribution_table(make_predictions(rows), replicates=20).row(1, named=True)
    assert (learn["n"], learn["system_rate"], learn["additional"], learn["low"]) == (0, None, None, None)


def test_an_absent_system_gives_no_rows_and_no_figure(predictions):
    table = attribution_table(predictions.filter(pl.col("system") != "frozen"), replicates=20)
    assert table.is_empty() and learn_share(table) is None
    with pytest.raises(ValueError, match="nothing to compare"):
        attribution_figure(table)
