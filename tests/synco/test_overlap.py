"""The table of overlaps between admitted cards and benchmark items."""

import polars as pl
import pytest

from selfevolve.synco.overlap import SCHEMA, OverlapIndex, report, summary

ITEMS = pl.DataFrame(
    {
        "id": ["e-0", "e-1", "g-0"],
        "benchmark": ["exam", "exam", "gsm8k"],
        "problem": ["one two three four five six", "one two three nine eight seven", "nothing of the sort"],
    }
)


@pytest.fixture
def index():
    return OverlapIndex(ITEMS.select("benchmark", "id", "problem").iter_rows(), 3)


def test_the_nearest_item_shares_most_grams(index):
    """Of the grams 123, 234, 345 the first item holds all and the second one."""
    found = index.nearest("One, two, three, four, five!")
    assert found["exam"] == ("e-0", 1.0, 5, 2)
    assert found["gsm8k"] == (None, 0.0, 0, 0)


def test_of_equally_near_items_the_longer_run_wins():
    index = OverlapIndex([("b", "first", "a b c x d e f"), ("b", "second", "c d e f a b c q")], 3)
    assert index.nearest("a b c d e f")["b"].item == "second"


def test_a_text_shorter_than_a_gram_matches_as_a_whole():
    index = OverlapIndex([("b", "short", "a b"), ("b", "long", "a b c d")], 3)
    assert index.nearest("a b")["b"] == ("short", 1.0, 2, 1)
    assert index.nearest("")["b"] == (None, 0.0, 0, 0)


def test_the_report_has_a_row_for_every_admitted_card_and_benchmark():
    memory = pl.DataFrame(
        {
            "seed": [0, 0, 0],
            "iteration": [1, 1, 2],
            "slot": [0, 1, 0],
            "admitted": [True, False, True],
            "problem": ["one two three", None, "zzz"],
        }
    )
    table = report(memory, ITEMS, 3)
    assert dict(table.schema) == SCHEMA
    assert table.select("iteration", "slot", "benchmark", "item", "items").rows() == [
        (1, 0, "exam", "e-0", 2),
        (1, 0, "gsm8k", None, 1),
        (2, 0, "exam", None, 2),
        (2, 0, "gsm8k", None, 1),
    ]
    exam = summary(table).row(0, named=True)
    assert exam == {
        "benchmark": "exam",
        "items": 2,
        "cards": 2,
        "cards_touching": 0.5,
        "mean_overlap": 0.5,
        "highest_overlap": 1.0,
        "longest_run": 3,
    }
    assert report(memory.clear(), ITEMS, 3).is_empty()
