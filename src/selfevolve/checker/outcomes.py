"""Outcomes of a comparison: True, False, or None where it takes computer algebra to tell."""

from collections.abc import Callable, Sequence

from selfevolve.checker.kinds import Answer

Decide = Callable[[Answer, Answer], bool | None]  # settles two formulas; the gold comes first
Same = Callable[[Answer, Answer], bool | None]  # compares two answers of any type


def both(outcomes: Sequence[bool | None]) -> bool | None:
    """Three-valued "and"."""
    if False in outcomes:
        return False
    return None if None in outcomes else True


def either(outcomes: Sequence[bool | None]) -> bool | None:
    """Three-valued "or"."""
    if True in outcomes:
        return True
    return None if None in outcomes else False
