"""The three-valued logic against an oracle that knows nothing of it: every completion of the missing facts, one by one."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from selfevolve.gradus.expressions import MISSING, Context, Expression, Scope, Unknown

DOMAINS = {"a": (False, True), "b": (False, True), "s": ("k", "m", "gone")}
STATE = {"t": {"k": "x", "m": "y"}, "xs": [{"n": 1, "w": "x"}, {"n": 2, "w": "k"}], "none": []}
SCOPE = Scope(frozenset(STATE), frozenset(DOMAINS))

# A random expression is a tree: (kind, *parts). `text` renders it; `run` evaluates it for facts that are all known.
TEXTS = {
    "fact": "facts.{}", "not": "(not {})", "and": "({} and {})", "or": "({} or {})", "eq": "({} == {})", "ne": "({} != {})",
    "lt": "({} < {})", "in": "({} in [{}, {}])", "if": "({1} if {0} else {2})", "default": "default({}, {})", "add": "({} + {})",
    "at": "t[{}]", "field": "{}.{}", "has": "({} in t)", "chain": "({} < {} < {})",
}  # fmt: skip


class Absent(Exception):
    pass


def text(tree: Any) -> str:
    kind, *parts = tree
    if kind == "value":
        return repr(parts[0])
    if kind in ("name", "fact"):
        return parts[0] if kind == "name" else f"facts.{parts[0]}"
    if kind in ("any", "all", "sum", "len"):
        element, variable, source, test = parts
        body = f"{text(element)} for {variable} in {text(source)} if {text(test)}"
        return f"{kind}([{body}])" if kind == "len" else f"{kind}({body})"
    if kind == "field":
        return f"{text(parts[0])}.{parts[1]}"
    return TEXTS[kind].format(*map(text, parts))


def run(tree: Any, facts: dict, names: dict) -> Any:
    """Plain evaluation, left to right; raises Absent for a missing look-up or a wrong type."""
    kind, *parts = tree

    def value(index: int) -> Any:
        return run(parts[index], facts, names)

    match kind:
        case "value":
            return parts[0]
        case "name":
            return {**STATE, **names}[parts[0]]
        case "fact":
            return facts[parts[0]]
        case "not":
            return not value(0)
        case "and":
            return bool(value(0)) and bool(value(1))
        case "or":
            return bool(value(0)) or bool(value(1))
        case "if":
            return value(1) if value(0) else value(2)
        case "default":
            try:
                return value(0)
            except Absent:
                return value(1)
        case "eq" | "ne" | "in":
            first, *others = value(0), *(value(index) for index in range(1, len(parts)))
            return (first in others) is (kind != "ne")
        case "chain":
            return run(("lt", *parts[:2]), facts, names) and run(("lt", *parts[1:]), facts, names)
        case "any" | "all" | "sum" | "len":
            return loop(kind, parts, facts, names)
    arguments = [value(index) if isinstance(part, tuple) else part for index, part in enumerate(parts)]
    try:
        match kind, arguments:
            case "at", [key] if not isinstance(key, list | dict):
                return STATE["t"][key]
            case "has", [key]:
                return not isinstance(key, list | dict) and key in STATE["t"]
            case "field", [{} as owner, name]:
                return owner[name]
            case "lt", [left, right] if alike(left, right) and "{" not in f"{left}{right}":  # no models in lists
                return left < right
            case "add", [left, right] if alike(left, right):
                return left + right
    except KeyError:
        pass
    raise Absent


def alike(left: Any, right: Any) -> bool:
    """Whether the two can be added: numbers, texts or lists."""
    return {type(left), type(right)} <= {int, bool} or type(left) is type(right) in (str, list)


def loop(kind: str, parts: list, facts: dict, names: dict) -> Any:
    element, variable, source, test = parts
    found = []
    rows = run(source, facts, names)
    for row in rows if isinstance(rows, list) else _absent():
        inner = {**names, variable: row}
        if run(test, facts, inner):
            found.append(run(element, facts, inner))
            if kind in ("any", "all") and bool(found[-1]) is (kind == "any"):
                return kind == "any"
    if kind in ("any", "all"):
        return kind == "all"
    if kind == "sum" and not all(isinstance(number, int) for number in found):
        raise Absent
    return sum(found) if kind == "sum" else len(found)


def _absent() -> Any:
    raise Absent


def trees(depth: int = 3, variables: tuple[str, ...] = ()) -> st.SearchStrategy:
    leaves = st.one_of(
        st.sampled_from([("fact", name) for name in DOMAINS]),
        st.sampled_from([("value", value) for value in (True, False, 0, 1, 2, "k", "x", "y", "gone")]),
        st.sampled_from([("at", ("value", "gone")), ("at", ("value", "k")), ("name", "none")]),
        *([st.sampled_from([("field", ("name", v), n) for v in variables for n in ("n", "w", "gone")])] if variables else []),
    )
    if depth == 0:
        return leaves
    part = trees(depth - 1, variables)
    variable = f"v{depth}"
    inner = trees(depth - 1, (*variables, variable))
    source = st.one_of(
        st.just(("name", "xs")), st.just(("name", "none")), st.tuples(st.just("if"), part, *[st.just(("name", "xs"))] * 2), part
    )
    return st.one_of(
        leaves,
        st.tuples(st.sampled_from(["not", "at", "has"]), part),
        st.tuples(st.sampled_from(["and", "or", "eq", "ne", "lt", "add", "default"]), part, part),
        st.tuples(st.sampled_from(["and", "or"]), part, part),
        st.tuples(st.sampled_from(["if", "in", "chain"]), part, part, part),
        st.tuples(st.sampled_from(["any", "all", "sum", "len"]), inner, st.just(variable), source, inner),
    )


def outcome(tree: Any, facts: dict) -> Any:
    try:
        return run(tree, facts, {})
    except Absent:
        return MISSING


@settings(max_examples=800, deadline=None)
@given(trees(), st.sets(st.sampled_from(sorted(DOMAINS))))
def test_a_known_result_is_that_of_every_completion(tree: Any, missing: set[str]) -> None:
    expression = Expression(text(tree), SCOPE)
    for known in product(*(DOMAINS[name] for name in DOMAINS if name not in missing)):
        told = dict(zip([name for name in DOMAINS if name not in missing], known, strict=True))
        completions = [
            {**told, **dict(zip(sorted(missing), rest, strict=True))} for rest in product(*(DOMAINS[n] for n in sorted(missing)))
        ]
        outcomes = [outcome(tree, facts) for facts in completions]
        context = Context(STATE, {}, None, {}, told)
        value, holds = expression.evaluate(context), expression.holds(context)
        if isinstance(value, Unknown):
            assert missing and value.facts <= missing & expression.facts
        else:
            assert all(found is MISSING if value is MISSING else found == value for found in outcomes)
        if not isinstance(holds, Unknown):
            assert {bool(found) for found in outcomes} == {holds}


@settings(max_examples=300, deadline=None)
@given(trees())
def test_with_every_fact_told_nothing_is_unknown(tree: Any) -> None:
    expression = Expression(text(tree), SCOPE)
    for values in product(*DOMAINS.values()):
        facts = dict(zip(DOMAINS, values, strict=True))
        value, wanted = expression.evaluate(Context(STATE, {}, None, {}, facts)), outcome(tree, facts)
        assert (value is MISSING) if wanted is MISSING else (type(value), value) == (type(wanted), wanted)


def test_the_grammar_reaches_every_kind_of_result() -> None:
    """The two properties above would pass on a grammar that makes no unknown, or no missing, or no decided result."""
    seen: set[str] = set()

    @settings(max_examples=300, deadline=None, database=None, derandomize=True)
    @given(trees())
    def collect(tree: Any) -> None:
        value = Expression(text(tree), SCOPE).evaluate(Context(STATE, {}, None, {}, {}))
        seen.add("unknown" if isinstance(value, Unknown) else "missing" if value is MISSING else str(bool(value)))
        decided = not isinstance(value, Unknown) and "facts" in text(tree)
        seen.update({"decided without the facts it reads"} if decided else ())

    collect()
    assert seen == {"unknown", "missing", "True", "False", "decided without the facts it reads"}
