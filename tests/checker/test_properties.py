"""Reflexive, symmetric, blind to layout: properties of the comparison on parsed answers."""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mutations import pairs

from selfevolve.checker import check
from selfevolve.checker.compare import equal
from selfevolve.checker.formulas import numerically
from selfevolve.checker.kinds import Number
from selfevolve.checker.literals import states
from selfevolve.checker.reading import read

GOLDS = sorted({gold for _, _, gold, _ in pairs(seed=3, per_kind=8)})
SCALARS = st.sampled_from(["x", "y", "\\pi", "\\sqrt{2}", "2", "3", "0.5", "\\frac{1}{3}", "i", "e"])
FORMULAS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: f"({p[0]}+{p[1]})"),
        st.tuples(inner, inner).map(lambda p: f"{{{p[0]}}} \\cdot {{{p[1]}}}"),
        st.tuples(inner, inner).map(lambda p: f"\\frac{{{p[0]}}}{{{p[1]}+7}}"),
        inner.map(lambda p: f"\\sqrt{{{p}}}"),
        inner.map(lambda p: f"\\sin({p})"),
        inner.map(lambda p: f"-({p})"),
    ),
    max_leaves=8,
)


def _same(a: str, b: str) -> bool | None:
    return equal(read(a), read(b), numerically)


@pytest.mark.parametrize("gold", GOLDS)
def test_reflexive(gold):
    assert read(gold) is not None
    assert _same(gold, gold)


def test_symmetric():
    """Over golds of every kind; the one exception is the precision that a decimal gold states."""
    rng = random.Random(5)
    for _ in range(15_000):
        a, b = rng.choice(GOLDS), rng.choice(GOLDS)
        x, y = read(a), read(b)
        if isinstance(x, Number) and isinstance(y, Number) and (states(x, y) or states(y, x)):
            continue
        assert equal(x, y, numerically) == equal(y, x, numerically), (a, b)


def test_symmetric_on_mutations():
    for _, text, gold, _ in pairs(seed=11, per_kind=6):
        answer = text[text.rindex("\\boxed{") + 7 : text.rindex("}")].strip() if "\\boxed{" in text else gold
        if any(isinstance(x, Number) and x.grain is not None for x in (read(answer), read(gold))):
            continue  # a decimal gold states its precision
        assert check(f"\\boxed{{{answer}}}", gold).correct == check(f"\\boxed{{{gold}}}", answer).correct, (
            answer,
            gold,
        )


@settings(max_examples=400, deadline=None)
@given(FORMULAS, FORMULAS)
@example("x", r"\sin(\sin(\sin(\pi i)))")  # beyond every number: compared by shape
def test_formulas(a, b):
    assert _same(a, a)
    assert _same(a, b) == _same(b, a)
    assert _same(f"({a})+({b})", f"({b})+({a})")
    assert _same(f"({a})-({b})", f"-(({b})-({a}))")
    assert _same(f"{a}+1", a) is False


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(-99, 99), min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_order_matters_in_tuples_only(items, rng):
    shuffled = items[:]
    rng.shuffle(shuffled)
    written = [",".join(map(str, order)) for order in (items, shuffled)]
    assert _same(f"({written[0]})", f"({written[1]})") is (items == shuffled)
    assert _same(f"\\{{{written[0]}\\}}", f"\\{{{written[1]}\\}}") is True


@settings(max_examples=300, deadline=None)
@given(st.integers(-(10**9), 10**9), st.integers(1, 10**4), st.integers(-(10**9), 10**9), st.integers(1, 10**4))
def test_fractions_are_exact(a, b, c, d):
    gold, other = f"\\frac{{{a}}}{{{b}}}", f"\\frac{{{c}}}{{{d}}}"
    assert _same(gold, other) is (a * d == b * c)
    assert _same(gold, f"\\frac{{{2 * a}}}{{{2 * b}}}") is True


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=60), st.sampled_from(["14", "\\frac{1}{2}", "x^2", "(1,2)", "Sara"]))
def test_any_text_has_a_verdict(text, reference):
    verdict = check(text, reference)
    assert verdict.correct in (True, False) and verdict.method != "error"
