"""The types of answers. `reading` makes them, `compare` compares them type by type."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Number:
    """An integer, rational or decimal.

    decimal: canonical `<sign><digits>e<exponent>` of a number written in decimal digits ("" for 1/3): equal strings are
    equal values, at any length. grain: exponent of ten of the last digit written after the point or before the `e`,
    None for an exact number (integer or fraction). digits: significant digits written. value: None when too long.
    """

    decimal: str
    grain: int | None
    digits: int
    value: Fraction | None
    source: str = field(default="", compare=False)

    @property
    def is_integer(self) -> bool:
        return self.value is not None and self.value.denominator == 1


@dataclass(frozen=True, slots=True)
class Expression:
    """A formula that is not a rational number. tree: see `syntax`. An algebraic constant has no names."""

    tree: tuple
    names: frozenset[str]
    source: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number or formula with a unit; "%" and "°" are units. bases: (unit, power) pairs; factor to base units."""

    value: "Answer"
    bases: frozenset[tuple[str, int]]
    factor: Fraction
    source: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Based:
    """Digits with a base subscript."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Ratio:
    """a:b or a:b:c. clock: could be a time of day (two-digit minutes below 60); half: "am", "pm" or ""."""

    parts: tuple["Answer", ...]
    clock: bool
    half: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """One interval; None is an infinite end."""

    low: "Answer | None"
    high: "Answer | None"
    low_closed: bool
    high_closed: bool


@dataclass(frozen=True, slots=True)
class Region:
    """A union of intervals, as written; name: the variable it bounds, "" if none was written."""

    pieces: tuple[Piece, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Tuple:
    """Ordered items in brackets; with two items and "(" or "[" it may also be an interval."""

    items: tuple["Answer", ...]
    bracket: str


@dataclass(frozen=True, slots=True)
class Collection:
    """Unordered items: a set (braced) or several answers in a row (not braced). signs: the two values of a ±."""

    items: tuple["Answer", ...]
    braced: bool
    source: str = field(default="", compare=False)
    signs: bool = False


@dataclass(frozen=True, slots=True)
class Matrix:
    rows: tuple[tuple["Answer", ...], ...]
    source: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Assignment:
    """label = value, where the label is a bare name, f(x), or a group of names."""

    label: str
    value: "Answer"
    tree: tuple | None = None  # label - value, when both are formulas


@dataclass(frozen=True, slots=True)
class Relation:
    """difference OP 0, OP one of = < <= !=; last: the last side of an equation."""

    operator: str
    difference: tuple
    names: frozenset[str]
    last: "Answer | None"


@dataclass(frozen=True, slots=True)
class Text:
    words: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """Mathematics beyond our own grammar (sums, integrals, limits, ...), left to Math-Verify's LaTeX parser."""

    source: str


Answer = (
    Number | Expression | Quantity | Based | Ratio | Region | Tuple | Collection | Matrix | Assignment | Relation | Text | Opaque
)
Read = Callable[[str], Answer | None]  # how the reader of a part of an answer is handed to the reader of the whole
