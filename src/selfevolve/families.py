"""Six families of templated arithmetic problems: the world in which the `tiny` profile learns.

A family writes a problem of level 1-5 (its number of arithmetic operations) in a small English of about 400 tokens, with start
values up to 49, operands 2-9 and results below 200 (mostly below 100). `oracle` reads a problem of any family back and returns its
true answer, which is how a report can say what share of admitted answer keys is really right. Nothing here is used in training rewards: the Synthesizer is paid
by the verifier and the Reasoner's rollouts alone.

This module is not from the paper (which starts from Qwen3-8B); it is what makes a from-scratch model of a few hundred thousand
weights able to take part in the same loop.
"""

import random
import re
from typing import NamedTuple

MAX_VALUE = 99
LEVELS = (1, 2, 3, 4, 5)
THINGS = ("nuts", "pens", "cups", "figs", "toys", "eggs")
NAMES = ("Al", "Bo", "Cy", "Di", "Ed", "Flo")
LETTERS = "abcdef"
DIFFICULTY = {1: "learnable", 2: "learnable", 3: "mid-band", 4: "mid-band", 5: "hard"}


class Step(NamedTuple):
    """One arithmetic operation `left operator right = value` on integers."""

    left: int
    operator: str
    right: int
    value: int

    def __str__(self) -> str:
        return f"{self.left}{self.operator}{self.right}={self.value}"


class Problem(NamedTuple):
    skill: str
    level: int
    text: str
    steps: tuple[Step, ...]

    @property
    def answer(self) -> str:
        return str(self.steps[-1].value)

    @property
    def solution(self) -> str:
        return "; ".join(map(str, self.steps))


def apply(left: int, operator: str, right: int) -> int:
    return {"+": left + right, "-": left - right, "*": left * right}[operator]


def _draw_step(rng: random.Random, value: int, operators: str) -> Step:
    """A step from `value` that stays within 1..MAX_VALUE; multiplication only by 2 or 3."""
    for _ in range(50):
        operator = rng.choice(operators)
        right = rng.randint(2, 3) if operator == "*" else rng.randint(2, 9)
        if 1 <= apply(value, operator, right) <= MAX_VALUE:
            return Step(value, operator, right, apply(value, operator, right))
    return Step(value, "-", 2, value - 2)


def _chain(rng: random.Random, start: int, length: int, operators: str) -> list[Step]:
    steps: list[Step] = []
    for _ in range(length):
        steps.append(_draw_step(rng, steps[-1].value if steps else start, operators))
    return steps


def _stock(rng: random.Random, level: int) -> tuple[str, list[Step]]:
    start = rng.randint(3, 49)
    steps = _chain(rng, start, level, "+-")
    moves = " ".join(f"{'Add' if s.operator == '+' else 'Take'} {s.right}." for s in steps)
    return f"A box has {start} {rng.choice(THINGS)}. {moves} How many?", steps


def _age(rng: random.Random, level: int) -> tuple[str, list[Step]]:
    start, names = rng.randint(3, 49), rng.sample(NAMES, level + 1)
    steps = _chain(rng, start, level, "+-*")
    words = {"+": "more", "-": "less", "*": "times"}
    told = " ".join(f"{n} is {s.right} {words[s.operator]}." for n, s in zip(names[1:], steps, strict=True))
    return f"{names[0]} is {start}. {told} Last age?", steps


def _seq(rng: random.Random, level: int) -> tuple[str, list[Step]]:
    start = rng.randint(3, 49)
    steps = _chain(rng, start, level, "+-*")
    told = " ".join(f"{LETTERS[i + 1]}={LETTERS[i]}{s.operator}{s.right}." for i, s in enumerate(steps))
    return f"a={start}. {told} {LETTERS[level]}?", steps


def _products(rng: random.Random, level: int, item: str, plus: str, minus: str, question: str) -> tuple[str, list[Step]]:
    """One product (levels 1-2) or the sum of two (levels 3-5), then fees and discounts."""
    things = rng.sample(THINGS, 2)
    a, b, c, d = (rng.randint(2, 9) for _ in range(4))
    told, steps = [item.format(a, b, things[0])], [Step(a, "*", b, a * b)]
    if level >= 3:
        told.append(item.format(c, d, things[1]))
        steps += [Step(c, "*", d, c * d), Step(a * b, "+", c * d, a * b + c * d)]
    while len(steps) < level:
        value, right, operator = steps[-1].value, rng.randint(2, 9), rng.choice("+-")
        if operator == "-" and value - right < 1:
            operator = "+"
        told.append((plus if operator == "+" else minus).format(right))
        steps.append(Step(value, operator, right, apply(value, operator, right)))
    return " ".join([*told, question]), steps


def _shop(rng: random.Random, level: int) -> tuple[str, list[Step]]:
    return _products(rng, level, "Buy {0} {2} at {1}.", "Pay {} fee.", "Use {} coupon.", "Total?")


def _trip(rng: random.Random, level: int) -> tuple[str, list[Step]]:
    return _products(rng, level, "Go {0} h at {1} km.", "Walk {} km.", "Back {} km.", "How far?")


def _share(rng: random.Random, level: int) -> tuple[str, list[Step]]:
    bags, each = rng.randint(2, 9), rng.randint(2, 9)
    steps = [Step(bags * each, "/", bags, each), *_chain(rng, each, level - 1, "+-*")]
    words = {"+": "Add {}.", "-": "Take {}.", "*": "Copy {} times."}
    moves = "".join(" " + words[s.operator].format(s.right) for s in steps[1:])
    return f"{bags * each} {rng.choice(THINGS)} in {bags} bags.{moves} One bag?", steps


_WRITERS = {"stock": _stock, "shop": _shop, "trip": _trip, "share": _share, "age": _age, "seq": _seq}
SKILLS = tuple(_WRITERS)


def generate(rng: random.Random, skill: str, level: int) -> Problem:
    """A random problem of `skill` (one of SKILLS) with `level` (1-5) operations."""
    text, steps = _WRITERS[skill](rng, level)
    return Problem(skill, level, text, tuple(steps))


_STOCK = re.compile(r"A box has (\d+) \w+\.((?: (?:Add|Take) \d+\.)+) How many\?")
_AGE = re.compile(r"\w+ is (\d+)\.((?: \w+ is \d+ (?:more|less|times)\.)+) Last age\?")
_SEQ = re.compile(r"a=(\d+)\.((?: [a-f]=[a-f][-+*]\d+\.)+) ([a-f])\?")
_SHARE = re.compile(r"(\d+) \w+ in (\d+) bags\.((?: (?:Add \d+|Take \d+|Copy \d+ times)\.)*) One bag\?")
_SHOP = re.compile(r"((?:Buy \d+ \w+ at \d+\. )+)((?:(?:Pay \d+ fee|Use \d+ coupon)\. )*)Total\?")
_TRIP = re.compile(r"((?:Go \d+ h at \d+ km\. )+)((?:(?:Walk|Back) \d+ km\. )*)How far\?")
_WORDS = {"Add": "+", "more": "+", "Pay": "+", "Walk": "+", "Take": "-", "less": "-", "Use": "-", "Back": "-"}
_WORDS |= {"Copy": "*", "times": "*"}


def _fold(value: int, moves: list[tuple[str, str]]) -> int:
    for word, number in moves:
        value = apply(value, _WORDS[word], int(number))
    return value


def true_key(text: str, answer: str) -> bool | None:
    """Whether `answer` is the true answer of a problem; None if the oracle cannot read it."""
    truth = oracle(text)
    return None if truth is None else truth == answer


def oracle(text: str) -> str | None:
    """The true answer of a problem written in one of the families, or None if it is not one or is ill-posed."""
    if m := _STOCK.fullmatch(text):
        return str(_fold(int(m[1]), re.findall(r"(Add|Take) (\d+)", m[2])))
    if m := _AGE.fullmatch(text):
        moves = [(word, number) for number, word in re.findall(r"is (\d+) (more|less|times)", m[2])]
        return str(_fold(int(m[1]), moves))
    if m := _SEQ.fullmatch(text):
        values = {"a": int(m[1])}
        for name, source, operator, number in re.findall(r"(\w)=(\w)([-+*])(\d+)", m[2]):
            if source not in values:
                return None
            values[name] = apply(values[source], operator, int(number))
        return str(values[m[3]]) if m[3] in values else None
    if m := _SHARE.fullmatch(text):
        total, bags = int(m[1]), int(m[2])
        if bags == 0 or total % bags:
            return None
        return str(_fold(total // bags, re.findall(r"(Add|Take|Copy) (\d+)", m[3])))
    if m := (_SHOP.fullmatch(text) or _TRIP.fullmatch(text)):
        products = sum(int(a) * int(b) for a, b in re.findall(r"(?:Buy|Go) (\d+) \w+ at (\d+)", m[1]))
        return str(_fold(products, re.findall(r"(Pay|Use|Walk|Back) (\d+)", m[2])))
    return None
