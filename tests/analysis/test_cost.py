import polars as pl
import pytest

from selfevolve.analysis import reference
from selfevolve.analysis.cost import (
    cost_summary,
    phase_table,
    production_table,
    timing_differences,
    timing_table,
    yield_changes,
    yield_table,
)

WRONG, MIXED, FORMAT, RIGHT = [0.0, 0.0], [1.0, 0.0], [1.0, 0.9], [1.0, 1.0]


def times(reasoner, synthesizer, total):
    n = len(total)
    return pl.DataFrame(
        {
            "seed": [0] * n,
            "iteration": range(1, n + 1),
            "total_s": total,
            "update_reasoner_s": reasoner,
            "update_synthesizer_s": synthesizer,
        }
    )


def test_timing_by_hand():
    table = timing_table({"synco": times([1.0, 2.0, 6.0], [1.0, 1.0, None], [10.0, 11.0, 30.0])}, replicates=100)
    assert table.select("variant", "quantity", "seconds", "n").rows() == [
        ("synco", "mean update time", pytest.approx(11 / 3), 3),
        ("synco", "median update time", 3.0, 3),
        ("synco", "median wall time", 11.0, 3),
    ]
    assert ((table["low"] <= table["seconds"]) & (table["seconds"] <= table["high"])).all()


def test_relative_differences_of_the_paper():
    paper = reference.table_8_cost().pivot(on="quantity", index="variant", values="seconds")
    timings = {
        name: times([median] * 3, [0.0] * 3, [wall] * 3)
        for name, median, wall in paper.select("variant", "median update time", "median wall time").iter_rows()
    }
    found = timing_differences(timings, replicates=50)
    assert found["difference"].round(3).to_list()[1:] == [-0.009, 0.006]
    assert round(45.1 / 45.8 - 1, 3) == reference.table_8_differences()["difference"][0]


def test_differences_need_both_variants():
    timings = {"synco": times([1.0], [1.0], [3.0])}
    assert timing_differences(timings).is_empty()
    assert timing_differences({**timings, "frozen": times([0.0], [0.0], [0.0])})["difference"].to_list() == [None] * 3


def test_missing_timing_column_is_named():
    with pytest.raises(ValueError, match="no column 'update_synthesizer_s'"):
        timing_table({"synco": times([1.0], [1.0], [3.0]).drop("update_synthesizer_s")})


def test_phases_sum_to_one(timings):
    table = phase_table(timings)
    shares = table.group_by("variant").agg(pl.col("share").sum())["share"]
    assert shares.to_list() == pytest.approx([1.0] * 3)


def test_papers_yield_is_counted_per_proposed_card():
    for row in reference.table_8_yield().iter_rows(named=True):
        assert row["tasks_per_batch"] / 32 == pytest.approx(row["rate"], abs=5e-4)
        assert row["learnable"] + row["mid_band"] == pytest.approx(row["rate"], abs=1e-9)


def test_yield_by_hand(make_cards):
    cards = make_cards(
        [MIXED, FORMAT, WRONG, RIGHT, MIXED, RIGHT, MIXED, RIGHT],
        iteration=[1] * 4 + [2] * 4,
        difficulty=["learnable", "mid-band", "hard", "hard", "too hard", "other", None, "learnable"],
        admitted=[True] * 7 + [False],
    )
    row = yield_table({"synco": cards}).row(0, named=True)
    assert (row["batches"], row["batch_size"], row["productive"], row["tasks_per_batch"]) == (2, 4.0, 4, 2.0)
    assert (row["rate"], row["mixed_rate"]) == (0.5, 0.375)
    assert [row[name] for name in ("learnable", "mid_band", "hard", "other")] == [0.125] * 4


def test_yield_changes_of_the_paper():
    """The paper's rates give its ratios: 1.14, 1.03 and 1.06, printed from unrounded rates."""
    paper = reference.table_8_yield().sort("variant")
    ratios = [paper[name][1] / paper[name][0] for name in ("learnable", "mid_band", "rate")]
    assert ratios == pytest.approx(reference.table_8_changes()["change"].to_list(), abs=0.011)


def test_yield_changes_by_hand(make_cards):
    """Two batches each: synco has 3 productive cards, frozen 2, of which one is learnable in both."""
    difficulty = ["learnable", "mid-band", "mid-band", "learnable"]
    memory = {
        "synco": make_cards([MIXED, MIXED, FORMAT, RIGHT], iteration=[1, 1, 2, 2], difficulty=difficulty),
        "frozen": make_cards([MIXED, MIXED, WRONG, RIGHT], iteration=[1, 1, 2, 2], difficulty=difficulty),
    }
    changes = yield_changes(memory, replicates=100)
    assert changes.select("quantity", "change", "n").rows() == [("learnable", 1.0, 2), ("mid_band", 2.0, 2), ("all", 1.5, 2)]
    assert yield_changes({"synco": memory["synco"]}).is_empty()


def test_production_of_the_paper(make_cards):
    table = production_table(make_cards([RIGHT] * 3200, admitted=[True] * 2940 + [False] * 260))
    assert table["value"].round(3).to_list() == reference.table_8_production()["value"].to_list()
    assert table["quantity"].to_list() == reference.table_8_production()["quantity"].to_list()


def test_summary_joins_what_both_have(timings, memory):
    table = cost_summary(timings, {name: memory[name] for name in ("frozen", "synco")}, replicates=50)
    paper = reference.table_3()
    assert table.select("variant", "quantity").rows() == paper.select("variant", "quantity").rows()
    assert table.null_count().sum_horizontal()[0] == 0
    assert ((table["low"] <= table["value"]) & (table["value"] <= table["high"])).all()
    rates = yield_table(memory).filter(variant="synco")
    found = dict(table.filter(variant="synco").select("quantity", "value").iter_rows())
    assert found["gradient rate"] == rates["rate"][0]
    assert found["productive tasks per batch"] == pytest.approx(rates["tasks_per_batch"][0])


def test_nothing_to_cost(make_cards):
    assert timing_table({}).is_empty()
    assert yield_table({"synco": make_cards([])}).select("rate", "tasks_per_batch").row(0) == (None, None)
    assert production_table(make_cards([]))["value"].to_list() == [0.0, 0.0, None, 0.0, 0.0]
