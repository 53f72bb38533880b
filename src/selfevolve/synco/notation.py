r"""Mathematical prose as tokens: numbers, signs, words, and breaks between expressions.

Reads plain text and the LaTeX that models write (`\times`, `\frac{1}{2}`, `\left(`, `\text{cm}`, `1{,}200`, `$` as
delimiter or money). Used to find the arithmetic of reference solutions, see `selfevolve.synco.steps`.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Token(NamedTuple):
    """One piece of text. `break` ends an expression: punctuation, a relation other than `=`, a bracket around words."""

    kind: str  # "number", "sign" (+ - * / ^ ( ) = %), "word" or "break"
    text: str
    gap: bool  # white space in front


_CHARACTERS = str.maketrans(
    {
        **dict.fromkeys("×·∙⋅✕", "*"),
        **dict.fromkeys("÷∕⁄", "/"),
        **dict.fromkeys("−–—", "-"),
        **dict.fromkeys("€£", "$"),
        **dict.fromkeys("\u00a0\u2009\u202f", " "),
        "²": "^2",
        "³": "^3",
        "°": "",
        "[": "(",
        "]": ")",
    }
)
_SPACES = re.compile(r"\s+")
_FRACTION = re.compile(r"\\[dtc]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_REWRITES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\\[dtc]?frac\s*(\d)\s*(\d)", r"\\frac{\1}{\2}"),
        (r"\\\\", "\n"),
        (r"\\[()]", ";"),  # math delimiters, the square ones already made round
        (r"\\(?:left|right|[bB]igg?[lr]?|displaystyle)(?![A-Za-z])", ""),
        (r"\\times(?![a-z])|\\cdot(?![a-z])|\\ast(?![a-z])", "*"),
        (r"\\div(?![a-z])", "/"),
        (r"\\[,;:! ]|\\q?quad|~", " "),
        (r"\\([%$])", r"\1"),
        (r"\^\s*\{?\s*\\circ\s*\}?", ""),
        (r"=\s*\\boxed\s*\{", "= {"),
        (r"\\boxed\s*\{", "; {"),
        (r"\\(?:text|mathrm|textbf|mathbf|mbox|textit)\s*\{([^{}]*)\}", r" \1 "),
    )
]
_AFTER_LATEX = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\{,\}", ","),
        (r"\{", "("),
        (r"\}", ")"),
        (r"\*\*", "^"),
        (r"(?<=[\d)])(\s*)[xX](?=\s*[\d(])", r"\1*"),  # 12 x 5
        (r"(^|[\s(=+\-*/])\$(?=\s*-?[\d.])", r"\1"),  # money; any other $ ends an expression
        (r"(?m)^\s*(?:[-*•]\s+|\(?\d{1,2}[.)]\s+)", ""),  # list markers
        (r"\s*\n\s*&?\s*=", " ="),
        (r"&", " "),
    )
]
_TOKEN = re.compile(
    r"(\s+)|(\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?|(?<!\d)\.\d+)|(!=|<=|>=|=>|->|<-)|(==?|[-+*/^()%])"
    r"|(\\?[^\W\d_]+)|(.)",
    re.DOTALL,
)


def _lex(text: str) -> list[Token]:
    text = _SPACES.sub(_space, text.translate(_CHARACTERS))  # one character per gap keeps every pattern below linear
    if "\\" in text:
        for pattern, replacement in _REWRITES:
            text = pattern.sub(replacement, text)
        for _ in range(4):  # nested fractions, from the inside out
            text, found = _FRACTION.subn(_fraction, text)
            if not found:
                break
    for pattern, replacement in _AFTER_LATEX:
        text = pattern.sub(replacement, text)
    tokens: list[Token] = []
    gap = False
    for match in _TOKEN.finditer(text):
        kind = match.lastindex
        if kind == 1:
            gap = True
            if "\n" in match[1]:
                tokens.append(Token("break", "\n", True))
            continue
        if kind == 3:
            tokens.append(Token("break", ";", gap))
        else:
            name = {2: "number", 4: "sign", 5: "word", 6: "break"}[kind]
            tokens.append(Token(name, "=" if match[0] == "==" else match[0], gap))
        gap = False
    return tokens


def _space(match: re.Match[str]) -> str:
    return "\n" if "\n" in match[0] else " "


def _fraction(match: re.Match[str]) -> str:
    r"""`\frac{a}{b}` as a bracket; unreadable after a digit: `1\frac{1}{2}` is a mixed number or a product."""
    top, bottom = match[1].strip(), match[2].strip()
    before = match.string[: match.start()].rstrip()[-1:]
    if before.isdigit() and top.isdigit() and bottom.isdigit():
        return f"_({top}/{bottom})"
    return f"(({top})/({bottom}))"


def _break_brackets(tokens: list[Token]) -> list[Token]:
    """Turn brackets that do not enclose an expression (unmatched, around words or around `=`) into breaks."""
    tokens = list(tokens)
    open_: list[int] = []
    broken: list[int] = []

    def drop() -> None:
        broken.extend(open_)
        open_.clear()

    for i, token in enumerate(tokens):
        if token.kind in ("word", "break"):
            drop()
        elif token.text == "(":
            open_.append(i)
        elif token.text == "=":
            drop()
        elif token.text == ")":
            if open_:
                open_.pop()
            else:
                broken.append(i)
    drop()
    for i in broken:
        tokens[i] = tokens[i]._replace(kind="break")
    return tokens


def tokens(text: str) -> list[Token]:
    """The tokens of `text`. Brackets come as signs only in matched pairs around a single expression."""
    return _break_brackets(_lex(text))
