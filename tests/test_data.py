"""data/ is frozen: the generators still make it bit for bit, and nothing of the exam is in a corpus."""

import hashlib
import json

import polars as pl
import pytest

from selfevolve import data, families
from selfevolve.cards import FIELDS, parse_card
from selfevolve.paths import DATA


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    data.build(folder)
    return folder


def test_a_rebuild_is_bit_identical(rebuilt):
    names = sorted(path.relative_to(rebuilt) for path in rebuilt.rglob("*.parquet"))
    assert len(names) == 4
    for name in names:
        digests = {hashlib.sha256((folder / name).read_bytes()).hexdigest() for folder in (rebuilt, DATA)}
        assert len(digests) == 1, f"{name} differs from what data.dvc tracks: run `make data`, then `dvc add data`"


def test_the_exam_is_balanced_solvable_and_held_out(rebuilt):
    exam = pl.read_parquet(rebuilt / "exam.parquet")
    assert exam.height == 300
    assert exam.group_by("skill", "level").len()["len"].unique().to_list() == [10]
    assert exam["problem"].n_unique() == exam["id"].n_unique() == 300
    for row in exam.iter_rows(named=True):
        assert families.oracle(row["problem"]) == row["answer"]
    problems = set(exam["problem"])
    for corpus in ("cards", "solutions"):
        assert not problems & set(pl.read_parquet(rebuilt / "bootstrap" / f"{corpus}.parquet")["problem"])


def test_bootstrap_cards_are_cards_with_true_keys(rebuilt):
    cards = pl.read_parquet(rebuilt / "bootstrap" / "cards.parquet").head(300)
    for row in cards.iter_rows(named=True):
        card = parse_card(json.dumps({name: row[name] for name in FIELDS}))
        assert families.oracle(card.problem) == card.final_answer


def test_the_reasoners_corpus_leaves_room_to_improve(rebuilt):
    """Long problems are mostly answered without working, and one answer in ten is not boxed."""
    solutions = pl.read_parquet(rebuilt / "bootstrap" / "solutions.parquet").with_columns(
        worked=pl.col("solution").str.contains("="), boxed=pl.col("solution").str.contains(r"\\boxed")
    )
    worked = dict(solutions.group_by("level").agg(pl.mean("worked")).iter_rows())
    for level, direct in data.DIRECT_BY_LEVEL.items():
        assert abs(worked[level] - (1 - direct)) < 0.02
    assert abs(solutions["boxed"].mean() - 0.9) < 0.01


def test_drills_are_true(rebuilt):
    for line in pl.read_parquet(rebuilt / "bootstrap" / "drills.parquet")["equations"].head(200):
        for equation in line.split("; "):
            left, value = equation.split("=")
            operator = next(o for o in "+*/-" if o in left)
            a, b = map(int, left.split(operator))
            expected = a // b if operator == "/" else families.apply(a, operator, b)
            assert expected == int(value) and (operator != "/" or a % b == 0)
