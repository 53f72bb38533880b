import polars as pl
import pytest

from selfevolve.analysis.curriculum import curriculum_buckets, outcomes, share_over_time

WRONG, MIXED, FORMAT, RIGHT = [0.0, 0.0], [1.0, 0.0], [1.0, 0.9], [1.0, 1.0]


def test_regimes_partition_and_format_only_is_kept_apart(make_cards):
    cards = outcomes(make_cards([WRONG, MIXED, FORMAT, RIGHT]))
    assert cards["all_incorrect"].to_list() == [True, False, False, False]
    assert cards["mixed"].to_list() == [False, True, False, False]
    assert cards["all_correct"].to_list() == [False, False, True, True]
    assert cards["gradient_bearing"].to_list() == [False, True, True, False]
    assert cards["format_only"].to_list() == [False, False, True, False]


def test_buckets_by_hand(make_cards):
    # 20 cards in ten buckets of two; slots run backwards in the file, so order must come from (iteration, slot)
    groups = [MIXED, WRONG] + [RIGHT] * 16 + [MIXED, MIXED]
    cards = make_cards(groups, iteration=[1 + i // 4 for i in range(20)], slot=[i % 4 for i in range(20)])
    table = curriculum_buckets(cards.reverse())
    assert table["bucket"].to_list() == list(range(1, 11))
    assert table["cards"].to_list() == [2] * 10
    assert table["mixed"].to_list() == [0.5] + [0.0] * 8 + [1.0]
    assert table["all_incorrect"].to_list() == [0.5] + [0.0] * 9
    assert table["teachability"].to_list() == [0.5] + [0.0] * 8 + [1.0]
    assert table["quality"].to_list() == [None] * 10


def test_buckets_average_seeds_with_equal_weight(make_cards):
    cards = make_cards([MIXED] * 10 + [RIGHT] * 30, seed=[0] * 10 + [1] * 30, slot=[*range(10), *range(30)])
    table = curriculum_buckets(cards)
    assert table["mixed"].to_list() == [0.5] * 10
    assert (table["mixed_low"][0], table["mixed_high"][0], table["seeds"][0], table["cards"][0]) == (0.0, 1.0, 2, 4)


def test_bucket_sizes_differ_by_one_at_most(make_cards):
    sizes = curriculum_buckets(make_cards([RIGHT] * 23))["cards"]
    assert sizes.sum() == 23
    assert sizes.max() - sizes.min() == 1


def test_few_cards_leave_buckets_empty_and_none_is_empty(make_cards):
    assert curriculum_buckets(make_cards([RIGHT] * 3))["bucket"].to_list() == [1, 4, 7]
    assert curriculum_buckets(make_cards([])).is_empty()


def test_unread_and_rejected_cards_are_left_out(make_cards):
    cards = make_cards([RIGHT, RIGHT, MIXED], admitted=[True, False, True], success_rate=[1.0, 1.0, None])
    assert outcomes(cards).height == 1


def test_shares_sum_to_one(memory):
    for frame in memory.values():
        table = curriculum_buckets(frame)
        sums = table.select(pl.sum_horizontal("all_correct", "mixed", "all_incorrect")).to_series()
        assert sums.to_list() == pytest.approx([1.0] * 10)
        assert table.null_count().sum_horizontal()[0] == 0


def test_share_over_time_by_hand(make_cards):
    cards = make_cards([RIGHT] * 4, seed=[0, 0, 1, 1], slot=[0, 1, 0, 1], skill=["shop", "shop", "shop", None])
    table = share_over_time(cards, "skill", count=1)
    assert table.rows() == [(1, "none", 0.25, 1), (1, "shop", 0.75, 3)]


@pytest.mark.parametrize("by", ["skill", "difficulty"])
def test_share_over_time_sums_to_one(memory, by):
    table = share_over_time(memory["synco"], by)
    assert table.group_by("bucket").agg(pl.col("share").sum())["share"].to_list() == pytest.approx([1.0] * 10)


def test_share_over_time_refuses_other_columns(memory):
    with pytest.raises(ValueError, match="choose 'skill' or 'difficulty'"):
        share_over_time(memory["synco"], "seed")
