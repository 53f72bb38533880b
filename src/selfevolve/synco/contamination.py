r"""Overlap between synthesized problems and benchmark problems.

Paper: SynCo names the requirement (C.4: "Do not copy or paraphrase known benchmark questions") and no method. Ours is
the usual 13-gram test on normalised tokens, with two additions: a problem shorter than one gram is compared whole, and
the signs + - * / ^ = < > % are tokens, because `b=a+5` and `b=a-5` are different problems.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

_SIGNS = str.maketrans({**dict.fromkeys("×·⋅∙", "*"), **dict.fromkeys("÷∕⁄", "/"), **dict.fromkeys("−–", "-")})
_LATEX_SIGNS = (
    (re.compile(r"\\(?:times|cdot|ast)(?![A-Za-z])"), " * "),
    (re.compile(r"\\div(?![A-Za-z])"), " / "),
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_TOKEN = re.compile(r"[^\W\d_]+(?:-(?=[^\W\d_]{2}))?|\d+(?:\.\d+)?|[-+*/^=<>%]")


def tokens(text: str) -> list[str]:
    r"""Words, numbers and signs of `text` in lower case; punctuation, `$` and thousands commas are gone."""
    text = text.lower().translate(_SIGNS)
    if "\\" in text:
        for pattern, sign in _LATEX_SIGNS:
            text = pattern.sub(sign, text)
    if "," in text:
        text = _THOUSANDS.sub("", text)
    return [token if len(token) == 1 else token.rstrip("-") for token in _TOKEN.findall(text)]


class ContaminationIndex:
    """Benchmark problems, indexed by their n-grams of tokens; built once, then a look-up costs a hash per token."""

    def __init__(self, problems: Iterable[str], n: int = 13):
        """Index `problems`; `n` is the tokens of a gram (13 in common use). An item without tokens is skipped."""
        if n < 1:
            raise ValueError(f"n must be at least 1, not {n}")
        self.n = n
        self._items: dict[bytes, int] = {}  # gram, or a whole item shorter than one -> index of the first item with it
        for index, problem in enumerate(problems):
            for gram in self._grams(problem):
                self._items.setdefault(gram, index)

    def overlap(self, problem: str) -> int | None:
        """Index of a benchmark item that shares n consecutive tokens with `problem`, None if there is none.

        An item or a problem of fewer than n tokens matches only one with exactly the same tokens.
        """
        return next((self._items[gram] for gram in self._grams(problem) if gram in self._items), None)

    def _grams(self, problem: str) -> Iterable[bytes]:
        words = tokens(problem)
        if not words:
            return
        for start in range(max(1, len(words) - self.n + 1)):
            gram = " ".join(words[start : start + self.n])
            yield blake2b(gram.encode("utf-8", "surrogatepass"), digest_size=8).digest()
