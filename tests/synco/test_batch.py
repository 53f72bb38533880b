"""From outcomes to rewards, groups and rows: the shared batch of one iteration."""

import json

import pytest

from selfevolve import params
from selfevolve.cards import FIELDS
from selfevolve.models.generation import Completion
from selfevolve.synco.batch import Interaction, judge, reasoner_rows, record, synthesizer_rows, verify
from selfevolve.synco.memory import SCHEMA
from selfevolve.synco.proposals import Proposal
from selfevolve.synco.verifier import Verifier


def card(problem: str, solution: str, answer: str) -> str:
    values = dict.fromkeys(FIELDS, "some text") | {"difficulty_estimate": "hard", "target_reasoning_style": "Stock"}
    return json.dumps(values | {"problem": problem, "solution": solution, "final_answer": answer})


GOOD = card("A box has 12 nuts. Add 5. How many?", "12+5=17", "17")
OTHER = card("A box has 30 pens. Take 4. How many?", "30-4=26", "26")
WRONG = card("A box has 12 nuts. Add 6. How many?", "12+6=19", "19")


@pytest.fixture
def batch():
    proposals = [
        Proposal(GOOD, 0, "context a", "stock", (1, 2), (3, 4)),
        Proposal(WRONG, 0, "context a", "stock", (1, 2), (5,)),
        Proposal(GOOD, 1, "context b", "shop", (1, 7), (8,)),
        Proposal(OTHER, 1, "context b", "shop", (1, 7), (9,)),
    ]
    verifier = Verifier(params.load("tiny").verifier, [])
    reports = verify(proposals, verifier, remember=True)
    texts = [r"\boxed{17}", "Answer 17", r"\boxed{18}", "", r"\boxed{26}", r"\boxed{26}", r"\boxed{26}", r"\boxed{26}"]
    completions = [Completion([10 + i, 1], text) for i, text in enumerate(texts)]
    rollouts = judge(reports, [(20, 21), (22,)], completions)
    return [Interaction(*parts) for parts in zip(proposals, reports, rollouts, strict=True)]


def test_admission_in_order_catches_duplicates_within_the_batch(batch):
    assert [item.report.admitted for item in batch] == [True, False, False, True]
    assert [item.report.reason for item in batch] == ["", "wrong_step", "duplicate", ""]


def test_a_pool_card_may_repeat():
    verifier = Verifier(params.load("tiny").verifier, [])
    reports = verify([Proposal(GOOD, 0), Proposal(GOOD, 0)], verifier, remember=False)
    assert all(report.admitted for report in reports)


def test_rollout_rewards_and_success(batch):
    """B.2: 1.0 boxed, 0.9 recovered without the box, 0 otherwise."""
    assert batch[0].rollouts.rewards == [1.0, 0.9, 0.0, 0.0]
    assert batch[0].rollouts.success_rate == 0.5 and batch[0].rollouts.gradient_bearing
    assert batch[3].rollouts.success_rate == 1.0 and not batch[3].rollouts.gradient_bearing
    assert batch[1].rollouts is batch[2].rollouts is None


def test_synthesizer_rewards(batch):
    """Eq. 23 with T(0.5) = 1 and T(1) = 0; rejected cards get -0.5; every non-empty output 0.1 more."""
    assert batch[0].synthesizer_reward == pytest.approx(1.1, abs=0.05)
    assert [item.synthesizer_reward for item in batch[1:3]] == [pytest.approx(-0.4)] * 2
    assert batch[3].synthesizer_reward == pytest.approx(0.1)
    empty = Interaction(Proposal("", 0), Verifier(params.load("tiny").verifier, []).verify(""), None)
    assert empty.synthesizer_reward == pytest.approx(-0.5)


def test_reasoner_rows_group_by_card(batch):
    rows = reasoner_rows(batch)
    assert [row.prompt_ids for row in rows] == [(20, 21)] * 4 + [(22,)] * 4
    assert [row.completion_ids for row in rows] == [(10 + i, 1) for i in range(8)]
    assert rows[0].advantage > rows[1].advantage > 0 > rows[2].advantage == rows[3].advantage
    assert [row.advantage for row in rows[4:]] == [0.0] * 4
    assert sum(row.advantage for row in rows[:4]) == pytest.approx(0, abs=1e-12)


def test_synthesizer_rows_group_by_context(batch):
    rows = synthesizer_rows(batch)
    assert [row.completion_ids for row in rows] == [(3, 4), (5,), (8,), (9,)]
    assert rows[0].advantage == -rows[1].advantage > 0
    assert rows[3].advantage == -rows[2].advantage > 0


def test_records_fit_the_memory_and_know_the_true_key(batch):
    rows = [record(7, 3, slot, item) for slot, item in enumerate(batch)]
    assert all(set(row) == set(SCHEMA) for row in rows)
    first = rows[0]
    assert first["true_key"] is True and first["skill"] == "stock" and first["difficulty"] == "hard"
    assert first["alignment"] == 1.0 and rows[3]["alignment"] == 0.0
    assert first["answers"] == ["17", "17", "18", None] and first["correct"] == [True, True, False, False]
    assert rows[1]["rollouts"] == [] and rows[1]["success_rate"] is None and rows[1]["synthesizer_reward"] == pytest.approx(-0.4)


def test_nothing_is_paid_for_a_pool_card(batch):
    pool = Interaction(Proposal(GOOD, 0), batch[0].report, batch[0].rollouts)
    assert record(0, 1, 0, pool)["synthesizer_reward"] is None


def test_a_wrong_key_that_is_consistent_is_admitted_and_known_to_the_oracle_alone():
    text = card("A box has 12 nuts. Add 5. How many?", "12-5=7", "7")
    (report,) = verify([Proposal(text, 0)], Verifier(params.load("tiny").verifier, []), remember=True)
    assert report.admitted
    rollouts = judge([report], [(1,)], [Completion([2], r"\boxed{7}"), Completion([3], r"\boxed{17}")])
    assert record(0, 1, 0, Interaction(Proposal(text, 0), report, rollouts[0]))["true_key"] is False


def test_a_source_may_leave_most_checks_aside():
    """A wrong sum does not reject a card whose key is known otherwise; a benchmark's problem does, and so does what is no card."""
    verifier = Verifier(params.load("tiny").verifier, ["A box has 30 pens. Take 4. How many?"])
    proposals = [Proposal(WRONG, 0), Proposal(OTHER, 0), Proposal("{", 0)]
    reports = verify(proposals, verifier, remember=False, checks=frozenset({"contaminated"}))
    assert [report.reason for report in reports] == ["", "contaminated", "schema:truncated"]
    assert reports[0].steps == 0.0  # measured all the same


def test_a_proposal_may_bring_its_origin_and_its_true_key(batch):
    report, rollouts = batch[0].report, batch[0].rollouts
    row = record(0, 1, 0, Interaction(Proposal(GOOD, 0, origin="backward", true_key=False), report, rollouts))
    assert (row["origin"], row["true_key"], row["agreement"]) == ("backward", False, None)
    row = record(0, 1, 0, Interaction(Proposal(GOOD, 0, agreement=0.6), report, rollouts))
    assert (row["origin"], row["true_key"], row["agreement"]) == (None, True, 0.6)


def test_an_iteration_without_admitted_cards_has_no_rows(batch):
    rejected = [batch[1], batch[2]]
    assert reasoner_rows(rejected) == []
    assert judge([item.report for item in rejected], [], []) == [None, None]
