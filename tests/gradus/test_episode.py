"""Stepping through the toy by hand."""

import pytest
import toy

from selfevolve.gradus import episode


@pytest.fixture
def library(tmp_path):
    return toy.library(tmp_path)


def test_a_step_shows_branches_answer_and_changes(library):
    env = toy.Toy()
    step = episode.step(library, env, "release", {"parcel_id": "p2"}, {"asked": False})
    assert step.judgement.violations == ("release.asked", "release.fee")
    assert step.branches.select("policy_id", "outcome", "verdict", "holds").rows() == [
        ("release.exists", "known", "allow", "yes"),
        ("release.once", "first", "allow", "yes"),
        ("release.fee", "owed", "deny", "yes"),
        ("release.asked", "not_asked", "deny", "yes"),
    ]
    assert step.observation.ok, "a breach of policy is carried out"
    assert step.changes.rows() == [("parcels.p2.status", "stored", "released")]
    assert env.state["parcels"]["p2"].status == "released"


def test_what_the_dialogue_has_not_told_is_named(library):
    step = episode.step(library, toy.Toy(), "release", {"parcel_id": "p1"})
    undecided = step.branches.filter(policy_id="release.asked").select("outcome", "holds").rows()
    assert undecided == [("asked", "depends on asked, owner"), ("not_asked", "depends on asked, owner")]


def test_a_refused_call_changes_nothing(library):
    step = episode.step(library, toy.Toy(), "pay", {"parcel_id": "p1", "amount": 5})
    assert step.judgement.rejections == ("pay.amount",) and not step.observation.ok
    assert step.changes.height == 0


def test_the_user_calls_the_users_tools_and_new_places_have_no_value_before(library):
    step = episode.step(library, toy.Toy(), "ring", {})
    assert step.changes.rows() == [("log.0", "", "ring")]
