"""What is wrong with a library, in words that tell its author what to change.

Paper: Gradus section 2.2 (operators are extracted by a model); a model that extracts a library reads these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from selfevolve.gradus.operators import Guard

Kind = Literal[
    "domain", "tool", "parameter", "candidates", "path", "quote", "sentence", "enforcement", "effect", "kind", "totality",
    "contradiction", "unreached", "reached", "work", "environment",
]  # fmt: skip

KINDS: dict[str, str] = {
    "domain": "the library and the environment are of different domains",
    "tool": "a tool without operator, an operator without tool, or the wrong requestor",
    "parameter": "the parameters of an operator and of its tool differ",
    "candidates": "`values` give no candidates, or ones that the tool's schema refuses",
    "path": "an expression or effect names a place that no state has",
    "quote": "a quote is not in the policy",
    "sentence": "a sentence of the policy is neither cited nor listed as not operational",
    "enforcement": "executed calls contradict enforced_by or the conditions of the guards of the API",
    "effect": "executed calls contradict the declared effects",
    "kind": "an operator of kind read changes the state",
    "totality": "a call that a policy concerns has none of its outcomes",
    "contradiction": "a policy allows and denies the same call",
    "unreached": "no candidate call reached a branch, and it does not say why none can",
    "reached": "a branch that is said to be unreachable was reached",
    "work": "an expression takes more steps than one evaluation may",
    "environment": "the environment broke its own contract",
}


class Problem(BaseModel):
    """One thing wrong: `kind`, a key of `KINDS`; where (operator, policy_id, outcome, field); and the reason with a remedy."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    operator: str | None = None
    policy_id: str | None = None
    outcome: str | None = None
    field: str | None = None
    reason: str

    def __str__(self) -> str:
        branch = "/".join(filter(None, (self.policy_id, self.outcome)))
        place = ": ".join(filter(None, (self.operator, branch, self.field)))
        return f"[{self.kind}] {place + ': ' if place else ''}{self.reason}"


def at(guard: Guard, operator: str, field: str | None = None) -> dict[str, Any]:
    """The place of a problem with a guard."""
    return {"operator": operator, "policy_id": guard.policy_id, "outcome": guard.outcome, "field": field}


def shown(action: str, arguments: Mapping[str, Any], facts: Mapping[str, Any] | None = None, length: int = 300) -> str:
    """A call as text for messages."""
    text = f"{action}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"
    text += f" with facts {dict(facts)!r}" if facts else ""
    return text if len(text) <= length else text[: length - 3] + "..."
