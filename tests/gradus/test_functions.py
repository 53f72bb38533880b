from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest

from selfevolve.gradus.expressions import FUNCTIONS, MISSING, Context, Expression, Scope

STATE = {"t": {"b": 2, "a": 1}, "day": date(2025, 2, 28), "moment": datetime(2025, 3, 1, 6)}
SCOPE = Scope(frozenset(STATE))


def evaluate(text: str) -> Any:
    return Expression(text, SCOPE).evaluate(Context(STATE, STATE, None, {}, {}))


CASES: dict[str, list[tuple[str, Any]]] = {
    "abs": [("abs(0 - 3)", 3), ("abs('x')", MISSING)],
    "days_between": [
        ("days_between('2024-05-15', '2024-05-16T01:00:00')", 1),
        ("days_between('2024-05-15T23:00:00', '2024-05-15')", 0),
        ("days_between(moment, day)", -1),
        ("days_between('x', day)", MISSING),
    ],
    "endswith": [("endswith('abc', 'bc')", True), ("endswith('abc', 1)", MISSING)],
    "enumerate": [("enumerate(['x', 'y'])", [(0, "x"), (1, "y")])],
    "get": [("get(t, 'a', 0)", 1), ("get(t, 'z', 0)", 0), ("get([5], 3, 'none')", "none")],
    "hours_between": [
        ("hours_between('2024-05-14T16:30:00', '2024-05-15T15:00:00')", 22.5),
        ("hours_between('2024-05-15', '2024-05-14T12:00:00')", -12.0),
        ("hours_between(day, moment)", 30.0),
        ("hours_between('2024-05-15', '2024-05-15T00:00:00+00:00')", MISSING),
    ],
    "items": [("items(t)", [("b", 2), ("a", 1)]), ("items([1])", MISSING)],
    "keys": [("keys(t)", ["b", "a"]), ("keys('a')", MISSING)],
    "len": [("len(t) + len('abc') + len([1])", 6), ("len(1)", MISSING)],
    "list": [("list({2, 1})", [1, 2]), ("list('ab')", MISSING)],
    "lower": [("lower('AbC')", "abc"), ("lower(1)", MISSING)],
    "max": [("max([1, 3, 2])", 3), ("max(1, 3)", 3), ("max([])", MISSING)],
    "min": [("min([1, 3, 2])", 1), ("min('b', 'a')", "a"), ("min(1)", MISSING)],
    "range": [("range(3)", [0, 1, 2]), ("range(1, 3)", [1, 2]), ("range(1000000)", MISSING)],
    "round": [("round(2.5)", 2), ("round(1.239, 2)", 1.24), ("round(1, 0 - 1)", MISSING), ("round('1')", MISSING)],
    "set": [("set([2, 1, 2])", frozenset({1, 2})), ("set([[1, 2]])", frozenset({(1, 2)})), ("set([[[1]]])", MISSING)],
    "sorted": [("sorted([3, 1, 2])", [1, 2, 3]), ("sorted(t)", ["a", "b"]), ("sorted([1, 'a'])", MISSING)],
    "split": [("split('a, b', ', ')", ["a", "b"]), ("split(' a  b ')", ["a", "b"]), ("split('a', '')", MISSING)],
    "startswith": [("startswith('abc', 'ab')", True), ("startswith('abc', ['a'])", MISSING)],
    "strip": [("strip('  a ')", "a")],
    "sum": [("sum([1, 2.5])", 3.5), ("sum([True, True])", 2), ("sum(['a'])", MISSING), ("sum([])", 0)],
    "upper": [("upper('a')", "A")],
    "values": [("values(t)", [2, 1]), ("values([1])", MISSING)],
    "zip": [("zip([1, 2], ['a'])", [(1, "a")]), ("zip([1], 2)", MISSING)],
}


@pytest.mark.parametrize(("text", "value"), [case for cases in CASES.values() for case in cases])
def test_function(text: str, value: Any) -> None:
    found = evaluate(text)
    assert (type(found), found) == (type(value), value)


def test_every_function_has_a_test() -> None:
    assert set(FUNCTIONS) <= set(CASES), "add a case for the new function to CASES"
