import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from selfevolve.models.rows import Row, collate, micro_batches


def row(prompt: int, completion: int, advantage: float = 1.0, mask: tuple[int, ...] | None = None) -> Row:
    prompt_ids, completion_ids = range(10, 10 + prompt), range(50, 50 + completion)
    return Row(prompt_ids=prompt_ids, completion_ids=completion_ids, advantage=advantage, mask=mask)


@given(
    lengths=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=20),
    world=st.integers(1, 4),
    size=st.integers(1, 21),
)
def test_every_row_is_in_exactly_one_micro_batch_and_ranks_keep_step(lengths, world, size):
    rows = [row(p, c, advantage=float(i)) for i, (p, c) in enumerate(lengths)]
    plan = micro_batches(rows, world, size)
    assert all(len(shares) == world for shares in plan)
    assert all(len({len(share) for share in shares}) == 1 for shares in plan)
    shares = [share for shares in plan for share in shares]
    assert all(1 <= len(share) <= size for share in shares)
    real = [r for share in shares for r in share if r.mask is None]
    assert sorted(r.advantage for r in real) == [float(i) for i in range(len(rows))]
    idle = [r for share in shares for r in share if r.mask is not None]
    assert all(r.tokens == 0 for r in idle)
    assert len(idle) < world
    slots = -(-len(rows) // world)
    assert len(plan) == -(-slots // size)


def test_micro_batches_hold_rows_of_similar_length_longest_first():
    plan = micro_batches([row(1, n) for n in (5, 1, 8, 2, 7, 4)], 1, 2)
    assert [[r.length - 1 for r in shares[0]] for shares in plan] == [[8, 7], [5, 4], [2, 1]]


def test_collate_pads_on_the_right_only_and_scores_policy_tokens_only():
    batch = collate([row(2, 3, 0.5), row(4, 2, -1.0, mask=(1, 0))], pad_id=0)
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1)
    assert ids.tolist() == [[10, 11, 50, 51, 52, 0], [10, 11, 12, 13, 50, 51]]
    assert batch["prompt_mask"].tolist() == [[1, 1], [1, 1]]
    assert batch["completion_mask"].tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert batch["tool_mask"].tolist() == [[1, 1, 1, 0], [0, 0, 1, 0]]
    assert batch["advantages"].tolist() == [0.5, -1.0]


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt_ids": []},
        {"completion_ids": []},
        {"mask": [1]},
        {"mask": [1, 2]},
        {"advantage": float("nan")},
        {"reward": 1.0},
    ],
)
def test_malformed_rows_are_refused(fields):
    with pytest.raises(ValidationError):
        Row(**{"prompt_ids": [5], "completion_ids": [6, 7], "advantage": 0.0} | fields)


def test_tokens_are_those_of_the_policy():
    assert row(3, 4).tokens == 4
    assert row(3, 4, mask=(1, 0, 0, 1)).tokens == 2
    assert row(3, 4).length == 7
