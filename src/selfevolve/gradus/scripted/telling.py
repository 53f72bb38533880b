"""What the dialogue establishes once and for all, and which branches can be true of one conversation.

Paper: Gradus 2.3 (coherent extensions). Somebody who never says who they are cannot, in the same conversation, be served as somebody known.
Only facts of the whole conversation with few values are looked at, and conditions that read nothing else.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from selfevolve.gradus.blueprints import Step
from selfevolve.gradus.context import Context
from selfevolve.gradus.operators import Guard, Library, Operator
from selfevolve.gradus.outcomes import FEW


class Conversations:
    """The conversations that a library tells apart, numbered."""

    def __init__(self, library: Library):
        self._library = library
        valued = {
            name: fact.values
            for name, fact in library.facts.items()
            if fact.scope == "conversation" and fact.values is not None and len(fact.values) <= FEW
        }
        self._told = [dict(zip(valued, values, strict=True)) for values in itertools.product(*valued.values())]
        self._names = frozenset(valued)
        self._known: dict[tuple, frozenset[int]] = {}

    def allow(self, steps: Iterable[Step]) -> bool:
        """Whether one conversation can have all of the steps."""
        left = frozenset(range(len(self._told)))
        for step in steps:
            left &= self._of(step)
        return bool(left)

    def _of(self, step: Step) -> frozenset[int]:
        key = (step.action, step.units, step.decision)
        if key not in self._known:
            operator, policies = self._library.operators[step.action], {unit.policy_id for unit in step.units}
            guards = [guard for guard in operator.guards if self._decides(guard)]
            wanted = [guard for guard in guards if guard.unit in step.units]
            spared = policies if step.decision == "refuse" else set[str]()
            unwanted = [guard for guard in guards if guard.verdict == "deny" and guard.policy_id not in spared]
            self._known[key] = frozenset(
                number
                for number in range(len(self._told))
                if all(self._holds(operator, guard, number) for guard in wanted)
                and not any(self._holds(operator, guard, number) for guard in unwanted)
            )
        return self._known[key]

    def _decides(self, guard: Guard) -> bool:
        condition = guard.expression
        return (
            condition is not None
            and bool(condition.facts)
            and condition.facts <= self._names
            and not condition.reads | condition.arguments
        )

    def _holds(self, operator: Operator, guard: Guard, number: int) -> bool:
        assert guard.expression is not None
        return guard.expression.holds(Context({}, {}, None, {}, self._told[number], len(operator.let))) is True
