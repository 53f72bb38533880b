"""Top-level structure of a cleaned answer: separators, enclosing brackets, balance. One pass each."""

import re

from selfevolve.checker.normalise import WORD_CLOSE, WORD_OPEN

_BRACKET = re.compile(
    rf"\\[{{}}]|[()\[\]{{}}{WORD_OPEN}{WORD_CLOSE}]|\\(?:begin|end|lfloor|rfloor|lceil|rceil|langle|rangle)(?![A-Za-z])"
)
_OPENING = frozenset({"\\{", "(", "[", "{", WORD_OPEN, "\\begin", "\\lfloor", "\\lceil", "\\langle"})
_SEPARATOR = re.compile(r",|;|(?<![A-Za-z\\])(?:and|or)(?![A-Za-z])")
_RELATION = re.compile(r"\\(?:le|ge|ne|in|approx)(?![A-Za-z])|[<>]|=")
_UNION = re.compile(r"\\cup(?![A-Za-z])")
_COLON, _SEMICOLON, _ITEM = re.compile(r":"), re.compile(r";"), re.compile(r"[,;]")
_THOUSANDS = re.compile(r"(?<![0-9.])[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9])")


def is_balanced(text: str) -> bool:
    """Braces pair up exactly; other brackets pair up in number (an interval may open with [ and close with ))."""
    braces = brackets = 0
    for match in _BRACKET.finditer(text):
        token = match.group()
        if token in "{}" and len(token) == 1:
            braces += 1 if token == "{" else -1
        elif token not in (WORD_OPEN, WORD_CLOSE):
            brackets += 1 if token in _OPENING else -1
        if braces < 0 or brackets < 0:
            return False
    return braces == 0 and brackets == 0


def split(text: str, separator: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """Parts of `text` between the matches of `separator` outside all brackets, and those matches."""
    if not separator.search(text):
        return [text], []
    outside: list[tuple[int, int]] = []
    depth, start = 0, 0
    for match in _BRACKET.finditer(text):
        opening = match.group() in _OPENING
        if opening:
            if depth == 0:
                outside.append((start, match.start()))
            depth += 1
        else:
            depth = max(depth - 1, 0)
            start = match.end()
    if depth == 0:
        outside.append((start, len(text)))
    parts, found, last = [], [], 0
    for begin, end in outside:
        for match in separator.finditer(text, begin, end):
            parts.append(text[last : match.start()])
            found.append(match.group())
            last = match.end()
    parts.append(text[last:])
    return parts, found


def split_list(text: str) -> tuple[list[str], list[str]]:
    """Items of a bare list. A comma before three digits separates thousands, unless some tight comma does not."""
    if "," in text and _is_grouped(text):
        text = _THOUSANDS.sub(lambda number: number.group().replace(",", ""), text)
    return split(text, _SEPARATOR)


def split_rows(text: str) -> tuple[list[str], list[str]]:
    """Parts between semicolons, where the parts are lists themselves: p = 5, q = 2; p = 7, q = 2."""
    return split(text, _SEMICOLON) if ";" in text and "," in text else ([text], [])


def _is_grouped(text: str) -> bool:
    rest = _THOUSANDS.sub("0", text)
    return rest != text and not re.search(r",(?=\S)", rest)


def split_items(text: str) -> list[str]:
    """Items inside brackets: every top-level comma or semicolon separates."""
    return split(text, _ITEM)[0]


def split_relation(text: str) -> tuple[list[str], list[str]]:
    return split(text, _RELATION)


def split_union(text: str) -> list[str]:
    return split(text, _UNION)[0]


def split_colon(text: str) -> list[str]:
    return split(text, _COLON)[0]


def enclosed(text: str) -> tuple[str, str, str] | None:
    """(opening, inside, closing) if one pair of brackets spans the whole text."""
    first = _BRACKET.match(text)
    if not first or first.group() not in _OPENING or first.group() in (WORD_OPEN, "\\begin"):
        return None
    depth = 0
    for match in _BRACKET.finditer(text):
        depth += 1 if match.group() in _OPENING else -1
        if depth == 0:
            if match.end() != len(text):
                return None
            return first.group(), text[first.end() : match.start()], match.group()
    return None
