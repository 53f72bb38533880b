"""What the analyses group cards by: the skill a card trains and the difficulty it claims (SynCo D.2, Table 5c)."""

DIFFICULTIES = ("learnable", "mid-band", "hard", "too hard", "other")


def skill(target_reasoning_style: str) -> str:
    """A card's skill: its target reasoning style in lower case, single-spaced, at most 60 characters."""
    return " ".join(target_reasoning_style.lower().split())[:60].rstrip()


def difficulty(estimate: str) -> str:
    """The paper's difficulty label for a card's own estimate: one of DIFFICULTIES.

    The paper lists the labels but not the estimates behind them. Words are matched first; a number in [0, 1] falls below 0.4
    (learnable), below 0.7 (mid-band), below 0.9 (hard) or above (too hard).
    """
    text = estimate.lower()
    words = {
        "too hard": ("too hard", "too difficult", "infeasible"),
        "hard": ("hard", "difficult", "challenging", "advanced"),
        "mid-band": ("mid", "medium", "moderate", "intermediate"),
        "learnable": ("learnable", "easy", "basic", "simple"),
    }
    for label, cues in words.items():
        if any(cue in text for cue in cues):
            return label
    try:
        value = float(text)
    except ValueError:
        return "other"
    if not 0 <= value <= 1:
        return "other"
    return "learnable" if value < 0.4 else "mid-band" if value < 0.7 else "hard" if value < 0.9 else "too hard"
