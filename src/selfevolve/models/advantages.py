"""Group-relative advantages: the step from rewards to gradient weights (SynCo section 3.3, Eq. 9).

Source: GRPO (Shao et al., 2024, DeepSeekMath, section 4.1.2), as TRL 1.16 computes it with `scale_rewards="group"`:
`(r - mean) / (std + 1e-4)` with the unbiased standard deviation.

Deviation: TRL works in float32, where the mean of equal rewards may differ from them by a rounding error; divided by
1e-4 that error becomes an advantage of up to 2e-3 for a group that carries no information. Here the arithmetic is
float64 and a group whose rewards are all equal gets exactly 0.0, which is the paper's definition of a group that is
not gradient-bearing (appendix D.2).
"""

import math

EPSILON = 1e-4  # TRL's guard against division by zero; part of the published reward scale, so not a parameter


def group_advantages(groups: list[list[float]]) -> list[list[float]]:
    """Centre and scale the rewards within each group.

    Reasoner: one group holds the K rollouts of one card. Synthesizer: one group holds the cards of one iteration
    that were proposed for the same context.

    Args:
        groups: rewards, any number of groups of any size >= 0; every reward finite.

    Returns:
        The same shape. Each group sums to 0 up to rounding; a constant group (also one of size 1) is exactly 0.0.

    Raises:
        ValueError: a reward is NaN or infinite (it would silently turn the whole group, then the policy, into NaN).
    """
    return [_advantages(index, group) for index, group in enumerate(groups)]


def _advantages(index: int, rewards: list[float]) -> list[float]:
    if not all(math.isfinite(reward) for reward in rewards):
        raise ValueError(f"group {index} holds a reward that is not finite: {rewards}; score it before calling")
    if not rewards or max(rewards) == min(rewards):
        return [0.0] * len(rewards)
    mean = math.fsum(rewards) / len(rewards)
    std = math.sqrt(math.fsum((reward - mean) ** 2 for reward in rewards) / (len(rewards) - 1))
    return [(reward - mean) / (std + EPSILON) for reward in rewards]
