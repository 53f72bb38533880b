import pytest

from selfevolve.analysis import reference
from selfevolve.analysis.learnability import (
    alignment,
    difficulty_table,
    outcome_regimes,
    signal_correlations,
)

WRONG, MIXED, FORMAT, RIGHT = [0.0] * 4, [1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.9, 1.0], [1.0] * 4


def test_table_5a_counts_give_the_papers_percentages(make_cards):
    cards = make_cards([WRONG] * 994 + [MIXED] * 475 + [RIGHT] * 1471)
    table = outcome_regimes(cards)
    ours = table.filter(definition="success rate")
    paper = reference.table_5_outcomes()
    assert ours["cards"].to_list() == paper["cards"].to_list()
    assert ours["share"].round(3).to_list() == paper["share"].to_list()
    # here both definitions agree, as the paper found
    assert table.filter(definition="rewards")["cards"].to_list() == [475, 0]


def test_definitions_part_when_only_the_format_differs(make_cards):
    table = outcome_regimes(make_cards([WRONG, MIXED, FORMAT, RIGHT]))
    assert table["cards"].to_list() == [1, 1, 2, 2, 1]
    assert table["share"].to_list() == [0.25, 0.25, 0.5, 0.5, 0.25]


def test_table_5c_by_hand(make_cards):
    labels = ["learnable", "learnable", "hard", "too hard", None]
    table = difficulty_table(make_cards([MIXED, RIGHT, WRONG, FORMAT, RIGHT], difficulty=labels))
    assert table["label"].to_list() == ["learnable", "mid-band", "hard / too hard", "other", "pool overall"]
    assert table["cards"].to_list() == [2, 0, 2, 1, 5]
    assert table["gradient_bearing_rate"].to_list() == [0.5, None, 0.5, 0.0, 0.4]
    assert table["zero_gradient_rate"].to_list() == [0.5, None, 0.5, 1.0, 0.6]
    assert table["mixed_rate"].to_list() == [0.5, None, 0.0, 0.0, 0.2]
    assert table["mean_success_rate"].to_list() == [0.75, None, 0.5, 1.0, 0.7]
    assert table["all_incorrect"].to_list() == [0.0, None, 0.5, 0.0, 0.2]


def test_papers_rates_follow_from_counts_in_table_5c(make_cards):
    learnable = make_cards([MIXED] * 106 + [RIGHT] * 524)
    assert round(difficulty_table(learnable)["gradient_bearing_rate"][0], 3) == 0.168


def test_correlations_of_a_clear_case(make_cards):
    cards = make_cards([MIXED, RIGHT, MIXED, WRONG, RIGHT], novelty=[0.1, 0.1, 0.1, 0.1, 0.1])
    table = signal_correlations(cards)
    assert table["r"][0] == 1.0
    assert table["alignment"].to_list()[:2] == ["Strong positive", "Undefined"]
    assert table["r"][1] is None  # novelty never varies


@pytest.mark.parametrize(
    ("r", "word"),
    [
        (0.934, "Strong positive"),
        (-0.041, "Negligible"),
        (-0.028, "Negligible"),
        (0.2, "Weak positive"),
        (-0.5, "Moderate negative"),
        (None, "Undefined"),
    ],
)
def test_alignment_words(r, word):
    assert alignment(r) == word


def test_papers_words_follow_from_its_numbers():
    paper = reference.table_5_signals()
    assert [alignment(r) for r in paper["r"]] == paper["alignment"].to_list()


def test_empty_pool_is_null_not_a_crash(make_cards):
    empty = make_cards([])
    assert outcome_regimes(empty)["share"].to_list() == [None] * 5
    assert signal_correlations(empty)["r"].to_list() == [None] * 3
    assert difficulty_table(empty)["gradient_bearing_rate"].to_list() == [None] * 5
