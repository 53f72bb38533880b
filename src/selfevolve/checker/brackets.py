"""Answers in brackets: tuples, intervals and their unions, sets, matrices."""

import re

from selfevolve.checker import regions, relations, structure
from selfevolve.checker.kinds import (
    Answer,
    Collection,
    Expression,
    Matrix,
    Number,
    Opaque,
    Piece,
    Quantity,
    Read,
    Region,
    Tuple,
)

MAX_ITEMS = 200
ALL_REALS = re.compile(r"(?:the set of )?all real(?: number)?s(?: numbers)?|\\mathbb\{R\}", re.IGNORECASE)
_MATRIX = re.compile(
    r"(?:\[|\(|\\lbrack)?\s*\\begin\s*\{(p|b|B|small)?(?:matrix|array)\}(?:\s*\{[lcr|\s]*\})?(.*)\\end\s*\{\1?(?:matrix|array)\}\s*(?:\]|\))?",
    re.DOTALL,
)


def read_union(text: str, read: Read) -> Answer | None:
    if "\\setminus" in text:
        return _without_points(text, read)
    if "\\cup" not in text:
        return None
    parts = [read(part) for part in structure.split_union(text)]
    regions = [relations.as_region(part) for part in parts]
    if len(parts) > 1 and None not in regions:
        return Region(tuple(piece for region in regions for piece in region.pieces))
    if len(parts) > 1 and all(isinstance(part, Collection) for part in parts):
        return Collection(tuple(item for part in parts for item in part.items), True)
    return None


def _without_points(text: str, read: Read) -> Answer | None:
    """The real line without some points."""
    line, _, points = text.partition("\\setminus")
    if not ALL_REALS.fullmatch(line.strip()):
        return None
    answer = read(points)
    if not isinstance(answer, Collection) or not all(isinstance(item, Number | Expression) for item in answer.items):
        return None
    try:
        ends = [None, *regions.ascending(answer.items), None]
    except regions.Unordered:
        return None
    return Region(tuple(Piece(a, b, False, False) for a, b in zip(ends, ends[1:], strict=False)))


def read_bracketed(text: str, read: Read) -> Answer | None:
    if text in ("\\emptyset", "\\{\\}", "\\{ \\}"):
        return Collection((), True)
    shape = structure.enclosed(text)
    if shape is None:
        return None
    opening, inside, closing = shape
    if opening == "\\{" and closing == "\\}":
        return _braced(inside, read)
    if opening == "{":  # a set whose backslashes were lost
        return _braced(inside, read) if "," in inside else read(inside)
    parts = structure.split_items(inside)
    if len(parts) == 1:
        if (opening, closing) in (("(", ")"), ("[", "]")) and not inside.strip().startswith("\\begin"):
            inner = read(inside)
            return None if isinstance(inner, Opaque | Quantity) else inner
        return None
    if len(parts) > MAX_ITEMS:
        return None
    items = tuple(read(part) for part in parts)
    if None in items:
        return None
    if opening == "\\langle" or closing == "\\rangle":
        return Tuple(items, "(")
    if len(items) == 2 and opening + closing not in ("()", "[]"):
        return Region((Piece(items[0], items[1], opening == "[", closing == "]"),))
    if (opening == "(") != (closing == ")"):
        return None
    rows = {len(item.items) if isinstance(item, Tuple) and item.bracket == "[" else 0 for item in items}
    if opening == "[" and len(rows) == 1 and 0 not in rows:  # [[1, 2], [3, 4]]
        return Matrix(tuple(item.items for item in items))
    return Tuple(items, opening)


def _braced(inside: str, read: Read) -> Answer | None:
    if not inside.strip():
        return Collection((), True)
    builder = re.match(r"\s*([A-Za-z])\s*(?:\\in\s*\\mathbb\{R\}\s*)?(?:\||:)(.*)", inside, re.DOTALL)
    if builder:
        region = read(builder[2])
        if isinstance(region, Region) and region.name in ("", builder[1]):
            return Region(region.pieces)
        return None
    items = [read(part) for part in structure.split_items(inside)]
    if None in items or len(items) > MAX_ITEMS:
        return None
    return Collection(tuple(relations.flatten(items)), True)


def read_matrix(text: str, read: Read) -> Answer | None:
    match = _MATRIX.fullmatch(text)
    if not match:
        return None
    body = re.sub(r"\\hline", "", match[2]).strip()
    body = re.sub(r"\\\\\s*$", "", body)
    rows = []
    for row in re.split(r"\\\\(?:\[[^\]]*\])?", body):
        cells = tuple(read(cell) for cell in row.split("&"))
        if None in cells:
            return None
        rows.append(cells)
    if sum(map(len, rows)) > MAX_ITEMS or len({len(row) for row in rows}) != 1:
        return None
    return Matrix(tuple(rows), text)
