"""What a call does to the policies: the (policy, outcome) units it exercises, and the policies it breaks.

Paper: Gradus 2.3 (a ledger of (policy, outcome) pairs) and 2.4 (verification by policy checks). The paper lets a model claim
both; here they are measured, before the call is executed, in the state it meets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from selfevolve.gradus.context import Context
from selfevolve.gradus.values import EvaluationError

if TYPE_CHECKING:
    from selfevolve.gradus.operators import Operator


class Unit(NamedTuple):
    """One outcome of one policy: what coverage counts."""

    policy_id: str
    outcome: str


class Branch(NamedTuple):
    """A unit of one action. Two actions may share a policy; coverage tells their branches apart."""

    action: str
    policy_id: str
    outcome: str

    @property
    def unit(self) -> Unit:
        return Unit(self.policy_id, self.outcome)


class Undetermined(NamedTuple):
    """A guard that needs facts the dialogue has not told (yet)."""

    policy_id: str
    outcome: str
    facts: tuple[str, ...]  # sorted; those its value depends on


@dataclass(frozen=True, slots=True)
class Judgement:
    """One call in one state.

    `units` of the guards that hold; `violations`, sorted ids of the policies it breaks (a deny branch that the API lets pass);
    `rejections`, sorted ids of those the API refuses it for; `undetermined`, in the library's order.
    """

    units: frozenset[Unit]
    violations: tuple[str, ...]
    rejections: tuple[str, ...]
    undetermined: tuple[Undetermined, ...]


def judged(operator: Operator, context: Context) -> Judgement:
    """Judge the call of `context` by the operator's guards. Raises EvaluationError naming the guard that is too much work."""
    units, undetermined = [], []
    denied: dict[str, set[str]] = {"policy": set(), "api": set()}
    for guard in operator.guards:
        if guard.expression is None:
            continue
        try:
            holds = guard.expression.holds(context)
        except EvaluationError as error:
            raise EvaluationError(f"operator {operator.action}: guard {guard.policy_id}/{guard.outcome}: {error}") from None
        if holds is True:
            units.append(guard.unit)
            if guard.verdict == "deny":
                denied[guard.enforced_by].add(guard.policy_id)
        elif holds is not False:
            undetermined.append(Undetermined(*guard.unit, tuple(sorted(holds.facts))))
    return Judgement(frozenset(units), tuple(sorted(denied["policy"])), tuple(sorted(denied["api"])), tuple(undetermined))
