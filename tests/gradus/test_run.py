"""One domain from start to end: the tables of its arms, and that a killed run ends with the same ones."""

import random
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
import run_worker
from polars.testing import assert_frame_equal

from selfevolve.gradus import run

WORKER = Path(run_worker.__file__)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def made(work):
    return run.make("desk", run_worker.settings(), work)


def test_every_blueprint_has_a_row_and_every_row_its_reason(made):
    tables, origin = made
    assert origin.startswith("**Roles were scripted**")
    records = tables.records
    assert dict(records.group_by("arm").len().iter_rows()) == run_worker.ARMS
    assert records.filter(~pl.col("accepted"))["reason"].is_null().sum() == 0
    assert records.filter("accepted")["reason"].is_not_null().sum() == 0
    assert records["blueprint"].n_unique() == records.height
    accepted = records.filter("accepted")
    assert accepted.height > 0 and accepted["difficulty"].is_between(0, 1).all()
    assert accepted.select(pl.col("intended").list.set_difference("realised").list.len()).to_series().eq(0).all()


def test_rounds_and_attempts_belong_to_the_records(made):
    tables, _ = made
    counted = tables.rounds.group_by("blueprint").len().join(tables.records, on="blueprint")
    assert counted.height == tables.records.height and (counted["len"] == counted["passes"]).all()
    last = tables.rounds.filter("accepted").join(tables.records.filter("accepted"), on="blueprint")
    assert last.height == tables.records["accepted"].sum()
    proved = tables.attempts.filter("verified")["blueprint"].unique().to_list()
    assert set(tables.records.filter("verified")["blueprint"]) <= set(proved)


def test_a_finished_arm_is_not_run_again(made, work):
    before = {path: path.stat().st_mtime_ns for path in work.rglob("*") if path.is_file()}
    again, _ = run.make("desk", run_worker.settings(), work)
    assert {path: path.stat().st_mtime_ns for path in work.rglob("*") if path.is_file()} == before
    assert_frame_equal(again.records, made[0].records)


def test_kill_9_at_random_instants_then_resume_gives_the_same_tables(made, tmp_path):
    rng, killed = random.Random(4), 0
    while not (tmp_path / "model_prior" / "records.parquet").is_file():
        process = subprocess.Popen([sys.executable, WORKER, tmp_path], stderr=subprocess.DEVNULL)
        seen = _lines(tmp_path)
        deadline = time.monotonic() + 120
        wanted = seen + rng.randint(6, 16)
        while process.poll() is None and _lines(tmp_path) < wanted and time.monotonic() < deadline:
            time.sleep(0.005)
        if process.poll() is None:
            process.kill()
            killed += 1
        process.wait()
        assert killed < 60, "no progress between kills"
    assert killed >= 3
    for table in run.SCHEMAS:
        again = pl.concat([pl.read_parquet(tmp_path / name / f"{table}.parquet") for name in run_worker.ARMS])
        assert_frame_equal(again, getattr(made[0], table))


def _lines(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("*/journal.jsonl"))


def test_the_example_tells_a_task_from_blueprint_to_conversation(made):
    text = run.example(made[0].records)
    assert "Blueprint (depth" in text and "Reference" in text and "user:" in text
    assert run.example(made[0].records.with_columns(accepted=pl.lit(False))) == "no task was accepted"


def test_the_stage_s_folder_gets_the_tables(made, tmp_path):
    run.write(tmp_path / "out", made[0], "desk", run_worker.settings())
    assert {path.name for path in (tmp_path / "out").iterdir()} == {f"{name}.parquet" for name in run.SCHEMAS}
