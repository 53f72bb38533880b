"""Number literals: integers, decimals, thousands, scientific notation, mixed numbers, repeating decimals."""

import re
from fractions import Fraction

from selfevolve.checker.kinds import Number

MAX_DIGITS = 4_000  # digits turned into an integer; longer numbers are compared as digit strings
_MAX_EXPONENT = 4_000

_LITERAL = re.compile(
    r"(?P<sign>[-+]?)\s*+(?:(?P<whole>[1-9][0-9]{0,2}+(?:(?:,[0-9]{3})++|(?: [0-9]{3})++)(?![0-9])|[0-9]++)"
    r"(?:\.(?P<part>[0-9]*+))?|\.(?P<only>[0-9]++))"
    r"(?:[eE](?P<e>[-+]?[0-9]{1,6}+)|\s*+(?:\*|[xX](?=\s*+10))\s*+10\s*+(?:\^|\*\*)\s*+(?:\{\s*+(?P<b>[-+]?[0-9]{1,6}+)\s*+\}"
    r"|\(\s*+(?P<p>[-+]?[0-9]{1,6}+)\s*+\)|(?P<n>-?[0-9]{1,6}+)))?"
)
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_MIXED = re.compile(
    r"(?P<sign>[-+]?)\s*+(?P<whole>[0-9]{1,15})(?:\s*+\\frac\s*+(?:\{\s*+(?P<a>[0-9]{1,15})\s*+\}|(?P<a1>[0-9]))\s*+"
    r"(?:\{\s*+(?P<b>[0-9]{1,15})\s*+\}|(?P<b1>[0-9]))|\s++(?P<c>[0-9]{1,15})\s*+/\s*+(?P<d>[0-9]{1,15}))"
)
_REPEATING = re.compile(
    r"(?P<sign>[-+]?)(?P<whole>[0-9]{0,300})\.(?P<fixed>[0-9]{0,300})"
    r"(?:\\overline\s*+\{\s*+(?P<a>[0-9]{1,300})\s*+\}|\\(?:overline|dot|bar)\s*+\{?(?P<c>[0-9])\}?|\((?P<b>[0-9]{1,300})\))"
    r"(?:\\ldots\s*)?"
)


_RUNNING_ON = re.compile(r"([-+]?[0-9]{0,60}\.[0-9]{1,60})\s*\\ldots\s*")


def integer(value: int, source: str = "") -> Number:
    return rational(Fraction(value), source)


def rational(value: Fraction, source: str = "") -> Number:
    """An exact number. Integers also get their decimal form, so that they meet decimals as strings."""
    if value.denominator == 1 and abs(value.numerator) < 10**18:
        return Number(_canonical("-" if value < 0 else "", str(abs(value.numerator)), 0), None, 0, value, source)
    return Number("", None, 0, value, source)


def _canonical(sign: str, digits: str, exponent: int) -> str:
    digits = digits.lstrip("0")
    shorter = digits.rstrip("0")
    if not shorter:
        return "0e0"
    return f"{'-' if sign == '-' else ''}{shorter}e{exponent + len(digits) - len(shorter)}"


def read_number(text: str) -> Number | None:
    """`text` as a number written in digits, else None. `text` is cleaned and stripped."""
    if _INTEGER.fullmatch(text):
        value = int(text)
        digits = text.lstrip("-0").rstrip("0")
        if not digits:
            return Number("0e0", None, 1, Fraction(0), text)
        zeros = len(text) - len(text.rstrip("0"))
        return Number(f"{'-' if value < 0 else ''}{digits}e{zeros}", None, 0, Fraction(value), text)
    match = _LITERAL.fullmatch(text)
    if match:
        return _from_literal(match, text)
    return _mixed(text) or _repeating(text) or _running_on(text)


def _from_literal(match: re.Match[str], text: str) -> Number | None:
    sign = match["sign"]
    whole = (match["whole"] or "").replace(",", "").replace(" ", "")
    part = match["part"] or match["only"] or ""
    power = match["e"] or match["b"] or match["p"] or match["n"]
    exponent = int(power) if power else 0
    written = (whole + part).lstrip("0")
    scientific = power is not None
    grain = None
    if part or scientific:
        grain = exponent - len(part)
    value = None
    if len(whole) + len(part) <= MAX_DIGITS and abs(exponent) <= _MAX_EXPONENT:
        value = Fraction(int(sign + (whole + part or "0")))
        shift = exponent - len(part)
        value = value * 10**shift if shift >= 0 else value / 10**-shift
        if not scientific and value.denominator == 1:
            grain = None  # 18.00 is the integer 18
    return Number(_canonical(sign, whole + part, exponent - len(part)), grain, len(written), value, text)


def _mixed(text: str) -> Number | None:
    match = _MIXED.fullmatch(text)
    if not match:
        return None
    top = int(match["a"] or match["a1"] or match["c"])
    bottom = int(match["b"] or match["b1"] or match["d"])
    if not 0 < top < bottom:
        return None
    value = int(match["whole"]) + Fraction(top, bottom)
    return rational(-value if match["sign"] == "-" else value, text)


def _repeating(text: str) -> Number | None:
    match = _REPEATING.fullmatch(text)
    if not match:
        return None
    block = match["a"] or match["b"] or match["c"]
    fixed = match["fixed"]
    value = Fraction(int((match["whole"] or "0") + fixed or "0"), 10 ** len(fixed))
    value += Fraction(int(block), (10 ** len(block) - 1) * 10 ** len(fixed))
    return rational(-value if match["sign"] == "-" else value, text)


def _running_on(text: str) -> Number | None:
    """0.333... is 1/3, 0.1212... is 4/33; 3.1415... is the decimal 3.1415."""
    match = _RUNNING_ON.fullmatch(text)
    if not match:
        return None
    repeated = re.fullmatch(r"(-?[0-9]{0,60}\.[0-9]{0,20}?)(?:([0-9])\2{2,}|([0-9]{2,12})\3+)", match[1])
    if repeated:
        return _repeating(f"{repeated[1]}({repeated[2] or repeated[3]})")
    return read_number(match[1])


def same_number(gold: Number, other: Number) -> bool | None:
    """Value equality, symmetric: exact, except that a decimal may stand for a number it cannot write out.

    Two exceptions, neither for integers. A decimal of 16 or more digits is a printed double: a number written in fewer
    is equal to it at double precision. A precise decimal (`is_precise`) equals a rational with no finite expansion when
    that rounds or truncates to it.
    """
    if gold.decimal and other.decimal and gold.decimal == other.decimal:
        return True
    a, b = gold.value, other.value
    if a is None or b is None:
        return False
    if a == b:
        return True
    if gold.is_integer or other.is_integer:
        return False
    for one, two in ((gold, other), (other, gold)):
        if one.grain is None:
            continue
        if one.digits >= 16 > two.digits and one.grain < 0 and abs(a - b) <= max(abs(a), abs(b)) / 10**15:
            return True
        if not two.decimal and is_precise(one) and not _terminates(two.value) and stands_for(one, two.value, True):
            return True
    return False


def is_precise(decimal: Number) -> bool:
    """Whether a decimal has digits enough to stand for 1/3 or pi: 5 significant and 4 after the point, or 8."""
    return decimal.digits >= 8 or (decimal.digits >= 5 and decimal.grain <= -4)


def _terminates(value: Fraction) -> bool:
    rest = value.denominator
    if rest.bit_length() > 4000:
        return False
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def stands_for(decimal: Number, exact: Fraction, truncation: bool) -> bool:
    """Whether `exact` gives `decimal` when rounded (halves either way) or, if asked, cut off at its last digit."""
    unit = Fraction(10) ** decimal.grain
    error = abs(exact - decimal.value)
    return 2 * error <= unit or (truncation and error < unit and abs(exact) > abs(decimal.value))


def states(gold: Number, other: Number) -> bool:
    """The one-way rule: `other`, finer than a decimal gold, is that gold at the precision the gold states.

    At least two significant digits must be stated; an integer, however written, states no precision.
    """
    if gold.grain is None or gold.digits < 2 or other.value is None or gold.value is None:
        return False
    if other.grain is not None and other.grain >= gold.grain:
        return False
    if other.value != 0 and (other.value > 0) != (gold.value > 0):
        return False
    return stands_for(gold, other.value, is_precise(gold))
