"""Rewards of the two agents.

Paper: SynCo section 3.3 and appendix B.2, Eq. 7 and 23-25 and the constants in its text. Deviation: a reference answer
the checker cannot read would give the Reasoner 0; the verifier admits no card with such an answer.
"""

from __future__ import annotations

from typing import Protocol

GATE_FLOOR = 0.5  # Eq. 24: G(v) = clip((v - 0.5) / 0.5, 0, 1)
GATE_WIDTH = 0.5  # Eq. 24
BEST_SUCCESS_RATE = 0.5  # Eq. 25: teachability peaks where half of the rollouts succeed
REJECTED = -0.5  # B.2: "an immediate Synthesizer reward of -0.5"
NON_EMPTY_BONUS = 0.1  # B.2: "a constant 0.1 bonus to non-empty model outputs"
CORRECT_BOXED = 1.0  # B.2: correct in the prescribed format
CORRECT_UNBOXED = 0.9  # B.2: correct, "recovered without that format"
INCORRECT = 0.0  # B.2: "0 otherwise"


class Judged(Protocol):
    """What `reasoner_reward` reads of a checker's verdict."""

    @property
    def correct(self) -> bool | None: ...

    @property
    def boxed(self) -> bool: ...


def gate(v: float) -> float:
    """G(v) of Eq. 24: 0 up to 0.5, then linear to 1 at 1. `v` in [0, 1], else ValueError (NaN included)."""
    return min(max((_unit(v, "v") - GATE_FLOOR) / GATE_WIDTH, 0.0), 1.0)


def teachability(mu: float) -> float:
    """T(mu) of Eq. 25: 2 mu up to one half, 2 (1 - mu) above. `mu` in [0, 1], else ValueError (NaN included)."""
    mu = _unit(mu, "mu")
    return 2.0 * mu if mu <= BEST_SUCCESS_RATE else 2.0 * (1.0 - mu)


def synthesizer_reward(
    admitted: bool, quality: float | None, reliability: float | None, mu: float | None, non_empty: bool
) -> float:
    """The Synthesizer's reward for one output (Eq. 23 and the text after Eq. 25), in [-0.5, 1.1].

    Args:
        admitted: whether the verifier admitted the card.
        quality: the verifier's quality in [0, 1]; may be None (and is not read) for a rejected card.
        reliability: the verifier's reliability in [0, 1]; likewise.
        mu: share of the Reasoner's rollouts on the card that were correct, in [0, 1]; likewise.
        non_empty: whether the model wrote anything at all; the bonus goes to admitted and rejected outputs alike.

    Raises:
        ValueError: an admitted card with a missing or out-of-range value, or an admitted empty output.
    """
    bonus = NON_EMPTY_BONUS if non_empty else 0.0
    if not admitted:
        return REJECTED + bonus
    if not non_empty:
        raise ValueError("an empty output cannot have been admitted: check how `non_empty` is computed")
    return gate(_unit(quality, "quality")) * gate(_unit(reliability, "reliability")) * teachability(_unit(mu, "mu")) + bonus


def reasoner_reward(verdict: Judged) -> float:
    """The Reasoner's reward for one rollout (B.2): 1.0 correct and boxed, 0.9 correct otherwise, 0 if not (or None)."""
    if not verdict.correct:
        return INCORRECT
    return CORRECT_BOXED if verdict.boxed else CORRECT_UNBOXED


def _unit(value: float | None, name: str) -> float:
    if value is None or not 0.0 <= value <= 1.0:  # NaN compares false
        raise ValueError(f"{name} must be a number in [0, 1], not {value!r}")
    return float(value)
