import polars as pl
import pytest

from selfevolve.analysis.admission import acceptance_table, key_table, overlap_table, rejection_reasons
from selfevolve.analysis.variants import by_variant

RIGHT = [1.0, 1.0]


def test_acceptance_of_the_paper(make_cards):
    cards = make_cards([RIGHT] * 3200, admitted=[True] * 2940 + [False] * 260)
    total = acceptance_table(cards).row(-1, named=True)
    assert (total["seed"], total["proposed"], total["admitted"], round(total["rate"], 3)) == (None, 3200, 2940, 0.919)
    assert total["low"] < 0.919 < total["high"]


def test_reasons_by_hand(make_cards):
    reasons = ["", "schema:truncated", "duplicate", "schema:prose", ""]
    cards = make_cards([RIGHT] * 5, admitted=[not reason for reason in reasons], reason=reasons)
    table = rejection_reasons(cards)
    assert table.select("reason", "cards").rows() == [("admitted", 2), ("schema", 2), ("duplicate", 1)]
    assert table["share"].sum() == pytest.approx(1.0)
    assert rejection_reasons(cards, detailed=True)["reason"].to_list() == [
        "admitted",
        "duplicate",
        "schema:prose",
        "schema:truncated",
    ]


def test_keys_by_hand(make_cards):
    cards = make_cards(
        [RIGHT] * 5,
        true_key=[True, False, None, True, True],
        admitted=[True, True, True, True, False],
        seed=[0, 0, 0, 1, 1],
    )
    table = key_table(cards)
    assert table.select("seed", "admitted", "read", "rate").rows() == [
        (0, 3, 2, 0.5),
        (1, 1, 1, 1.0),
        (None, 4, 3, 2 / 3),
    ]
    assert table["coverage"][-1] == 0.75


def test_no_cards_and_no_oracle(make_cards):
    assert key_table(make_cards([RIGHT])).row(-1)[:5] == (None, 1, 0, 0.0, None)
    assert acceptance_table(make_cards([])).row(-1) == (None, 0, 0, None, None, None)
    assert rejection_reasons(make_cards([])).is_empty()


def test_tables_stack_by_variant(memory):
    table = by_variant(key_table, memory)
    assert table["variant"].unique(maintain_order=True).to_list() == ["static_pool", "frozen", "synco"]
    assert table.columns[0] == "variant"
    with pytest.raises(ValueError, match="no variant given"):
        by_variant(key_table, {})


def test_overlap_by_hand():
    rows = {"benchmark": ["exam", "gsm8k"] * 2, "items": [3, 9] * 2, "overlap": [0.5, 0.0, 0.0, 0.0]}
    table = overlap_table(pl.DataFrame({**rows, "longest": [7, 0, 0, 0], "items_touched": [2, 0, 0, 0]}))
    assert table.columns[-3:] == ["mean_overlap", "highest_overlap", "longest_run"]
    assert table.drop("low", "high").rows() == [("exam", 3, 2, 0.5, 0.25, 0.5, 7), ("gsm8k", 9, 2, 0.0, 0.0, 0.0, 0)]
    assert table["low"][0] < 0.5 < table["high"][0] and table["low"][1] == 0.0
