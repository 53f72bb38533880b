import math
import statistics

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from selfevolve.models.advantages import group_advantages

REWARDS = st.floats(-2.0, 2.0, allow_nan=False)


@pytest.mark.parametrize("value", [0.0, 0.1, 0.9, 1.0, -0.5, 1 / 3, 1.1, 1e-300, 1e300])
def test_constant_groups_of_any_size_are_exactly_zero(value):
    for size in range(1, 65):
        assert group_advantages([[value] * size]) == [[0.0] * size]


def test_mixed_group_equals_trls_formula():
    rewards = [1.0, 0.9, 0.0, 0.0]
    tensor = torch.tensor(rewards, dtype=torch.float64)
    expected = (tensor - tensor.mean()) / (tensor.std() + 1e-4)
    assert group_advantages([rewards])[0] == pytest.approx(expected.tolist(), abs=1e-12)


def test_groups_do_not_see_each_other_and_keep_their_shape():
    first, second = [1.0, 0.0], [0.9, 0.9, 0.0]
    assert group_advantages([first, [], second, [0.3]]) == [
        group_advantages([first])[0],
        [],
        group_advantages([second])[0],
        [0.0],
    ]
    assert group_advantages([]) == []


def test_a_tiny_difference_still_counts():
    advantages = group_advantages([[0.1, 0.1 + 1e-12]])[0]
    assert advantages[0] < 0 < advantages[1]


@given(st.lists(REWARDS, min_size=2, max_size=16))
def test_advantages_are_centred_scaled_and_in_reward_order(rewards):
    advantages = group_advantages([rewards])[0]
    assert sum(advantages) == pytest.approx(0.0, abs=1e-9)
    assert statistics.stdev(advantages) <= 1.0 + 1e-9
    if max(rewards) - min(rewards) > 1e-2:
        assert statistics.stdev(advantages) > 0.9
    order = sorted(range(len(rewards)), key=rewards.__getitem__)
    assert all(advantages[a] <= advantages[b] for a, b in zip(order, order[1:], strict=False))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_rewards_that_are_not_finite_are_refused(bad):
    with pytest.raises(ValueError, match="group 1"):
        group_advantages([[0.0, 1.0], [1.0, bad]])
