"""Comprehensions, `any` and `all` of guard expressions, in three values.

A row of a comprehension is certain (`None`), or there only if facts not given turn out so: then a gate (`Unknown`) comes
with it, whose outcomes say that the row is there (TRUE), left out (FALSE) or ends in a missing look-up (ABSENT), and whether
the variables are bound: they are not when the collection itself is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from selfevolve.gradus.context import Run
from selfevolve.gradus.logic import hasty
from selfevolve.gradus.values import (
    ABSENT,
    ANY,
    FALSE,
    NO_FACTS,
    TRUE,
    Missing,
    Unknown,
    bits,
    iterate,
    unwrap,
)  # fmt: skip

Row = tuple[Unknown, bool] | None
Pattern = int | tuple  # the slot a target binds, or the patterns of its parts


class Clause(NamedTuple):
    """One `for target in source if test`; `cost`, the steps of one round."""

    source: Run
    pattern: Pattern
    test: Run | None
    cost: int


def _bind(frame: list, pattern: Pattern, value: Any) -> None:
    if isinstance(pattern, int):
        frame[pattern] = value
        return
    if not isinstance(value, list | tuple) or len(value) != len(pattern):
        raise Missing
    for part, element in zip(pattern, value, strict=True):
        _bind(frame, part, unwrap(element))


def _lost(gate: Unknown) -> Row:
    """The row of a look-up that is missing if the rows of `gate` are there."""
    return Unknown(gate.facts, gate.can & FALSE | ABSENT), False


def _both(outer: Unknown | None, inner: Unknown) -> Unknown:
    if outer is None:
        return inner
    return Unknown(outer.facts | inner.facts, outer.can & ~TRUE | (inner.can if outer.can & TRUE else 0))


def rows(frame: list, clauses: Sequence[Clause], index: int = 0, outer: Unknown | None = None) -> Iterator[Row]:
    """The rows of a comprehension, its variables bound in `frame` while each is out. Raises Missing where that is sure."""
    clause = clauses[index]
    try:
        source = clause.source(frame)
        elements = () if type(source) is Unknown else iterate(source)
    except Missing:
        if outer is None:
            raise
        yield _lost(outer)
        return
    if type(source) is Unknown:
        yield _both(outer, Unknown(source.facts, ANY)), False
        return
    context, (_, pattern, test, cost), last = frame[0], clause, index + 1 == len(clauses)
    for element in elements:
        context.charge(cost)
        gate = outer
        try:
            if type(pattern) is int:
                frame[pattern] = element
            else:
                _bind(frame, pattern, element)
            kept = True if test is None else test(frame)
        except Missing:
            if outer is None:
                raise
            yield _lost(outer)
            return
        if type(kept) is Unknown:
            gate = _both(outer, kept)
        elif not kept:
            continue
        if last:
            yield None if gate is None else (gate, True)
        else:
            yield from rows(frame, clauses, index + 1, gate)


def fold(clauses: Sequence[Clause], part: Run, stop: int) -> Run:
    """`any` (`stop` TRUE) or `all` (`stop` FALSE) of `part` over the rows: the first that is `stop` hastys."""
    skip = stop ^ (TRUE | FALSE)

    def values(frame: list) -> Iterator[Any]:
        for row in rows(frame, clauses):
            yield part(frame) if row is None else _gated(row, part, frame, skip)

    return lambda frame: hasty(values(frame), stop)


def _gated(row: tuple[Unknown, bool], part: Run, frame: list, skip: int) -> Unknown:
    """What an uncertain row brings to a fold; left out, it counts as `skip`."""
    gate, bound = row
    can, facts = gate.can & ABSENT | (skip if gate.can & FALSE else 0), gate.facts
    if not gate.can & TRUE:
        return Unknown(facts, can)
    if not bound:
        return Unknown(facts, can | ANY)
    try:
        value = part(frame)
    except Missing:
        return Unknown(facts, can | ABSENT)
    return Unknown(facts | value.facts if type(value) is Unknown else facts, can | bits(value))


def members(part: Run, stop: int) -> Run:
    """`any` or `all` of the elements of one value."""

    def run(frame: list) -> Any:
        value = part(frame)
        if type(value) is Unknown:
            return Unknown(value.facts)
        elements = list(iterate(value))
        frame[0].charge(len(elements))
        return any(elements) if stop == TRUE else all(elements)

    return run


def comprehension(clauses: Sequence[Clause], part: Run, build: Callable[[list], Any]) -> Run:
    """A list or set of `part` over the rows; unknown as a whole if a row or its value is."""

    def run(frame: list) -> Any:
        values, facts = [], NO_FACTS
        for row in rows(frame, clauses):
            if row is not None:
                facts |= row[0].facts
                continue
            value = part(frame)
            if type(value) is Unknown:
                facts |= value.facts
            else:
                values.append(value)
        return Unknown(facts) if facts else build(values)

    return run
