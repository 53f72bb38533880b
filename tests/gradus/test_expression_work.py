"""Libraries and calls that would take forever: definitions and lets that double, arguments that nest. All are bounded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from selfevolve.gradus.expressions import Context, EvaluationError, Expression, ExpressionError, Let, Scope, define

SCOPE = Scope(frozenset({"t"}), frozenset({"a"}), parameters=("p",))
STATE = {"t": {"x": 1, "y": [1, 2], "z": {"w": "text"}}}


def chained(head: str, body: str, times: int) -> Scope:
    """Definitions f0 to f<times>, each over the one before (`{}` in the body)."""
    scope = replace(SCOPE, definitions={"f0": define("f0(x)", "x", SCOPE)})
    for number in range(times):
        definition = define(head.format(number + 1), body.format(number), scope)
        scope = replace(scope, definitions={**scope.definitions, definition.name: definition})
    return scope


def test_definitions_that_double() -> None:
    with pytest.raises(ExpressionError, match="expand it to more than 50,000 nodes"):
        chained("f{}(x)", "f{0}(x) + f{0}(x)", 30)


def test_definitions_that_nest() -> None:
    with pytest.raises(ExpressionError, match="nested more than 160 deep"):
        chained("f{}(x)", "f{0}(x)", 200)


@pytest.mark.parametrize(
    ("body", "use"),
    [
        ("{0} + {0}", "len({0})"),
        ("[{0}, {0}]", "{0} == {1}"),
        ("({0}, {0})", "{{{0}}} == {{{1}}}"),
        ("({0}, {0})", "{0} < {1}"),
        ("({0}, {0})", "sorted([{0}, {1}])"),
        ("({0}, {0})", "{0} in t"),
        ("[{0} for x in [1, 2]]", "{0} in [{1}]"),
        ("zip({0}, {0})", "len({0})"),
    ],
)
@pytest.mark.parametrize("seed", ["[1, p]", "p"])
def test_lets_that_double(body: str, use: str, seed: str) -> None:
    """Values that share their parts grow exponentially in the number of lets: to hash, to compare, to join."""
    scope, index = SCOPE, 0
    for name in ("l", "m"):
        for number in range(30):
            text = body.format(f"{name}{number - 1}") if number else seed
            scope = replace(scope, lets={**scope.lets, f"{name}{number}": Let(index, Expression(text, scope))})
            index += 1
    expression = Expression(use.format("l29", "m29"), scope)
    try:
        expression.evaluate(Context(STATE, STATE, None, {"p": "x"}, {}, index))
    except EvaluationError as error:
        assert "steps" in str(error)


def test_arguments_that_nest() -> None:
    """A call's arguments are a model's text: any JSON."""
    deep, other = [], []
    for _ in range(400):
        deep, other = [deep], [other]
    scope = replace(SCOPE, parameters=("p", "m"))
    context = Context(STATE, STATE, None, {"p": deep, "m": other}, {})
    for text in ("p == [[[1]]]", "p == m", "p in t", "p in t.y", "t[p] == 1", "p < p", "sorted(p) == 1", "set(p) == {1}"):
        assert Expression(text, scope).holds(context) is False
    assert Expression("p == p", scope).holds(context) is True
