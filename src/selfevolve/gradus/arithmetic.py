"""Arithmetic of guard expressions: numbers; `+` also joins texts and lists, `-` also takes a set from a set.

A wrong type, a division by zero, and a result beyond `MAX_NUMBER` or not finite raise `Missing`: nothing can be made to
grow, and `%` never formats a text.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from selfevolve.gradus.syntax import MAX_NUMBER
from selfevolve.gradus.values import Missing, hashed, unwrap

_NUMBERS = (int, float, bool)


def _numeric(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def run(left: Any, right: Any) -> Any:
        if type(left) not in _NUMBERS or type(right) not in _NUMBERS:
            raise Missing
        try:
            return bounded(compute(left, right))
        except ArithmeticError:
            raise Missing from None

    return run


def bounded(number: Any) -> Any:
    """The number, if it is finite and at most `MAX_NUMBER` away from 0. Raises Missing."""
    if not -MAX_NUMBER <= number <= MAX_NUMBER or not math.isfinite(number):
        raise Missing
    return number


_add, _subtract = _numeric(operator.add), _numeric(operator.sub)


def _plus(left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return [*left, *right]
    return _add(left, right)


def _minus(left: Any, right: Any) -> Any:
    if isinstance(left, set | frozenset) and isinstance(right, set | frozenset):
        return hashed(map(unwrap, left)) - hashed(map(unwrap, right))
    return _subtract(left, right)


def negative(value: Any) -> Any:
    """Unary minus of a number. Raises Missing."""
    return _subtract(0, value)


OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: _plus,
    ast.Sub: _minus,
    ast.Mult: _numeric(operator.mul),
    ast.Div: _numeric(operator.truediv),
    ast.FloorDiv: _numeric(operator.floordiv),
    ast.Mod: _numeric(operator.mod),
}
