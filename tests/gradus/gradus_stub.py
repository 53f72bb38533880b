"""A small environment for tests of the expression language and of operators: state, initial state, clock."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from pydantic import BaseModel


class Level(enum.Enum):
    """An Enum that is no text."""

    GOLD = "gold"
    REGULAR = "regular"


class LineStatus(str, enum.Enum):  # noqa: UP042  as the domain writes it; its hash is not that of its text
    """An Enum that is a text, as the telecom domain has."""

    ACTIVE = "Active"
    SUSPENDED = "Suspended"


class Segment(BaseModel):
    """A part of a trip."""

    flight_number: str
    date: str


class Reservation(BaseModel):
    """A booking; `secret` would be reachable if attributes were looked up on the object."""

    user_id: str
    cabin: str
    insurance: str
    created_at: str
    flights: list[Segment]
    status: str | None = None
    payments: list[int] = []

    def secret(self) -> str:
        """A method."""
        raise AssertionError("a method was called")

    @property
    def hidden(self) -> str:
        """A property."""
        raise AssertionError("a property was read")


class Line(BaseModel):
    """A phone line, with Enum members and dates in it."""

    status: LineStatus
    level: Level
    ends: date | None
    moved: datetime
    seen: list[LineStatus] = []


class View(Mapping):
    """A read-only view, as the environments' copy-on-access tables are."""

    def __init__(self, content: dict):
        self._content = content

    def __getitem__(self, key: Any) -> Any:
        return self._content[key]

    def __iter__(self) -> Iterator:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)


@dataclass
class Environment:
    """What a judgement reads of an environment."""

    state: Mapping[str, Any]
    now: str | None = "2024-05-15T15:00:00"
    initial: Mapping[str, Any] = field(default_factory=dict)


def reservation(**changes: Any) -> Reservation:
    """An old economy booking without insurance, on one flight that has not left."""
    fields = {"user_id": "mia", "cabin": "economy", "insurance": "no", "created_at": "2024-05-01T10:00:00"}
    return Reservation(**{**fields, "flights": [Segment(flight_number="HAT1", date="2024-05-20")], **changes})


def line(**changes: Any) -> Line:
    """An active line of a gold customer."""
    fields = {"status": LineStatus.ACTIVE, "level": Level.GOLD, "ends": date(2025, 3, 1), "moved": datetime(2025, 1, 1, 12)}
    return Line(**{**fields, **changes})
