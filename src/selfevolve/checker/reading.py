"""From the text of one answer to its type: the order of the attempts is the order of `docs/checker.md`."""

import re
from fractions import Fraction
from functools import lru_cache

from selfevolve.checker import brackets, relations, structure
from selfevolve.checker.brackets import ALL_REALS, MAX_ITEMS
from selfevolve.checker.kinds import (
    Answer,
    Assignment,
    Based,
    Collection,
    Expression,
    Number,
    Opaque,
    Piece,
    Quantity,
    Ratio,
    Read,
    Region,
    Text,
)
from selfevolve.checker.literals import integer, read_number
from selfevolve.checker.normalise import CONTROL, WORD_CLOSE, WORD_OPEN, clean, strip_shell
from selfevolve.checker.quantities import MATH_WORDS, read_quantity
from selfevolve.checker.scalars import read_scalar
from selfevolve.checker.tokens import FUNCTIONS, GREEK

MAX_CHARACTERS = 4_000  # of an answer that is not a plain number
_MAX_NUMBER = 2_000_000
_MAX_NESTING = 12


def read(text: str) -> Answer | None:
    """The typed answer, or None when the text cannot be one. Never raises; bounded in time for any input."""
    if len(text) <= 400:
        return _read_cached(text)
    return _read(text)


@lru_cache(maxsize=8192)
def _read_cached(text: str) -> Answer | None:
    return _read(text)


def _read(text: str) -> Answer | None:
    text = text.strip()
    if len(text) > _MAX_NUMBER or CONTROL.search(text):
        return None
    number = read_number(text)
    if number:
        return number
    if len(text) > MAX_CHARACTERS:
        return read_number(strip_shell(text.replace(" ", "").replace("\\!", "").replace("{,}", ",")))
    text = clean(_HALF_CHOICE.sub(r"(\1)", text))
    if not text or not structure.is_balanced(text):
        return None
    return read_clean(text, 0)


_HALF_CHOICE = re.compile(r"^([A-J])\)(?=\s|$)")  # C) 14
_PROSE = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}")


def is_mathematical(text: str) -> bool:
    """Whether `text` reads as something other than words."""
    answer = read(text)
    if isinstance(answer, Opaque):
        return len(_PROSE.findall(text)) < 2
    if answer is None or isinstance(answer, Text):
        return False
    return not (isinstance(answer, Collection) and any(isinstance(item, Text) for item in answer.items))


_CLOCK = re.compile(r"(\d{1,2})(?::([0-5]\d))?(?::([0-5]\d))?\s*([ap])\.?\s*m\.?", re.IGNORECASE)
_BASED = re.compile(
    rf"\(?([0-9A-F]+)\)?(?:\s*_\s*\{{?\s*{WORD_OPEN}?\s*(?:base\s*{WORD_CLOSE}?\s*)?([0-9]{{1,2}}|[a-z]+)\s*{WORD_CLOSE}?\s*\}}?"
    rf"|\s*[{WORD_OPEN}(]*\s*base[\s-]+([0-9]{{1,2}}|[a-z]+)\s*[{WORD_CLOSE})]*)"
)
_BASE_WORDS = dict(
    zip(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "sixteen"],
        [*range(2, 13), 16],
        strict=True,
    )
)


_REMARK_BEFORE = re.compile(rf"^{WORD_OPEN}[^{WORD_CLOSE}]*:\s*{WORD_CLOSE}\s*(?=.)")  # \text{Answer: } 14


def read_clean(text: str, nesting: int) -> Answer | None:
    """Type of a cleaned text; `nesting` counts the brackets around it."""
    text = _REMARK_BEFORE.sub("", strip_shell(text))
    if not text or nesting > _MAX_NESTING:
        return None
    number = read_number(text)
    if number:
        return number

    def read_part(part: str) -> Answer | None:
        return read_clean(part, nesting + 1)

    for attempt in _ATTEMPTS:
        answer = attempt(text, read_part)
        if answer is not None:
            return answer
    return read_scalar(text) or _last_resort(text)


def _clock(text: str, read: Read) -> Answer | None:
    match = _CLOCK.fullmatch(text.replace(WORD_OPEN, "").replace(WORD_CLOSE, ""))
    if not match or int(match[1]) > 12:
        return None
    parts = tuple(read_number(part) for part in (match[1], match[2] or "00", match[3]) if part)
    return Ratio(parts, True, match[4].lower() + "m")


def _based(text: str, read: Read) -> Answer | None:
    match = _BASED.fullmatch(text)
    if not match:
        return None
    base = match[2] or match[3]
    base = int(base) if base.isdigit() else _BASE_WORDS.get(base)
    digits = match[1].lstrip("0") or "0"
    if base is None or not 2 <= base <= 36 or not match[1][0].isdigit() and base < 11:
        return None
    return Based(digits, base)


_CHOICE = re.compile(rf"{WORD_OPEN}?\s*\(([A-J])\)\s*{WORD_CLOSE}?[\s:~]*(.+)", re.DOTALL)


def _choice(text: str, read: Read) -> Answer | None:
    """(C) 14: the letter of a choice labels its value."""
    match = _CHOICE.fullmatch(text)
    value = read(match[2]) if match and not match[2].startswith(WORD_CLOSE) else None
    return Assignment(f"({match[1]})", value) if isinstance(value, Number | Text) else None


_PLAIN_WORDS = re.compile(r"[A-Za-z][A-Za-z.'\" -]*")
_ORDINAL = re.compile(r"(?:the )?(\d{1,9})\s*\^?\s*\{?\s*(?:st|nd|rd|th)\b\s*\}?(.*)", re.IGNORECASE)
_NAMED = re.compile(r"(?!(?:pi|sin|cos|tan|log|exp)\b)[A-Za-z]{3,}(?:[\s'.,-]+[A-Za-z0-9]+)*[\s#]+\d+[a-z]{0,2}")  # Vendor 2


def _words(text: str, read: Read) -> Answer | None:
    """Text, if there is nothing but words."""
    bare = text.replace(WORD_OPEN, " ").replace(WORD_CLOSE, " ").strip()
    if ALL_REALS.fullmatch(bare):
        return Region((Piece(None, None, False, False),))
    ordinal = _ORDINAL.fullmatch(bare)
    if ordinal and not ordinal[2]:
        return Quantity(integer(int(ordinal[1])), frozenset({("th", 1)}), Fraction(1), text)
    if ordinal or _NAMED.fullmatch(bare):
        return _text(bare)
    if not _PLAIN_WORDS.fullmatch(bare) or re.search(r"\b(?:and|or)\b", bare):
        return None
    long = [word for word in re.findall(r"[A-Za-z]+", bare) if len(word) >= 3 and word not in MATH_WORDS]
    several = len(re.findall(r"[A-Za-z]{2,}", bare)) >= 2 and not any(w in MATH_WORDS for w in bare.split())
    known = WORD_OPEN in text and len(re.findall(r"[A-Za-z]", bare)) >= 2
    return _text(bare) if long or several or known or bare in ("no", "No", "NO") else None


_NUMBER_WORDS = {
    word: at
    for at, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
}


def _text(text: str) -> Text | Number:
    words = re.sub(r"[\s_~]+", " ", re.sub(rf"[{WORD_OPEN}{WORD_CLOSE}\\\"$*]", " ", text)).strip(" .,;:!?").lower()
    words = re.sub(r"^(?:the|a|an)\s+(?=\S)", "", words)
    if words in _NUMBER_WORDS:
        return integer(_NUMBER_WORDS[words], text)
    return Text(re.sub(r"\s*\.(?=\s|$)", "", words))


def _listed(text: str, read: Read) -> Answer | None:
    if "," not in text and ";" not in text and not re.search(r"\b(?:and|or)\b", text):
        return None
    parts, found = structure.split_rows(text)
    if not found:
        parts, found = structure.split_list(text)
    parts = [part.strip() for part in parts]
    parts = [part for part in parts if part]
    if not found or not parts or len(parts) > MAX_ITEMS:
        return None
    if len(parts) == 1:
        return read(parts[0]) if parts[0] != text else None
    items = [read(part) for part in parts]
    texts = sum(isinstance(item, Text) for item in items)
    if None in items or 0 < texts < len(items):
        return _text(text) if _PROSE.search(text) else None
    return relations.gather(items, "or" in found, text)


def _ratio(text: str, read: Read) -> Answer | None:
    if ":" not in text and not re.fullmatch(r"\d+ to \d+", text):
        return None
    parts = [part.strip() for part in structure.split_colon(text.replace(" to ", ":"))]
    if not 2 <= len(parts) <= 6:
        return None
    values = tuple(read(part) for part in parts)
    if any(not isinstance(value, Number | Expression) for value in values):
        return None
    clock = len(parts) in (2, 3) and bool(re.fullmatch(r"\d{1,2}(?::[0-5]\d){1,2}", text))
    return Ratio(values, clock)


# Commands of our own grammar: a text with no other is not left to Math-Verify's parser, it is malformed.
_OWN = (
    frozenset(FUNCTIONS)
    | GREEK
    | frozenset(
        [
            "frac",
            "sqrt",
            "binom",
            "pi",
            "infty",
            "pm",
            "mp",
            "le",
            "ge",
            "ldots",
            "lfloor",
            "rfloor",
            "lceil",
            "rceil",
            "overline",
            "dot",
            "ddot",
            "hat",
            "bar",
            "tilde",
            "vec",
            "angle",
        ]
    )
)
_COMMAND = re.compile(r"\\([A-Za-z]{2,})")
_OPERATOR = re.compile(r"\\frac\s*\{\s*d[\s}^]")


def _last_resort(text: str) -> Answer | None:
    """Mathematics that our grammar does not cover, words, or nothing."""
    commands = _COMMAND.findall(text)
    if any(command not in _OWN for command in commands) or _OPERATOR.search(text):
        return Opaque(text.replace(WORD_OPEN, "\\text{").replace(WORD_CLOSE, "}"))
    if not commands and re.search(r"[A-Za-z]", text):
        return _text(text)
    return None


_ATTEMPTS = (
    _clock,
    _based,
    _choice,
    _words,
    _listed,
    relations.read_relation,
    brackets.read_union,
    brackets.read_bracketed,
    brackets.read_matrix,
    _ratio,
    read_quantity,
)
