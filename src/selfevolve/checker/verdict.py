"""What the checker says about one (text, reference) pair."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of `check`. A frozen slotted dataclass, not a pydantic model: a training iteration makes
    thousands of these and the common pair is decided in microseconds, which validation would double.

    correct: True or False; None when the *reference* cannot be read (count it, never reward on it).
    boxed: the answer came from a closed, non-empty `\\boxed{}` outside `<think>`.
    answer: the extracted answer as written, or None when the text holds none.
    method: the rule that decided (`docs/checker.md` lists them), or why there is no rule to name: "no answer",
    "unreadable", "reference", "timeout", "memory", "crash", "too deep", "undecided", "error" (a defect: report it).
    """

    correct: bool | None
    boxed: bool
    answer: str | None
    method: str
