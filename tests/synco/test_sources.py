"""Where proposals come from."""

import polars as pl
import pytest

from selfevolve.models.generation import Completion, Sampling
from selfevolve.synco.memory import SCHEMA
from selfevolve.synco.proposals import Proposal
from selfevolve.synco.sources import FixedPool, SynthesizerSource, draw

EMPTY = pl.DataFrame(schema=SCHEMA)


def pool_of(size: int) -> list[Proposal]:
    return [Proposal(f"card {i}", 0) for i in range(size)]


def test_a_pool_is_drawn_without_replacement_then_reshuffled():
    pool = FixedPool(pool_of(10), tasks=4, seed=1)
    drawn = [proposal.text for iteration in range(1, 6) for proposal in pool.propose(iteration, EMPTY)]
    first, second = drawn[:10], drawn[10:20]
    assert sorted(first) == sorted(second) == sorted(f"card {i}" for i in range(10))
    assert first != second
    again = FixedPool(pool_of(10), tasks=4, seed=1)
    assert [p.text for p in again.propose(3, EMPTY)] == drawn[8:12]  # no state: iteration 3 alone gives the same
    other = FixedPool(pool_of(10), tasks=4, seed=2)
    assert [p.text for p in other.propose(1, EMPTY)] != drawn[:4]


def test_an_empty_pool_says_why():
    with pytest.raises(ValueError, match="no card got past the verifier"):
        FixedPool([], tasks=4, seed=1)


def test_walks_with_other_names_take_another_order():
    pool = pool_of(20)
    assert draw(pool, 0, 20, 1, "round", 1) != draw(pool, 0, 20, 1, "round", 2)
    assert sorted(draw(pool, 0, 20, 1, "round", 1)) == sorted(pool)


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


def test_a_synthesizer_without_a_trainer_is_frozen(tmp_path):
    source = SynthesizerSource(None, "compact", 4, 2, None, seed=3)
    assert source.learn([]) is None
    source.save(tmp_path / "synthesizer")
    assert not (tmp_path / "synthesizer").exists()
