"""The forms of an operator library as structured answers: mappings become lists of named entries (see `schemas`)."""

from __future__ import annotations

from typing import Any, Literal

from selfevolve.gradus.blueprints import Record
from selfevolve.gradus.records import FactType


class FactForm(Record):
    name: str
    type: FactType
    values: list[str | bool | int | float] | None
    scope: Literal["call", "conversation"]
    source: Literal["user", "reads", "requests"]
    text: str


class DefinitionForm(Record):
    head: str
    body: str


class SentenceForm(Record):
    sentence: str
    why: str


class Shared(Record):
    """What the operators of a library share."""

    facts: list[FactForm]
    definitions: list[DefinitionForm]
    not_operational: list[SentenceForm]


class ParameterForm(Record):
    name: str
    values: str
    text: str


class LetForm(Record):
    name: str
    expression: str


class EffectForm(Record):
    path: str
    value: str | None


class GuardForm(Record):
    policy_id: str
    outcome: str
    verdict: Literal["allow", "deny"]
    text: str
    when: str | None
    effects: list[EffectForm]
    enforced_by: Literal["api", "policy"]
    cites: list[str]
    unreachable: str | None


class Extracted(Record):
    """One operator."""

    action: str
    kind: Literal["read", "write", "other"]
    requestor: Literal["assistant", "user"]
    description: str
    parameters: list[ParameterForm]
    let: list[LetForm]
    guards: list[GuardForm]
    new_facts: list[FactForm]

    def entry(self) -> dict[str, Any]:
        """The operator as the library's file has it."""
        plain = self.model_dump(exclude={"new_facts"}, exclude_none=True)
        plain["parameters"] = {each.name: {"values": each.values, "text": each.text} for each in self.parameters}
        plain["let"] = {each.name: each.expression for each in self.let}
        return plain


def library(domain: str, state: list[str], shared: Shared, operators: list[Extracted]) -> dict[str, Any]:
    """A whole library, as its file has it. A fact that several parts declare is the first one's."""
    facts: dict[str, Any] = {}
    for fact in [*shared.facts, *(fact for operator in operators for fact in operator.new_facts)]:
        facts.setdefault(fact.name, fact.model_dump(exclude={"name"}, exclude_none=True))
    return {
        "domain": domain,
        "state": state,
        "facts": facts,
        "definitions": {each.head: each.body for each in shared.definitions},
        "not_operational": [each.model_dump() for each in shared.not_operational],
        "operators": [operator.entry() for operator in operators],
    }
