"""Values of trees to many digits, at fixed points for their names, bounded by construction.

Nothing here can run long: precision is fixed, arguments of functions and sizes of powers are capped before they are
evaluated, and trees are capped in tokens by the parser. What exceeds a cap raises `TooLarge`; what has no value
`Undefined`.
"""

import hashlib
from functools import lru_cache

import mpmath
from mpmath.libmp import ComplexResult, NoConvergence

from selfevolve.checker.exact import MAX_BITS, TooLarge, Undefined, bits, is_odd_root
from selfevolve.checker.trees import is_product, names_of

DIGITS = 50
POINTS = 3

_LOW, _HIGH = mpmath.MPContext(), mpmath.MPContext()
_LOW.dps, _HIGH.dps = DIGITS, 3 * DIGITS


@lru_cache(maxsize=4096)
def digest(name: str, point: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{point}:{name}".encode("utf-8", "replace"), digest_size=24).digest(), "big")


def _at(ctx: mpmath.MPContext, name: str, point: int, signed: bool):
    """The value that stands for a name at a point: fixed, generic, positive (of either sign if `signed`)."""
    raw = digest(name, point)
    value = ctx.mpf(raw) / 2**192 * 2 + ctx.mpf(1) / 5
    return -value if signed and raw & 1 else value


def numeric(tree: tuple, point: int = 0, high: bool = False, signed: bool = False):
    """Value of `tree` at a fixed point, an mpf or mpc of 50 (150 if `high`) digits. Raises TooLarge, Undefined."""
    ctx = _HIGH if high else _LOW
    try:
        return _numeric(tree, ctx, point, signed)
    except (ZeroDivisionError, ValueError, OverflowError, ComplexResult, NoConvergence) as error:
        raise Undefined(str(error)) from None


def _numeric(tree: tuple, ctx, point: int, signed: bool):
    kind = tree[0]
    if kind == "n":
        if bits(tree[1]) > MAX_BITS:
            raise TooLarge
        return ctx.mpf(tree[1].numerator) / tree[1].denominator
    if kind == "s":
        return _at(ctx, tree[1], point, signed)
    if kind == "k":
        if tree[1] == "inf":
            raise Undefined("infinity in a formula")
        return ctx.pi + 0 if tree[1] == "pi" else ctx.e + 0 if tree[1] == "e" else ctx.mpc(0, 1)
    if kind == "-":
        return -_numeric(tree[1], ctx, point, signed)
    if kind == "+":
        total = ctx.mpf(0)
        for part in tree[1]:
            total = total + _numeric(part, ctx, point, signed)
        return total
    if kind == "*":
        product = ctx.mpf(1)
        for part in tree[1]:
            product = product * _numeric(part, ctx, point, signed)
        return product
    if kind == "/":
        return _numeric(tree[1], ctx, point, signed) / _numeric(tree[2], ctx, point, signed)
    if kind == "^":
        base, power = _numeric(tree[1], ctx, point, signed), _numeric(tree[2], ctx, point, signed)
        if not ctx.im(base) and base < 0 and is_odd_root(tree[2]):
            return -_numeric_power(ctx, -base, power)
        return _numeric_power(ctx, base, power)
    if kind == "!":
        value = _numeric(tree[1], ctx, point, signed)
        _cap(ctx, value, 10**12)
        return ctx.factorial(value)
    if kind == "pm":
        raise Undefined("a sign that is not chosen")
    values = [_numeric(arg, ctx, point, signed) for arg in tree[2]]
    return _FUNCTIONS[tree[1]](ctx, *values)


def _cap(ctx, value, limit) -> None:
    if abs(value) > limit:
        raise TooLarge


def _numeric_power(ctx, base, power):
    if not base:
        if not power:
            return ctx.mpf(1)
        if ctx.re(power) > 0:
            return ctx.mpf(0)
        raise Undefined("division by zero")
    # the size of the result, in bits, before it is made; its exponent must stay a small integer
    size = abs(power) * (abs(ctx.mag(base)) + 1)
    if size > 10**15 or abs(power) > 10**15:
        raise TooLarge
    return ctx.power(base, power)


def _exp(ctx, value):
    _cap(ctx, value, 10**12)
    return ctx.exp(value)


def _log(ctx, value, base=None):
    if not value or (base is not None and (not base or base == 1)):
        raise Undefined("logarithm")
    return ctx.log(value) if base is None else ctx.log(value) / ctx.log(base)


def _bounded(name: str, limit: int):
    def apply(ctx, value):
        _cap(ctx, value, limit)
        return getattr(ctx, name)(value)

    return apply


def _step(name: str):
    def apply(ctx, value):
        if ctx.im(value):
            raise Undefined("floor of a complex number")
        _cap(ctx, value, 10**40)
        return getattr(ctx, name)(ctx.re(value))

    return apply


def _binom(ctx, n, k):
    _cap(ctx, n, 10**9)
    _cap(ctx, k, 10**9)
    return ctx.binomial(n, k)


_FUNCTIONS = {
    **{name: _bounded(name, 10**15) for name in ["sin", "cos", "tan", "cot", "sec", "csc"]},
    **{name: _bounded(name, 10**9) for name in ["sinh", "cosh", "tanh", "coth"]},
    "exp": _exp,
    "log": _log,
    "ln": _log,
    "lg": lambda ctx, value: _log(ctx, value, ctx.mpf(10)),
    "sqrt": lambda ctx, value: ctx.sqrt(value),
    "abs": lambda ctx, value: abs(value),
    "floor": _step("floor"),
    "ceil": _step("ceil"),
    "binom": _binom,
    **{
        f"arc{name}": _bounded(f"a{name}", 10**300) for name in ["sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh"]
    },
}


_TINY, _NEAR = _LOW.mpf(10) ** -20, _LOW.mpf(10) ** -15
_EPSILON_LOW, _EPSILON_HIGH = _LOW.mpf(10) ** -DIGITS, _HIGH.mpf(10) ** -DIGITS
_LARGE = _LOW.mpf(10) ** 25
_BEYOND = _LOW.mpf(10) ** (3 * DIGITS - 15)


def agree(a: tuple, b: tuple, signed: bool = False) -> bool | None:
    """Whether two trees have equal values at every point (one, if they name nothing); None if no point gives both.

    Raises TooLarge, also where equal digits would prove nothing: sums of numbers with more digits than are computed.
    """
    points = 2 * POINTS if names_of(a) or names_of(b) else 1
    seen = 0
    for point in range(points):
        try:
            same = close(*(lambda high, tree=tree, at=point: numeric(tree, at, high, signed) for tree in (a, b)))
        except Undefined:
            continue
        if same is None:
            if not (is_product(a) and is_product(b)):
                raise TooLarge
        elif not same:
            return False
        seen += 1
        if seen == POINTS:
            break
    return True if seen else None


def close(first, second) -> bool | None:
    """Equality of two values given as functions of the precision: 50 digits, and 150 where those leave a doubt.

    None: equal in all 150 digits, but of integers with more.
    """
    x, y = first(False), second(False)
    difference, size = abs(x - y), max(abs(x), abs(y))
    if difference == 0 and size < _LARGE:
        return True
    if size > _TINY and difference > size * _NEAR:
        return False
    # Nearly equal, or both nearly zero: at three times the digits a rounding error shrinks and a true difference stays.
    finer = abs(first(True) - second(True))
    if size >= _LARGE:
        same = finer <= _HIGH.mpf(size) * _HIGH.mpf(10) ** (10 - 3 * DIGITS)
        return None if same and size > _BEYOND else same
    return finer <= (difference + _EPSILON_LOW * size) * _EPSILON_HIGH
