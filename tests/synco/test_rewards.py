import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfevolve.synco.rewards import gate, reasoner_reward, synthesizer_reward, teachability

unit = st.floats(0.0, 1.0)
OUTSIDE = [-1e-9, 1.0 + 1e-9, -1.0, 2.0, math.nan, math.inf, -math.inf, None]


@pytest.mark.parametrize(
    ("v", "expected"),
    [(0.0, 0.0), (0.49, 0.0), (0.5, 0.0), (0.51, 0.02), (0.75, 0.5), (0.9, 0.8), (0.99, 0.98), (1.0, 1.0)],
)
def test_gate_follows_equation_24(v, expected):
    assert gate(v) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("mu", "expected"),
    [
        (0.0, 0.0),
        (0.125, 0.25),
        (0.25, 0.5),
        (0.49, 0.98),
        (0.5, 1.0),
        (0.51, 0.98),
        (0.75, 0.5),
        (0.875, 0.25),
        (1.0, 0),
    ],
)
def test_teachability_follows_equation_25(mu, expected):
    assert teachability(mu) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("value", OUTSIDE)
def test_values_outside_the_unit_interval_are_errors(value):
    for function in (gate, teachability):
        with pytest.raises(ValueError, match=r"must be a number in \[0, 1\]"):
            function(value)
    for place in range(3):
        arguments = [0.8, 0.8, 0.5]
        arguments[place] = value
        with pytest.raises(ValueError, match=("quality", "reliability", "mu")[place]):
            synthesizer_reward(True, *arguments, True)


@pytest.mark.parametrize(
    ("quality", "reliability", "mu", "expected"),
    [
        (1.0, 1.0, 0.5, 1.1),
        (1.0, 1.0, 0.0, 0.1),
        (1.0, 1.0, 1.0, 0.1),
        (0.5, 1.0, 0.5, 0.1),
        (1.0, 0.5, 0.5, 0.1),
        (0.75, 0.75, 0.5, 0.35),
        (0.9, 0.8, 0.25, 0.8 * 0.6 * 0.5 + 0.1),
        (0.962, 0.965, 0.75, 0.924 * 0.93 * 0.5 + 0.1),  # the mean quality and reliability of D.4
    ],
)
def test_admitted_cards_earn_the_gated_product_and_the_bonus(quality, reliability, mu, expected):
    assert synthesizer_reward(True, quality, reliability, mu, True) == pytest.approx(expected, abs=1e-12)


def test_rejected_cards_lose_half_a_point_and_keep_the_bonus():
    assert synthesizer_reward(False, None, None, None, non_empty=True) == pytest.approx(-0.4)
    assert synthesizer_reward(False, None, None, None, non_empty=False) == -0.5
    assert synthesizer_reward(False, 0.9, 0.9, 0.5, non_empty=True) == pytest.approx(-0.4)


def test_an_admitted_empty_output_is_an_error():
    with pytest.raises(ValueError, match="empty output"):
        synthesizer_reward(True, 1.0, 1.0, 0.5, non_empty=False)


@given(unit, unit, unit)
def test_the_synthesizer_reward_is_bounded_and_symmetric_in_mu(quality, reliability, mu):
    reward = synthesizer_reward(True, quality, reliability, mu, True)
    assert 0.1 <= reward <= 1.1
    assert reward == pytest.approx(synthesizer_reward(True, quality, reliability, 1.0 - mu, True))
    assert reward > synthesizer_reward(False, quality, reliability, mu, True)


@given(unit, unit)
def test_the_gate_is_monotone(a, b):
    assert gate(min(a, b)) <= gate(max(a, b))


@pytest.mark.parametrize(
    ("correct", "boxed", "expected"),
    [
        (True, True, 1.0),
        (True, False, 0.9),
        (False, True, 0.0),
        (False, False, 0.0),
        (None, True, 0.0),
        (None, False, 0.0),
    ],
)
def test_reasoner_reward_pays_the_prescribed_format(correct, boxed, expected):
    assert reasoner_reward(SimpleNamespace(correct=correct, boxed=boxed)) == expected
