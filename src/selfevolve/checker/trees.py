"""Structural facts about formula trees (their shape is described in `syntax`)."""

import json
from collections.abc import Iterator


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
    """A string equal for trees that differ only in the order of sums and products."""
    kind = tree[0]
    if kind in ("+", "*"):
        return json.dumps([kind, *sorted(canonical(part) for part in tree[1])])
    if kind == "f":
        return json.dumps(["f", tree[1], *map(canonical, tree[2])])
    if kind in ("n", "s", "k"):
        return json.dumps([kind, str(tree[1])])
    return json.dumps([kind, *(canonical(part) if isinstance(part, tuple) else str(part) for part in tree[1:])])


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
