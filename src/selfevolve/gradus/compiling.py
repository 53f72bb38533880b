"""Checked syntax trees to closures, names resolved: the compiler of guard expressions.

Paper: Gradus 2.2 and A.7. Each node becomes a function of a frame: a list whose first entry is the `Context` of one
judgement, and whose others hold the comprehension variables (and, in a definition's body, its parameters). Nothing is
looked up by name at evaluation but state, arguments and facts; an unknown name or function is refused here.

Definitions are macros, hygienic ones: a body sees state, facts and earlier definitions, not the caller's names, and an
argument is evaluated in the caller where the body uses it, at most once per use of the definition.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, NoReturn

from selfevolve.gradus import lookups
from selfevolve.gradus.arithmetic import OPERATORS, negative
from selfevolve.gradus.context import Context, Run, Scope
from selfevolve.gradus.functions import FUNCTIONS, SPECIAL_FORMS
from selfevolve.gradus.logic import (
    COMPARISONS,
    against_constant,
    binary,
    choice,
    comparison,
    connective,
    default,
    display,
    negation,
    strict,
)
from selfevolve.gradus.loops import Clause, Pattern, comprehension, fold, members
from selfevolve.gradus.syntax import Tree, names_of
from selfevolve.gradus.values import FALSE, SCALARS, TRUE, Missing, hashable, hashed

MAX_NESTING = 160  # of an expression with the lets and definitions it uses; evaluation recurses as deep
ROOTS = ("facts", "initial", "state")  # names that only stand before a dot
_LOOPS = ast.ListComp | ast.SetComp | ast.GeneratorExp
_DISPLAYS: dict[type[ast.expr], Callable[[list], Any]] = {ast.List: list, ast.Tuple: tuple, ast.Set: hashed}


class Compiler:
    """Compiles one tree. Afterwards: `run`; `slots`, the length of a frame; `depth`, nesting with what the tree uses."""

    def __init__(self, tree: Tree, scope: Scope, parameters: tuple[str, ...] = ()):
        """`parameters`: those of a definition, if `tree` is its body. Raises ExpressionError."""
        self._tree, self._scope = tree, scope
        self._slots = {name: slot for slot, name in enumerate(parameters, 1)}
        self._parameters = frozenset(parameters)
        self.slots = 1 + len(parameters)
        self._used = 0
        self.run = self._visit(tree.body)
        self.depth = tree.depth + self._used
        if self.depth > MAX_NESTING:
            self._fail(tree.body, f"nested more than {MAX_NESTING} deep, with the lets and definitions it uses")

    def _fail(self, node: ast.AST, reason: str) -> NoReturn:
        self._tree.fail(node, reason)

    def _visit(self, node: ast.expr) -> Run:
        run = getattr(self, f"_{type(node).__name__.lower()}")(node)
        return _folded(run) if _is_literal(node) else run

    def _all(self, nodes: Iterable[ast.expr]) -> list[Run]:
        return [self._visit(node) for node in nodes]

    def _constant(self, node: ast.Constant) -> Run:
        value = node.value
        return lambda frame: value

    def _name(self, node: ast.Name) -> Run:
        name, scope = node.id, self._scope
        if name in self._slots:
            return lookups.parameter(self._slots[name]) if name in self._parameters else lookups.slot(self._slots[name])
        if name in scope.parameters:
            return lookups.argument(name)
        if name in scope.lets:
            self._used = max(self._used, scope.lets[name].expression.depth)
            return lookups.let(scope.lets[name].index, scope.lets[name].expression.value)
        if name == "now":
            return lambda frame: frame[0].now
        if name in ROOTS:
            self._fail(node, f"{name!r} stands before a dot: {name}.<name>")
        if name in scope.tables:
            return lookups.table(name)
        self._fail(node, self._unknown(name))

    def _unknown(self, name: str) -> str:
        scope = self._scope
        known = [*self._slots, *scope.parameters, *scope.lets, *scope.tables, "now", *(f"{root}." for root in ROOTS)]
        if name.lower() in ("true", "false", "none", "null"):
            return f"unknown name {name!r}: write {'None' if name.lower() in ('none', 'null') else name.capitalize()}"
        if name in scope.definitions or name in FUNCTIONS or name in SPECIAL_FORMS:
            return f"{name!r} is a function: call it"
        return f"unknown name {name!r}; {_suggest(name, known)}"

    def _attribute(self, node: ast.Attribute) -> Run:
        name, value = node.attr, node.value
        if isinstance(value, ast.Name) and value.id in ROOTS and value.id not in {*self._slots, *self._scope.parameters}:
            known = self._scope.facts if value.id == "facts" else self._scope.tables
            if name not in known:
                kind = "fact" if value.id == "facts" else "name of the state"
                self._fail(node, f"unknown {kind} {name!r}; {_suggest(name, known)}")
            return {"facts": lookups.fact, "initial": lookups.initial, "state": lookups.table}[value.id](name)
        return lookups.attribute(self._visit(value), name)

    def _subscript(self, node: ast.Subscript) -> Run:
        if isinstance(node.slice, ast.Slice):
            ends = [end or ast.Constant(None) for end in (node.slice.lower, node.slice.upper)]
            return strict(lookups.cut, [self._visit(node.value), *self._all(ends)])
        return lookups.subscript(self._visit(node.value), self._visit(node.slice))

    def _boolop(self, node: ast.BoolOp) -> Run:
        return connective(self._all(node.values), TRUE if isinstance(node.op, ast.Or) else FALSE)

    def _unaryop(self, node: ast.UnaryOp) -> Run:
        part = self._visit(node.operand)
        return negation(part) if isinstance(node.op, ast.Not) else strict(negative, [part])

    def _binop(self, node: ast.BinOp) -> Run:
        return binary(OPERATORS[type(node.op)], self._visit(node.left), self._visit(node.right))

    def _compare(self, node: ast.Compare) -> Run:
        if fast := self._constant_test(node):
            return fast
        rest = [(COMPARISONS[type(op)], self._visit(part)) for op, part in zip(node.ops, node.comparators, strict=True)]
        return comparison(self._visit(node.left), rest)

    def _constant_test(self, node: ast.Compare) -> Run | None:
        """A test against a constant, or against a display of constants, by hash: most conditions are of this kind."""
        op, right = type(node.ops[0]), node.comparators[0]
        if len(node.ops) > 1 or not (isinstance(right, ast.Constant) or _is_literal(right)):
            return None
        try:
            constant = self._visit(right)(_no_frame())
        except Missing:
            return None
        if op in (ast.Eq, ast.NotEq) and type(constant) in SCALARS:
            return against_constant(self._visit(node.left), [constant], op is ast.Eq)
        members = constant if op in (ast.In, ast.NotIn) and isinstance(constant, tuple | frozenset | dict) else [()]
        if all(type(value) in SCALARS for value in members):
            return against_constant(self._visit(node.left), members, op is ast.In)
        return None

    def _ifexp(self, node: ast.IfExp) -> Run:
        return choice(*self._all([node.test, node.body, node.orelse]))

    def _list(self, node: ast.List | ast.Tuple | ast.Set) -> Run:
        return display(_DISPLAYS[type(node)], self._all(node.elts))

    _tuple = _set = _list

    def _dict(self, node: ast.Dict) -> Run:
        parts = [part for pair in zip(node.keys, node.values, strict=True) for part in pair]
        return display(_mapping, self._all(parts))

    def _listcomp(self, node: _LOOPS) -> Run:
        return self._loop(node, lambda clauses, part: comprehension(clauses, part, _build(node)))

    _setcomp = _generatorexp = _listcomp

    def _loop(self, node: _LOOPS, make: Callable[[list[Clause], Run], Run]) -> Run:
        """Compile the clauses and the element with the variables in scope, then forget these."""
        outer = dict(self._slots)
        clauses = []
        inner = [generator.iter for generator in node.generators[1:]] + [node.elt]
        for generator, following in zip(node.generators, inner, strict=True):
            source = self._visit(generator.iter)
            for name in names_of(generator.target):
                self._declare(name)
            tests = self._all(generator.ifs)
            test = connective(tests, FALSE) if len(tests) > 1 else tests[0] if tests else None
            cost = 1 + sum(map(_size, [*generator.ifs, following]))
            clauses.append(Clause(source, self._pattern(generator.target), test, cost))
        run = make(clauses, self._visit(node.elt))
        self._slots = outer
        return run

    def _declare(self, node: ast.Name) -> None:
        name, scope = node.id, self._scope
        if name in self._slots or name in {*scope.parameters, *scope.lets, *scope.tables, *ROOTS, "now"}:
            self._fail(node, f"the variable {name!r} would hide another {name!r}: rename it")
        self._slots[name] = self.slots
        self.slots += 1

    def _pattern(self, target: ast.expr) -> Pattern:
        if isinstance(target, ast.Name):
            return self._slots[target.id]
        return tuple(self._pattern(part) for part in target.elts)

    def _call(self, node: ast.Call) -> Run:
        name, given = node.func.id, node.args
        if name in self._scope.definitions:
            return self._use(node)
        if name not in FUNCTIONS and name not in SPECIAL_FORMS:
            known = [*self._scope.definitions, *FUNCTIONS, *SPECIAL_FORMS]
            self._fail(node, f"unknown function {name!r}; {_suggest(name, known)}")
        least, most = SPECIAL_FORMS[name] if name in SPECIAL_FORMS else FUNCTIONS[name][1:3]
        if not least <= len(given) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            self._fail(node, f"{name} takes {wanted} arguments, not {len(given)}")
        if name == "default":
            return default(*self._all(given))
        if name not in SPECIAL_FORMS:
            return strict(FUNCTIONS[name].call, self._all(given), FUNCTIONS[name].whole)
        stop = TRUE if name == "any" else FALSE
        if isinstance(given[0], _LOOPS):
            return self._loop(given[0], lambda clauses, part: fold(clauses, part, stop))
        if isinstance(given[0], tuple(_DISPLAYS)):
            return connective(self._all(given[0].elts), stop)
        return members(self._visit(given[0]), stop)

    def _use(self, node: ast.Call) -> Run:
        definition, parts = self._scope.definitions[node.func.id], [self._argument(part) for part in node.args]
        if len(parts) != len(definition.parameters):
            self._fail(node, f"{definition.name} takes {len(definition.parameters)} arguments, not {len(parts)}")
        self._used = max(self._used, definition.depth)
        return lookups.expansion(definition, parts)

    def _argument(self, node: ast.expr) -> Run:
        if isinstance(node, ast.Name) and node.id in self._slots:
            return lookups.slot(self._slots[node.id])
        part = self._visit(node)
        return part if isinstance(node, ast.Constant) or _is_literal(node) else lookups.deferred(part)


def _mapping(keys_and_values: list) -> dict:
    return dict(zip(map(hashable, keys_and_values[::2]), keys_and_values[1::2], strict=True))


def _build(node: ast.expr) -> Callable[[list], Any]:
    return hashed if isinstance(node, ast.SetComp) else list


def _size(node: ast.AST) -> int:
    return sum(not isinstance(child, ast.expr_context) for child in ast.walk(node))


def _no_frame() -> list:
    """A frame for constants, which read nothing of it."""
    return [Context({}, {}, None, {}, {})]


def _is_literal(node: ast.expr) -> bool:
    """A display or negated number made of constants only."""
    return not isinstance(node, ast.Constant) and all(
        isinstance(part, ast.Constant | ast.List | ast.Tuple | ast.Set | ast.Dict | ast.UnaryOp | ast.USub | ast.expr_context)
        for part in ast.walk(node)
    )


def _folded(run: Run) -> Run:
    """The constant that `run` computes, lists as tuples so that nobody can change it."""
    try:
        value = run(_no_frame())
    except Missing:
        return run
    value = tuple(value) if isinstance(value, list) else value
    return lambda frame: value


def _suggest(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, known, 1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(known)) or 'none'}"
