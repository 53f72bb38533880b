"""Golds with structure, units or words, with equal rewrites and wrong mutations (see `mutations`)."""

from random import Random

Case = tuple[str, list[str], list[str]]


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


STRUCTURES = (
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
