"""Blueprints: what a task should teach, with entities and database values still unbound.

Paper: Gradus 2.3 ("A blueprint specifies the user goal, relevant context, known and unknown information, and intended operator
outcomes") and A.7 (the evolution trace).

Deviations: the paper's blueprints are prose; here the intended outcomes are steps over symbolic entities, so that code can check that a
child keeps what its parent required and that execution realises it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_serializer, model_validator

from selfevolve.gradus.judgement import Branch, Unit

Requestor = Literal["assistant", "user"]


class Record(BaseModel):
    """A frozen record; unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Call(Record):
    """A tool call, and what the dialogue established for it (facts of the operator library, such as `confirmed`)."""

    name: str
    arguments: dict[str, Any]
    requestor: Requestor = "assistant"
    facts: dict[str, Any] = {}


class Step(Record):
    """One requirement of a blueprint: an action on a symbolic entity, performed or refused, with the outcomes it must realise."""

    action: str
    entity: str = Field(
        min_length=1, description="symbolic entity (A, B, ...), bound to a database entity when the task is grounded"
    )
    decision: Literal["perform", "refuse"]
    units: tuple[Unit, ...] = Field(min_length=1, description="intended (policy, outcome) pairs")
    after: tuple[int, ...] = Field(default=(), description="indices of earlier steps whose effects this one needs")

    @field_serializer("units")
    def _plain(self, units: tuple[Unit, ...]) -> list[list[str]]:
        return [list(unit) for unit in units]


class Blueprint(Record):
    """A symbolic scenario. An atomic one has depth 1; every structural kernel adds 1 (2.3)."""

    domain: str
    parent: str | None = Field(description="id of the blueprint it was evolved from; None if atomic")
    depth: int = Field(ge=1)
    kernels: tuple[str, ...] = Field(description="structural kernels applied, in order")
    interactions: tuple[str, ...] = Field(description="interaction kernels applied, in order")
    goal: str = Field(min_length=1, description="what the user wants")
    context: str = ""
    known: tuple[str, ...] = Field(default=(), description="what the user can say when asked")
    unknown: tuple[str, ...] = Field(default=(), description="what the user cannot say")
    steps: tuple[Step, ...] = Field(min_length=1)
    serial: int = Field(default=0, ge=0, description="how many alike were proposed before; only the baselines repeat themselves")

    @model_validator(mode="after")
    def _ordered(self) -> Blueprint:
        for number, step in enumerate(self.steps):
            if any(not 0 <= earlier < number for earlier in step.after):
                raise ValueError(f"step {number} ({step.action}) comes after {step.after}: only earlier steps can be needed")
        return self

    @property
    def id(self) -> str:
        """Twelve hex digits of the content's SHA-256."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def branches(self) -> frozenset[Branch]:
        """Every branch that a task made from this blueprint must exercise."""
        return frozenset(Branch(step.action, *unit) for step in self.steps for unit in step.units)

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the performed actions, in order."""
        return tuple(step.action for step in self.steps if step.decision == "perform")
