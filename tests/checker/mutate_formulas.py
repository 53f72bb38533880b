"""Golds that are formulas, with equal rewrites and wrong mutations (see `mutations`)."""

from random import Random

Case = tuple[str, list[str], list[str]]


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
                [f"\\ln {a + b + (a == b == 2)}", f"\\ln {a} \\ln {b}", f"\\ln {a} - \\ln {b}", f"{a * b}"],
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


FORMULAS = (surds, multiples_of_pi, polynomials, transcendental, complexes)
