"""What an expression reads: normalised schema paths of the state, dialogue facts, arguments.

Paper: Gradus 2.2: effects of one action "establish or invalidate another action's conditions"; a path links the two.

A path is a chain of names joined by dots; `*` stands for any key or index: `reservations[x].flights[0].date` and
`[s.date for r in values(reservations) for s in r.flights]` both read `reservations.*.flights.*.date`. `initial.` begins the
paths of the state at reset. A path is recorded where its value is used, so a chain counts once, with its last name; a loop
over a collection, a membership test and `len` record the collection's own path. Paths pass through lets, definitions,
comprehension variables, displays, if-else, `values`, `items`, `get`, `default`, `list`, `set`, `sorted`, `zip`, `enumerate`.
The analysis covers every branch, so it may name more than one evaluation reads, never less. It knows no schema: what a loop
over a mapping itself binds counts as an entry's path; loop over `keys(mapping)` to bind plain keys.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from selfevolve.gradus.context import Scope
from selfevolve.gradus.syntax import Tree

MAX_WORK = 50_000  # nodes visited, definitions expanded: a chain of definitions can double at every step
MAX_LISTS = 4  # lists in lists that are followed; what is deeper is taken to be read


class Shape:
    """Where in the state a value may come from.

    `paths` of the value; shape of its `element`s; shapes of its `parts`, where their number is fixed; `whole`, all paths a use
    of the whole value reads; `depth` of the nesting.
    """

    __slots__ = ("paths", "element", "parts", "whole", "depth")

    def __init__(self, paths: Iterable[str] = (), element: Shape | None = None, parts: Sequence[Shape] = ()):
        inner = [*([element] if element else []), *parts]
        self.paths, self.element, self.parts = frozenset(paths), element, tuple(parts)
        self.whole = self.paths.union(*(shape.whole for shape in inner))
        self.depth = 1 + max((shape.depth for shape in inner), default=0)


NOWHERE = Shape()


class Analysis:
    """One tree's `reads`, `facts`, `arguments`, and the `shape` of its result (whose paths are in `reads` too)."""

    def __init__(self, tree: Tree, scope: Scope):
        """Raises ExpressionError if the definitions used expand to more than `MAX_WORK` nodes."""
        self._tree, self._scope, self._work = tree, scope, 0
        self._root: ast.expr | None = None  # the node of the tree whose definition is being expanded
        self.facts: set[str] = set()
        self.arguments: set[str] = set()
        self.inner: set[str] = set()  # all reads but those of the result itself
        self.shape = self._visit(tree.body, {})
        self.reads = frozenset(self.inner | self.shape.whole)

    def _count(self, node: ast.expr | None, work: int) -> None:
        self._work += work
        if self._work > MAX_WORK:
            self._tree.fail(self._root or node, f"the definitions used expand it to more than {MAX_WORK:,} nodes")

    def _nested(self, element: Shape | None = None, parts: Sequence[Shape] = ()) -> Shape:
        """The shape of a new collection."""
        shape = Shape((), element, parts)
        if shape.depth > MAX_LISTS:
            self.inner |= shape.whole
            return NOWHERE
        return shape if shape.whole else NOWHERE

    def _joined(self, shapes: Iterable[Shape]) -> Shape:
        """The shape of a value that is one of several."""
        shapes = list({id(shape): shape for shape in shapes if shape.whole}.values())
        self._count(None, len(shapes))
        if len(shapes) < 2:
            return shapes[0] if shapes else NOWHERE
        inner = self._joined(part for shape in shapes for part in ([shape.element] if shape.element else shape.parts))
        return Shape(frozenset().union(*(shape.paths for shape in shapes)), inner if inner.whole else None)

    def _element(self, shape: Shape) -> Shape:
        """The shape of an element of a collection."""
        below = Shape(f"{path}.*" for path in shape.paths)
        return self._joined([below, *([shape.element] if shape.element else []), *shape.parts])

    def _visit(self, node: ast.expr, names: Mapping[str, Shape]) -> Shape:
        self._count(node, 1)
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method:
            return method(node, names)
        self._use(*(self._visit(child, names) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)))
        return NOWHERE

    def _use(self, *shapes: Shape) -> None:
        for shape in shapes:
            self.inner |= shape.whole

    def _name(self, node: ast.Name, names: Mapping[str, Shape]) -> Shape:
        name = node.id
        if name in names:
            return names[name]
        if self._root is None and name in self._scope.parameters:
            self.arguments.add(name)
            return NOWHERE
        if self._root is None and name in self._scope.lets:
            named = self._scope.lets[name].expression.analysis
            self.inner |= named.inner
            self.facts |= named.facts
            self.arguments |= named.arguments
            return named.shape
        return Shape([name]) if name in self._scope.tables else NOWHERE

    def _attribute(self, node: ast.Attribute, names: Mapping[str, Shape]) -> Shape:
        owner = node.value
        hidden = {*names, *(self._scope.parameters if self._root is None else ())}
        if isinstance(owner, ast.Name) and owner.id in ("facts", "initial", "state") and owner.id not in hidden:
            if owner.id == "facts":
                self.facts.add(node.attr)
                return NOWHERE
            return Shape([node.attr if owner.id == "state" else f"initial.{node.attr}"])
        return Shape(f"{path}.{node.attr}" for path in self._visit(owner, names).paths)

    def _subscript(self, node: ast.Subscript, names: Mapping[str, Shape]) -> Shape:
        owner, key = self._visit(node.value, names), node.slice
        if isinstance(key, ast.Slice):
            self._use(*(self._visit(end, names) for end in (key.lower, key.upper) if end))
            inner = self._joined([*([owner.element] if owner.element else []), *owner.parts])
            return Shape(owner.paths, inner if inner.whole else None)
        self._use(self._visit(key, names))
        if isinstance(key, ast.Constant) and type(key.value) is int and key.value < len(owner.parts):
            return owner.parts[key.value]
        return self._element(owner)

    def _ifexp(self, node: ast.IfExp, names: Mapping[str, Shape]) -> Shape:
        self._use(self._visit(node.test, names))
        return self._joined([self._visit(node.body, names), self._visit(node.orelse, names)])

    def _list(self, node: ast.List | ast.Tuple | ast.Set, names: Mapping[str, Shape]) -> Shape:
        return self._nested(parts=[self._visit(part, names) for part in node.elts])

    _tuple = _set = _list

    def _dict(self, node: ast.Dict, names: Mapping[str, Shape]) -> Shape:
        self._use(*(self._visit(key, names) for key in node.keys))
        return self._nested(element=self._joined(self._visit(value, names) for value in node.values))

    def _binop(self, node: ast.BinOp, names: Mapping[str, Shape]) -> Shape:
        left, right = self._visit(node.left, names), self._visit(node.right, names)
        self._use(left, right)
        return self._nested(element=self._joined([self._element(left), self._element(right)]))  # lists joined by +

    def _listcomp(self, node: ast.ListComp, names: Mapping[str, Shape]) -> Shape:
        names = dict(names)
        for generator in node.generators:
            source = self._visit(generator.iter, names)
            self.inner |= source.paths
            self._bind(generator.target, self._element(source), names)
            self._use(*(self._visit(test, names) for test in generator.ifs))
        return self._nested(element=self._visit(node.elt, names))

    _setcomp = _generatorexp = _listcomp

    def _bind(self, target: ast.expr, shape: Shape, names: dict[str, Shape]) -> None:
        if isinstance(target, ast.Name):
            names[target.id] = shape
            return
        fixed = shape.parts if len(shape.parts) == len(target.elts) else [self._element(shape)] * len(target.elts)
        for part, element in zip(target.elts, fixed, strict=True):
            self._bind(part, element, names)

    def _call(self, node: ast.Call, names: Mapping[str, Shape]) -> Shape:
        name, given = node.func.id, [self._visit(argument, names) for argument in node.args]
        if name in self._scope.definitions:
            return self._expand(node, given)
        if name == "default":
            return self._joined(given)
        if name == "get":
            self._use(given[1])
            return self._joined([self._element(given[0]), given[2]])
        for shape in given:
            self.inner |= shape.paths
        if name in ("values", "list", "set"):
            return self._nested(element=self._element(given[0]))
        if name in ("items", "enumerate"):
            return self._nested(element=Shape(parts=[NOWHERE, self._element(given[0])]))
        if name == "zip":
            return self._nested(element=Shape(parts=list(map(self._element, given))))
        self._use(*given)
        return self._nested(element=self._element(given[0])) if name == "sorted" else NOWHERE

    def _expand(self, node: ast.Call, given: list[Shape]) -> Shape:
        definition, root = self._scope.definitions[node.func.id], self._root
        self._root = root or node
        shape = self._visit(definition.body, dict(zip(definition.parameters, given, strict=True)))
        self._root = root
        return shape
