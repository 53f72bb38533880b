"""Equality of two typed answers. Symmetric, but for the precision that a decimal gold states (`literals.states`).

Every function returns True, False, or None when the two formulas need computer algebra; `decide` is what settles
formulas: `formulas.numerically` in the caller's process, `symbolic.decide` in a worker.
"""

from collections import Counter

from selfevolve.checker import regions
from selfevolve.checker.formulas import proportional
from selfevolve.checker.kinds import (
    Answer,
    Assignment,
    Based,
    Collection,
    Expression,
    Matrix,
    Number,
    Opaque,
    Quantity,
    Ratio,
    Region,
    Relation,
    Text,
    Tuple,
)
from selfevolve.checker.literals import read_number, same_number, states
from selfevolve.checker.measures import product, same_quantities, same_ratios, unit_omitted
from selfevolve.checker.outcomes import Decide, both, either
from selfevolve.checker.relations import as_region, gather

_MAX_UNLIKE = 40  # items of a list or set that are not written alike and have to be compared each with each


def equal(gold: Answer, other: Answer, decide: Decide) -> bool | None:
    """Whether `other` is `gold`, by the rules of `docs/checker.md` in their order."""
    if isinstance(gold, Number) and isinstance(other, Number):
        return same_number(gold, other) or states(gold, other)
    if isinstance(gold, Opaque) or isinstance(other, Opaque):
        return _opaque(gold, other, decide)
    for one, two, swapped in ((gold, other, False), (other, gold, True)):
        if isinstance(one, Assignment) and isinstance(two, Expression) and one.label == f"({two.source})":
            return True  # (C) 14 and C
        if isinstance(one, Assignment) and not isinstance(two, Assignment | Relation | Collection):
            return _ordered(one.value, two, swapped, decide)
        if isinstance(one, Quantity) and not isinstance(two, Quantity | Collection):
            return unit_omitted(one, two, lambda a, b, swap=swapped: _ordered(a, b, swap, decide))
    if isinstance(gold, Quantity) and isinstance(other, Quantity):
        return same_quantities(gold, other, lambda a, b: equal(a, b, decide))
    scalars = Number | Expression
    if isinstance(gold, scalars) and isinstance(other, scalars):
        return decide(gold, other)
    if isinstance(gold, Collection) or isinstance(other, Collection):
        return _collections(gold, other, decide)
    if isinstance(gold, Assignment | Relation) and isinstance(other, Assignment | Relation):
        return _relations(gold, other, decide)
    if isinstance(gold, Region) or isinstance(other, Region):
        return _as_regions(gold, other, decide)
    rule = _SAME_KIND.get(type(gold)) if type(gold) is type(other) else None
    if rule:
        return rule(gold, other, decide)
    return _across_kinds(gold, other, decide)


def _ordered(one: Answer, two: Answer, swapped: bool, decide: Decide) -> bool | None:
    return equal(two, one, decide) if swapped else equal(one, two, decide)


def _opaque(gold: Answer, other: Answer, decide: Decide) -> bool | None:
    written = ["".join(answer.source.split()) if isinstance(answer, Opaque) else None for answer in (gold, other)]
    if written[0] == written[1]:
        return True
    open_kinds = Opaque | Number | Expression | Assignment | Relation | Matrix | Region | Collection
    if not (isinstance(gold, open_kinds) and isinstance(other, open_kinds)):
        return False
    return decide(gold, other)


def _collections(gold: Answer, other: Answer, decide: Decide) -> bool | None:
    for one, two, swapped in ((gold, other, False), (other, gold, True)):
        if isinstance(one, Collection) and one.braced and len(one.items) == 1 and isinstance(two, Number | Expression):
            return _ordered(one.items[0], two, swapped, decide)
        if isinstance(one, Collection) and isinstance(two, Number):
            regrouped = _ungrouped(two, one)
            if regrouped is not None:
                return _ordered(one, regrouped, swapped, decide)
            return _decimal_comma(one, two)
        if isinstance(one, Collection) and isinstance(two, Region):
            return _as_regions(gold, other, decide) if one.braced else False
        if isinstance(one, Collection) and isinstance(two, Quantity):
            return _ordered(one, two.value, swapped, decide) if isinstance(two.value, Collection) else False
        if isinstance(one, Collection) and isinstance(two, Assignment):
            labelled = _labelled(two)
            return False if labelled is None else _ordered(one, labelled, swapped, decide)
    if not all(isinstance(answer, Collection | Tuple) for answer in (gold, other)):
        return False
    a, b = gold.items, other.items
    both_sets = all(isinstance(answer, Collection) and answer.braced for answer in (gold, other))
    if both_sets:
        return _same_sets(a, b, decide)
    if len(a) != len(b):
        return False
    labels = [_labels(items) for items in (a, b)]
    if (labels[0] is None) != (labels[1] is None):  # a = 4, b = 5 against 4, 5: in the order given
        named = labels[0] or labels[1]
        values = [tuple(i.value if isinstance(i, Assignment) else i for i in items) for items in (a, b)]
        if len(set(named)) > 1:
            return both([equal(x, y, decide) for x, y in zip(*values, strict=True)])
        a, b = values
    if isinstance(gold, Tuple) or isinstance(other, Tuple):
        if any(isinstance(answer, Collection) and answer.braced for answer in (gold, other)):
            return False
        return both([equal(x, y, decide) for x, y in zip(a, b, strict=True)])
    return _match(list(a), list(b), decide)


def _labelled(assignment: Assignment) -> Collection | None:
    """(a,b) = (4,5) as a = 4, b = 5; S = {1, 2} as {1, 2}."""
    labels = assignment.label.split(",")
    if isinstance(assignment.value, Tuple) and len(labels) == len(assignment.value.items):
        return Collection(tuple(Assignment(*pair) for pair in zip(labels, assignment.value.items, strict=True)), False)
    return assignment.value if isinstance(assignment.value, Collection) else None


def _labels(items: tuple[Answer, ...]) -> list[str] | None:
    return [item.label for item in items] if items and all(isinstance(i, Assignment) for i in items) else None


def _same_sets(a: tuple[Answer, ...], b: tuple[Answer, ...], decide: Decide) -> bool | None:
    """Each element of one equals some element of the other; repeated elements count once."""
    rest_a, rest_b = _without(a, b), _without(b, a)
    if max(len(rest_a), len(rest_b)) > _MAX_UNLIKE:
        return False
    outcomes = [either([equal(x, y, decide) for y in b]) for x in rest_a]
    return both(outcomes + [either([equal(x, y, decide) for x in a]) for y in rest_b])


def _without(items: tuple[Answer, ...], known: tuple[Answer, ...]) -> list[Answer]:
    known = set(known)
    return [item for item in dict.fromkeys(items) if item not in known]


def _match(a: list[Answer], b: list[Answer], decide: Decide) -> bool | None:
    """Pair the items of two lists off, whatever their order: those written alike first."""
    spare = Counter(b)
    unlike = []
    for item in a:
        if spare[item]:
            spare[item] -= 1
        else:
            unlike.append(item)
    rest = list(spare.elements())
    if len(rest) > _MAX_UNLIKE:
        return False
    unsure = False
    for item in unlike:
        for at, candidate in enumerate(rest):
            outcome = equal(item, candidate, decide)
            if outcome:
                del rest[at]
                break
            unsure = unsure or outcome is None
        else:
            return None if unsure else False
    return True


def _ungrouped(number: Number, collection: Collection) -> Answer | None:
    """100,200,300 met by a list of as many items is a list too."""
    parts = number.source.split(",")
    if len(parts) < 2 or len(parts) != len(collection.items):
        return None
    items = [read_number(part.strip()) for part in parts]
    return None if None in items else gather(items, False, "")


def _decimal_comma(collection: Collection, number: Number) -> bool:
    """1000,99 met by the decimal 1000.99 is that decimal."""
    text = collection.source.replace(" ", "") if " " not in collection.source.strip() else ""
    if collection.braced or number.grain is None or text.count(",") != 1:
        return False
    decimal = read_number(text.replace(",", "."))
    return decimal is not None and decimal.decimal == number.decimal


def _relations(gold: Assignment | Relation, other: Assignment | Relation, decide: Decide) -> bool | None:
    if isinstance(gold, Assignment) and isinstance(other, Assignment):
        if gold.label == other.label:
            return equal(gold.value, other.value, decide)
        if gold.tree is None or other.tree is None:
            return False
    sides = []
    for answer in (gold, other):
        if isinstance(answer, Assignment):
            if answer.tree is None:
                return False
            sides.append(("=", answer.tree))
        else:
            sides.append((answer.operator, answer.difference))
    if sides[0][0] != sides[1][0]:
        return False
    return proportional(sides[0][1], sides[1][1], sides[0][0])


def _as_regions(gold: Answer, other: Answer, decide: Decide) -> bool | None:
    a, b = as_region(gold), as_region(other)
    if a is None or b is None or (a.name and b.name and a.name != b.name):
        return False
    return regions.same(a, b, decide)


def _tuples(gold: Tuple, other: Tuple, decide: Decide) -> bool | None:
    if len(gold.items) != len(other.items) or (len(gold.items) == 2 and gold.bracket != other.bracket):
        return False
    return both([equal(a, b, decide) for a, b in zip(gold.items, other.items, strict=True)])


def _matrices(gold: Matrix, other: Matrix, decide: Decide) -> bool | None:
    if len(gold.rows) != len(other.rows) or len(gold.rows[0]) != len(other.rows[0]):
        return False
    pairs = [pair for rows in zip(gold.rows, other.rows, strict=True) for pair in zip(*rows, strict=True)]
    return both([equal(a, b, decide) for a, b in pairs])


def _texts(gold: Text, other: Text, decide: Decide) -> bool:
    return gold.words == other.words


def _based(gold: Based, other: Based, decide: Decide) -> bool:
    return gold == other


_SAME_KIND = {Tuple: _tuples, Matrix: _matrices, Ratio: same_ratios, Text: _texts, Based: _based}


def _is_fraction(answer: Answer) -> bool:
    return isinstance(answer, Number) and answer.grain is None and not answer.is_integer


def _across_kinds(gold: Answer, other: Answer, decide: Decide) -> bool | None:
    for one, two, swapped in ((gold, other, False), (other, gold, True)):
        if isinstance(one, Ratio) and _is_fraction(two) and len(one.parts) == 2 and not one.half:
            return decide(one.parts[0], product(two, one.parts[1]))  # 3:4 and 3/4
        if isinstance(one, Relation) and one.last is not None and isinstance(two, Number | Expression):
            return False  # 7 = 11a + c is not its right-hand side
        if isinstance(one, Matrix) and isinstance(two, Tuple) and {len(row) for row in one.rows} == {1}:
            column = Tuple(tuple(row[0] for row in one.rows), two.bracket)
            return _ordered(column, two, swapped, decide) if two.bracket == "(" else False
        if isinstance(one, Text) and isinstance(two, Expression):
            return _texts(one, Text(two.source.strip().lower()), decide)
    return False
