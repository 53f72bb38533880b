"""The pool of rewritten problems."""

import json
import random
import re

import polars as pl
import pytest

from selfevolve import families, params
from selfevolve.cards import FIELDS
from selfevolve.models.generation import Completion, Sampling
from selfevolve.synco import rewriting
from selfevolve.synco.settings import RewritingParams
from selfevolve.synco.verifier import Verifier

SETTINGS = params.load("tiny")
SAMPLING = Sampling(temperature=0.7, top_p=1.0, max_new_tokens=8)


def settings(size: int, rephrase: int = 2, self_verification: int = 1, backward: int = 1) -> RewritingParams:
    shares = {"rephrase": rephrase, "self_verification": self_verification, "backward": backward}
    return RewritingParams(size=size, shares=shares, writer="rules", sampling=SAMPLING)


def card(problem: str, solution: str, answer: str) -> str:
    values = dict.fromkeys(FIELDS, "some text") | {"target_reasoning_style": "stock"}
    return json.dumps(values | {"problem": problem, "solution": solution, "final_answer": answer})


@pytest.fixture(scope="module")
def seeds() -> list[str]:
    rng = random.Random(0)
    problems = [families.generate(rng, skill, level) for skill in families.SKILLS for level in (2, 3)]
    return [card(problem.text, problem.solution, problem.answer) for problem in problems]


def verifier(held_out: tuple[str, ...] = ()) -> Verifier:
    return Verifier(SETTINGS.verifier, held_out)


def test_the_pool_has_its_size_and_the_kinds_their_shares(seeds):
    pool = rewriting.build(seeds, settings(24), rewriting.Rules(), verifier(), 0)
    assert dict(pool.schema) == rewriting.SCHEMA and pool["admitted"].sum() == 24
    counts = dict(pool.group_by("origin").len().iter_rows())
    assert counts["rephrase"] == pytest.approx(2 * counts["backward"], abs=2)
    assert counts["self_verification"] == pytest.approx(counts["backward"], abs=1)
    assert pool.filter("admitted")["problem"].n_unique() == 24


def test_every_key_is_true_and_known_to_be(seeds):
    """An independent reading: a backward problem's answer, put in the place of x, gives a problem whose answer is the one stated."""
    pool = rewriting.build(seeds, settings(60), rewriting.Rules(), verifier(), 0)
    assert pool["true_key"].all()
    for row in pool.filter(pl.col("origin") == "backward").iter_rows(named=True):
        problem, stated = re.fullmatch(r"(.*) If the answer is (\d+), what is x\?", row["problem"]).groups()
        assert families.oracle(re.sub(r"\bx\b", row["answer"], problem)) == stated


def test_the_same_seed_makes_the_same_pool(seeds):
    one, again, other = (rewriting.build(seeds, settings(16), rewriting.Rules(), verifier(), seed) for seed in (0, 0, 1))
    assert one.equals(again) and not one.equals(other)


def test_a_wrong_key_of_the_seed_stays_wrong():
    wrong = card("A box has 12 nuts. Add 5. How many?", "12-5=7", "7")
    pool = rewriting.build([wrong], settings(50), rewriting.Rules(), verifier(), 0)
    assert not pool["true_key"].any()


def test_a_hidden_number_that_is_not_determined_is_no_true_key():
    """a is not used: every number fits."""
    text = card("a=5. b=3+4. b?", "3+4=7", "7")
    unread = card("a=5. b=a+2. c=b+1. b?", "5+2=7", "7")  # c is not used
    pool = rewriting.build([text, unread], settings(50, rephrase=0, self_verification=0), rewriting.Rules(), verifier(), 0)
    known = {(row["seed_problem"], row["answer"]): row["true_key"] for row in pool.iter_rows(named=True)}
    assert known["a=5. b=3+4. b?", "5"] is None  # the oracle does not read this one
    assert known["a=5. b=a+2. c=b+1. b?", "5"] is True and known["a=5. b=a+2. c=b+1. b?", "1"] is False


def test_a_benchmark_problem_that_is_met_again_is_left_out(seeds):
    pool = rewriting.build(seeds[:1], settings(50), rewriting.Rules(), verifier(), 0)
    seen = pool.filter("admitted")["problem"].to_list()
    again = rewriting.build(seeds[:1], settings(50), rewriting.Rules(), verifier(tuple(seen[:2])), 0)
    assert again.filter(reason="contaminated")["problem"].to_list() == seen[:2]


def test_the_pool_ends_when_nothing_is_left(seeds):
    pool = rewriting.build(seeds[:1], settings(1000), rewriting.Rules(), verifier(), 0)
    assert 0 < pool["admitted"].sum() < 30
    assert rewriting.build([], settings(5), rewriting.Rules(), verifier(), 0).is_empty()


def test_proposals_carry_kind_and_key(seeds):
    pool = rewriting.build(seeds, settings(8), rewriting.Rules(), verifier(), 0)
    proposals = rewriting.proposals(pool)
    assert [p.origin for p in proposals] == pool.filter("admitted")["origin"].to_list()
    assert all(p.true_key for p in proposals)


class Talker:
    """A model that answers every prompt with a fixed text; it shows what it was asked."""

    def __init__(self, *answers: str):
        self.answers, self.asked, self.seeds = answers, [], []

    def encode(self, chats):
        self.asked += [chat[-1]["content"] for chat in chats]
        return [[1]] * len(chats)

    def generate(self, prompts, sampling, seed):
        self.seeds.append(seed)
        return [Completion([1], self.answers[i % len(self.answers)]) for i in range(len(prompts))]


BOX = card("A box has 12 nuts. Add 5. How many?", "12+5=17", "17")


def test_a_model_may_rephrase_but_must_keep_the_numbers():
    talker = Talker("Into a box of 12\n nuts go 5 more. How many are there?", "Into a box of 13 nuts go 5 more. How many?")
    writer = rewriting.ModelWriter(talker, "short", SAMPLING, seed=0)
    pool = rewriting.build([BOX], settings(9, self_verification=0, backward=0), writer, verifier(), 0)
    assert pool["reason"].to_list() == ["", "numbers_changed", "duplicate"]
    assert pool["problem"][0] == "Into a box of 12 nuts go 5 more. How many are there?"
    assert "A box has 12 nuts. Add 5. How many?" in talker.asked[0]


def test_a_model_may_state_but_must_keep_the_answer():
    talker = Talker("There are 17 nuts in the end.", "There are many nuts in the end.")
    writer = rewriting.ModelWriter(talker, "short", SAMPLING, seed=0)
    pool = rewriting.build([BOX], settings(9, rephrase=0, backward=0), writer, verifier(), 0)
    assert sorted(pool["reason"]) == ["", "answer_lost"]
    assert "There are 17 nuts in the end. What is x?" in pool["problem"][0]
    assert "How many?" in talker.asked[0] and "17" in talker.asked[0]
    assert len(set(talker.seeds)) == len(talker.seeds)  # every call draws anew
