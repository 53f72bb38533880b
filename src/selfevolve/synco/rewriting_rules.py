"""Rewriting one problem by rule: other words, or a given number turned into the unknown (SynCo C.2, Off-Augment).

Source: MetaMath (Yu et al. 2024), sections 3.2-3.4. A backward question replaces one number of the problem by x. FOBAR adds the
known answer as a condition ("If the answer is 17, what is x?"); self-verification turns question and answer into a statement first.

Deviations: MetaMath lets GPT-3.5 rephrase and write the statement; here that is one of two writers (`rewriting`), and these rules are the
other. A rule moves the question or joins sentences, so its rephrasings vary little. Nothing can tell by rule whether the hidden number is
determined by the rest; in the problem families of the `tiny` profile it always is.
"""

import re
from typing import NamedTuple

_NUMBER = re.compile(r"(?<![\w.,/])\d+(?:,\d{3})*(?:\.\d+)?(?![\w/]|[.,]\d)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_UNKNOWNS = ("x", "X", "y", "z", "w", "n")
_SYMBOL = re.compile(r"[A-Za-z]\w?")


class Split(NamedTuple):
    """A problem as its givens and its question, the last sentence."""

    givens: str
    question: str


def split(problem: str) -> Split:
    """Cut a problem before its last sentence; the givens are empty if there is only one."""
    *givens, question = _SENTENCE.split(problem.strip())
    return Split(" ".join(givens), question)


def rephrasings(problem: str) -> list[str]:
    """The problem in other arrangements, with all its words and numbers; none if it is a single sentence."""
    givens, question = split(problem)
    if not givens:
        return []
    joined = _SENTENCE.sub("; ", givens).replace(".;", ";")
    return [f"{question} {givens}", f"{joined} {question}", f"Given this: {givens} {question}"]


def hidden(problem: str) -> list[tuple[str, str, str]]:
    """For each number of the problem: the problem with an unknown in its place, the unknown's name, and the number."""
    name = next((name for name in _UNKNOWNS if not re.search(rf"(?<![A-Za-z]){name}(?![A-Za-z])", problem)), None)
    if name is None:
        return []
    return [(problem[: m.start()] + name + problem[m.end() :], name, m[0]) for m in _NUMBER.finditer(problem)]


def backward(masked: str, answer: str, name: str) -> str:
    """FOBAR: the masked problem, then the unknown asked for, given its answer."""
    return f"{masked} If the answer is {answer}, what is {name}?"


def self_verification(masked: str, statement: str, name: str) -> str:
    """The givens of the masked problem, the statement of its answer, then the unknown asked for."""
    return " ".join(part for part in (split(masked).givens, statement, f"What is {name}?") if part)


def statement(question: str, answer: str) -> str:
    """A question and its answer as one statement: `How many: 17.`, or `b=17.` if only a symbol is asked for."""
    asked = question.strip().rstrip("?!. ")
    return f"{asked}={answer}." if _SYMBOL.fullmatch(asked) else f"{asked}: {answer}."


def keeps_numbers(problem: str, other: str) -> bool:
    """Whether two texts hold the same numbers, in any order."""
    one, two = (sorted(_NUMBER.findall(text)) for text in (problem, other))
    return one == two
