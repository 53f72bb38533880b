"""Guard expressions: text to something that can be evaluated, and what it reads.

Paper: Gradus 2.2 and A.7 (guards as conditions over state, arguments and what the dialogue tells). The paper keeps them as
text for a model; here code evaluates them, so that coverage and violations are measured.

* Grammar and limits: `syntax`. Functions: `functions.FUNCTIONS`, and `any`, `all`, `default(x, otherwise)`.
* Names: parameters of the action, `let` names, top-level names of the state, comprehension variables, `now`,
  `facts.<name>`, `initial.<name>` (the state at reset), `state.<name>` (the state, where a parameter has the same name).
* Missing look-ups and unknown facts: `values`, `logic`. Work: at most `STEPS` steps for one evaluation.
* Values: Enum members are their values, dates and datetimes their ISO texts; a model equals a mapping of its fields, a list a
  tuple. True equals 1, as in Python. Iterating a set goes in a fixed order; iterating a text is a wrong type.
"""

from __future__ import annotations

import ast
from typing import Any

from selfevolve.gradus.compiling import Compiler
from selfevolve.gradus.context import STEPS, Context, Definition, Let, Scope
from selfevolve.gradus.functions import FUNCTIONS
from selfevolve.gradus.reads import Analysis
from selfevolve.gradus.syntax import ExpressionError, Tree
from selfevolve.gradus.values import MISSING, TRUE, EvaluationError, Missing, Unknown, bits

__all__ = [
    "FUNCTIONS", "MISSING", "STEPS", "Context", "Definition", "EvaluationError", "Expression", "ExpressionError", "Let", "Scope",
    "Unknown", "define",
]  # fmt: skip


class Expression:
    """A compiled expression.

    `text`; `reads`, the schema paths it reads (`reservations.*.cabin`); `facts` and `arguments`, the names it depends on;
    `path`, the one place of the state it denotes, or None; all of them through lets and definitions. `depth`, its nesting.
    """

    def __init__(self, text: str, scope: Scope):
        """Raises ExpressionError, with line, column and reason, for anything but an expression of the language over `scope`."""
        tree = Tree(text)
        compiler = Compiler(tree, scope)
        self.text, self.depth = text, compiler.depth
        self.analysis = Analysis(tree, scope)
        self.reads = self.analysis.reads
        self.facts, self.arguments = frozenset(self.analysis.facts), frozenset(self.analysis.arguments)
        self.path = _place(tree.body, self.analysis)
        self._run, self._size, self._pad = compiler.run, tree.size, [None] * (compiler.slots - 1)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def value(self, context: Context) -> Any:
        """Evaluate within the steps left to `context`: a value, an `Unknown`, or `MISSING`. Raises EvaluationError."""
        context.charge(self._size)
        try:
            return self._run([context, *self._pad])
        except Missing:
            return MISSING
        except RecursionError:
            raise EvaluationError("the evaluation nests too deeply: use fewer definitions inside one another") from None

    def evaluate(self, context: Context) -> Any:
        """A value (it may share structure with the state: do not change it), an `Unknown`, or `MISSING`.

        Raises EvaluationError after `STEPS` steps.
        """
        context.steps = STEPS
        return self.value(context)

    def holds(self, context: Context) -> bool | Unknown:
        """As a guard: True, False (a missing look-up included), or the `Unknown` if a missing fact decides it."""
        value = self.evaluate(context)
        if value is True or value is False:
            return value
        can = bits(value)
        if can & TRUE == 0:
            return False
        return True if can == TRUE else Unknown(value.facts, can)


def define(head: str, body: str, scope: Scope) -> Definition:
    """The definition `head` ("name(parameter, ...)") of `body`, over the state, facts and earlier definitions in `scope`.

    Raises ExpressionError; its `text` is the one, head or body, that is wrong.
    """
    tree = Tree(head)
    call = tree.body
    if not isinstance(call, ast.Call) or not all(isinstance(part, ast.Name) for part in call.args):
        tree.fail(call, "a definition begins with its name and parameters, such as status(flight, date)")
    name, parameters = call.func.id, tuple(part.id for part in call.args)
    if name in FUNCTIONS or name in ("any", "all", "default") or name in scope.definitions:
        tree.fail(call, f"{name!r} is defined already")
    for position, parameter in enumerate(parameters):
        if parameter in parameters[:position] or parameter in {*scope.tables, "facts", "initial", "state", "now"}:
            tree.fail(call.args[position], f"the parameter {parameter!r} would hide another {parameter!r}: rename it")
    content = Tree(body)
    compiler = Compiler(content, scope, parameters)
    Analysis(content, scope)
    return Definition(name, parameters, content.body, compiler.run, compiler.slots, content.size, compiler.depth)


def _place(node: ast.expr, analysis: Analysis) -> str | None:
    """The path of a chain of attributes and subscripts that denotes one place of the current state."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    paths = analysis.shape.paths
    return next(iter(paths)) if isinstance(node, ast.Name) and len(paths) == 1 and not analysis.shape.element else None
