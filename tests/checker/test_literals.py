"""Number literals and the precision of decimals."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfevolve.checker.literals import MAX_DIGITS, rational, read_number, same_number, states


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("14", 14),
        ("-0", 0),
        ("007", 7),
        ("+5", 5),
        ("- 5", -5),
        ("1,234,567", 1234567),
        ("1 000", 1000),
        ("1,234.50", Fraction(2469, 2)),
        (".5", Fraction(1, 2)),
        ("3.", 3),
        ("4.5e33", 45 * 10**32),
        ("1.2E-5", Fraction(12, 10**6)),
        ("58.19*10^{-6}", Fraction(5819, 10**8)),
        ("7.353 x 10^14", 7353 * 10**11),
        ("1\\frac{4}{5}", Fraction(9, 5)),
        ("1 1/4", Fraction(5, 4)),
        ("-1\\frac12", Fraction(-3, 2)),
        ("0.\\overline{142857}", Fraction(1, 7)),
        ("0.1(6)", Fraction(1, 6)),
        ("0.333\\ldots", Fraction(1, 3)),
    ],
)
def test_values(text, value):
    assert read_number(text).value == value


@pytest.mark.parametrize("text", ["", "1,2", "12,34", "0,111", "1 00", "1.2.3", "1e", "2\\frac{3}{2}", "x", "--1"])
def test_not_a_number(text):
    assert read_number(text) is None


def test_long_numbers_are_compared_as_digits():
    digits = "7" * (MAX_DIGITS + 1000)
    assert read_number(digits).value is None
    assert same_number(read_number(digits), read_number(f"{digits}.00"))
    assert not same_number(read_number(digits), read_number(digits[:-1] + "8"))
    assert not same_number(read_number(digits), read_number(digits[:-1]))


@given(st.integers(-(10**30), 10**30), st.integers(0, 12))
def test_writing_does_not_matter(value, zeros):
    written = f"{value}." + "0" * zeros if zeros else f"{value}"
    assert same_number(read_number(f"{value}"), read_number(written))
    assert same_number(read_number(f"{value:,}"), read_number(written))
    assert not same_number(read_number(f"{value + 1}"), read_number(written))


@given(st.fractions(-999, 999, max_denominator=999), st.integers(9, 11))
def test_a_precise_decimal_stands_for_a_fraction_and_its_neighbour_does_not(value, places):
    exact = rational(value)
    scaled = round(value * 10**places)
    decimals = [read_number(f"{n}e-{places}") for n in (scaled, scaled + 2, scaled - 2)]
    assert [same_number(decimal, exact) for decimal in decimals] == [True, False, False]
    assert [same_number(exact, decimal) for decimal in decimals] == [True, False, False]


@pytest.mark.parametrize(
    ("gold", "other", "expected"),
    [
        ("1.6", "1.62", True),
        ("1.6", "1.66", False),
        ("1.62", "1.6", False),
        ("3.83e35", "3.826e35", True),
        ("3e8", "299792458", False),  # one digit states no precision
        ("2.998e8", "299792458", True),
        ("16", "16.01", False),
        ("16.0", "16.01", False),
        ("1.6", "-1.6", False),
    ],
)
def test_what_a_decimal_gold_states(gold, other, expected):
    assert states(read_number(gold), read_number(other)) is expected or same_number(*map(read_number, (gold, other)))
