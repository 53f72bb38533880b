"""The grammar of formulas, by the values of its trees."""

from fractions import Fraction

import pytest

from selfevolve.checker.evaluate import agree
from selfevolve.checker.exact import TooLarge, Undefined, exact
from selfevolve.checker.normalise import clean
from selfevolve.checker.syntax import parse
from selfevolve.checker.tokens import Unreadable


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2+3*4", 14),
        ("-2^2", -4),
        ("2^3^2", 512),
        ("6/2/3", 1),
        ("\\frac12", Fraction(1, 2)),
        ("\\frac9{18}", Fraction(1, 2)),
        ("-3./2", Fraction(-3, 2)),
        ("2**3", 8),
        ("5!", 120),
        ("(3!)!", 720),
        ("\\binom{5}{2}", 10),
        ("\\sqrt{49}", 7),
        ("\\sqrt[3]{-8}", -2),
        ("|-5|", 5),
        ("\\lfloor 3.7 \\rfloor", 3),
        ("4\\sqrt(4)", 8),
        ("0^0", 1),
        ("5--3", 8),
    ],
)
def test_exact_values(text, value):
    assert exact(parse(text)) == value


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("\\sin^2 x + \\cos^2 x", "1"),
        ("\\sin 2t", "2\\sin t\\cos t"),
        ("\\sin^{-1}(x)", "\\arcsin x"),
        ("\\arcsin{1.3 \\sin{\\theta_w}}", "asin(1.3*sin(theta_w))"),
        ("\\exp{a*t}", "e^{at}"),
        ("\\log_2 3", "\\frac{\\ln 3}{\\ln 2}"),
        ("e^{i\\pi}", "-1"),
        ("\\frac{d x}{d t}", "\\dot{x}"),
        ("\\frac{d^{2} v_{o}}{d t^{2}}", "v_o''"),
        ("y^{\\prime}", "y'"),
        ("x_{\\text{max}}", "x_{max}"),
        ("2xsin(t)", "2 \\cdot x \\cdot \\sin{t}"),
        ("\\sin 30°", "1/2"),
        ("n!", "n (n-1)!"),
    ],
)
def test_equal_functions(one, two):
    assert agree(parse(clean(one)), parse(clean(two)))


@pytest.mark.parametrize("text", ["", "2 3", "+", "1+", "(", "\\frac{1}", "3!!", "word", "\\int x", "x_", "2^"])
def test_unreadable(text):
    with pytest.raises(Unreadable):
        parse(text)


def test_bounds():
    for tower in ("9^{9^{9^9}}", "2^{100000}", "3000!", "10^{10^{10}}"):
        with pytest.raises(TooLarge):
            exact(parse(tower))
    with pytest.raises(Undefined):
        exact(parse("1/0"))
    with pytest.raises(Unreadable):
        parse("(" * 500 + "1" + ")" * 500)
    with pytest.raises(Unreadable):
        parse("1+" * 5000 + "1")


def test_large_values_are_told_apart():
    assert agree(parse("9^{9^9}"), parse("9^{9^{9}}"))
    assert not agree(parse("9^{9^9}"), parse("9^{9^8}"))
    assert agree(parse("10^6*999999!"), parse("1000000!"))
    assert not agree(parse("\\frac{1}{2004!}"), parse("\\frac{1}{2006!}"))
    with pytest.raises(TooLarge):  # 150 equal digits prove nothing about a sum of numbers with more
        agree(parse("9^{9^9}+1"), parse("9^{9^9}"))


def test_near_misses_are_told_apart():
    assert not agree(parse("e^{\\pi\\sqrt{163}}"), parse("262537412640768744"))
    assert agree(parse("\\sqrt{5+2\\sqrt{6}}-\\sqrt{2}-\\sqrt{3}"), parse("0"))
