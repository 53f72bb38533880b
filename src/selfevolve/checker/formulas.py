"""Numbers and formulas by their values, without computer algebra."""

from fractions import Fraction

from selfevolve.checker.evaluate import agree, close, numeric
from selfevolve.checker.exact import TooLarge, Undefined
from selfevolve.checker.kinds import Answer, Expression, Number, Opaque
from selfevolve.checker.literals import is_precise, same_number, stands_for, states
from selfevolve.checker.trees import canonical, has_bars, has_infinity


def numerically(gold: Answer, other: Answer) -> bool | None:
    """Numbers and formulas by their values at fixed points, to 50 digits and more; None where there is no value."""
    if isinstance(gold, Opaque) or isinstance(other, Opaque):
        return None
    if isinstance(gold, Number) and isinstance(other, Number):
        return same_number(gold, other) or states(gold, other)
    if isinstance(gold, Expression) and isinstance(other, Expression):
        return _formulas(gold, other)
    expression, number = (gold, other) if isinstance(gold, Expression) else (other, gold)
    if expression.names or number.value is None:
        return _depends_on_names(expression, number)
    tree = ("n", number.value)
    same = values_agree(expression.tree, tree, False)
    if same is not False or number.grain is None:
        return same
    return _decimal_of(number, expression, number is gold)


def _formulas(gold: Expression, other: Expression) -> bool | None:
    if gold.tree == other.tree:
        return True
    signed = has_bars(gold.tree) or has_bars(other.tree)
    same = values_agree(gold.tree, other.tree, False)
    return values_agree(gold.tree, other.tree, True) if same and signed else same


def _depends_on_names(expression: Expression, number: Number) -> bool | None:
    if number.value is None:
        return False
    return values_agree(expression.tree, ("n", number.value), False)


def values_agree(a: tuple, b: tuple, signed: bool) -> bool | None:
    try:
        same = agree(a, b, signed)
    except TooLarge:
        return canonical(a) == canonical(b)
    if same is None and canonical(a) == canonical(b):
        return True
    return False if same is None and (has_infinity(a) or has_infinity(b)) else same


def _decimal_of(number: Number, expression: Expression, is_gold: bool) -> bool:
    """A decimal for an irrational constant: enough digits, or the gold's own statement."""
    try:
        value = numeric(expression.tree)
    except (TooLarge, Undefined):
        return False
    if getattr(value, "imag", 0) != 0 or not value or abs(value.real._mpf_[2]) > 20_000:
        return False
    exact = _fraction(value.real)
    if number.digits >= 16 and number.grain < 0:
        return abs(exact - number.value) <= abs(exact) / 10**15
    if is_precise(number) and stands_for(number, exact, True):
        return True
    return is_gold and number.digits >= 2 and stands_for(number, exact, is_precise(number))


def _fraction(value) -> Fraction:
    sign, mantissa, exponent, _ = value._mpf_
    result = Fraction(int(mantissa)) * Fraction(2) ** exponent
    return -result if sign else result


def proportional(a: tuple, b: tuple, operator: str) -> bool | None:
    """Whether a OP 0 and b OP 0 are one relation up to a constant factor (a positive one for < and <=)."""
    decided = None
    first = None
    for point in range(4):
        try:
            x, y = numeric(a, point), numeric(b, point)
            if first is None:
                if not x or not y:
                    return False
                if operator in ("<", "<=") and not (getattr(x / y, "imag", 0) == 0 and (x / y).real > 0):
                    return False
                first = point
                continue
            same = close(
                lambda high, p=point, q=first: numeric(a, p, high) * numeric(b, q, high),
                lambda high, p=point, q=first: numeric(b, p, high) * numeric(a, q, high),
            )
        except Undefined:
            continue
        except TooLarge:
            return canonical(a) == canonical(b)
        if not same:
            return False
        decided = True
    return decided
