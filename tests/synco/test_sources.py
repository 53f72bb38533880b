"""Where proposals come from."""

import polars as pl
import pytest

from selfevolve.models.generation import Completion, Sampling
from selfevolve.synco.memory import SCHEMA
from selfevolve.synco.sources import StaticPool, SynthesizerSource

EMPTY = pl.DataFrame(schema=SCHEMA)


def test_a_pool_is_drawn_without_replacement_then_reshuffled():
    pool = StaticPool([f"card {i}" for i in range(10)], tasks=4, seed=1)
    drawn = [proposal.text for iteration in range(1, 6) for proposal in pool.propose(iteration, EMPTY)]
    first, second = drawn[:10], drawn[10:20]
    assert sorted(first) == sorted(second) == sorted(f"card {i}" for i in range(10))
    assert first != second
    again = StaticPool([f"card {i}" for i in range(10)], tasks=4, seed=1)
    assert [p.text for p in again.propose(3, EMPTY)] == drawn[8:12]  # no state: iteration 3 alone gives the same
    other = StaticPool([f"card {i}" for i in range(10)], tasks=4, seed=2)
    assert [p.text for p in other.propose(1, EMPTY)] != drawn[:4]


def test_an_empty_pool_says_why():
    with pytest.raises(ValueError, match="no card past the verifier"):
        StaticPool([], tasks=4, seed=1)


def test_synthesizer_proposals_keep_group_prompt_and_sampled_ids():
    class Policy:
        def encode(self, chats):
            return [[len(chat[-1]["content"])] for chat in chats]

        def generate(self, prompts, sampling, seed):
            self.call = (len(prompts), seed)
            return [Completion([i, 1], f"card {i}") for i in range(len(prompts))]

    policy = Policy()
    sampling = Sampling(temperature=1.0, top_p=1.0, max_new_tokens=8)
    source = SynthesizerSource(policy, "compact", 6, 2, sampling, seed=3)
    proposals = source.propose(1, EMPTY)
    assert [p.group for p in proposals] == [0, 0, 0, 1, 1, 1]
    assert [p.text for p in proposals] == [f"card {i}" for i in range(6)]
    assert proposals[4].completion_ids == (4, 1) and proposals[4].prompt_ids
    first = policy.call
    source.propose(2, EMPTY)
    assert policy.call != first  # every iteration draws with a seed of its own
    source.propose(1, EMPTY)
    assert policy.call == first
