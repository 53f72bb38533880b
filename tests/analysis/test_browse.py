import polars as pl
import pytest

from selfevolve.analysis import browse
from selfevolve.synco.memory import SCHEMA


def test_what_is_there_is_read_and_what_is_not_is_empty(tmp_path, memory):
    assert browse.finished(tmp_path / "nowhere") == []
    empty = browse.memory(tmp_path / "nowhere", "synco")
    assert empty.is_empty() and dict(empty.schema) == SCHEMA
    (tmp_path / "synco").mkdir()
    memory["synco"].write_parquet(tmp_path / "synco" / "memory.parquet")
    assert browse.finished(tmp_path) == ["synco"]
    assert browse.memory(tmp_path, "synco").equals(memory["synco"])


def test_a_card_and_its_rollouts(memory):
    admitted = memory["synco"].filter("admitted")
    shown = dict(browse.card(admitted).iter_rows())
    assert shown["problem"] == admitted["problem"][0] and shown["success_rate"] == str(admitted["success_rate"][0])
    rollouts = browse.rollouts(admitted)
    assert rollouts.columns == ["rollout", "answer", "correct", "reward"]
    assert rollouts["reward"].to_list() == admitted["rewards"][0].to_list()
    assert browse.rollouts(memory["synco"].filter(~pl.col("admitted"))).is_empty()


@pytest.mark.parametrize(
    ("value", "by"), [("success_rate", None), ("rewards", "skill"), ("true_key", "difficulty"), ("slot", "seed")]
)
def test_a_curve_of_anything(memory, value, by):
    ax = browse.curve(memory["synco"], value, by).axes[0]
    assert len(ax.lines) == (1 if by is None else min(8, memory["synco"].drop_nulls(by)[by].n_unique()))
    assert value in ax.get_ylabel()


def test_a_curve_by_hand(make_cards):
    cards = make_cards([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]], iteration=[1, 1, 2])
    line = browse.curve(cards, "success_rate", window=1).axes[0].lines[0]
    assert line.get_xdata().tolist() == [1, 2] and line.get_ydata().tolist() == [0.75, 0.0]


def test_what_cannot_be_drawn(memory):
    with pytest.raises(ValueError, match="no column 'colour'; there are seed, "):
        browse.curve(memory["synco"], "colour")
    with pytest.raises(ValueError, match="column 'problem' holds String"):
        browse.curve(memory["synco"], "problem")
    assert browse.curve(memory["synco"].clear(), "success_rate", "skill").axes[0].texts[0].get_text() == "nothing to draw"
    assert browse.card(memory["synco"].clear()).is_empty() and browse.listing(memory["synco"].clear()).is_empty()
