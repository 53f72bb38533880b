"""Answers with a unit: currency before, a word or sign after, percent and degrees."""

import re
from itertools import islice

from selfevolve.checker.kinds import Answer, Collection, Expression, Number, Quantity, Ratio, Read
from selfevolve.checker.literals import read_number
from selfevolve.checker.normalise import DOLLAR, WORD_CLOSE, WORD_OPEN
from selfevolve.checker.units import is_known, read_unit

MATH_WORDS = frozenset(
    [
        "pi",
        "inf",
        "infinity",
        "infty",
        "alpha",
        "beta",
        "gamma",
        "delta",
        "theta",
        "lambda",
        "omega",
        "sigma",
        "sin",
        "cos",
        "tan",
        "log",
        "exp",
    ]
)
_MAX_RUNS = 8
_MONEY = re.compile(rf"([-+]?)\s*([{DOLLAR}€£¥₹]|(?:USD|Rs\.?)(?=\s|\d))\s*([-+]?)(.*)", re.DOTALL)
_TRAILING = re.compile(rf"(.*?)\s*(%|°\s*[CF]?|[{DOLLAR}€£¥₹¢])", re.DOTALL)
_OF_ANGLE = re.compile(r"(?:sin|cos|tan|cot|sec|csc)(?![a-z])[^-+*/=]*$")  # sin 30°: the degrees belong to the angle
_REMARK = re.compile(r"(.*[^\s])\s*\(\s*([A-Za-z][A-Za-z ]*[A-Za-z])\s*\)")
_RUN = re.compile(rf"{WORD_OPEN}|(?<![\\A-Za-z0-9_^]|\.)[A-Za-z]+|(?<=[0-9])[A-Za-z]{{2,}}")


def read_quantity(text: str, read: Read) -> Answer | None:
    """A number or formula with a currency sign before it or a unit after it."""
    money = _MONEY.fullmatch(text)
    if money:
        sign = "-" if "-" in (money[1], money[3]) else ""
        return _with_unit(sign + money[4], money[2].rstrip("."), text, read)
    trailing = _TRAILING.fullmatch(text)
    if trailing and not _OF_ANGLE.search(trailing[1]):
        return _with_unit(trailing[1], re.sub(r"\s", "", trailing[2]), text, read)
    remark = _REMARK.fullmatch(text)
    if remark and len(remark[2]) > 2:
        return _with_unit(remark[1], remark[2], text, read)
    plain = False  # only the first plain word can begin a unit
    for run in islice(_RUN.finditer(text), _MAX_RUNS):
        head, tail = text[: run.start()].rstrip(), text[run.start() :]
        if plain and tail[0] != WORD_OPEN:
            continue
        plain = plain or tail[0] != WORD_OPEN
        if not head or not re.search(r"[0-9}a-zA-Z)]$", head):
            continue
        answer = _unit_tail(head, tail, text, read)
        if answer is not None:
            return answer
    return None


def _unit_tail(head: str, tail: str, text: str, read: Read) -> Answer | None:
    written = tail.startswith(WORD_OPEN)
    words = tail.replace(WORD_OPEN, " ").replace(WORD_CLOSE, " ").strip()
    first = re.match(r"[A-Za-z]*", words).group()
    if not written:
        plain = bool(re.fullmatch(r"[A-Za-z][A-Za-z .,'-]*", words))
        words = re.sub(r"^of (?:the )?(?=[a-z]{3})", "", words)
        first = re.match(r"[A-Za-z]*", words).group()
        known = is_known(first) and (len(first) > 1 or text[len(head) : len(head) + 1] == " ")
        if first in MATH_WORDS or not (known or (plain and len(first) >= 3)):
            return None
        if len(first) == 1 and not read_number(head):
            return None
    return _with_unit(head, words, text, read)


def _with_unit(head: str, words: str, text: str, read: Read) -> Answer | None:
    unit = read_unit(words)
    if unit is None:
        return None
    value = read(head)
    if isinstance(value, Quantity):  # $5 dollars, 5 dollars per hour
        unit = (value.bases | unit[0], value.factor if value.bases == unit[0] else value.factor * unit[1])
        value = value.value
    if not isinstance(value, Number | Expression | Ratio | Collection):
        return None
    if not unit[0]:
        return value
    return Quantity(value, unit[0], unit[1], text)
