"""Unions of intervals, brought to one form (sorted, merged) and compared end by end."""

from collections.abc import Callable
from functools import cmp_to_key

from selfevolve.checker.evaluate import numeric
from selfevolve.checker.exact import TooLarge, Undefined
from selfevolve.checker.kinds import Answer, Expression, Number, Piece, Region


class Unordered(ValueError):
    """An end is not a real constant."""


def same(a: Region, b: Region, decide: Callable[[Answer, Answer], bool | None]) -> bool | None:
    """Whether two regions hold the same points; by their ends as written where these are not real constants."""
    try:
        left, right = _merged(a, decide), _merged(b, decide)
    except Unordered:
        left, right = list(map(_finite, a.pieces)), list(map(_finite, b.pieces))
    if len(left) != len(right):
        return False
    outcomes = []
    for one, two in zip(left, right, strict=True):
        if (one.low_closed, one.high_closed) != (two.low_closed, two.high_closed):
            return False
        outcomes += [_same_end(one.low, two.low, decide), _same_end(one.high, two.high, decide)]
    if False in outcomes:
        return False
    return None if None in outcomes else True


def _same_end(a: Answer | None, b: Answer | None, decide) -> bool | None:
    if a is None or b is None:
        return a is b
    if not (isinstance(a, Number | Expression) and isinstance(b, Number | Expression)):
        return a == b
    return decide(a, b)


_INFINITE = (("k", "inf"), ("-", ("k", "inf")))


def _finite(piece: Piece) -> Piece:
    """The piece with None for infinite ends, which are open however they are written."""
    low = None if isinstance(piece.low, Expression) and piece.low.tree in _INFINITE else piece.low
    high = None if isinstance(piece.high, Expression) and piece.high.tree in _INFINITE else piece.high
    return Piece(low, high, piece.low_closed and low is not None, piece.high_closed and high is not None)


def _value(end: Answer):
    if isinstance(end, Number) and end.value is not None:
        return numeric(("n", end.value))
    if isinstance(end, Expression) and not end.names:
        try:
            value = numeric(end.tree)
        except (TooLarge, Undefined) as error:
            raise Unordered from error
        if getattr(value, "imag", 0) == 0:
            return value.real
    raise Unordered


def ascending(ends: tuple[Answer, ...]) -> list[Answer]:
    """Real constants in order. Raises Unordered."""
    return sorted(ends, key=_value)


def _order(a: Answer, b: Answer, decide) -> int:
    if a is b or decide(a, b):
        return 0
    return -1 if _value(a) < _value(b) else 1


def _merged(region: Region, decide) -> list[Piece]:
    pieces = [piece for piece in map(_finite, region.pieces) if not _is_empty(piece, decide)]

    def before(a: Piece, b: Piece) -> int:
        if a.low is None or b.low is None:
            return (a.low is not None) - (b.low is not None)
        return _order(a.low, b.low, decide) or b.low_closed - a.low_closed

    for piece in pieces:
        for end in (piece.low, piece.high):
            if end is not None:
                _value(end)
    pieces.sort(key=cmp_to_key(before))
    merged: list[Piece] = []
    for piece in pieces:
        if merged and _touches(merged[-1], piece, decide):
            merged[-1] = _join(merged[-1], piece, decide)
        else:
            merged.append(piece)
    return merged


def _is_empty(piece: Piece, decide) -> bool:
    if piece.low is None or piece.high is None:
        return False
    order = _order(piece.low, piece.high, decide)
    return order > 0 or (order == 0 and not (piece.low_closed and piece.high_closed))


def _touches(a: Piece, b: Piece, decide) -> bool:
    if a.high is None or b.low is None:
        return True
    order = _order(b.low, a.high, decide)
    return order < 0 or (order == 0 and (b.low_closed or a.high_closed))


def _join(a: Piece, b: Piece, decide) -> Piece:
    if a.high is None or b.high is None:
        return Piece(a.low, None, a.low_closed, False)
    order = _order(a.high, b.high, decide)
    if order == 0:
        return Piece(a.low, a.high, a.low_closed, a.high_closed or b.high_closed)
    return Piece(a.low, a.high, a.low_closed, a.high_closed) if order > 0 else Piece(a.low, b.high, a.low_closed, b.high_closed)
