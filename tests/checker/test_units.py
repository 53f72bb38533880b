"""Units: names, powers, quotients, factors."""

from fractions import Fraction

import pytest

from selfevolve.checker.units import comparable, read_unit


@pytest.mark.parametrize(
    ("one", "two", "factor"),
    [
        ("cm", "centimeters", 1),
        ("square feet", "ft^2", 1),
        ("m/s^2", "meters per second squared", 1),
        ("miles per hour", "mph", 1),
        ("km", "m", 1000),
        ("hours", "minutes", 60),
        ("cubic centimeters", "mL", 1),
        ("apples", "apple", 1),
        ("dollars", "cents", 100),
    ],
)
def test_same_dimension(one, two, factor):
    (bases_one, factor_one), (bases_two, factor_two) = read_unit(one), read_unit(two)
    assert comparable(bases_one, bases_two)
    assert factor_one / factor_two == Fraction(factor)


@pytest.mark.parametrize(
    ("one", "two"), [("cm", "cm^2"), ("apples", "bananas"), ("m", "s"), ("dollars", "euros"), ("m/s", "m*s")]
)
def test_another_dimension(one, two):
    assert not comparable(read_unit(one)[0], read_unit(two)[0])


def test_a_longer_description_is_the_same():
    assert comparable(read_unit("layers")[0], read_unit("identical layers")[0])
    assert read_unit("in total") == (frozenset(), 1)
    assert read_unit("5 cm") is None
