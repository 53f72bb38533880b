import polars as pl
import pytest

from selfevolve.analysis.accuracy import accuracy_by, accuracy_table, gain, gains_table


def answers(system, corrects, **other):
    return [{"system": system, "item": f"t{i}", "correct": correct, **other} for i, correct in enumerate(corrects)]


def test_table_by_hand(make_predictions):
    rows = answers("vanilla", [True, False, False, None])
    rows += answers("synco", [True, True, False, None], seed=0) + answers("synco", [True, True, True, None], seed=1)
    table = accuracy_table(make_predictions(rows))
    vanilla, synco = table.rows(named=True)
    assert (vanilla["system"], vanilla["n"], vanilla["unreadable"], vanilla["seeds"]) == ("vanilla", 3, 1, 1)
    assert vanilla["value"] == pytest.approx(1 / 3)
    assert synco["value"] == pytest.approx(5 / 6)
    assert synco["per_seed"] == pytest.approx([2 / 3, 1.0])


def test_draws_are_averaged_before_tasks(make_predictions):
    rows = [{"system": "synco", "item": "a", "mode": "sampled", "draw": d, "correct": d == 0} for d in range(4)]
    rows.append({"system": "synco", "item": "b", "mode": "sampled", "draw": 0, "correct": True})
    assert accuracy_table(make_predictions(rows))["value"].to_list() == [0.625]


def test_average_row_appears_with_two_benchmarks(predictions):
    table = accuracy_table(predictions, replicates=50)
    assert set(table["benchmark"]) == {"exam", "svamp", "average"}
    rows = table.filter(system="synco", mode="greedy")
    parts = rows.filter(pl.col("benchmark") != "average")["value"]
    assert rows.filter(benchmark="average")["value"][0] == pytest.approx(parts.mean())
    assert table.drop("per_seed").null_count().sum_horizontal()[0] == 0


def test_a_system_without_one_benchmark_has_no_average(make_predictions):
    rows = answers("vanilla", [True, False]) + answers("synco", [True, True])
    rows += answers("synco", [False, True], benchmark="svamp")
    table = accuracy_table(make_predictions(rows))
    assert table.filter(benchmark="average")["system"].to_list() == ["synco"]
    assert gain(make_predictions(rows), "synco", "vanilla", "average", "greedy") is None


def test_gains_by_hand(make_predictions):
    rows = answers("vanilla", [True, False, False, False]) + answers("synco", [True, True, True, False])
    gains = gains_table(make_predictions(rows))
    assert gains["comparison"].to_list() == ["SynCo − Vanilla"]
    row = gains.row(0, named=True)
    assert row["value"] == 0.5
    assert row["low"] >= 0 and not row["excludes_zero"]


def test_gain_of_a_clear_winner_excludes_zero(make_predictions):
    rows = answers("frozen", [False] * 20) + answers("synco", [True] * 20)
    row = gains_table(make_predictions(rows)).row(0, named=True)
    assert (row["value"], row["excludes_zero"]) == (1.0, True)


def test_gain_uses_common_tasks(make_predictions):
    rows = answers("vanilla", [False, False]) + answers("synco", [True, True, False, False])
    assert gains_table(make_predictions(rows)).row(0, named=True)["n"] == 2


def test_no_readable_task_is_null(make_predictions):
    table = accuracy_table(make_predictions(answers("synco", [None, None])))
    assert table.select("value", "low", "n", "unreadable").row(0) == (None, None, 0, 2)
    rows = answers("synco", [None]) + answers("vanilla", [None])
    assert gains_table(make_predictions(rows)).select("value", "excludes_zero").row(0) == (None, None)


def test_empty_predictions(make_predictions):
    empty = make_predictions([])
    assert accuracy_table(empty).is_empty()
    assert gains_table(empty).is_empty()
    assert accuracy_by(empty, "level").columns == ["system", "level", "value", "low", "high", "n"]


def test_by_level_pools_benchmarks_task_by_task(make_predictions):
    rows = answers("synco", [True, False], level=1) + answers("synco", [True, True], level=1, benchmark="svamp")
    rows += answers("synco", [True], level=None, benchmark="other")
    table = accuracy_by(make_predictions(rows), "level")
    assert table.select("system", "level", "value", "n").rows() == [("synco", 1, 0.75, 4)]
    assert accuracy_by(make_predictions(rows), "level", benchmark="exam")["n"].to_list() == [2]


def test_by_skill_covers_every_system(predictions):
    table = accuracy_by(predictions, "skill", replicates=20)
    assert table.height == 4 * 6
    assert table["system"].unique(maintain_order=True).to_list() == ["vanilla", "static_pool", "frozen", "synco"]
    with pytest.raises(ValueError, match="choose 'level' or 'skill'"):
        accuracy_by(predictions, "colour")


def test_tables_are_deterministic(predictions):
    shuffled = predictions.sample(fraction=1.0, shuffle=True, seed=1)
    assert accuracy_table(predictions, 50).equals(accuracy_table(shuffled, 50))
    assert gains_table(predictions, replicates=50).equals(gains_table(shuffled, replicates=50))
