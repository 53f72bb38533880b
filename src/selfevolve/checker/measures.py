"""Numbers with units, ratios and times of day."""

from fractions import Fraction

from selfevolve.checker.formulas import values_agree
from selfevolve.checker.kinds import Answer, Expression, Number, Quantity, Ratio
from selfevolve.checker.literals import rational, read_number
from selfevolve.checker.outcomes import Decide, Same, both, either
from selfevolve.checker.scalars import read_scalar
from selfevolve.checker.units import comparable


def unit_omitted(quantity: Quantity, bare: Answer, same: Same) -> bool | None:
    """A number without a unit may leave the unit out; 28% is also 0.28, and 180 degrees also pi.

    same: compares a value of the quantity with the bare one, the gold of the two first.
    """
    outcomes = [same(quantity.value, bare)]
    scalars = Number | Expression
    if isinstance(quantity.value, scalars) and isinstance(bare, scalars) and outcomes[0] is not True:
        if quantity.bases == frozenset({("%", 1)}):
            outcomes.append(same(_scaled(quantity.value, ("n", Fraction(1, 100))), bare))
        elif quantity.bases == frozenset({("°", 1)}) and isinstance(bare, Expression):
            radian = ("/", ("k", "pi"), ("n", Fraction(180)))
            outcomes.append(same(_scaled(quantity.value, radian), bare))
    if isinstance(bare, Expression) and bare.names:  # 5 m where m is a name: the whole is a formula
        formula = read_scalar(quantity.source)
        outcomes.append(formula is not None and same(formula, bare))
    return either(outcomes)


def _scaled(value: Number | Expression, factor: tuple) -> Answer:
    if isinstance(value, Number):
        if value.value is None:
            return value
        if factor[0] == "n":
            number = read_number(f"{value.source.rstrip('.')}e-2") if value.grain is not None else None
            return number or rational(value.value * factor[1])
        return Expression(("*", (("n", value.value), factor)), frozenset())
    return Expression(("*", (value.tree, factor)), value.names)


def same_quantities(gold: Quantity, other: Quantity, same: Same) -> bool | None:
    """Equal in one unit; units of one dimension convert by exact factors."""
    if not comparable(gold.bases, other.bases):
        return False
    if gold.factor == other.factor:
        return same(gold.value, other.value)
    scalars = Number | Expression
    if not (isinstance(gold.value, scalars) and isinstance(other.value, scalars)):
        return False
    # exactly equal after conversion; what a decimal states is not carried across units
    a = _scaled_tree(gold)
    b = _scaled_tree(other)
    if isinstance(gold.value, Number) and isinstance(other.value, Number):
        if gold.value.value is None or other.value.value is None:
            return False
        return gold.value.value * gold.factor == other.value.value * other.factor
    return values_agree(a, b, False)


def _scaled_tree(quantity: Quantity) -> tuple:
    value = quantity.value
    tree = value.tree if isinstance(value, Expression) else ("n", value.value or Fraction(0))
    return ("*", (tree, ("n", quantity.factor)))


def same_ratios(gold: Ratio, other: Ratio, decide: Decide) -> bool | None:
    """Times of day by the clock; ratios up to a common factor."""
    if gold.clock and other.clock:
        return _same_time(gold, other)
    if gold.half or other.half or len(gold.parts) != len(other.parts):
        return False
    # a:b = c:d exactly when ad = bc, for each part against the first
    cross = []
    for a, b in zip(gold.parts[1:], other.parts[1:], strict=True):
        cross.append(decide(product(gold.parts[0], b), product(other.parts[0], a)))
    return both(cross)


def product(a: Answer, b: Answer) -> Answer:
    """The product of two scalars."""
    if isinstance(a, Number) and isinstance(b, Number) and a.value is not None and b.value is not None:
        return rational(a.value * b.value)
    trees = tuple(x.tree if isinstance(x, Expression) else ("n", x.value or Fraction(0)) for x in (a, b))
    names = frozenset().union(*(x.names for x in (a, b) if isinstance(x, Expression)))
    return Expression(("*", trees), names)


def _same_time(gold: Ratio, other: Ratio) -> bool:
    """3:30 p.m. is 15:30, and 3:30 where the half of the day is left out."""
    times = []
    for ratio in (gold, other):
        hour, *rest = (int(part.value) for part in ratio.parts)
        if ratio.half:
            hour = hour % 12 + 12 * (ratio.half == "pm")
        times.append((hour, *rest, *(0 for _ in range(3 - len(ratio.parts)))))
    (a, *rest_a), (b, *rest_b) = times
    bare = {ratio.half: hour for ratio, hour in ((gold, a), (other, b))}.get("")
    left_out = gold.half != other.half and bare is not None and 1 <= bare <= 12
    return rest_a == rest_b and (a == b or (left_out and a % 12 == b % 12))
