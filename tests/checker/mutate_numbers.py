"""Golds of the numeric kinds, with equal rewrites and wrong mutations (see `mutations`)."""

from fractions import Fraction
from math import gcd
from random import Random

Case = tuple[str, list[str], list[str]]


def _grouped(value: int, comma: str = ",") -> str:
    return f"{value:,}".replace(",", comma)


def _other_digit(text: str, rng: Random) -> str:
    """`text` with one digit changed, never into a leading zero."""
    places = [at for at, character in enumerate(text) if character.isdigit()]
    at = rng.choice(places)
    return text[:at] + rng.choice([d for d in "123456789" if d != text[at]]) + text[at + 1 :]


def integers(rng: Random) -> Case:
    value = rng.choice([rng.randrange(1, 100), rng.randrange(100, 10**6), rng.randrange(10**6, 10**14)])
    sign = rng.choice(["", "", "-"])
    gold = f"{sign}{value}"
    equal = [
        gold,
        f"{sign}{_grouped(value)}",
        f"{sign}{_grouped(value, ',' + chr(92) + '!')}",
        f"{sign}{_grouped(value, '{,}')}",
        f"{sign}{_grouped(value, ' ') if value >= 10**4 else value}",
        f"{gold}.0",
        f"{gold}.",
        f"{sign}0{value}",
        f"${gold}$",
        f"\\text{{{gold}}}",
        f"\\mathbf{{{gold}}}",
        f"x = {gold}",
        f"{sign or '+'}{value}",
        f"{gold.replace('-', '−')}",
        f"{gold}\\text{{ apples}}",
        f"\\frac{{{2 * int(gold)}}}{{2}}",
        f"{int(gold) - 3} + 3",
        f"({gold})",
        f"\\$ {gold}" if not sign else gold,
        f"{gold} \\text{{ cm}}",
        gold.translate(str.maketrans("0123456789", "０１２３４５６７８９")),
    ]
    wrong = [
        _other_digit(gold, rng),
        f"{-int(gold)}",
        f"{int(gold) + 1}",
        f"{int(gold) - 1}",
        f"{int(gold) * 100}",
        f"{gold}.5",
        f"{gold}0",
        f"\\frac{{1}}{{{gold}}}" if value > 1 else "2",
        f"{gold}, {int(gold) + 1}",
        f"\\pm {value}",
        f"{gold}x",
        f"\\sqrt{{{value}}}" if value > 1 else "3",
        f"{int(gold) + 1}\\text{{ apples}}",
    ]
    return gold, equal, wrong


def decimals(rng: Random) -> Case:
    places = rng.randrange(1, 6)
    digits = rng.randrange(10**places // 9 + 1, 10 ** (places + 3))
    digits += digits % 10 == 0
    whole, part = divmod(digits, 10**places)
    sign = rng.choice(["", "", "-"])
    gold = f"{sign}{whole}.{part:0{places}d}"
    value = Fraction(gold)
    exact = f"\\frac{{{value.numerator}}}{{{value.denominator}}}"
    equal = [
        gold,
        f"{gold}0",
        f"{gold}000",
        exact,
        f"{value.numerator}/{value.denominator}",
        f"${gold}$",
        f"x = {gold}",
        f"{sign}{digits} \\times 10^{{{-places}}}",
        f"{sign}{digits}e-{places}",
        f"{sign}{_grouped(whole)}.{part:0{places}d}",
        f"\\${gold}" if not sign else gold,
        f"{gold} meters",
    ]
    wrong = [
        f"{sign}{whole}.{_other_digit(f'{part:0{places}d}', rng)}",
        _other_digit(gold, rng),
        f"{'' if sign else '-'}{whole}.{part:0{places}d}",
        f"{sign}{digits * 100} \\times 10^{{{-places}}}",
        f"{sign}{digits} \\times 10^{{{places}}}",
        f"{sign}{digits}",
        f"{value + 1}",
        f"{sign}{whole}",
        f"{sign}{digits + 1}e-{places}",
        f"\\frac{{{value.numerator + 1}}}{{{value.denominator}}}",
    ]
    return gold, equal, wrong


def rationals(rng: Random) -> Case:
    bottom = rng.randrange(2, 60)
    top = rng.choice([n for n in range(1, 200) if gcd(n, bottom) == 1])
    sign = rng.choice(["", "", "-"])
    value = Fraction(top, bottom)
    gold = f"{sign}\\frac{{{top}}}{{{bottom}}}"
    whole, rest = divmod(top, bottom)
    equal = [
        gold,
        f"{sign}\\dfrac{{{top}}}{{{bottom}}}",
        f"{sign}{top}/{bottom}",
        f"{sign}\\frac{{{3 * top}}}{{{3 * bottom}}}",
        f"\\frac{{{sign}{top}}}{{{bottom}}}",
        f"{sign}{float(value):.12g}",
        f"{sign}{top} \\div {bottom}",
        f"{sign}({top}/{bottom})",
        f"x={sign}\\tfrac{{{top}}}{{{bottom}}}",
        f"{sign}\\frac {top} {bottom}" if top < 10 and bottom < 10 else gold,
        f"{sign}\\frac{top}{bottom}" if top < 10 and bottom < 10 else gold,
    ]
    if whole:
        equal += [f"{sign}{whole}\\frac{{{rest}}}{{{bottom}}}", f"{sign}{whole} {rest}/{bottom}"]
    wrong = [
        f"{sign}\\frac{{{top + 1}}}{{{bottom}}}",
        f"{sign}\\frac{{{top}}}{{{bottom + 1}}}",
        f"{'' if sign else '-'}\\frac{{{top}}}{{{bottom}}}",
        f"{sign}\\frac{{{bottom}}}{{{top}}}" if top != bottom else "0",
        f"{sign}{float(value):.2f}" if Fraction(f"{float(value):.2f}") != value else f"{top}",
        f"{sign}\\frac{{{100 * top}}}{{{bottom}}}",
        f"{sign}{top}",
        f"{sign}{top}:{bottom}1",
    ]
    if whole:
        wrong += [f"{sign}{whole + 1}\\frac{{{rest}}}{{{bottom}}}", f"{sign}\\frac{{{rest}}}{{{bottom}}}"]
    return gold, equal, wrong


def percents(rng: Random) -> Case:
    value = rng.randrange(2, 400)
    gold = f"{value}\\%"
    equal = [gold, f"{value}%", f"{value} percent", f"{value}\\text{{ percent}}", f"{value}", f"{value / 100:.2f}"]
    equal += [f"\\frac{{{value}}}{{100}}", f"\\frac{{{2 * value}}}{{2}}\\%", f"{value}.0\\%"]
    wrong = [f"{value + 1}\\%", f"{100 * value}\\%", f"-{value}\\%", f"{100 * value}", f"{value + 1}", f"{value}.5\\%"]
    return gold, equal, wrong


def scientific(rng: Random) -> Case:
    digits, exponent = rng.randrange(11, 1000), rng.choice([-1, 1]) * rng.randrange(3, 40)
    digits += digits % 10 == 0
    mantissa = f"{str(digits)[0]}.{str(digits)[1:]}"
    gold = f"{mantissa}e{exponent}"
    equal = [
        gold,
        f"{mantissa} \\times 10^{{{exponent}}}",
        f"{mantissa} \\cdot 10^{{{exponent}}}",
        f"{mantissa}E{exponent}",
        f"{mantissa}*10^({exponent})",
        f"{digits} \\times 10^{{{exponent - len(str(digits)) + 1}}}",
        f"{mantissa} × 10^{{{exponent}}}",
        f"{mantissa}0\\times 10^{{{exponent}}}",
    ]
    wrong = [
        f"{mantissa}e{exponent + 1}",
        f"{mantissa}e{-exponent}",
        f"{mantissa} \\times 10^{{{exponent - 1}}}",
        f"{_other_digit(mantissa, rng)}e{exponent}",
        f"-{mantissa}e{exponent}",
        f"{mantissa}e{exponent + 2}",
        "0",
        mantissa,
    ]
    return gold, equal, wrong


def based(rng: Random) -> Case:
    base = rng.randrange(3, 10)
    digits = str(rng.randrange(1, base)) + "".join(str(rng.randrange(base)) for _ in range(rng.randrange(1, 5)))
    gold = f"{digits}_{base}"
    equal = [
        gold,
        f"{digits}_{{{base}}}",
        f"({digits})_{{{base}}}",
        f"{digits} _ {base}",
        f"{digits}_{{\\text{{{base}}}}}",
    ]
    wrong = [f"{digits}_{base + 1}", f"{digits}{base}", f"{_other_digit(digits, rng)}_{base}", f"{digits}1_{base}"]
    return gold, equal, wrong


def times(rng: Random) -> Case:
    hour, minute = rng.randrange(1, 12), rng.randrange(60)
    gold = f"{hour}:{minute:02d} p.m."
    equal = [
        gold,
        f"{hour}:{minute:02d} pm",
        f"{hour}:{minute:02d} PM",
        f"{hour + 12}:{minute:02d}",
        f"{hour}:{minute:02d}",
    ]
    equal += [f"{hour}:{minute:02d}\\text{{ p.m.}}"]
    wrong = [f"{hour}:{minute:02d} a.m.", f"{hour}:{(minute + 1) % 60:02d} p.m.", f"{hour % 11 + 1}:{minute:02d} p.m."]
    wrong += [f"{hour}", f"{minute}"]
    return gold, equal, wrong


def ratios(rng: Random) -> Case:
    a = rng.randrange(2, 9)
    b = rng.choice([n for n in range(1, 10) if n != a and gcd(n, a) == 1])
    gold = f"{a}:{b}"
    equal = [gold, f"{a} : {b}", f"{a * 7}:{b * 7}" if b * 7 < 10 else gold, f"x:y = {a}:{b}"]
    wrong = [f"{b}:{a}", f"{a + 1}:{b}", f"{a}:{b + 10}", f"{a}:{b}:1", f"{a}{b}"]
    return gold, equal, wrong


NUMERIC = (integers, decimals, rationals, percents, scientific, based, times, ratios)
