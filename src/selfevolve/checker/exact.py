"""The exact rational value of a tree, where it has one. Integers are capped in bits before they are made."""

from fractions import Fraction
from math import comb, factorial, isqrt

MAX_BITS = 40_000


class TooLarge(ArithmeticError):
    """A value beyond the caps."""


class Undefined(ArithmeticError):
    """Division by zero, a logarithm of zero, an infinity inside a formula and the like."""


def bits(value: Fraction) -> int:
    return value.numerator.bit_length() + value.denominator.bit_length()


def exact(tree: tuple) -> Fraction | None:
    """The rational value of `tree`, or None if it has none that these rules find. Raises TooLarge, Undefined."""
    kind = tree[0]
    if kind == "n":
        return tree[1]
    if kind in ("s", "k", "pm"):
        return None
    if kind == "-":
        value = exact(tree[1])
        return None if value is None else -value
    if kind in "+*" or kind == "/":
        parts = tree[1] if kind in "+*" else tree[1:]
        values = [exact(part) for part in parts]
        if any(value is None for value in values):
            return None
        if sum(map(bits, values)) > MAX_BITS:
            raise TooLarge
        if kind == "+":
            return sum(values, Fraction(0))
        if kind == "/":
            if values[1] == 0:
                raise Undefined("division by zero")
            return values[0] / values[1]
        product = Fraction(1)
        for value in values:
            product *= value
        return product
    if kind == "^":
        base, power = exact(tree[1]), exact(tree[2])
        return None if base is None or power is None else _power(base, power)
    if kind == "!":
        value = exact(tree[1])
        if value is None:
            return None
        if value.denominator != 1 or value < 0:
            raise Undefined("factorial")
        if value > 2500:
            raise TooLarge
        return Fraction(factorial(value.numerator))
    return _exact_function(tree[1], tree[2])


def _power(base: Fraction, power: Fraction) -> Fraction | None:
    if base == 0 and power < 0:
        raise Undefined("division by zero")
    if base == 0 and power > 0:
        return base
    if power.denominator == 1:
        n = power.numerator
        if base in (0, 1):
            return base if n else Fraction(1)
        if abs(n) * max(bits(base) - 2, 1) > MAX_BITS:
            raise TooLarge
        return base**n
    if power.denominator > 64 or bits(base) > 4000:
        return None
    if base < 0:
        odd = power.numerator == 1 and power.denominator % 2 == 1
        root = _root(-base, power.denominator) if odd else None
        return None if root is None else -root
    root = _root(base, power.denominator)
    return None if root is None else _power(root, Fraction(power.numerator))


def is_odd_root(power: tuple) -> bool:
    """1/3, 1/5, ...: the real root of a negative number is meant."""
    return power[0] == "/" and power[1] == ("n", 1) and power[2][0] == "n" and power[2][1] % 2 == 1


def _root(base: Fraction, n: int) -> Fraction | None:
    parts = []
    for part in (base.numerator, base.denominator):
        root = isqrt(part) if n == 2 else _integer_root(part, n)
        if root**n != part:
            return None
        parts.append(root)
    return Fraction(*parts)


def _integer_root(value: int, n: int) -> int:
    """floor(value ** (1/n)) by Newton's method."""
    guess = 1 << -(-value.bit_length() // n)
    while True:
        better = ((n - 1) * guess + value // guess ** (n - 1)) // n
        if better >= guess:
            return guess
        guess = better


def _exact_function(name: str, args: tuple) -> Fraction | None:
    if name not in ("sqrt", "abs", "floor", "ceil", "binom"):
        return None
    values = [exact(arg) for arg in args]
    if any(value is None for value in values):
        return None
    value = values[0]
    if name == "sqrt":
        return _power(value, Fraction(1, 2)) if value >= 0 else None
    if name == "abs":
        return abs(value)
    if name == "binom":
        n, k = values
        if n.denominator != 1 or k.denominator != 1 or n < 0 or k < 0:
            raise Undefined("binomial")
        if n > 2500:
            raise TooLarge
        return Fraction(comb(n.numerator, k.numerator))
    return Fraction(value.__floor__() if name == "floor" else value.__ceil__())
