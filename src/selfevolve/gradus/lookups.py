"""The closures of guard expressions that look something up: a name, an attribute, a subscript, a definition's argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel

from selfevolve.gradus.context import UNSET, Context, Definition, Run
from selfevolve.gradus.logic import merge
from selfevolve.gradus.values import FALSE, MISSING, PLAIN, TRUE, Missing, Unknown, field, item, unwrap


class _Argument:
    """An argument of a definition, not evaluated yet."""

    __slots__ = ("run", "frame")

    def __init__(self, run: Run, frame: list):
        self.run, self.frame = run, frame


def slot(index: int) -> Run:
    """A comprehension variable."""
    return lambda frame: frame[index]


def parameter(index: int) -> Run:
    """A definition's parameter: its argument, evaluated in the caller's frame at the first use."""

    def run(frame: list) -> Any:
        value = frame[index]
        if type(value) is _Argument:
            value = frame[index] = value.run(value.frame)
        return value

    return run


def deferred(part: Run) -> Run:
    """A definition's argument, to be evaluated where the body uses it."""
    return lambda frame: _Argument(part, frame)


def expansion(definition: Definition, parts: Sequence[Run]) -> Run:
    """The body of a definition with `parts` for its parameters: each `deferred`, or so simple that it need not be."""
    body, cost, pad = definition.run, definition.size, [None] * (definition.slots - 1 - len(parts))

    def run(frame: list) -> Any:
        frame[0].charge(cost)
        return body([frame[0], *[part(frame) for part in parts], *pad])

    return run


def argument(name: str) -> Run:
    """An argument of the call; an optional one left out is missing."""

    def run(frame: list) -> Any:
        try:
            return unwrap(frame[0].arguments[name])
        except KeyError:
            raise Missing from None

    return run


def let(index: int, compute: Callable[[Context], Any]) -> Run:
    """A `let` name: computed at the first use in a context, a missing look-up included."""

    def run(frame: list) -> Any:
        lets = frame[0].lets
        value = lets[index]
        if value is UNSET:
            value = lets[index] = compute(frame[0])
        if value is MISSING:
            raise Missing
        return value

    return run


def fact(name: str) -> Run:
    """A dialogue fact; unknown if it is not given."""
    unknown = Unknown(frozenset({name}), TRUE | FALSE)
    return lambda frame: frame[0].facts.get(name, unknown)


def table(name: str) -> Run:
    """A top-level name of the current state."""

    def run(frame: list) -> Any:
        try:
            return unwrap(frame[0].state[name])
        except KeyError:
            raise Missing from None

    return run


def initial(name: str) -> Run:
    """A top-level name of the state right after the reset."""

    def run(frame: list) -> Any:
        try:
            return unwrap(frame[0].initial[name])
        except KeyError:
            raise Missing from None

    return run


def attribute(part: Run, name: str) -> Run:
    """`part.name`."""

    owners: set[type] = set()  # classes of models that have the field, met so far: `field` without its questions

    def run(frame: list) -> Any:
        owner = part(frame)
        if type(owner) in owners:
            found = getattr(owner, name)
            return found if type(found) in PLAIN else unwrap(found)
        if type(owner) is Unknown:
            return Unknown(owner.facts)
        found = field(owner, name)
        if isinstance(owner, BaseModel):
            owners.add(type(owner))
        return found

    return run


def subscript(part: Run, key: Run) -> Run:
    """`part[key]`."""

    def run(frame: list) -> Any:
        owner, where = part(frame), key(frame)
        if type(owner) is Unknown or type(where) is Unknown:
            return Unknown(merge(owner, where)[0])
        if type(owner) is dict and type(where) is str:  # most look-ups are of this kind
            found = owner.get(where, MISSING)
            if found is not MISSING:
                return found if type(found) in PLAIN else unwrap(found)
        return item(owner, where)

    return run


def cut(value: Any, lower: Any, upper: Any) -> Any:
    """`value[lower:upper]` of a list, tuple or text. Raises Missing."""
    if not isinstance(value, list | tuple | str):
        raise Missing
    return value[lower:upper]
