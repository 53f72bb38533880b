"""From the text of a formula to a number or an expression."""

from fractions import Fraction

from selfevolve.checker.exact import TooLarge, Undefined, exact
from selfevolve.checker.kinds import Answer, Collection, Expression
from selfevolve.checker.literals import rational
from selfevolve.checker.syntax import parse
from selfevolve.checker.tokens import Unreadable
from selfevolve.checker.trees import has_sign, names_of


def read_scalar(text: str) -> Answer | None:
    """A number, an expression, or for ± the collection of both; None if it is not a formula of our grammar."""
    try:
        tree = parse(text)
    except (Unreadable, RecursionError):
        return None
    return scalar(tree, text)


def scalar(tree: tuple, text: str) -> Answer | None:
    if has_sign(tree):
        items = tuple(scalar(choose(tree, sign), text) for sign in (1, -1))
        if items[0] == items[1] and items[0] is not None:
            return items[0]  # ±0
        return None if None in items else Collection(items, False, text, True)
    try:
        value = exact(tree)
    except TooLarge:
        value = None
    except Undefined:
        return None
    if value is not None:
        return rational(value, text)
    return Expression(tree, frozenset(names_of(tree)), text)


def choose(tree: tuple, sign: int) -> tuple:
    """`tree` with every ± read as `sign` and every ∓ as its opposite."""
    if tree[0] == "pm":
        right = choose(tree[3], sign)
        left = choose(tree[2], sign)
        right = right if sign * tree[1] > 0 else ("-", right)
        return right if left == ("n", Fraction(0)) else ("+", (left, right))
    parts = []
    for part in tree:
        if isinstance(part, tuple) and part:
            inner = isinstance(part[0], tuple)
            parts.append(tuple(choose(item, sign) for item in part) if inner else choose(part, sign))
        else:
            parts.append(part)
    return tuple(parts)
