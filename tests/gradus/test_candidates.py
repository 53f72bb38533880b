"""Candidate calls: complete, without repetition, seeded, and fair to the entities."""

import random

import pytest
import toy

from selfevolve.gradus import candidates
from selfevolve.gradus.operators import UnknownAction


def listed(library, action, limit=1_000, seed=0, **options):
    return list(candidates.calls(library, toy.Toy(), action, limit, random.Random(seed), **options))


@pytest.fixture
def library(tmp_path):
    return toy.library(tmp_path)


def test_all_calls_of_a_small_action_are_found_once(library):
    calls = listed(library, "pay")
    assert sorted((call["parcel_id"], call["amount"]) for call in calls) == [
        (parcel, amount) for parcel in ("p0", "p1", "p2", "p3") for amount in (1, 5)
    ]


@pytest.mark.parametrize("limit", [1, 2, 4, 5, 7])
def test_every_entity_comes_once_before_any_comes_twice(library, limit):
    calls = listed(library, "pay", limit)
    entities = [call["parcel_id"] for call in calls]
    assert len(calls) == limit and len(set(entities)) == min(limit, 4)
    assert entities[0] == "p0", "the entity listed last, which does not exist, comes first"


def test_the_seed_decides_the_order(library):
    assert listed(library, "pay") == listed(library, "pay")
    orders = {str(listed(library, "pay", seed=seed)) for seed in range(10)}
    assert len(orders) > 5


def test_an_optional_argument_is_left_out(library):
    calls = listed(library, "register")
    assert {"owner": "ann"} in calls and {"owner": "ann", "note": "fragile"} in calls
    assert all(call.get("note") != "None" and call.get("note", "") is not None for call in calls)


def test_an_action_without_parameters_has_one_call(library):
    assert listed(library, "ring") == [{}] and listed(library, "ring", 0) == []


def test_only_some_entities(library):
    assert {call["parcel_id"] for call in listed(library, "pay", entities={"p1", "p9", 5})} == {"p1"}


def test_unknown_action(library):
    with pytest.raises(UnknownAction, match="'burn'; it has look, pay"):
        listed(library, "burn")


def change(**values):
    def edit(record):
        pay = next(operator for operator in record["operators"] if operator["action"] == "pay")
        for name, text in values.items():
            pay["parameters"][name]["values"] = text

    return edit


def test_later_values_may_depend_on_earlier_arguments(tmp_path):
    library = toy.library(tmp_path, change(amount="range(1, 1 + parcels[parcel_id].fee)"))
    calls = listed(library, "pay")
    assert sorted(calls, key=str) == [
        {"parcel_id": "p2", "amount": 1},
        {"parcel_id": "p2", "amount": 2},
        {"parcel_id": "p3", "amount": 1},
    ], "no fee, no such parcel: no values, no call"


def test_many_calls_are_drawn_without_repetition(tmp_path):
    library = toy.library(tmp_path, change(amount="range(1, 1000)"))
    calls = listed(library, "pay", 800)
    assert len({str(call) for call in calls}) == 800
    counts = [sum(call["parcel_id"] == parcel for call in calls) for parcel in ("p0", "p1", "p2", "p3")]
    assert counts == [200] * 4


@pytest.mark.parametrize("text", ["[]", "parcels['p9'].fee", "3", "'abc'", "facts.asked"])
def test_values_that_are_no_list_give_no_call(tmp_path, text):
    assert listed(toy.library(tmp_path, change(amount=text)), "pay") == []


def test_candidates_share_nothing_with_the_state(tmp_path):
    library, env = toy.library(tmp_path, change(amount="[parcels, log, {1, 2}]")), toy.Toy()
    before = env.state_hash()
    for call in candidates.calls(library, env, "pay", 100, random.Random(0)):
        if isinstance(call["amount"], dict):
            assert call["amount"]["p1"] == {"owner": "ann", "status": "stored", "fee": 0, "note": None}
            call["amount"]["p1"]["fee"] = 99
        else:
            assert call["amount"] in ([], [1, 2])
            call["amount"].append(0)
    assert env.state_hash() == before


def test_leaves_name_the_field_they_are_in():
    parcel = toy.Parcel(owner="ann", status="stored", fee=2)
    assert candidates.leaves([parcel, {"a": [1, True, None]}, "x"]) == [
        ("owner", "ann"),
        ("status", "stored"),
        ("fee", 2),
        ("a", 1),
        ("", "x"),
    ]
    assert candidates.scalars([[1, 2], (2, "b")]) == {1: None, 2: None, "b": None}
    assert len(candidates.leaves([parcel] * 10, most=7)) == 7
