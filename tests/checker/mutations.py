"""Labelled pairs by construction: a gold, answers equal to it by rewriting, and wrong ones by mutation.

Each maker takes a `random.Random` and returns (gold, equal answers, wrong answers).
"""

from collections.abc import Iterator
from random import Random

from mutate_formulas import FORMULAS
from mutate_numbers import NUMERIC
from mutate_structures import STRUCTURES

_FRAMES = (
    "\\boxed{%s}",
    "So the answer is $\\boxed{%s}$.",
    "First \\boxed{0}, no: \\boxed{%s}",
    "<think>\\boxed{1}</think> \\boxed{ %s }",
    "The answer is $%s$.",
    "Adding 3 and 4 gives more.\n\n**Final Answer:** $%s$",
)


def pairs(seed: int, per_kind: int) -> Iterator[tuple[str, str, str, bool]]:
    """(kind, text, reference, equal?) for every kind, `per_kind` golds each."""
    rng = Random(seed)
    for maker in NUMERIC + FORMULAS + STRUCTURES:
        for _ in range(per_kind):
            gold, equal, wrong = maker(rng)
            for answers, label in ((equal, True), (wrong, False)):
                for answer in answers:
                    yield maker.__name__, rng.choice(_FRAMES) % answer, gold, label
