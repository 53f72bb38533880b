"""Exact value of a small arithmetic expression: Fractions, bounded sizes, no `eval`.

Used for the arithmetic of reference solutions (SynCo appendix B.2, reliability); see `selfevolve.synco.steps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

MAX_TOKENS = 120
MAX_DIGITS = 40  # of one number
MAX_BITS = 4096  # of the numerator and the denominator of every intermediate value
MAX_DEPTH = 20  # of brackets, signs and powers


class Unclear(ValueError):
    """Not an expression this module reads, or one beyond its bounds."""


def number(text: str) -> Fraction:
    """The value of a literal such as `12`, `1,200` or `.5`; Unclear beyond MAX_DIGITS characters."""
    if len(text) > MAX_DIGITS:
        raise Unclear("a number is too long")
    return Fraction(int(text) if text.isdecimal() else text.replace(",", ""))


def evaluate(tokens: Sequence[str], percent: Fraction = Fraction(1, 100)) -> Fraction:
    """The exact value of an expression.

    Args:
        tokens: literals and `+ - * / ^ ( ) %`. A sign binds weaker than a power (-2^2 = -4), powers bind to the right,
            a bracket right after a value multiplies (2(3) = 6).
        percent: what a trailing `%` multiplies by.

    Raises:
        Unclear: bad syntax, a bound exceeded, a power that is not an integer, or a division followed by another or by
            a bracket product: people write 28/1/5 for 28/(1/5), and 6/2(3) has two readings.
        ZeroDivisionError: a division by zero.
    """
    if len(tokens) > MAX_TOKENS:
        raise Unclear("the expression is too long")
    reader = _Reader(tokens, percent)
    value = reader.sum(0)
    if reader.at < len(tokens):
        raise Unclear(f"unexpected {tokens[reader.at]!r}")
    return value


class _Reader:
    """Recursive descent over one expression."""

    def __init__(self, tokens: Sequence[str], percent: Fraction):
        self.tokens, self.percent, self.at = tokens, percent, 0

    @property
    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def sum(self, depth: int) -> Fraction:
        value = self.product(depth)
        while self.next and self.next in "+-":
            value = _bounded(value + self.product(depth) if self.take() == "+" else value - self.product(depth))
        return value

    def product(self, depth: int) -> Fraction:
        value, divided = self.signed(depth), False
        while self.next and self.next in "*/(":
            if self.next == "(":
                if divided:
                    raise Unclear("a bracket product after a division has two readings")
                value = _bounded(value * self.signed(depth))
            elif self.take() == "*":
                value = _bounded(value * self.signed(depth))
            elif divided:
                raise Unclear("two divisions in a row have two readings")
            else:
                value, divided = _bounded(value / self.signed(depth)), True
        return value

    def signed(self, depth: int) -> Fraction:
        if depth > MAX_DEPTH:
            raise Unclear("nested too deeply")
        if self.next and self.next in "+-":
            return self.signed(depth + 1) if self.take() == "+" else -self.signed(depth + 1)
        return self.power(depth)

    def power(self, depth: int) -> Fraction:
        base = self.atom(depth)
        while self.next == "%":
            self.take()
            base = _bounded(base * self.percent)
        if self.next != "^":
            return base
        self.take()
        exponent = self.signed(depth + 1)
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if exponent.denominator != 1 or abs(exponent) * bits > MAX_BITS:
            raise Unclear("a power is not an integer or too large")
        return base ** int(exponent)

    def atom(self, depth: int) -> Fraction:
        if self.next == "(":
            self.take()
            value = self.sum(depth + 1)
            if self.next != ")":
                raise Unclear("a bracket is not closed")
            self.take()
            return value
        if not self.next or self.next[-1] not in "0123456789":
            raise Unclear(f"expected a number, found {self.next!r}")
        return number(self.take())


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise Unclear("a value is too large")
    return value
