"""Functions of guard expressions: pure, total up to a missing look-up, no state.

`FUNCTIONS` is the whole list; a library that needs another adds one entry here and a test. Arguments are unwrapped values
(`values.unwrap`). A wrong type, an empty `min`, a text that is no date: raise any of `FAILURES`, and the guard does not
apply. The special forms `any`, `all` and `default` are not here: they decide which of their parts to evaluate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from selfevolve.gradus.values import Missing, flat, hashed, item, iterate, unwrap

FAILURES = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)
LONGEST_RANGE = 10_000
SPECIAL_FORMS = {"any": (1, 1), "all": (1, 1), "default": (2, 2)}  # least and most arguments


class Function(NamedTuple):
    """A function of the language: what it computes, how many arguments it takes, and whether it reads these whole."""

    call: Callable[..., Any]
    least: int = 1
    most: int = 1
    whole: bool = True  # then the lengths of its arguments count as steps of the evaluation


@lru_cache(maxsize=16_384)
def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _hours_between(start: str, end: str) -> float:
    """Hours from `start` to `end`, negative if `end` is earlier. A date alone is its midnight."""
    return (_moment(end) - _moment(start)).total_seconds() / 3600


def _days_between(start: str, end: str) -> int:
    """Calendar days from the date of `start` to that of `end`, negative if `end` is earlier; times of day do not count."""
    return (_moment(end).date() - _moment(start).date()).days


def _len(value: Any) -> int:
    if isinstance(value, str | list | tuple | set | frozenset | Mapping):
        return len(value)
    raise TypeError


def _numbers(collection: Any) -> list:
    numbers = list(iterate(collection))
    if not all(isinstance(number, int | float) for number in numbers):
        raise TypeError
    return numbers


def _ordered(*values: Any) -> list:
    """The elements of one collection, or several values, that `<` orders."""
    values = list(iterate(*values)) if len(values) == 1 else list(values)
    if not all(map(flat, values)):
        raise TypeError
    return values


def _mapping(value: Any) -> Mapping:
    if not isinstance(value, Mapping):
        raise TypeError
    return value


def _get(value: Any, key: Any, otherwise: Any) -> Any:
    """`value[key]`, or `otherwise` where a mapping lacks the key or a list the index."""
    try:
        return item(value, key)
    except Missing:
        return otherwise


def _round(number: Any, digits: int = 0) -> Any:
    """`number` rounded to `digits` decimals (0 to 12; an integer for none), halves to the even neighbour."""
    _numbers([number])
    if digits not in range(13):  # Python would compute 10 to the power of any other
        raise ValueError
    return round(number, digits) if digits else round(number)


def _range(*bounds: int) -> list[int]:
    numbers = range(*bounds)
    if len(numbers) > LONGEST_RANGE:
        raise ValueError
    return list(numbers)


def _text(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of `str` on texts only."""

    def call(*texts: Any) -> Any:
        if not all(isinstance(text, str) for text in texts):
            raise TypeError
        return method(*texts)

    return call


FUNCTIONS: dict[str, Function] = {
    "abs": Function(lambda number: abs(*_numbers([number]))),
    "days_between": Function(_days_between, 2, 2),
    "endswith": Function(_text(str.endswith), 2, 2),
    "enumerate": Function(lambda collection: list(enumerate(iterate(collection)))),
    "get": Function(_get, 3, 3, whole=False),
    "hours_between": Function(_hours_between, 2, 2),
    "items": Function(lambda mapping: [(unwrap(key), unwrap(value)) for key, value in _mapping(mapping).items()]),
    "keys": Function(lambda mapping: [unwrap(key) for key in _mapping(mapping)]),
    "len": Function(_len, whole=False),
    "list": Function(lambda collection: list(iterate(collection))),
    "lower": Function(_text(str.lower)),
    "max": Function(lambda *values: max(_ordered(*values)), 1, 20),
    "min": Function(lambda *values: min(_ordered(*values)), 1, 20),
    "range": Function(_range, 1, 2),
    "round": Function(_round, 1, 2),
    "set": Function(lambda collection: hashed(iterate(collection))),
    "sorted": Function(lambda collection: sorted(_ordered(collection))),
    "split": Function(_text(str.split), 1, 2),
    "startswith": Function(_text(str.startswith), 2, 2),
    "strip": Function(_text(str.strip)),
    "sum": Function(lambda collection: sum(_numbers(collection))),
    "upper": Function(_text(str.upper)),
    "values": Function(lambda mapping: [unwrap(value) for value in _mapping(mapping).values()]),
    "zip": Function(lambda *collections: list(zip(*map(iterate, collections), strict=False)), 2, 4),
}
