"""Files of a run: tables that are always whole, and which iteration is done."""

import polars as pl

from selfevolve.synco.run_files import Clock, Table, checkpoint_folder, complete, completed


def test_a_table_is_whole_whenever_it_is_read(tmp_path):
    table = Table(tmp_path / "metrics.csv", 0)
    for iteration in (1, 2, 3):
        table.append({"seed": 0, "iteration": iteration, "value": iteration / 2})
    (tmp_path / "metrics.tmp").write_text("seed,iter")  # what a kill may leave
    resumed = Table(tmp_path / "metrics.csv", 2)
    assert pl.read_csv(tmp_path / "metrics.csv")["iteration"].to_list() == [1, 2, 3]  # opening loses nothing
    resumed.append({"seed": 0, "iteration": 3, "value": 9.0})
    assert pl.read_csv(tmp_path / "metrics.csv")["value"].to_list() == [0.5, 1.0, 9.0]


def test_completing_an_iteration_drops_older_checkpoints(tmp_path):
    assert completed(tmp_path) == 0
    for iteration in (2, 4):
        checkpoint_folder(tmp_path, iteration).mkdir()
        complete(tmp_path, iteration)
    assert completed(tmp_path) == 4
    assert [path.name for path in tmp_path.glob("checkpoint-*")] == ["checkpoint-000004"]


def test_what_no_phase_took_is_other():
    clock = Clock(("a", "b"))
    clock.lap("a")
    clock.skip()
    clock.lap("b")
    spent = clock.seconds()
    assert set(spent) == {"total_s", "a_s", "b_s", "other_s"}
    assert abs(spent["a_s"] + spent["b_s"] + spent["other_s"] - spent["total_s"]) < 1e-3
