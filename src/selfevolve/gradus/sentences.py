"""The sentences of a policy document, and which of them a set of quotes covers.

Paper: Gradus section 2.2 and appendix A.7 (every guard cites the policy it comes from; source citations).

What counts as a sentence, which the paper leaves open:

* A line is never joined to the next, except a line that starts in lower case and follows one without closing
  punctuation (hard-wrapped prose). So every item of a list is at least one sentence.
* A line is split after `.`, `!` or `?` (and closing quotes or brackets) before a space and anything but a lower-case
  letter, except after abbreviations such as "e.g.".
* Headings (`#`) and labels (at most four words that end in a colon, as in "Change flights:") are no sentences, though
  a quote may run across them.

Quotes are compared word by word. White space, list markers, emphasis and backticks, and punctuation at the ends of a
quote do not count; everything else does, capitals included. A quote that occurs several times covers every place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

COVERED = 0.5  # share of a sentence's words that quotes must reach; a rule cited in two halves is often cited without its "and"
_HEADING = re.compile(r"\s*#{1,6}\s")
_MARKER = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_BREAK = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+(?![a-z])")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|No|Mr|Mrs|Ms|Dr))\.$")
_EMPHASIS = re.compile(r"\*+|`+|(?<!\w)__?(?=\S)|(?<=\S)__?(?!\w)")
_TYPOGRAPHY = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "\N{NO-BREAK SPACE}": " "})
_EDGES = ".,;:!?\"'()[]"


class Sentences:
    """The sentences of one document.

    Attributes:
        texts: the sentences in order, as written (list markers removed, white space collapsed).
    """

    def __init__(self, document: str):
        self.texts: list[str] = []
        self._words: list[str] = []  # of the whole document, headings included
        self._spans: list[tuple[int, int]] = []  # per sentence, into _words
        for line, is_sentence in _lines(document):
            for text in _split(line) if is_sentence else [line]:
                start = len(self._words)
                self._words += _normalise(text)
                if is_sentence and len(self._words) > start:
                    self.texts.append(text)
                    self._spans.append((start, len(self._words)))
        self._bare = [word.strip(_EDGES) for word in self._words]

    def places(self, quote: str) -> list[range]:
        """Where `quote` occurs, as ranges of words; empty if it does not occur in the document."""
        words = [word for line in quote.splitlines() for word in _normalise(_MARKER.sub("", line, count=1))]
        if not words:
            return []
        first, last, inner = words[0].lstrip(_EDGES), words[-1].rstrip(_EDGES), words[1:-1]
        found = []
        for start in range(len(self._words) - len(words) + 1):
            if len(words) == 1:
                same = self._bare[start] == words[0].strip(_EDGES)
            else:
                end = start + len(words) - 1
                same = (
                    self._words[start].lstrip(_EDGES) == first
                    and self._words[end].rstrip(_EDGES) == last
                    and self._words[start + 1 : end] == inner
                )
            if same:
                found.append(range(start, start + len(words)))
        return found

    def uncovered(self, quotes: Iterable[str]) -> list[str]:
        """The sentences of which `quotes` reach less than `COVERED` of the words, in order."""
        reached = {word for quote in quotes for place in self.places(quote) for word in place}
        return [
            text
            for text, (start, end) in zip(self.texts, self._spans, strict=True)
            if sum(word in reached for word in range(start, end)) < COVERED * (end - start)
        ]


def _lines(document: str) -> list[tuple[str, bool]]:
    """(line without its list marker, whether it holds sentences) of every line that is not blank."""
    lines: list[tuple[str, bool]] = []
    open_line = False  # the next line may continue this one
    for raw in document.splitlines():
        if not raw.strip():
            open_line = False
            continue
        if _HEADING.match(raw):
            lines.append((raw.strip(" \t#"), False))
            open_line = False
            continue
        text = " ".join(_MARKER.sub("", raw, count=1).split())
        if open_line and not _MARKER.match(raw) and text[:1].islower():
            lines[-1] = (f"{lines[-1][0]} {text}", True)
        else:
            label = text.rstrip("*_ ").endswith(":") and len(text.split()) <= 4
            lines.append((text, not label))
        open_line = lines[-1][1] and lines[-1][0][-1:] not in ".!?:"
    return lines


def _split(line: str) -> list[str]:
    parts, start = [], 0
    for match in _BREAK.finditer(line):
        head = line[start : match.end()].strip()
        if not _ABBREVIATION.search(head):
            parts.append(head)
            start = match.end()
    return [*parts, rest] if (rest := line[start:].strip()) else parts


def _normalise(text: str) -> list[str]:
    words = _EMPHASIS.sub("", text.translate(_TYPOGRAPHY)).split()
    # A quote folded by YAML has the list markers of its lines in its middle.
    return [word for word in words if word not in ("-", "+", "•") and not re.fullmatch(r"\d+[.)]", word)]
