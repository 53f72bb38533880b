import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfevolve.synco.exact import MAX_TOKENS, Unclear, evaluate
from selfevolve.synco.steps import read

RIGHT = [
    "12+5=17",
    "12 + 5 = 17.",
    "So he has 12 + 5 = 17 apples.",
    "3 * 4 = 12",
    "3 x 4 = 12",
    "3×4=12",
    "3 · 4 = 12",
    "12 ÷ 4 = 3",
    "2^10 = 1024",
    "2**3 = 8",
    "5² = 25",
    "-3 + 5 = 2",
    "3 - -2 = 5",
    "(2 + 3) * 4 = 20",
    "[2 + 3] * 4 = 20",
    "2(3 + 4) = 14",
    "1,200 + 34 = 1,234",
    "$5 + $3.50 = $8.50",
    "It costs $2 * 3 = $6.",
    "20% + 30% = 50%",
    "50 * 20% = 10",
    "5 / 20 = 25%",
    "30 / 40 * 100 = 75%",
    "1/2 + 1/3 = 5/6",
    "0.1 + 0.2 = 0.3",
    "10 / 3 = 3.33",
    "2 / 3 = 0.667",
    "17 = 12 + 5",
    "x = 12 + 5 = 17",
    r"$3 \times 4 = 12$",
    r"$\frac{1}{2} + \frac{1}{4} = \frac{3}{4}$",
    r"\frac12 \cdot 4 = 2",
    r"\[ \left( 2 + 3 \right) \cdot 4 = 20 \]",
    r"12 + 5 = \boxed{17}",
    r"12+5=17 \boxed{17}",
    r"1{,}000 + 1 = 1{,}001",
    r"5 \text{ apples} and 2 + 3 = 5 \text{ pears}",
    r"30^\circ + 60^\circ = 90^\circ",
    "the answer (so 12 + 5 = 17) is",
    "(12+5=17)",
    "1) 12+5=17",
    "- 12 + 5 = 17",
    "12 + 5\n= 17",
    "for a total of 12 + 5 = 17",
    "clips: 48/2 = <<48/2=24>>24",
]
WRONG = [
    "12+5=18",
    "So he has 12 + 5 = 18 apples.",
    "10 / 3 = 3.34",
    "10 / 3 = 3",
    "10 / 4 = 2.51",
    "1/2 + 1/3 = 2/5",
    "5 / 20 = 20%",
    "$5 + $3.50 = $8",
    "5 / 0 = 3",
    "1,200 + 34 = 1,243",
    r"3 \times 4 = 13",
    "(12+5=18)",
    "99999999999999999999 + 1 = 100000000000000000001",
]
UNCHECKED = [
    "x + 2 = 5",
    "2x + 3 = 7",
    "2 x + 3 = 7",
    "f(2) = 5",
    "f(2 + 1) = 9",
    "C(5, 2) = 10",
    "C(5, 2+1) = 10",
    "5! = 120",
    "3 + 5! = 123",
    r"\sqrt{16} + 1 = 5",
    r"2 + \sqrt{9} = 5",
    r"2\pi + 1 = 7.28",
    "|3 - 5| = 2",
    "a_1 = 3",
    "log_2 8 = 3",
    "17 / 5 = 3 remainder 2",
    "2^10 = 2 (mod 7)",
    r"2^10 = 2 \pmod 7",
    "half of 20 + 5 = 15",
    "20% of 50 + 5 = 15",
    "twice 3 + 4 = 10",
    "5 apples + 3 apples = 8 apples",
    "2 hours = 120 minutes",
    "3 + 4 = 7 hundred",
    "2 1/2 + 1 = 3 1/2",
    r"1\frac{1}{2} + 1 = 2\frac{1}{2}",
    "x 12 is 1 and 1/4 * 12 = 15",
    "28 / 1/5 = 140",
    "6 / 2(3) = 1",
    "3:45 + 1:15 = 5:00",
    "3,4 + 5 = 8,4",
    "Week 2 = 35 + 35",
    "14 = 14",
    "12 + 5 =",
    "= 17",
    "2 + 2 != 5",
    "2 + 2 ≈ 5",
    "2^0.5 + 1 = 2.41",
    "9^9^9^9 = 1",
    "2^99999 = 1",
    "1 + (2 = 3",
    "",
]


@pytest.mark.parametrize("text", RIGHT)
def test_right_steps(text):
    steps = read(text).steps
    assert steps
    assert all(step.correct for step in steps), steps


@pytest.mark.parametrize("text", WRONG)
def test_wrong_steps(text):
    assert [step.correct for step in read(text).steps] == [False]


@pytest.mark.parametrize("text", UNCHECKED)
def test_what_is_not_surely_arithmetic_is_left_unchecked(text):
    assert read(text).steps == ()


def test_a_chain_is_read_pair_by_pair():
    assert [step.correct for step in read("12+5=17-3=14").steps] == [False, True]
    assert [step.correct for step in read("2*3*4 = 6*4 = 24").steps] == [True, True]


def test_steps_keep_their_sides_and_order():
    steps = read("12+5=17; 17-3=15").steps
    assert steps == (("12+5", "17", True), ("17-3", "15", False))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12+5=17; 17-3=14", [12, 5, 3]),
        ("3*4=12; 12+12=24", [3, 4, 12]),  # one 12 carries the result on, the other is new
        ("3*4=12; 5*2=10; 12+10=22; 22-12=10", [3, 4, 5, 2, 12]),
        ("17 = 12 + 5", [12, 5]),
        ("12+5=17-3=14", [12, 5, 17, 3]),
        ("a=22. b=a-7. b?", [22, 7]),
        ("A box has 12 nuts. Add 5. How many?", [12, 5]),
        ("Pay 20% of $1,200.50", [20, Fraction("1200.5")]),
        ("no numbers", []),
    ],
)
def test_operands_are_the_numbers_that_are_brought_in(text, expected):
    assert list(read(text).operands) == expected


numbers = st.integers(-999, 999)


@given(numbers, st.sampled_from("+-*"), numbers, st.integers(-3, 3))
def test_a_step_is_right_exactly_when_it_is(a, operator, b, error):
    value = {"+": a + b, "-": a - b, "*": a * b}[operator] + error
    (step,) = read(f"{a} {operator} {b} = {value}").steps
    assert step.correct == (error == 0)


def combined(parts):
    (left, a), operator, (right, b) = parts
    return f"({left}{operator}{right})", {"+": a + b, "-": a - b, "*": a * b}.get(operator, a / b if b else 0)


trees = st.recursive(
    st.integers(0, 50).map(lambda n: (str(n), Fraction(n))),
    lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).filter(lambda t: t[1] != "/" or t[2][1]).map(combined),
    max_leaves=8,
)


@given(trees)
def test_evaluation_is_exact(tree):
    text, value = tree
    assert evaluate(tokenised(text)) == value


def tokenised(text: str) -> list[str]:
    for sign in "()+-*/^%":
        text = text.replace(sign, f" {sign} ")
    return text.split()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3 * 4", 14),
        ("2 ^ 3 ^ 2", 512),
        ("-2 ^ 2", -4),
        ("2 ^ -1", Fraction(1, 2)),
        ("8 - 3 - 2", 3),
        ("8 / 4 * 2", 4),
    ],
)
def test_precedence(text, value):
    assert evaluate(tokenised(text)) == value


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        ["+"],
        ["1", "+"],
        ["(", "1"],
        ["1", ")"],
        ["1", "2"],
        ["x"],
        ["2", "^", ".5"],
        ["9", "^", "9999"],
        ["9", "^", "9", "^", "9"],
        ["1"] + ["+", "1"] * MAX_TOKENS,
        ["("] * 50 + ["1"] + [")"] * 50,
        ["-"] * 50 + ["1"],
        ["1" * 41],
        ["8", "/", "4", "/", "2"],
    ],
)
def test_unclear_expressions_and_bounds(tokens):
    with pytest.raises(Unclear):
        evaluate(tokens)


def test_division_by_zero():
    with pytest.raises(ZeroDivisionError):
        evaluate(["1", "/", "(", "1", "-", "1", ")"])


@given(st.text(st.sampled_from("0123456789+-*/^()=%$., x\n\\{}[]frac"), max_size=60))
def test_any_text_is_read(text):
    read(text)


@pytest.mark.parametrize(
    "unit",
    [
        "(",
        "9^",
        "1+",
        "\\frac{",
        "{",
        "=",
        "1,111",
        " ",
        "\n",
        "\\text{",
        "1=",
        "-",
        "$",
        "\\boxed{",
        "12 x ",
        "%",
        "1/",
        "x_",
    ],
)
def test_hostile_repetitions_are_quick(unit):
    started = time.process_time()
    read(unit * (60_000 // len(unit)))
    assert time.process_time() - started < 2.0
