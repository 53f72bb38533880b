import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfevolve.synco.contamination import ContaminationIndex, tokens

LONG = "Tom buys 12 red pens at the shop on Main Street and gives 5 of them to his sister. How many pens are left?"
OTHER = "A train leaves the city at noon and travels at 60 miles per hour for 3 hours. How far does it go in total?"
SHORT = "A box has 12 nuts. Add 5. How many?"
INDEX = ContaminationIndex([LONG, SHORT, OTHER, "a=12. b=a+5. b?"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Add 5. How many?", ["add", "5", "how", "many"]),
        ("a=22. b=a-7.", ["a", "=", "22", "b", "=", "a", "-", "7"]),
        (r"$3 \times 4 \cdot 5 \div 2$", ["3", "*", "4", "*", "5", "/", "2"]),
        ("3×4 − 1", ["3", "*", "4", "-", "1"]),
        ("$1,234.50 and 1,2", ["1234.50", "and", "1", "2"]),
        ("A two-digit number", ["a", "two", "digit", "number"]),
        ("", []),
        ("?!", []),
    ],
)
def test_tokens(text, expected):
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("problem", "item"),
    [
        (LONG, 0),
        (LONG.upper().replace(".", " ,"), 0),
        ("Yesterday " + LONG.removesuffix("How many pens are left?") + "What is the share he keeps?", 0),
        (OTHER, 2),
        (SHORT, 1),
        ("a box has 12 nuts; add 5: how many", 1),
        ("a = 12, b = a + 5. b?", 3),
    ],
)
def test_overlap_names_the_item(problem, item):
    assert INDEX.overlap(problem) == item


@pytest.mark.parametrize(
    "problem",
    [
        "A box has 13 nuts. Add 5. How many?",  # other numbers
        "a=12. b=a-5. b?",  # another sign
        f"{SHORT} Then someone takes 3 nuts away from it again. How many remain in the box?",  # a short item inside
        "Tom buys 12 red pens at the shop on Main Street.",  # too short for a gram
        "",
        "?",
    ],
)
def test_no_overlap(problem):
    assert INDEX.overlap(problem) is None


def test_exactly_n_shared_tokens_match_and_fewer_do_not():
    index = ContaminationIndex(["a b c d e f g"], n=4)
    assert index.overlap("x b c d e y z") == 0
    assert index.overlap("x b c d y z e") is None
    assert index.overlap("a b c") is None


def test_an_empty_index_and_a_bad_n():
    assert ContaminationIndex([]).overlap(LONG) is None
    assert ContaminationIndex(["", "?"]).overlap("") is None
    with pytest.raises(ValueError, match="n must be at least 1"):
        ContaminationIndex([], n=0)


def test_ten_thousand_items_are_fine():
    items = [f"{LONG} {i} more words follow here so that every item is different from the others {i * 7}" for i in range(10_000)]
    started = time.process_time()
    index = ContaminationIndex(items)
    assert time.process_time() - started < 10.0
    started = time.process_time()
    for i in range(200):
        assert index.overlap(f"something else entirely with the number {i} and many more words than thirteen in a row") is None
    assert (time.process_time() - started) / 200 < 0.002


@given(st.text(), st.integers(1, 15))
def test_every_text_with_tokens_overlaps_itself(text, n):
    assert ContaminationIndex([text], n).overlap(text) == (0 if tokens(text) else None)
