"""Coverage of a base database, counted by hand for the toy and the desk, and against judgements."""

import polars as pl
import pytest
import toy

from selfevolve.environments import load
from selfevolve.gradus import coverage, operators


@pytest.fixture
def library(tmp_path):
    return toy.library(tmp_path)


def test_the_table_counts_entities(library):
    table = coverage.table(library, toy.Toy(), per_entity=2)
    counts = {(row["policy_id"], row["outcome"]): row["entities"] for row in table.iter_rows(named=True)}
    assert counts["look.exists", "known"] == 3 and counts["look.exists", "unknown"] == 1
    assert counts["pay.amount", "fits"] == 2 and counts["pay.amount", "too_much"] == 3
    assert counts["release.asked", "asked"] == 3, "some facts make it so for each of the three"
    assert counts["release.fee", "clear"] == 1 and counts["release.fee", "owed"] == 2
    assert counts["release.once", "again"] == counts["release.empty", "empty"] == 0
    assert counts["release.manners", "kind"] is None, "in words only"
    assert counts["ring.any", "any"] == 1


def test_the_table_has_a_row_per_guard_in_the_librarys_order(library):
    table = coverage.table(library, toy.Toy())
    guards = [(operator.action, *guard.unit) for operator in library.operators.values() for guard in operator.guards]
    assert table.select("action", "policy_id", "outcome").rows() == guards
    assert table.schema["entities"] == pl.Int64


def test_actions_at_a_glance(library):
    rows = {row["action"]: row for row in coverage.actions(library).iter_rows(named=True)}
    assert list(rows) == list(library.operators)
    assert rows["release"] == {
        "action": "release", "kind": "write", "requestor": "assistant", "policies": 7, "branches": 11,
        "allow": 7, "refused": 2, "breach": 2, "dialogue": 3, "effects": 1,
    }  # fmt: skip
    assert rows["ring"]["requestor"] == "user"


def test_combinations(library):
    rows = coverage.combinations(library, toy.Toy(), "release", "release.fee").rows()
    assert rows == [(["owed"], 2, 2, "p2"), ([], 1, 1, "p0"), (["clear"], 1, 1, "p1")]
    rows = coverage.combinations(library, toy.Toy(), "release", "release.asked").rows()
    assert rows == [(["not_asked"], 4, 0, "p0"), (["asked"], 3, 0, "p1"), ([], 1, 0, "p0")], (
        "who is not asked is not asked for p0 too"
    )


def test_combinations_of_two_policies_and_given_facts(library):
    env = toy.Toy()
    rows = coverage.combinations(library, env, "release", "release.fee", "release.asked", facts={"asked": False}).rows()
    assert rows == [
        (["release.fee/owed", "release.asked/not_asked"], 2, 2, "p2"),
        (["release.asked/not_asked"], 1, 1, "p0"),
        (["release.fee/clear", "release.asked/not_asked"], 1, 1, "p1"),
    ]


def test_an_unknown_policy(library):
    with pytest.raises(ValueError, match="release has no policy 'x' with conditions; it has release.exists, release.once"):
        coverage.combinations(library, toy.Toy(), "release", "x")


def test_the_state_is_left_alone(library):
    env = toy.Toy()
    before = env.state_hash()
    coverage.table(library, env)
    assert env.state_hash() == before


def test_the_desk():
    """Counts of one action of the real library, against a plain loop over its bookings."""
    env, library = load("desk"), operators.load("desk")
    table = coverage.table(library, env).filter(action="cancel")
    counts = {tuple(row[:2]): row[2] for row in table.select("policy_id", "outcome", "entities").iter_rows()}
    present = [booking for booking in env.state["bookings"].values() if booking["status"] != "gone"]
    assert counts["cancel.booking", "present"] == len(present)
    assert counts["cancel.due", "owing"] == sum(booking["due"] > 0 for booking in present)
    assert counts["cancel.plan", "aged_basic"] == sum(b["plan"] == "basic" and b["age"] > 0 for b in present)
