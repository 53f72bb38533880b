"""Derived seeds: fixed for ever, in range, and different for different draws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfevolve.seeding import derive

labels = st.lists(st.text() | st.integers(), max_size=4)


@given(st.integers(), labels)
def test_a_seed_is_in_range_and_repeats(seed, names):
    assert derive(seed, *names) == derive(seed, *names)
    assert 0 <= derive(seed, *names) < 2**31


def test_the_values_are_those_of_earlier_versions():
    """A changed value would silently change every run that is meant to be reproducible."""
    assert [derive(0), derive(0, "rollouts", 1), derive(1, "rollouts", 1)] == [2019721527, 1806675373, 673282273]


def test_labels_are_not_run_together():
    names = [("a", "b"), ("ab",), ("a", "b", ""), (1,), ("1",), ("b", "a"), ()]
    assert len({derive(7, *name) for name in names}) == len(names)


@pytest.mark.parametrize("label", [0.5, None, True, ("a",)])
def test_labels_without_a_stable_spelling_are_refused(label):
    with pytest.raises(TypeError, match="give a string or an integer"):
        derive(0, label)
