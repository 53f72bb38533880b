"""Find the answer in a completion: the last closed box, else a phrase ("the answer is ..."), else the last number."""

import re
from collections import deque
from dataclasses import dataclass

from selfevolve.checker.kinds import Text
from selfevolve.checker.normalise import plain_unicode
from selfevolve.checker.reading import is_mathematical, read

_THINK = re.compile(r"</?think>", re.IGNORECASE)
_BRACE = re.compile(r"\\{1,2}boxed\s*+\{|\\[{}\\]|[{}]")
_BLANK = re.compile(r"\s*+")
_PERCENT_AFTER = re.compile(r"[\s$]*+(?:\\?%|percent\b)", re.IGNORECASE)
_CONNECTOR = r"(?:\s*+\*{0,2}+(?::|=|\b(?:is|are|was|equals|be)\b:?)|\*\*\s++|\s++(?=[-+$\\\d.(]))"
_PHRASE = re.compile(
    r"<answer>(?P<tag>.{0,1000}?)</answer>"
    r"|####\s*+"
    r"|\banswers?\b(?:\s++(?:to|for|of|must|should|would|will|therefore|then|here)\b[^.\n:=]{0,80}?)??" + _CONNECTOR,
    re.IGNORECASE | re.DOTALL,
)
_NUMBER = r"(?:\d{1,3}+(?:,\d{3})++(?!\d)|\d++)(?:\.\d++)?|\.\d++"
_LAST = re.compile(
    r"-?\d{0,12}\\[dtc]?frac\s*+\{[^{}]{1,40}\}\s*+\{[^{}]{1,40}\}|-?\d{0,12}\\sqrt\s*+\{[^{}]{1,40}\}|"
    rf"(?:(?<![\w)\].])[-+])?(?<![\^_A-Za-z])(?<![\^_]{{)(?:{_NUMBER})(?:[eE][-+]?\d++(?![\w.]))?"
    rf"(?:\s*+/\s*+\d++|(?::\d++)++|\s++\d++/\d++)?(?:\s*+\\?%)?",
    re.ASCII,
)
_LEADING = re.compile(
    rf"[$\s]*+[-+]?[$]?(?:{_NUMBER})(?:[eE][-+]?\d++)?(?:\s*+/\s*+\d++|(?::\d++)++)?(?:\s*+\\?%)?(?!\w)", re.ASCII
)
_BREAK = re.compile(r",\s|;|\s(?:so|because|since|which|and)\s")
_COPULA = re.compile(r"\b(?:is|are|was|equals|be)\b|=")
_ABBREVIATION = re.compile(r"(?:\b(?:mrs?|ms|dr|st|no|rs|vs|jr|sr)|[ap]\.m|\b[A-Z])$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_MATH = re.compile(r"\$\$(.+?)\$\$|\$(.+?)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_OPENS_WITH_WORDS = re.compile(r"[A-Za-z]{2,}\s")
_WINDOW = 20_000  # characters of a box-less text searched, from its end
_CLAUSE = 2_000  # characters read after a phrase
_BARE = 300  # longest text that may be an answer as a whole
_FEW_WORDS = 4  # and longest in words, if it is words


@dataclass(frozen=True, slots=True)
class Extraction:
    """answer: the answer as written, None if there is none; boxed: from a box; how: box, phrase, bare, number or none.

    number: the last number of an answer in words, for references that are not words ("the 3rd of May at 5").
    """

    answer: str | None
    boxed: bool
    how: str
    number: str | None = None


def visible(text: str) -> str:
    """`text` without its `<think>` blocks; a lone `</think>` ends thinking that began in the prompt."""
    if "think>" not in text.lower():
        return text
    pieces: list[str] = []
    start, inside = 0, False
    for tag in _THINK.finditer(text):
        if tag.group()[1] != "/":
            if not inside:
                pieces.append(text[start : tag.start()])
            inside = True
        else:
            if not inside:
                pieces.clear()
            inside, start = False, tag.end()
    if not inside:
        pieces.append(text[start:])
    return "\n".join(pieces)


def last_box(text: str) -> str | None:
    """Content of the last closed, non-empty `\\boxed{}`, the outermost if nested. One pass, any nesting depth."""
    if "boxed" not in text:
        return None
    stack: list[int] = []  # content start of a box, -1 for any other brace
    best: tuple[int, int] | None = None
    for token in _BRACE.finditer(text):
        word = token.group()
        if word == "}":
            opened = stack.pop() if stack else -1
            if opened >= 0 and _BLANK.match(text, opened).end() < token.start():
                best = (opened, token.start())
        elif word == "{":
            stack.append(-1)
        elif word[-1] == "{" and len(word) > 2:
            stack.append(token.end())
    if best is None:
        return None
    content = text[best[0] : best[1]]
    after = text[best[1] + 1 : best[1] + 24]
    return content + "\\%" if _PERCENT_AFTER.match(after) and "%" not in content else content


def extract(text: str) -> Extraction:
    """Find the answer in a completion. Never raises; linear in the length of `text`.

    The last closed box wins; without one, what follows the last `<answer>`, `####` or "answer is/:/="; without that,
    the last number (the whole formula, if it stands in one).
    """
    shown = visible(text)
    box = last_box(shown)
    if box is not None:
        return Extraction(box.strip(), True, "box")
    shown = plain_unicode(shown[-_WINDOW:])
    clause = _after_phrase(shown)
    if clause:
        answer, number = _trim(clause)
        return Extraction(answer, False, "phrase", number)
    answer = _bare(shown)
    if answer:
        return Extraction(answer, False, "bare", None if is_mathematical(answer) else _last_number(answer))
    answer = _last_number(shown)
    return Extraction(answer, False, "number") if answer else Extraction(None, False, "none")


def _after_phrase(text: str) -> str | None:
    if "nswer" not in text and "####" not in text and "NSWER" not in text:
        return None
    phrases = deque(_PHRASE.finditer(text), maxlen=1)
    if not phrases:
        return None
    last = phrases[0]
    if last["tag"] is not None:
        return last["tag"].strip() or None
    rest = text[last.end() :].lstrip(' \t\r\n*:=_`"')
    clause = _sentence(rest[:_CLAUSE]).strip(' \t*_`"')
    if clause in ("$", "$$", "\\[", "\\("):  # a formula on lines of its own
        formula = _MATH.match(rest)
        clause = " ".join(formula.group().split()) if formula else ""
    return clause or None


def _sentence(text: str) -> str:
    line = text.split("\n", 1)[0]
    for end in _SENTENCE_END.finditer(line):
        rest = line[end.end() :].lstrip()
        if rest and (not rest[0].isupper() or _ABBREVIATION.search(line[: end.start()])):
            continue
        return line[: end.end()]
    return line


def _trim(clause: str) -> tuple[str, str | None]:
    """The answer at the head of the clause that follows a phrase; if it is words, also the number they hold."""
    clause = clause.rstrip(" \t,;:*")
    if clause[-1:] in ("!", "?", ".") and len(clause) > 1:
        clause = clause[:-1].rstrip(' \t*_`"')
    if is_mathematical(clause):
        return clause, None
    formula = _MATH.match(clause)
    if formula:
        return formula.group(), None
    head = _BREAK.split(clause, maxsplit=1)[0]
    if is_mathematical(head):
        return head, None
    tail = _COPULA.split(clause)[-1].strip()  # "the largest n is 34"
    if tail != clause and is_mathematical(tail):
        return tail, None
    number = _LEADING.match(clause)
    return clause, number.group() if number else _last_number(clause)


def _bare(text: str) -> str | None:
    """A text that is nothing but an answer: one short line that reads as one, or a formula between delimiters."""
    line = text.strip()
    if _OPENS_WITH_WORDS.match(line):
        return line if _is_few_words(line) else None
    if len(line) > _BARE or "\n" in line or ";" in line or line.count("=") > 1:
        return None
    formula = _MATH.fullmatch(line)
    if (formula and not re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}", line)) or is_mathematical(line):
        return line
    return line if _is_few_words(line) else None


def _is_few_words(line: str) -> bool:
    return len(line) <= _BARE and len(line.split()) <= _FEW_WORDS and not _COPULA.search(line) and isinstance(read(line), Text)


def _last_number(text: str) -> str | None:
    numbers = deque(_LAST.finditer(text), maxlen=1)
    if not numbers:
        return None
    last = numbers[0]
    if "$" in text or "\\(" in text or "\\[" in text:
        for formula in _MATH.finditer(text):
            inside = formula.start() < last.start() and last.end() < formula.end()
            if inside and is_mathematical(formula.group()):
                return formula.group()
    return last.group().strip()
