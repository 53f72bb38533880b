"""Outcomes under all facts that matter, compared with judgements under given facts."""

import itertools

import pytest
import toy

from selfevolve.gradus import outcomes
from selfevolve.gradus.values import EvaluationError


@pytest.fixture
def library(tmp_path):
    return toy.library(tmp_path)


def test_policies_and_the_sets_of_outcomes_that_can_hold(library):
    found = outcomes.possible(library, toy.Toy(), "release", {"parcel_id": "p2"})
    assert {policy: set(sets) for policy, sets in found.items()} == {
        "release.exists": {frozenset({"known"})},
        "release.once": {frozenset({"first"})},
        "release.fee": {frozenset({"owed"})},
        "release.paid": {frozenset()},
        "release.asked": {frozenset({"asked"}), frozenset({"not_asked"})},
        "release.empty": {frozenset()},
    }
    assert found["release.asked"][frozenset({"asked"})] == {"asked": True, "owner": "bob"}


@pytest.mark.parametrize("parcel", ["p0", "p1", "p2", "p3"])
def test_they_are_what_judge_finds_under_these_facts(library, parcel):
    env, call = toy.Toy(), {"parcel_id": parcel}
    found = outcomes.possible(library, env, "release", call)
    for policy, sets in found.items():
        for together, facts in sets.items():
            units = library.judge(env, "release", call, facts).units
            assert {outcome for name, outcome in units if name == policy} == together
    owners, answers = ("ann", "bob", "someone"), (True, False)
    for owner, asked in itertools.product(owners, answers):
        units = library.judge(env, "release", call, {"owner": owner, "asked": asked}).units
        assert units <= outcomes.units(found), "nothing that can hold is missed"


def test_given_facts_leave_less_open(library):
    found = outcomes.possible(library, toy.Toy(), "release", {"parcel_id": "p2"}, facts={"asked": False})
    assert set(found["release.asked"]) == {frozenset({"not_asked"})}
    found = outcomes.possible(library, toy.Toy(), "release", {"parcel_id": "p2"}, facts={"asked": True})
    assert len(found["release.asked"]) == 2


def test_one_policy_alone(library):
    assert list(outcomes.possible(library, toy.Toy(), "release", {"parcel_id": "p2"}, only={"release.fee"})) == ["release.fee"]


def facts(**fields):
    return lambda record: record["facts"].update(extra={"text": "t", **fields})


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"type": "boolean"}, [True, False]),
        ({"type": "string", "values": ["a", "b"]}, ["a", "b"]),
        ({"type": "integer", "values": list(range(100, 150))}, [100]),
        ({"type": "integer", "values": list(range(50))}, [5, 0]),
        ({"type": "integer"}, [5, 0]),
        ({"type": "number"}, [5, 0]),
        ({"type": "array"}, [[]]),
        ({"type": "string"}, ["p2", "bob", "something else"]),
        ({"type": "string", "values": ["bob", *map(str, range(20))]}, ["bob", "0"]),
    ],
)
def test_values_of_facts_that_can_matter(tmp_path, fields, expected):
    library = toy.library(tmp_path, facts(**fields))
    assert outcomes.fact_values(library, toy.Toy(), "pay", {"parcel_id": "p2", "amount": 5}, "extra") == expected


def test_a_field_of_the_facts_name_counts_though_it_is_no_id(tmp_path):
    library = toy.library(tmp_path, lambda record: record["facts"].update(status={"type": "string", "text": "t"}))
    values = outcomes.fact_values(library, toy.Toy(), "pay", {"parcel_id": "p2", "amount": 5}, "status")
    assert values == ["p2", "bob", "stored", "something else"]


def test_many_facts_are_sampled(tmp_path):
    names = [f"f{number}" for number in range(12)]

    def edit(record):
        record["facts"].update({name: {"type": "boolean", "text": "t"} for name in names})
        record["operators"][0]["guards"][0]["when"] = " and ".join(f"facts.{name}" for name in names)

    library = toy.library(tmp_path, edit)
    told = outcomes._Told(library, toy.Toy(), library.operators["look"], {"parcel_id": "p1"}, {})
    tried = [tuple(one.values()) for one in told.assignments(names)]
    assert len(tried) == len(set(tried)) == outcomes.MANY


def test_too_much_work_names_the_guard(tmp_path):
    def edit(record):
        record["operators"][0]["guards"][0]["when"] = "all(a >= 0 for a in range(0, 10000) for b in range(0, 10000))"

    with pytest.raises(EvaluationError, match="guard look.exists/known: "):
        outcomes.possible(toy.library(tmp_path, edit), toy.Toy(), "look", {"parcel_id": "p1"})
