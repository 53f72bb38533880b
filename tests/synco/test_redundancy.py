import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfevolve.synco import redundancy
from selfevolve.synco.redundancy import RecentPool

STOCK = "A box has 12 nuts. Add 5. Take 3. How many?"
ENGLISH = "Tom buys 12 pens at $3 each and pays with a $50 note. How much change does he get back from the shop?"


def pool(*problems: str, size: int = 100) -> RecentPool:
    recent = RecentPool(size)
    for problem in problems:
        recent.add(problem)
    return recent


@pytest.mark.parametrize(
    "problem",
    [
        ENGLISH,
        ENGLISH.replace("Tom", "Sam"),
        ENGLISH.upper().replace(",", " ,"),
        ENGLISH.replace("How much change does he get", "What change will he get"),
    ],
)
def test_the_same_numbers_in_much_the_same_words_are_near(problem):
    assert pool(ENGLISH).nearest(problem).same >= 0.85


@pytest.mark.parametrize(
    ("known", "problem"),
    [
        (STOCK, "A box has 14 nuts. Add 5. Take 3. How many?"),
        (STOCK, "A box has 12 nuts. Add 3. Take 5. How many?"),
        (ENGLISH, ENGLISH.replace("$50", "$60")),
        ("a=12. b=a+5. b?", "a=12. b=a-5. b?"),
    ],
)
def test_other_numbers_or_signs_make_a_variant(known, problem):
    nearest = pool(known).nearest(problem)
    assert nearest.same == 0.0


def test_identical_problems_have_similarity_one():
    assert pool(STOCK, ENGLISH).nearest(STOCK) == (1.0, 1.0)


def test_unrelated_problems_are_far():
    nearest = pool(ENGLISH).nearest("Find the remainder when 7 to the power 100 is divided by 13.")
    assert nearest.same == 0.0
    assert nearest.any_ < 0.5


def test_an_empty_pool_has_nothing_near():
    assert pool().nearest(STOCK) == (0.0, 0.0)


def test_the_oldest_leaves_a_full_pool():
    recent = pool(STOCK, ENGLISH, size=2)
    recent.add("Go 3 h at 4 km. Back 2 km. How far?")
    assert len(recent) == 2
    assert recent.nearest(STOCK).same == 0.0
    assert recent.nearest(ENGLISH).same == 1.0


def test_a_problem_may_be_in_the_pool_twice():
    recent = pool(STOCK, STOCK, size=2)
    recent.add(ENGLISH)
    assert recent.nearest(STOCK).same == 1.0
    recent.add(ENGLISH)
    assert recent.nearest(STOCK).same == 0.0


def test_a_pool_holds_at_least_one():
    with pytest.raises(ValueError, match="size must be at least 1"):
        RecentPool(0)


def sentence(rng: random.Random) -> str:
    words = [f"word{chr(97 + rng.randrange(26))}{chr(97 + rng.randrange(26))}" for _ in range(20)]
    return " ".join(words) + f" {rng.randrange(1000)} {rng.randrange(1000)}?"


def test_a_problem_is_found_again_in_a_full_pool():
    rng = random.Random(0)
    problems = [sentence(rng) for _ in range(2000)]
    recent = pool(*problems, size=2000)
    assert all(recent.nearest(problem).same == 1.0 for problem in problems[::40])


def test_a_query_reads_no_more_in_a_pool_of_look_alikes(monkeypatch):
    """Names differ, the rest is the same: every problem is a candidate for every other one."""
    read = []
    closest = redundancy._closest
    monkeypatch.setattr(redundancy, "_closest", lambda own, others: read.append(len(others)) or closest(own, others))
    rng = random.Random(0)
    names = ["".join(rng.choices("abcdefghij", k=4)) for _ in range(600)]
    recent = pool(*(ENGLISH.replace("Tom", name) for name in names), size=500)
    for name in names:
        recent.nearest(ENGLISH.replace("Tom", name[::-1]))
    assert max(read) == redundancy.GROUP
    assert sum(read) <= len(names) * (redundancy.GROUP + redundancy.LIKELY)
    assert max(map(len, recent._buckets.values())) == redundancy.BUCKET
    assert recent.nearest(ENGLISH.replace("Tom", names[-1])).same == 1.0


def test_nothing_is_left_of_what_has_gone():
    rng = random.Random(2)
    recent = pool(*(ENGLISH.replace("Tom", f"Tom{rng.randrange(9)}") for _ in range(300)), size=20)
    for _ in range(20):
        recent.add(sentence(rng))
    assert recent.nearest(ENGLISH).same == 0.0
    assert {key for bucket in recent._buckets.values() for key in bucket} == set(recent._prints)
    assert {key for group in recent._groups.values() for key in group} == set(recent._prints)


def test_near_duplicates_are_found_among_many():
    rng = random.Random(1)
    problems = [sentence(rng) for _ in range(500)]
    recent = pool(*problems, size=500)
    found = 0
    for problem in problems:
        words = problem.split()
        words[rng.randrange(20)] = "changed"
        found += recent.nearest(" ".join(words)).same >= 0.9
    assert found >= 490


@given(st.text(), st.text())
def test_similarities_are_shares_and_symmetric(a, b):
    one, other = pool(a).nearest(b), pool(b).nearest(a)
    assert 0.0 <= one.same <= one.any_ <= 1.0
    assert one == other
