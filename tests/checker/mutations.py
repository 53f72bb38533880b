"""Labelled pairs by construction: a gold, answers equal to it by rewriting, and wrong ones by mutation.

Each maker takes a `random.Random` and returns (gold, equal answers, wrong answers). NUMERIC names the kinds on which no
false accept is tolerated.
"""

from collections.abc import Iterator
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


def surds(rng: Random) -> Case:
    a, b = rng.randrange(2, 30), rng.choice([2, 3, 5, 6, 7, 10, 11, 13, 14, 15, 17])
    gold = f"{a}\\sqrt{{{b}}}"
    equal = [
        gold,
        f"\\sqrt{{{a * a * b}}}",
        f"\\sqrt{{{b}}} \\cdot {a}",
        f"{a}*sqrt({b})",
        f"{a} \\times \\sqrt {{{b}}}",
        f"{a}√{b}",
        f"{a} \\cdot {b}^{{1/2}}",
        f"\\frac{{{a * b}}}{{\\sqrt{{{b}}}}}",
        f"{a * b**0.5:.14g}",
        f"x = {a}\\sqrt{{{b}}}",
    ]
    wrong = [
        f"{a + 1}\\sqrt{{{b}}}",
        f"{a}\\sqrt{{{b + 4}}}",
        f"-{a}\\sqrt{{{b}}}",
        f"\\sqrt[{a}]{{{b}}}",
        f"{a * b}",
        f"{a}\\sqrt[3]{{{b}}}",
        f"{a * b**0.5:.2f}",
        f"\\sqrt{{{a * b}}}",
        f"\\pm {a}\\sqrt{{{b}}}",
        f"{100 * a}\\sqrt{{{b}}}",
    ]
    return gold, equal, wrong


def multiples_of_pi(rng: Random) -> Case:
    a, b = rng.randrange(1, 20), rng.randrange(2, 13)
    gold = f"\\frac{{{a}\\pi}}{{{b}}}"
    equal = [
        gold,
        f"\\frac{{{a}}}{{{b}}}\\pi",
        f"{a}\\pi/{b}",
        f"{a}*pi/{b}",
        f"\\frac{{{a}π}}{{{b}}}",
        f"\\frac{{{2 * a}\\pi}}{{{2 * b}}}",
    ]
    wrong = [
        f"\\frac{{{a + 1}\\pi}}{{{b}}}",
        f"\\frac{{{a}}}{{{b}}}",
        f"-\\frac{{{a}\\pi}}{{{b}}}",
        f"\\frac{{{a}\\pi}}{{{b + 1}}}",
    ]
    wrong += [f"\\frac{{{a}\\pi^2}}{{{b}}}"]
    return gold, equal, wrong


def polynomials(rng: Random) -> Case:
    a, b = rng.sample(range(1, 12), 2)
    x, y = rng.sample("xytnk", 2)
    gold = f"{x}^2+{a + b}{x}+{a * b}"
    equal = [
        gold,
        f"({x}+{a})({x}+{b})",
        f"({x}+{b}) \\cdot ({x}+{a})",
        f"{a * b} + {a + b}{x} + {x}^{{2}}",
        f"{x}^2 + {a}{x} + {b}{x} + {a * b}",
        f"{x}({x}+{a + b})+{a * b}",
        f"{x}**2+{a + b}*{x}+{a * b}",
        f"\\left({x} + {a}\\right)\\left({x} + {b}\\right)",
        f"\\frac{{2{x}^2+{2 * (a + b)}{x}+{2 * a * b}}}{{2}}",
    ]
    wrong = [
        f"{x}^2-{a + b}{x}+{a * b}",
        f"{x}^2+{a + b + 1}{x}+{a * b}",
        f"{x}^2+{a + b}{x}+{a * b + 1}",
        f"{y}^2+{a + b}{y}+{a * b}",
        f"({x}-{a})({x}-{b})",
        f"{x}^3+{a + b}{x}+{a * b}",
        f"{a + b}{x}+{a * b}",
        f"-({x}+{a})({x}+{b})",
        f"({x}+{a}), ({x}+{b})",
    ]
    return gold, equal, wrong


def transcendental(rng: Random) -> Case:
    a, b = rng.randrange(2, 9), rng.randrange(2, 9)
    t = rng.choice("tx")
    gold, equal, wrong = rng.choice(
        [
            (
                f"\\sin({2 * a}{t})",
                [
                    f"2\\sin({a}{t})\\cos({a}{t})",
                    f"\\sin {2 * a}{t}",
                    f"sin({2 * a}*{t})",
                    f"\\sin\\left({a}{t}+{a}{t}\\right)",
                ],
                [f"\\sin({a}{t})", f"\\cos({2 * a}{t})", f"-\\sin({2 * a}{t})", f"2\\sin({a}{t})", f"\\sin^2({a}{t})"],
            ),
            (
                f"e^{{-{a}{t}}}/{b}",
                [
                    f"\\frac{{1}}{{{b}}}e^{{-{a}{t}}}",
                    f"\\frac{{e^{{-{a}{t}}}}}{{{b}}}",
                    f"\\frac{{1}}{{{b}e^{{{a}{t}}}}}",
                    f"exp(-{a}*{t})/{b}",
                ],
                [
                    f"e^{{{a}{t}}}/{b}",
                    f"e^{{-{a + 1}{t}}}/{b}",
                    f"-e^{{-{a}{t}}}/{b}",
                    f"e^{{-{a}{t}}}",
                    f"e^{{-{a}/{b}{t}}}",
                ],
            ),
            (
                f"\\ln {a} + \\ln {b}",
                [f"\\ln {a * b}", f"\\ln({a * b})", f"\\log({a})+\\log({b})", f"ln({a * b})"],
                [f"\\ln {a + b}", f"\\ln {a} \\ln {b}", f"\\ln {a} - \\ln {b}", f"{a * b}"],
            ),
            (
                f"\\frac{{{a}}}{{{t}+{b}}}",
                [
                    f"{a}/({t}+{b})",
                    f"\\frac{{{a}}}{{{b}+{t}}}",
                    f"\\frac{{{2 * a}}}{{2{t}+{2 * b}}}",
                    f"{a}({t}+{b})^{{-1}}",
                ],
                [f"\\frac{{{a}}}{{{t}-{b}}}", f"\\frac{{{a}}}{{{t}}}+{b}", f"{a}/{t}+{b}", f"\\frac{{{t}+{b}}}{{{a}}}"],
            ),
        ]
    )
    return gold, [gold, *equal], wrong


def complexes(rng: Random) -> Case:
    a, b = rng.randrange(1, 30), rng.randrange(2, 30)
    gold = f"{a}+{b}i"
    equal = [gold, f"{b}i+{a}", f"{a}.0 + {b}.0i", f"{a} + i{b}", f"{a} - (-{b})i", f"i \\cdot {b} + {a}"]
    wrong = [
        f"{a}-{b}i",
        f"-{a}+{b}i",
        f"{a + 1}+{b}i",
        f"{a}+{b + 1}i",
        f"{a + b}",
        f"{b}+{a}i" if a != b else "1",
        f"{a}+{b}",
    ]
    return gold, equal, wrong


def intervals(rng: Random) -> Case:
    a = rng.randrange(-20, 20)
    b = a + rng.randrange(1, 30)
    left, right = rng.choice([("[", ")"), ("(", "]"), ("[", "]"), ("(", ")")])
    gold = f"{left}{a},{b}{right}"
    signs = {"[": "\\le", "(": "<", "]": "\\le", ")": "<"}
    equal = [
        gold,
        f"{left} {a} , {b} {right}",
        f"\\left{left}{a}, {b}\\right{right}",
        f"x \\in {left}{a},{b}{right}",
        f"{a} {signs[left]} x {signs[right]} {b}",
        f"{left}\\frac{{{2 * a}}}{{2}}, {b}.0{right}",
    ]
    flip = {"[": "(", "(": "[", "]": ")", ")": "]"}
    wrong = [
        f"{flip[left]}{a},{b}{right}",
        f"{left}{a},{b}{flip[right]}",
        f"{left}{a},{b + 1}{right}",
        f"{left}{a - 1},{b}{right}",
        f"{left}{b},{a}{right}",
        f"{left}{a},\\infty)",
        f"\\{{{a},{b}\\}}",
        f"{left}{-b},{-a}{right}" if a + b else f"{a}",
    ]
    return gold, equal, wrong


def unions(rng: Random) -> Case:
    a, b, c = sorted(rng.sample(range(-20, 20), 3))
    gold = f"(-\\infty,{a})\\cup({b},{c}]"
    equal = [gold, f"({b},{c}] \\cup (-\\infty, {a})", f"(-∞,{a}) ∪ ({b},{c}]", f"x<{a} \\text{{ or }} {b}<x\\le {c}"]
    wrong = [
        f"(-\\infty,{a}]\\cup({b},{c}]",
        f"(-\\infty,{a})",
        f"({b},{c}]",
        f"(-\\infty,{a})\\cup({b},{c})",
        f"(-\\infty,{c}]",
    ]
    return gold, equal, wrong


def tuples(rng: Random) -> Case:
    items = rng.sample(range(-30, 31), rng.randrange(2, 5))
    gold = "(" + ",".join(map(str, items)) + ")"
    rotated = items[1:] + items[:1]
    equal = [
        gold,
        "(" + ", ".join(map(str, items)) + ")",
        "\\left( " + ", ".join(map(str, items)) + " \\right)",
        "(" + ", ".join(f"{i}.0" for i in items) + ")",
        "(" + ",".join(f"\\frac{{{3 * i}}}{{3}}" for i in items) + ")",
        f"({','.join('pqrs'[: len(items)])}) = {gold}",
        f"$({', '.join(map(str, items))})$",
    ]
    changed = items[:-1] + [items[-1] + 1]
    wrong = [
        "(" + ",".join(map(str, rotated)) + ")",
        "(" + ",".join(map(str, changed)) + ")",
        "(" + ",".join(map(str, items[:-1])) + ")",
        "(" + ",".join(map(str, [*items, 0])) + ")",
        "\\{" + ",".join(map(str, items)) + "\\}",
        "(" + ",".join(map(str, [-items[0] or 1, *items[1:]])) + ")",
    ]
    return gold, equal, wrong


def sets(rng: Random) -> Case:
    items = rng.sample(range(-30, 31), rng.randrange(2, 6))
    gold = "\\{" + ",".join(map(str, items)) + "\\}"
    shuffled = rng.sample(items, len(items))
    equal = [
        gold,
        "\\{" + ", ".join(map(str, shuffled)) + "\\}",
        "\\left\\{" + ", ".join(map(str, sorted(items))) + "\\right\\}",
        ", ".join(map(str, shuffled)),
        "\\{" + ", ".join(f"{i}.0" for i in shuffled) + "\\}",
        ", ".join(map(str, shuffled[:-1])) + f" \\text{{ and }} {shuffled[-1]}",
        "\\{" + ",".join(map(str, [*items, items[0]])) + "\\}",
    ]
    changed = [*shuffled[:-1], 31]
    wrong = [
        "\\{" + ",".join(map(str, changed)) + "\\}",
        "\\{" + ",".join(map(str, items[:-1])) + "\\}",
        "\\{" + ",".join(map(str, [*items, 31])) + "\\}",
        "(" + ",".join(map(str, items)) + ")",
        str(items[0]),
        "\\emptyset",
    ]
    return gold, equal, wrong


def lists(rng: Random) -> Case:
    items = rng.sample(range(1, 60), rng.randrange(2, 5))
    gold = ", ".join(map(str, items))
    shuffled = rng.sample(items, len(items))
    equal = [gold, ", ".join(map(str, shuffled)), ",".join(map(str, shuffled)), "; ".join(map(str, shuffled))]
    equal += [", ".join(map(str, shuffled[:-1])) + f", and {shuffled[-1]}"]
    if len(items) == 2:
        equal += [
            f"{items[0]} or {items[1]}",
            f"x={items[0]} \\text{{ or }} x={items[1]}",
            f"x = {items[1]}, {items[0]}",
        ]
    wrong = [
        ", ".join(map(str, [*shuffled[:-1], 77])),
        ", ".join(map(str, items[1:])),
        f"{gold}, 99",
        "".join(map(str, items)),
    ]
    wrong += [", ".join(str(-i) for i in items), str(sum(items))]
    return gold, equal, wrong


def signs(rng: Random) -> Case:
    a, b = rng.randrange(1, 20), rng.choice([2, 3, 5, 7, 11])
    gold = f"{a} \\pm \\sqrt{{{b}}}"
    equal = [
        gold,
        f"{a}+\\sqrt{{{b}}}, {a}-\\sqrt{{{b}}}",
        f"\\{{{a}-\\sqrt{{{b}}}, {a}+\\sqrt{{{b}}}\\}}",
        f"x={a}\\pm\\sqrt{{{b}}}",
    ]
    equal += [f"{a} ± √{b}", f"\\frac{{{2 * a} \\pm 2\\sqrt{{{b}}}}}{{2}}"]
    wrong = [
        f"{a}+\\sqrt{{{b}}}",
        f"{a}-\\sqrt{{{b}}}",
        f"{a + 1} \\pm \\sqrt{{{b}}}",
        f"-{a} \\pm \\sqrt{{{b}}}",
        f"\\pm \\sqrt{{{b}}}",
    ]
    return gold, equal, wrong


def matrices(rng: Random) -> Case:
    a, b, c, d = rng.sample(range(-9, 10), 4)
    gold = f"\\begin{{pmatrix}} {a} & {b} \\\\ {c} & {d} \\end{{pmatrix}}"
    equal = [
        gold,
        gold.replace("pmatrix", "bmatrix"),
        f"\\begin{{pmatrix}}{a}&{b}\\\\{c}&{d}\\end{{pmatrix}}",
        f"\\left[\\begin{{array}}{{cc}}{a}&{b}\\\\{c}&{d}\\end{{array}}\\right]",
        f"A = {gold}",
        f"\\begin{{pmatrix}} {a}.0 & \\frac{{{2 * b}}}{{2}} \\\\ {c} & {d} \\end{{pmatrix}}",
    ]
    wrong = [
        f"\\begin{{pmatrix}} {a} & {c} \\\\ {b} & {d} \\end{{pmatrix}}",
        f"\\begin{{pmatrix}} {a} & {b} \\\\ {c} & {d + 1} \\end{{pmatrix}}",
        f"\\begin{{pmatrix}} {c} & {d} \\\\ {a} & {b} \\end{{pmatrix}}",
        f"\\begin{{pmatrix}} {a} & {b} \\end{{pmatrix}}",
        f"\\begin{{pmatrix}} {a} \\\\ {b} \\\\ {c} \\\\ {d} \\end{{pmatrix}}",
        f"({a},{b},{c},{d})",
    ]
    return gold, equal, wrong


def equations(rng: Random) -> Case:
    a, b, c = rng.randrange(2, 9), rng.randrange(2, 9), rng.randrange(1, 20)
    gold = f"{a}x+{b}y={c}"
    equal = [
        gold,
        f"{2 * a}x+{2 * b}y={2 * c}",
        f"{c}={a}x+{b}y",
        f"{a}x+{b}y-{c}=0",
        f"{b}y = {c} - {a}x",
        f"{b}y+{a}x={c}",
    ]
    wrong = [
        f"{a}x-{b}y={c}",
        f"{a}x+{b}y={c + 1}",
        f"{a}x+{b}y={-c}",
        f"{a + 1}x+{b}y={c}",
        f"{a}x+{b}y",
        f"{a}u+{b}v={c}",
        f"{c}",
    ]
    return gold, equal, wrong


def inequalities(rng: Random) -> Case:
    a = rng.randrange(-20, 20)
    gold = f"x > {a}"
    equal = [
        gold,
        f"{a} < x",
        f"x \\in ({a}, \\infty)",
        f"({a},\\infty)",
        f"2x > {2 * a}",
        f"x-{abs(a) + 1} > {a - abs(a) - 1}",
        f"-x < {-a}",
    ]
    wrong = [
        f"x < {a}",
        f"x \\ge {a}",
        f"x > {a + 1}",
        f"[{a},\\infty)",
        f"(-\\infty,{a})",
        f"x = {a}",
        f"x > {-a}" if a else "x>1",
    ]
    return gold, equal, wrong


def units(rng: Random) -> Case:
    value = rng.randrange(2, 500)
    name, same, other = rng.choice(
        [
            ("cm", ["centimeters", "cm"], ["m", "km", "inches"]),
            ("kg", ["kilograms", "kg"], ["g", "pounds", "tonnes"]),
            ("hours", ["hours", "hr", "h"], ["minutes", "days", "seconds"]),
            ("cm^2", ["square centimeters", "cm^2"], ["cm", "cm^3", "m^2"]),
            ("m/s", ["meters per second", "m/s"], ["km/h", "m", "m/s^2"]),
            ("dollars", ["dollars"], ["cents", "euros"]),
            ("degrees", ["degrees"], ["radians", "meters"]),
        ]
    )
    gold = f"{value}\\text{{ {name}}}"
    equal = (
        [gold, f"{value}"]
        + [f"{value} \\text{{ {unit}}}" for unit in same]
        + [f"{value} {same[0]}", f"{value}.0\\,\\mathrm{{{same[-1]}}}"]
    )
    wrong = [f"{value}\\text{{ {unit}}}" for unit in other] + [
        f"{value + 1}\\text{{ {name}}}",
        f"{value + 1}",
        f"{100 * value}",
    ]
    return gold, equal, wrong


def words(rng: Random) -> Case:
    names = ["even", "odd", "Monday", "Tuesday", "Evelyn", "Briana", "east", "ellipse", "Red", "The Cooper wedding"]
    gold, other = rng.sample(names, 2)
    equal = [
        gold,
        f"\\text{{{gold}}}",
        gold.lower(),
        gold.upper(),
        f"\\textbf{{{gold}}}",
        f" {gold}. ",
        f"\\mathrm{{{gold}}}",
    ]
    wrong = [other, f"\\text{{{other}}}", f"not {gold}", gold[:-1] + "zz", "5", f"{gold} and {other}"]
    return gold, equal, wrong


NUMERIC = (integers, decimals, rationals, percents, scientific, based, times, ratios)
OTHER = (
    surds,
    multiples_of_pi,
    polynomials,
    transcendental,
    complexes,
    intervals,
    unions,
    tuples,
    sets,
    lists,
    signs,
    matrices,
    equations,
    inequalities,
    units,
    words,
)

_FRAMES = (
    "\\boxed{%s}",
    "So the answer is $\\boxed{%s}$.",
    "First \\boxed{0}, no: \\boxed{%s}",
    "<think>\\boxed{1}</think> \\boxed{ %s }",
    "The answer is $%s$.",
    "Adding 3 and 4 gives more.\n\n**Final Answer:** $%s$",
)


def pairs(seed: int, per_kind: int) -> Iterator[tuple[str, str, str, bool]]:
    """(kind, text, reference, equal?) for every kind, `per_kind` golds each."""
    rng = Random(seed)
    for maker in NUMERIC + OTHER:
        for _ in range(per_kind):
            gold, equal, wrong = maker(rng)
            for answers, label in ((equal, True), (wrong, False)):
                for answer in answers:
                    yield maker.__name__, rng.choice(_FRAMES) % answer, gold, label
