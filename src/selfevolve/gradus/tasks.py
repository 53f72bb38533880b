"""Tasks and demonstrations: a blueprint made concrete in an environment, and a conversation that attempts it.

Paper: Gradus 2.4 (task, reference, demonstration) and A.7 (round-0 initialized task).
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from selfevolve.gradus.blueprints import Call, Record


class Refusal(Record):
    """A call that the user asks for and that must not be executed.

    It is judged, never executed: in the state after `reset` (`start`: blocked at first, a chain of other calls enables it later) or after
    the last call (`end`).
    """

    call: Call
    when: Literal["start", "end"] = "end"


class Task(Record):
    """A grounded blueprint: what the user simulator knows, and the reference that the environment must confirm."""

    blueprint: str = Field(description="id of the blueprint")
    round: int = Field(ge=0, description="initialization round (A.7 counts from 0)")
    init_actions: tuple[dict[str, Any], ...] = Field(default=(), description="what `Environment.reset` applies")
    scenario: str = Field(min_length=1, description="instructions of the user simulator; hidden from the solving agent")
    facts: dict[str, Any] = Field(default={}, description="facts of the dialogue that hold for every call")
    reference: tuple[Call, ...] = Field(description="calls that fulfil the task, in order")
    refusals: tuple[Refusal, ...] = ()
    bindings: dict[str, str] = Field(default={}, description="symbolic entity -> database entity")


class Event(Record):
    """One thing that happened in a conversation: a message of the user or the assistant, or a call and what it returned."""

    kind: Literal["user", "assistant", "call"]
    text: str = ""
    call: Call | None = None
    observation: str | None = None
    error: str | None = Field(default=None, description="kind of error of a call that was not executed")


class Demonstration(Record):
    """A full conversation of the solving agent with the user simulator."""

    task: str = Field(description="id of the blueprint")
    round: int = Field(ge=0)
    branch: int = Field(ge=0, description="parallel search branch, 0..K-1")
    attempt: int = Field(ge=0, description="attempt within the branch, 0..m-1")
    events: tuple[Event, ...]
    stop: Literal["done", "max_turns", "error"]

    @property
    def calls(self) -> tuple[Call, ...]:
        """The executed calls, the assistant's and the user's, in order."""
        return tuple(event.call for event in self.events if event.call is not None and event.error is None)
