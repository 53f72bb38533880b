"""What the scripted user and the scripted agent can say to each other, as records; `language` puts them into words.

Paper: Gradus 2.4 (user simulator and solving agent), 2.3 (interaction kernels: what is described, withheld or pressed for).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Sum:
    """A number said as an addition or a subtraction (`right` below 0)."""

    left: int | float
    right: int | float

    @property
    def plain(self) -> int | float:
        return self.left + self.right


@dataclass(frozen=True)
class Nth:
    """One of several values, by its position (from 1), which may itself be said as a sum."""

    position: int | Sum
    options: tuple[Any, ...]

    @property
    def plain(self) -> Any:
        position = self.position.plain if isinstance(self.position, Sum) else self.position
        return self.options[int(position) - 1]


def plain(value: Any) -> Any:
    """What a described value stands for; any other value itself."""
    return value.plain if isinstance(value, Sum | Nth) else value


@dataclass(frozen=True)
class Sentence:
    """Something said."""


@dataclass(frozen=True)
class About(Sentence):
    """A sentence about a call, of which `values` are some arguments."""

    action: str
    values: Mapping[str, Any] = field(default_factory=dict)


class Request(About):
    """The user wants a call."""


class Insists(About):
    """The user wants a call that was refused, and claims that it is allowed."""


@dataclass(frozen=True)
class Used(About):
    """The user has called a tool of their own, which answered."""

    answer: str = ""


@dataclass(frozen=True)
class Told(Sentence):
    """The user says a fact, or something to be identified by. An empty name: the answer to the one question that was asked."""

    name: str
    value: Any


@dataclass(frozen=True)
class Given(Sentence):
    """The user gives an argument that was asked for."""

    name: str
    value: Any


@dataclass(frozen=True)
class Unknown(Sentence):
    """The user cannot say."""

    name: str


@dataclass(frozen=True)
class Whichever(Sentence):
    """The user does not mind what the argument is."""

    name: str


@dataclass(frozen=True)
class Hurries(Sentence):
    """The user presses the agent."""


@dataclass(frozen=True)
class Asks(About):
    """The agent asks for arguments, facts or a confirmation before a call."""

    names: tuple[str, ...] = ()


class Use(About):
    """The agent asks the user to call a tool of the user's own."""


class Done(About):
    """The agent says that a call was made."""


@dataclass(frozen=True)
class Cannot(About):
    """The agent refuses a call."""

    reason: str = ""


@dataclass(frozen=True)
class More(Sentence):
    """The agent has nothing left to do."""
