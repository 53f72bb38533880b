"""Text to a checked syntax tree: the grammar of guard expressions.

Paper: Gradus 2.2, the conditions r of g(a) = {r => q}; A.7 shows them as logical formulas over state and arguments.

The grammar is a subset of Python's expressions, read by `ast.parse` and never compiled to Python: and, or, not; == != < <=
> >= in, not in; + - * / // % and unary minus; `a if test else b`; attributes; subscripts and slices without a step;
text, numbers, True, False, None; displays of lists, tuples, sets and dicts; list and set comprehensions and generators;
calls of functions and definitions by name, positional arguments only.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from typing import NoReturn

MAX_CHARS = 2_000
MAX_DEPTH = 40
MAX_NUMBER = 10**18  # keeps every arithmetic step cheap; no state of an environment comes near it

_HINTS: dict[type[ast.AST], str] = {
    ast.Lambda: "lambda is not part of the language",
    ast.NamedExpr: "':=' is not part of the language; name the value under `let`",
    ast.JoinedStr: "f-strings are not part of the language",
    ast.Await: "await is not part of the language",
    ast.Yield: "yield is not part of the language",
    ast.YieldFrom: "yield is not part of the language",
    ast.Starred: "'*' before a value is not part of the language",
    ast.DictComp: "dict comprehensions are not part of the language; use a list comprehension",
    ast.Pow: "'**' is not part of the language",
    ast.MatMult: "'@' is not part of the language",
    ast.BitAnd: "'&' is not part of the language; write `and`",
    ast.BitOr: "'|' is not part of the language; write `or`",
    ast.BitXor: "'^' is not part of the language",
    ast.LShift: "'<<' is not part of the language",
    ast.RShift: "'>>' is not part of the language",
    ast.Invert: "'~' is not part of the language; write `not`",
    ast.UAdd: "unary '+' is not part of the language",
    ast.Is: "'is' is not part of the language; write ==",
    ast.IsNot: "'is not' is not part of the language; write !=",
}
_NODES = (
    ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.IfExp, ast.Attribute, ast.Subscript, ast.Slice, ast.Name, ast.Constant,
    ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.comprehension, ast.Call,
)  # fmt: skip
_OPERATORS = (
    ast.And, ast.Or, ast.Not, ast.USub, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod,
    ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn,
)  # fmt: skip
_SYNTAX = (ast.boolop, ast.unaryop, ast.operator, ast.cmpop)


class ExpressionError(ValueError):
    """An expression that cannot be loaded. `line` and `column` count from 1 in `text`; `reason` says what and why."""

    def __init__(self, text: str, line: int, column: int, reason: str):
        super().__init__(f"{line}:{column}: {reason}")
        self.text, self.line, self.column, self.reason = text, line, column, reason


class Tree:
    """A checked syntax tree: `body`, the root node; `depth`, of nested expressions; `size`, its count of nodes."""

    def __init__(self, text: str):
        """Parse and check `text`. Raises ExpressionError, whatever the text."""
        self.text = text
        self._source = text.strip()
        if not self._source:
            raise ExpressionError(text, 1, 1, "the expression is empty")
        if len(text) > MAX_CHARS:
            self.fail(None, f"{len(text)} characters; at most {MAX_CHARS}: name parts of it under `let` or `definitions`")
        self.body = self._parse()
        self.depth, self.size = self._check()

    def fail(self, node: ast.AST | None, reason: str) -> NoReturn:
        """Raise ExpressionError at `node`, or at the start."""
        node = node.target if isinstance(node, ast.comprehension) else node
        line = getattr(node, "lineno", 1)
        row = dict(enumerate(re.split(r"\r\n?|\n", self._source), 1)).get(line, "")
        column = len(row.encode()[: getattr(node, "col_offset", 0)].decode(errors="replace")) + 1
        raise ExpressionError(self.text, *self._place(line, column), reason)

    def _place(self, line: int, column: int) -> tuple[int, int]:
        """A position in the stripped source, as one in the text."""
        before = self.text[: len(self.text) - len(self.text.lstrip())]
        return line + before.count("\n"), column + (len(before.rpartition("\n")[2]) if line == 1 else 0)

    def _parse(self) -> ast.expr:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(self._source, mode="eval").body
        except SyntaxError as error:
            place = self._place(error.lineno or 1, max(error.offset or 1, 1))
            raise ExpressionError(self.text, *place, f"not an expression: {error.msg}") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise ExpressionError(self.text, 1, 1, f"not an expression: {error or type(error).__name__}") from None

    def _check(self) -> tuple[int, int]:
        deepest = size = 0
        stack: list[tuple[ast.AST, ast.AST, int]] = [(self.body, self.body, 1)]
        while stack:
            node, parent, depth = stack.pop()
            if isinstance(node, _SYNTAX):
                if not isinstance(node, _OPERATORS):
                    self.fail(parent, _HINTS.get(type(node), f"{type(node).__name__} is not part of the language"))
                continue
            if depth > MAX_DEPTH:
                self.fail(node, f"nested more than {MAX_DEPTH} deep: name parts of it under `let` or `definitions`")
            if not isinstance(node, _NODES):
                self.fail(node, _HINTS.get(type(node), f"{type(node).__name__} is not part of the language"))
            deepest, size = max(deepest, depth), size + 1
            self._check_node(node)
            children = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr_context)]
            stack += [(child, node, depth + 1) for child in reversed(children)]
        return deepest, size

    def _check_node(self, node: ast.AST) -> None:
        if isinstance(node, ast.Constant):
            self._check_constant(node)
        elif isinstance(node, ast.Name) and node.id.startswith("_"):
            self.fail(node, f"the name {node.id!r} begins with '_'")
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            self.fail(node, f"the attribute {node.attr!r} begins with '_'")
        elif isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name):
                self.fail(node, "only functions and definitions are called, by their names; there are no methods")
            if node.keywords:
                self.fail(node.keywords[0].value, "arguments are given by position, not by name")
        elif isinstance(node, ast.Slice) and node.step is not None:
            self.fail(node.step, "a slice has no step")
        elif isinstance(node, ast.Dict) and None in node.keys:
            self.fail(node, "'**' is not part of the language")
        elif isinstance(node, ast.comprehension):
            if node.is_async:
                self.fail(node, "async is not part of the language")
            self._check_target(node.target)

    def _check_constant(self, node: ast.Constant) -> None:
        value = node.value
        if value is not None and type(value) not in (str, int, float, bool):
            self.fail(node, f"a constant of type {type(value).__name__} is not part of the language")
        if type(value) in (int, float) and not (math.isfinite(value) and abs(value) <= MAX_NUMBER):
            self.fail(node, f"numbers go up to {MAX_NUMBER:.0e}")

    def _check_target(self, target: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._check_target(part)
        elif not isinstance(target, ast.Name):
            self.fail(target, "a comprehension binds names only")


def names_of(target: ast.expr) -> list[ast.Name]:
    """The names a comprehension's target binds, in order."""
    return [target] if isinstance(target, ast.Name) else [name for part in target.elts for name in names_of(part)]
