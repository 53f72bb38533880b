"""Paths against a JSON schema as pydantic emits it."""

import pytest
from pydantic import BaseModel, ConfigDict

from selfevolve.gradus import schema


class Flight(BaseModel):
    date: str
    price: int


class Card(BaseModel):
    brand: str


class Gift(BaseModel):
    amount: float


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str


class Reservation(BaseModel):
    cabin: str
    flights: list[Flight]
    payment: dict[str, Card | Gift]
    pair: tuple[str, Flight]
    note: Closed | None = None
    anything: object = None


class State(BaseModel):
    reservations: dict[str, Reservation]
    count: int


STATE = State.model_json_schema()


@pytest.mark.parametrize(
    "path",
    [
        "reservations",
        "reservations.*",
        "reservations.*.cabin",
        "reservations.*.flights.*.date",
        "reservations.*.flights.0.date",
        "reservations.*.payment.*.brand",
        "reservations.*.payment.*.amount",
        "reservations.*.pair.*.price",
        "reservations.*.note.name",
        "reservations.*.anything.at.all",
        "count",
    ],
)
def test_paths_that_exist(path):
    assert schema.fault(STATE, path) is None


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("reservation", "the state has no 'reservation'; it has count, reservations"),
        (
            "reservations.*.cabn",
            "reservations.* has no 'cabn'; it has anything, cabin, flights, note, pair, payment",
        ),
        ("reservations.*.flights.date", "reservations.*.flights has no 'date'; it has no fields (it is array)"),
        ("reservations.*.flights.*.day", "reservations.*.flights.* has no 'day'; it has date, price"),
        ("reservations.*.payment.*.balance", "reservations.*.payment.* has no 'balance'; it has amount, brand"),
        ("reservations.*.note.text", "reservations.*.note has no 'text'; it has name"),
        ("reservations.*.cabin.*", "reservations.*.cabin has no '*'; it has no fields (it is string)"),
        ("count.*", "count has no '*'; it has no fields (it is integer)"),
    ],
)
def test_the_first_step_that_fails_is_named(path, reason):
    assert schema.fault(STATE, path) == reason


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("a.*.b", "a.*.b", True),
        ("a", "a.*.b", True),
        ("a.*.b.c", "a.*", True),
        ("a.*.b", "a.*.c", False),
        ("a.x.b", "a.*.b", True),
        ("a.b", "b.a", False),
        ("ab", "a", False),
    ],
)
def test_overlap(left, right, same):
    assert schema.overlap(left, right) is schema.overlap(right, left) is same
