from pathlib import Path

import polars as pl
import pytest

from selfevolve import params
from selfevolve.evaluation import boundary

REASONER = Path(__file__).parents[1] / "fixtures" / "reasoner"
PROBLEMS = [f"A box has {10 + i} nuts. Add 5. How many?" for i in range(6)]


def memory(*rows: tuple[int, int, int, bool, str | None, str]) -> pl.DataFrame:
    names = ("seed", "iteration", "slot", "admitted", "problem", "final_answer")
    return pl.DataFrame(rows, schema=names, orient="row")


@pytest.fixture(scope="module")
def settings():
    tiny = params.load("tiny")
    cotraining = tiny.cotraining.model_copy(update={"rollouts": 3})
    return tiny.model_copy(
        update={"evaluation": tiny.evaluation.model_copy(update={"source_tasks": 4}), "cotraining": cotraining}
    )


def test_a_sample_is_of_different_admitted_problems_and_repeats_itself():
    rows = [(seed, 1, slot, True, problem, str(slot)) for seed in (0, 1) for slot, problem in enumerate(PROBLEMS)]
    table = memory(*rows, (0, 2, 0, False, "rejected", "1"), (0, 2, 1, False, None, "1"))
    chosen = boundary.sample(table, 4, seed=3)
    assert chosen.height == 4 and chosen["problem"].n_unique() == 4
    assert chosen.equals(boundary.sample(table.reverse(), 4, seed=3))
    assert not chosen.equals(boundary.sample(table, 4, seed=4))
    everything = boundary.sample(table, 100, seed=3)
    assert everything["problem"].to_list() == PROBLEMS
    assert everything["answer"].to_list() == list("012345")


def test_rollouts_have_the_artifacts_schema_and_agree_with_their_rewards(settings, tmp_path):
    path = tmp_path / "memory.parquet"
    memory(*((0, 1, slot, True, problem, str(15 + slot)) for slot, problem in enumerate(PROBLEMS))).write_parquet(path)
    kept = tmp_path / "work" / "source-synco.parquet"
    rollouts = boundary.roll_out("synco", path, REASONER, settings, kept)
    assert dict(rollouts.schema) == boundary.SCHEMA
    assert rollouts.height == 4 and set(rollouts["variant"]) == {"synco"}
    for row in rollouts.iter_rows(named=True):
        rewards = row["rewards"]
        assert len(rewards) == 3 and set(rewards) <= {0.0, 0.9, 1.0}
        assert row["success_rate"] == pytest.approx(sum(reward > 0 for reward in rewards) / 3)
        assert row["gradient_bearing"] == (len(set(rewards)) > 1)
        assert row["answer"] == str(15 + PROBLEMS.index(row["problem"]))
    assert rollouts["success_rate"].max() > 0, "the fixture Reasoner solves some of these"
    kept.unlink()
    assert boundary.roll_out("synco", path, REASONER, settings, kept).equals(rollouts)
    path.unlink()
    assert boundary.roll_out("synco", path, REASONER, settings, kept).equals(rollouts), "read back, not rolled out again"


def test_a_source_without_an_admitted_task_has_no_rows(settings, tmp_path):
    path = tmp_path / "memory.parquet"
    memory((0, 1, 0, False, "rejected", "1")).write_parquet(path)
    rollouts = boundary.roll_out("synco", path, REASONER, settings, tmp_path / "none.parquet")
    assert rollouts.is_empty() and dict(rollouts.schema) == boundary.SCHEMA
