"""Equations, inequalities, memberships and labelled values, and how several of them combine."""

import re
from fractions import Fraction

from selfevolve.checker import regions, structure
from selfevolve.checker.evaluate import agree
from selfevolve.checker.exact import TooLarge, Undefined, exact
from selfevolve.checker.kinds import (
    Answer,
    Assignment,
    Collection,
    Expression,
    Number,
    Piece,
    Quantity,
    Read,
    Region,
    Relation,
    Tuple,
)
from selfevolve.checker.normalise import WORD_CLOSE, WORD_OPEN
from selfevolve.checker.scalars import scalar
from selfevolve.checker.syntax import parse
from selfevolve.checker.tokens import Unreadable
from selfevolve.checker.trees import has_sign, names_of, substitute

_MIRROR = {"<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le", "\\ne": "\\ne", "=": "="}
_WORD = re.compile(r"[A-Za-z]{2,}")


def read_relation(text: str, read: Read) -> Answer | None:
    """An answer with a relation sign outside all brackets; None if there is none or it is not understood."""
    sides, signs = structure.split_relation(text)
    if not signs or len(signs) > 20:
        return None
    sides = [side.strip() for side in sides]
    if "\\approx" in signs:
        return _approximate(text, sides, signs, read)
    if signs == ["="] and not sides[0] and sides[1]:
        return read(sides[1])
    if not all(sides):
        return None
    if signs == ["\\in"]:
        return _membership(sides, read)
    if set(signs) == {"="}:
        return _equation(sides, read)
    return _inequality(sides, signs)


def _approximate(text: str, sides: list[str], signs: list[str], read: Read) -> Answer | None:
    """1/3 ≈ 0.333: what stands before the sign is the answer, unless that is only a name."""
    at = signs.index("\\approx")
    if at == 0 and (not sides[0] or label_of(sides[0])):
        return read(sides[1]) if sides[1] else None
    position = text.index("\\approx")
    return read(text[:position])


def label_of(text: str) -> str | None:
    """The canonical name if `text` only names something: x, f(x), (p,q,r), AB:CD, Area."""
    text = text.strip()
    bare = text.replace(WORD_OPEN, " ").replace(WORD_CLOSE, " ").strip()
    if re.fullmatch(r"[A-Za-z]{3,}(?:[\s-]+[A-Za-z]+)*", bare):
        return bare.lower()
    shape = structure.enclosed(text)
    inside = shape[1] if shape and shape[0] == "(" else text
    for separator in (",", ":"):
        parts = inside.split(separator)
        if 2 <= len(parts) <= 12:
            labels = [label_of(part) for part in parts]
            return None if None in labels else separator.join(labels)
    try:
        tree = parse(_as_name(text))
    except (Unreadable, RecursionError):
        return None
    if tree[0] == "s" and not tree[1].startswith("mathbb"):
        return tree[1]
    if re.fullmatch(r"[a-zA-Z]\s*\^\s*\{\s*-1\s*\}\s*\(\s*[a-z]\s*\)", text):
        return re.sub(r"\s", "", text)  # the inverse of a function
    return _segment(tree)


def _segment(tree: tuple) -> str | None:
    """AB, |AB|, AB/CD: lengths of segments and their ratios are names too."""
    if tree[0] == "*" and len(tree[1]) <= 3 and all(part[0] == "s" and part[1].isupper() for part in tree[1]):
        return "".join(part[1] for part in tree[1])
    if tree[0] == "f" and tree[1] == "abs":
        return _segment(tree[2][0])
    if tree[0] == "/":
        parts = _segment(tree[1]), _segment(tree[2])
        return None if None in parts else "/".join(parts)
    return None


def _as_name(side: str) -> str:
    """A lone word on one side of a relation is one name, not a product of its letters."""
    return WORD_OPEN + side + WORD_CLOSE if _WORD.fullmatch(side) and side not in ("pi",) else side


def _membership(sides: list[str], read: Read) -> Answer | None:
    label, value = label_of(sides[0]), read(sides[1])
    if label is None or value is None:
        return None
    region = as_region(value) if isinstance(value, Region | Tuple) else None
    return Region(region.pieces, label) if region else Assignment(label, value)


def _equation(sides: list[str], read: Read) -> Answer | None:
    first = label_of(sides[0])
    last = label_of(sides[-1])
    trees = [_tree(side) for side in sides]
    difference = None
    if trees[0] is not None and trees[-1] is not None:
        difference = ("+", (trees[0], ("-", trees[-1])))
    if first is not None:
        value = read(sides[-1])
        return None if value is None else _assign(first, value, difference)
    if last is not None and len(sides) == 2:
        value = read(sides[0])
        return None if value is None else _assign(last, value, difference)
    value = read(sides[-1])
    if difference is None:
        return None
    names = frozenset(names_of(difference))
    if not names or _is_identity(trees):
        return value  # 2 + 3 = 5, x^2 - 1 = (x - 1)(x + 1): the result of a calculation
    return Relation("=", difference, names, value)


def _tree(text: str) -> tuple | None:
    try:
        tree = parse(_as_name(text))
    except (Unreadable, RecursionError):
        return None
    return None if has_sign(tree) else tree


def _is_identity(trees: list[tuple | None]) -> bool:
    try:
        return all(a is not None and b is not None and agree(a, b) for a, b in zip(trees, trees[1:], strict=False))
    except (TooLarge, Undefined):
        return False


def _assign(label: str, value: Answer, difference: tuple | None) -> Answer:
    if isinstance(value, Collection) and not value.braced:  # x = ±3
        return Collection(tuple(Assignment(label, item) for item in value.items), False, signs=value.signs)
    return Assignment(label, value, difference)


def _inequality(sides: list[str], signs: list[str]) -> Answer | None:
    trees = [_tree(side) for side in sides]
    if None in trees or "\\in" in signs or len(sides) > 3:
        return None
    names = frozenset().union(*(names_of(tree) for tree in trees))
    if len(names) == 1:
        region = _solved(next(iter(names)), trees, signs)
        if region is not None:
            return region
    chain = [_relation(*pair, sign) for *pair, sign in zip(trees, trees[1:], signs, strict=False)]
    return chain[0] if len(chain) == 1 else Collection(tuple(chain), False)


def _relation(left: tuple, right: tuple, sign: str) -> Relation:
    if sign in (">", "\\ge"):
        left, right, sign = right, left, _MIRROR[sign]
    operator = {"<": "<", "\\le": "<=", "\\ne": "!=", "=": "="}[sign]
    difference = ("+", (left, ("-", right)))
    return Relation(operator, difference, frozenset(names_of(difference)), None)


def _solved(name: str, trees: list[tuple], signs: list[str]) -> Answer | None:
    """The region of the one variable, where one side is linear in it (a x + b) and the others are constants."""
    holders = [at for at, tree in enumerate(trees) if names_of(tree)]
    if len(trees) == 2 and len(holders) == 1 and trees[holders[0]][:2] == ("f", "abs"):
        inside, bound = trees[holders[0]][2][0], trees[1 - holders[0]]
        sign = signs[0] if holders[0] == 0 else _MIRROR[signs[0]]
        if sign in ("<", "\\le"):  # |x| < 2 is -2 < x < 2
            return _solved(name, [("-", bound), inside, bound], [sign, sign])
        if sign in (">", "\\ge"):
            sides = _solved(name, [inside, ("-", bound)], [_MIRROR[sign]]), _solved(name, [inside, bound], [sign])
            return None if None in sides else Region(sides[0].pieces + sides[1].pieces, name)
    if len(trees) == 2 and len(holders) == 2:
        trees, holders = [("+", (trees[0], ("-", trees[1]))), ("n", Fraction(0))], [0]
    if len(holders) != 1 or (len(trees) == 3 and holders != [1]):
        return None
    middle = holders[0]
    if trees[middle] == ("s", name):
        slope, offset = Fraction(1), Fraction(0)
    else:
        try:
            values = [exact(substitute(trees[middle], name, ("n", Fraction(at)))) for at in range(4)]
        except (TooLarge, Undefined):
            return None
        if None in values:
            return None
        offset, slope = values[0], values[1] - values[0]
        if slope == 0 or values != [offset + slope * at for at in range(4)]:
            return None
    scalars = []
    for at, tree in enumerate(trees):
        if at != middle and (slope, offset) != (1, 0):
            tree = ("/", ("+", (tree, ("n", -offset))), ("n", slope))
        scalars.append(scalar(tree, ""))
    if None in scalars:
        return None
    return _bounds(name, middle, scalars, [_MIRROR[sign] for sign in signs] if slope < 0 else signs)


def _bounds(name: str, middle: int, scalars: list, signs: list[str]) -> Answer | None:
    """A < x <= B and the like as a region of x."""
    low = high = None
    low_closed = high_closed = False
    for at, value in enumerate(scalars):
        if at == middle:
            continue
        sign = signs[min(at, middle)]
        if at < middle:
            sign = _MIRROR[sign]  # 5 > x is x < 5
        if sign == "\\ne":
            return Region((Piece(None, value, False, False), Piece(value, None, False, False)), name)
        if sign == "=":
            return None
        if sign in (">", "\\ge"):
            if low is not None:
                return None
            low, low_closed = value, sign == "\\ge"
        else:
            if high is not None:
                return None
            high, high_closed = value, sign == "\\le"
    return Region((Piece(low, high, low_closed, high_closed),), name)


def _both_bounds(a: Answer, b: Answer) -> Region | None:
    """x > 1 and x < 2: half-lines of one variable that overlap are both meant; x < 1, x > 2 are one or the other."""
    if not (isinstance(a, Region) and isinstance(b, Region) and a.name and a.name == b.name):
        return None
    if len(a.pieces) != 1 or len(b.pieces) != 1:
        return None
    one, two = a.pieces[0], b.pieces[0]
    if one.low is None and two.high is None:
        one, two = two, one
    if one.high is not None or two.low is not None or one.low is None or two.high is None:
        return None
    try:
        overlap = regions.ascending((two.high, one.low))[0] is one.low
    except regions.Unordered:
        return None
    if overlap:
        return Region((Piece(one.low, two.high, one.low_closed, two.high_closed),), a.name)
    return Region((two, one), a.name)


def as_region(answer: Answer | None) -> Region | None:
    """An interval or union; a pair in brackets read as an interval."""
    if isinstance(answer, Region):
        return answer
    if isinstance(answer, Tuple) and len(answer.items) == 2:
        closed = answer.bracket == "["
        return Region((Piece(*answer.items, closed, closed),))
    is_set = isinstance(answer, Collection) and answer.braced and answer.items
    if is_set and all(isinstance(item, Number | Expression) for item in answer.items):
        return Region(tuple(Piece(item, item, True, True) for item in answer.items))
    return None


def flatten(items: list[Answer]) -> list[Answer]:
    """Items with the two values of a ± put in its place."""
    flat: list[Answer] = []
    for item in items:
        flat.extend(item.items if isinstance(item, Collection) and item.signs else (item,))
    return flat


def gather(items: list[Answer], either: bool, text: str) -> Answer | None:
    """Several answers in a row. Bounds of one variable joined by "or" are a union; a label carries on to values."""
    items = flatten(items)
    if either and all(isinstance(item, Region) for item in items) and len({item.name for item in items}) == 1:
        return Region(tuple(piece for item in items for piece in item.pieces), items[0].name)
    if len(items) == 2 and not either:
        region = _both_bounds(*items)
        if region is not None:
            return region
    if isinstance(items[0], Assignment) and all(isinstance(item, Number | Expression) for item in items[1:]):
        items = [items[0], *(Assignment(items[0].label, item) for item in items[1:])]
    if isinstance(items[0], Assignment) and all(isinstance(item, Tuple) for item in items[1:]):
        items = [items[0].value, *items[1:]]  # (x, y) = (5, 8) and (8, 5)
    if isinstance(items[-1], Quantity) and all(isinstance(item, Number | Expression) for item in items[:-1]):
        unit = items[-1]  # 3, 5 and 7 cm
        items = [*(Quantity(item, unit.bases, unit.factor) for item in items[:-1]), unit]
    return Collection(tuple(items), False, text)
