"""Structural facts about formula trees (their shape is described in `syntax`)."""

from collections.abc import Iterable, Iterator


def nodes(tree: tuple) -> Iterator[tuple]:
    """Every node, the root first."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        for part in node[1:]:
            if isinstance(part, tuple) and part:
                if isinstance(part[0], tuple):
                    stack.extend(part)
                else:
                    stack.append(part)


def names_of(tree: tuple) -> set[str]:
    return {node[1] for node in nodes(tree) if node[0] == "s"}


def has_sign(tree: tuple) -> bool:
    """Whether a ± occurs."""
    return any(node[0] == "pm" for node in nodes(tree))


def has_bars(tree: tuple) -> bool:
    """Whether an absolute value occurs."""
    return any(node[0] == "f" and node[1] == "abs" for node in nodes(tree))


def has_infinity(tree: tuple) -> bool:
    return any(node == ("k", "inf") for node in nodes(tree))


def substitute(tree: tuple, name: str, value: tuple) -> tuple:
    """`tree` with a value in the place of a name."""
    if tree[0] == "s":
        return value if tree[1] == name else tree
    parts = []
    for part in tree:
        if isinstance(part, tuple) and part:
            items = isinstance(part[0], tuple)
            part = tuple(substitute(x, name, value) for x in part) if items else substitute(part, name, value)
        parts.append(part)
    return tuple(parts)


def canonical(tree: tuple) -> str:
    """A string equal for trees that differ only in the order of sums and products and in where their signs stand."""
    return repr(_ordered(tree))


def _ordered(tree: tuple) -> tuple:
    kind = tree[0]
    if kind == "-":
        return _negated(_ordered(tree[1]))
    if kind == "+":
        parts = [_ordered(part) for part in tree[1]]
        return _sum(term for part in parts for term in (part[1] if part[0] == "+" else (part,)))
    if kind == "*":
        parts = [_ordered(part) for part in tree[1]]
        odd = sum(part[0] == "-" for part in parts) % 2
        product = ("*", tuple(sorted((part[1] if part[0] == "-" else part for part in parts), key=repr)))
        return ("-", product) if odd else product
    if kind == "f":
        return ("f", tree[1], tuple(map(_ordered, tree[2])))
    if kind == "n" and tree[1] < 0:
        return ("-", ("n", str(-tree[1])))
    if kind in ("n", "s", "k"):
        return (kind, str(tree[1]))
    return (kind, *(_ordered(part) if isinstance(part, tuple) else str(part) for part in tree[1:]))


def _sum(terms: Iterable[tuple]) -> tuple:
    return ("+", tuple(sorted(terms, key=repr)))


def _negated(tree: tuple) -> tuple:
    if tree[0] == "-":
        return tree[1]
    return _sum(map(_negated, tree[1])) if tree[0] == "+" else ("-", tree)


def is_product(tree: tuple) -> bool:
    """Whether the tree is built by products, quotients, powers, signs and factorials at its top, without a sum."""
    kind = tree[0]
    if kind == "+":
        return False
    if kind in ("-", "^"):
        return is_product(tree[1])
    if kind == "*":
        return all(map(is_product, tree[1]))
    if kind == "/":
        return is_product(tree[1]) and is_product(tree[2])
    return True
