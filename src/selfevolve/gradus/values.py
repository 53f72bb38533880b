"""Values of guard expressions: what a look-up gives, what is missing, what is unknown, when two values are equal.

Paper: Gradus 2.2 and A.7: guards over a state that need not hold what they look up, and over facts only a dialogue tells.

Two things are no values. A look-up of what does not exist, or an operation on a wrong type, raises `Missing`: the guard
does not apply. A dialogue fact that is not given is `Unknown`, which keeps the names of the facts and the set of ways the
evaluation could end if they were given: true, false, or missing. This is Kleene's logic with one more outcome; it is what
makes three-valued results sound (a known result is the result for every completion of the facts).

A value read from the state is unwrapped: an Enum member becomes its value, a date or datetime its ISO text. Models are
read by field and mappings by key; nothing else has attributes, so methods are out of reach.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Any, Final

from pydantic import BaseModel

TRUE: Final = 1
FALSE: Final = 2
ABSENT: Final = 4  # bits of an outcome set
ANY: Final = TRUE | FALSE | ABSENT
NO_FACTS: frozenset[str] = frozenset()


class Missing(Exception):
    """A look-up found nothing, or an operation met a wrong type: the guard does not apply."""


class EvaluationError(RuntimeError):
    """An evaluation took more steps than `STEPS` or nested too deeply."""


class Unknown:
    """A value that depends on dialogue facts not given. `facts`: their names; `can`: outcome bits it may have."""

    __slots__ = ("facts", "can")

    def __init__(self, facts: frozenset[str], can: int = ANY):
        self.facts, self.can = facts, can

    def __repr__(self) -> str:
        return f"Unknown({sorted(self.facts)})"


class _Sentinel:
    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Sentinel()  # what Expression.evaluate answers for a missing look-up


def bits(value: Any) -> int:
    """The outcome set of a value: TRUE or FALSE for a known one (Python's truth), else what it can be."""
    if value is True:
        return TRUE
    if type(value) is Unknown:
        return value.can
    return TRUE if value else FALSE


def settle(can: int, facts: frozenset[str]) -> Any:
    """True, False or Unknown for an outcome set. Raises Missing where it is sure."""
    if can == TRUE:
        return True
    if can == FALSE:
        return False
    if can == ABSENT:
        raise Missing
    return Unknown(facts, can)


DEEPEST: Final = 50  # nesting of values compared; a call's arguments are a model's, and may be anything
PLAIN = frozenset({str, int, float, bool, type(None), list, dict, tuple, set, frozenset})
SCALARS = frozenset({str, int, float, bool, type(None)})
_FIELDS: dict[type, frozenset[str]] = {}  # of the model classes met so far


def unwrap(value: Any) -> Any:
    """An Enum member's value, a date's or datetime's ISO text, any other value itself."""
    if type(value) in PLAIN or type(value) in _FIELDS:
        return value
    if isinstance(value, enum.Enum):
        return unwrap(value.value)
    if isinstance(value, date):
        return value.isoformat()
    return value


def field(value: Any, name: str) -> Any:
    """`value.name`: a model's field or a mapping's key. Raises Missing."""
    fields = _FIELDS.get(type(value))
    if fields is None and isinstance(value, BaseModel):
        fields = _FIELDS[type(value)] = frozenset(type(value).model_fields)
    if fields is not None:
        if name in fields:
            found = getattr(value, name)
            return found if type(found) in PLAIN else unwrap(found)
        raise Missing
    if isinstance(value, Mapping):
        return unwrap(value[_key(value, name)])
    raise Missing


def item(value: Any, key: Any) -> Any:
    """`value[key]`: a mapping's key, a list's or tuple's index. Raises Missing."""
    if type(value) is list or type(value) is tuple:
        if type(key) is int and -len(value) <= key < len(value):
            return unwrap(value[key])
        raise Missing
    if isinstance(value, Mapping):
        return unwrap(value[_key(value, key)])
    raise Missing


def _key(mapping: Mapping, key: Any) -> Any:
    """The key of `mapping` that equals `key`: itself, or the Enum member of that value. Raises Missing."""
    key = hashable(key)
    if key in mapping:
        return key
    if isinstance(next(iter(mapping), None), enum.Enum):
        for member in mapping:
            if unwrap(member) == key:
                return member
    raise Missing


def flat(value: Any) -> bool:
    """Whether a value is a scalar, or a list or tuple of scalars: what sets hold, keys are and `<` orders.

    Deeper values are wrong types there: lists that share parts can be small to build and endless to hash.
    """
    if isinstance(value, list | tuple):
        return all(type(part) in SCALARS for part in value)
    return type(value) in SCALARS


def hashable(value: Any) -> Any:
    """A flat value as a set holds it and as a key: a list becomes a tuple, which it equals. Raises Missing for others."""
    if not flat(value):
        raise Missing
    return tuple(value) if isinstance(value, list) else value


def hashed(values: Iterable[Any]) -> frozenset[Any]:
    """A set of flat values. Raises Missing for others."""
    return frozenset(map(hashable, values))


def iterate(value: Any) -> Iterable[Any]:
    """The elements of a list, tuple or set, the keys of a mapping; sets in a fixed order. Raises Missing otherwise."""
    if isinstance(value, list | tuple):
        return map(unwrap, value)
    if isinstance(value, set | frozenset):  # the order of a set of texts differs between processes
        return sorted(map(unwrap, value), key=lambda element: (type(element).__name__, repr(element)))
    if isinstance(value, Mapping):
        return map(unwrap, value)
    raise Missing


def contains(collection: Any, element: Any, charge: Callable[[int], None]) -> bool:
    """`element in collection`: of a list, tuple or set; key of a mapping; part of a text. Raises Missing otherwise."""
    if isinstance(collection, Mapping):
        try:
            _key(collection, element)
        except Missing:
            return False
        return True
    if isinstance(collection, str):
        if isinstance(element, str):
            charge(len(collection))
            return element in collection
        raise Missing
    if isinstance(collection, list | tuple | set | frozenset):
        charge(len(collection))
        if type(element) not in SCALARS:
            return any(equal(unwrap(other), element, charge) for other in collection)
        if element in collection:
            return True
        return any(unwrap(other) == element for other in collection if type(other) not in PLAIN)
    raise Missing


def equal(left: Any, right: Any, charge: Callable[[int], None], depth: int = 0) -> bool:
    """Structural equality: a model equals a mapping of its fields, a list a tuple, an Enum member its value.

    Numbers equal as in Python, True and 1 included. `charge` is told the length of every collection compared. Raises Missing
    where collections nest more than `DEEPEST`.
    """
    if left is right:
        return True
    if type(left) in SCALARS or type(right) in SCALARS:
        return type(left) in SCALARS and type(right) in SCALARS and left == right
    if depth > DEEPEST:
        raise Missing

    def same(a: Any, b: Any) -> bool:
        return equal(unwrap(a), unwrap(b), charge, depth + 1)

    left, right = _open(left), _open(right)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        charge(len(left))
        return len(left) == len(right) and all(key in right and same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        charge(len(left))
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, set | frozenset) and isinstance(right, set | frozenset):
        charge(len(left))
        return set(map(unwrap, left)) == set(map(unwrap, right))
    return False


def _open(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return {name: getattr(value, name) for name in type(value).model_fields}
    return value
