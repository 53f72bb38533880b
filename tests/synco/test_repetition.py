"""BLEU and clusters of R-Zero's repetition penalty."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfevolve.synco.repetition import bleu, cluster_shares


def test_bleu_by_hand():
    """Hypothesis `a b c d e`, reference `a b c x e`: 4 of 5 words, 2 of 4 pairs, 1 of 3 triples, 0 of 2 quadruples."""
    expected = (4 / 5 * 2 / 4 * 1 / 3 * 0.1 / 2) ** 0.25
    assert bleu(["a", "b", "c", "d", "e"], ["a", "b", "c", "x", "e"]) == pytest.approx(expected)


def test_bleu_counts_a_repeated_word_as_often_as_the_reference_has_it():
    """The example of the BLEU paper: `the` seven times against a reference with two."""
    smoothed = (2 / 7 * 0.1 / 6 * 0.1 / 5 * 0.1 / 4) ** 0.25
    assert bleu(["the"] * 7, ["the", "cat", "is", "on", "the", "mat"]) == pytest.approx(smoothed)


def test_a_short_hypothesis_is_penalised():
    whole = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    assert bleu(whole[:6], whole) == pytest.approx(math.exp(1 - 8 / 6))
    assert bleu(whole, whole) == pytest.approx(1.0)
    assert bleu(["other"], whole) == 0.0


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=9), st.lists(st.sampled_from("abcd"), min_size=1, max_size=9))
def test_bleu_is_a_share(one, other):
    assert 0.0 <= bleu(one, other) <= 1.0


def test_problems_that_repeat_each_other_share_a_cluster():
    boxes = [f"A box has {n} nuts and we add 5 of them. How many?" for n in (3, 4, 5)]
    shares = cluster_shares([*boxes, "Go 2 h at 9 km and then walk home. How far is it?"], 0.5)
    assert shares == [0.75, 0.75, 0.75, 0.25]
    assert cluster_shares(boxes, 1e-9) == [1 / 3] * 3  # nothing is nearer than the smallest distance


def test_few_problems_and_empty_ones():
    assert cluster_shares([], 0.5) == []
    assert cluster_shares(["alone"], 0.5) == [1.0]
    assert cluster_shares(["", "", "a b c d e"], 0.5) == [2 / 3, 2 / 3, 1 / 3]
