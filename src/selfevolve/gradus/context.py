"""What an evaluation reads (`Context`) and what a name can mean (`Scope`)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from selfevolve.gradus.values import EvaluationError

if TYPE_CHECKING:
    from selfevolve.gradus.expressions import Expression

STEPS: Final = 200_000  # of one evaluation; the longest honest guard, a search of the retail users by e-mail, takes a third
UNSET: Final = object()

Run = Callable[[list], Any]  # a compiled node: of a frame, [context, slot, slot, ...]


class Context:
    """One call in one state: everything an expression can read. Values of `let` names are kept, so it serves one state only.

    Args: `state` and `initial`, top-level names to values; `now`, ISO text or None; `arguments` of the call; `facts` told in
    the dialogue; `lets`, how many `let` names the operator has.
    """

    __slots__ = ("state", "initial", "now", "arguments", "facts", "lets", "steps")

    def __init__(
        self,
        state: Mapping[str, Any],
        initial: Mapping[str, Any],
        now: str | None,
        arguments: Mapping[str, Any],
        facts: Mapping[str, Any],
        lets: int = 0,
    ):
        self.state, self.initial, self.now, self.arguments, self.facts = state, initial, now, arguments, facts
        self.lets: list[Any] = [UNSET] * lets
        self.steps = STEPS

    def charge(self, steps: int) -> None:
        """Count steps of the running evaluation. Raises EvaluationError when there were more than `STEPS`."""
        self.steps -= steps
        if self.steps < 0:
            raise EvaluationError(f"the expression takes more than {STEPS:,} steps: loop over less of the state")


@dataclass(frozen=True)
class Let:
    """A named sub-expression of an operator, evaluated at most once per context."""

    index: int
    expression: Expression


@dataclass(frozen=True)
class Definition:
    """A macro: `body` with `parameters`, which are evaluated in the caller where the body uses them."""

    name: str
    parameters: tuple[str, ...]
    body: ast.expr
    run: Run
    slots: int
    size: int
    depth: int


@dataclass(frozen=True)
class Scope:
    """The names an expression may use: state, facts, definitions, and an operator's parameters and lets."""

    tables: frozenset[str]
    facts: frozenset[str] = frozenset()
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()
    lets: Mapping[str, Let] = field(default_factory=dict)
