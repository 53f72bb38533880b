"""Texts that are no guard expressions: refused with position and reason, never executed, never endless."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfevolve.gradus import syntax
from selfevolve.gradus.expressions import Context, EvaluationError, Expression, ExpressionError, Scope
from selfevolve.gradus.syntax import MAX_CHARS, MAX_DEPTH

SCOPE = Scope(frozenset({"t"}), frozenset({"a"}), parameters=("p",))
STATE = {"t": {"x": 1, "y": [1, 2], "z": {"w": "text"}}}

_watching = False
_events: list[str] = []


WATCHED = ("exec", "import", "open", "os.", "subprocess.", "socket.", "shutil.", "ctypes.")  # ast.parse alone is "compile"


def _audit(event: str, _arguments: tuple) -> None:
    if _watching and event.startswith(WATCHED):
        _events.append(event)


sys.addaudithook(_audit)


@contextmanager
def nothing_executed() -> Iterator[None]:
    global _watching
    _events.clear()
    _watching = True
    try:
        yield
    finally:
        _watching = False
    assert not _events


def attempt(text: str) -> None:
    """Load and evaluate: only the two documented errors may come out."""
    with nothing_executed():
        try:
            expression = Expression(text, SCOPE)
        except ExpressionError as error:
            assert error.line >= 1 and error.column >= 1 and error.reason
            return
        try:
            expression.evaluate(Context(STATE, STATE, "2024-05-15T15:00:00", {"p": "x"}, {}))
        except EvaluationError as error:
            assert "steps" in str(error)


def test_execution_would_be_noticed() -> None:
    with pytest.raises(AssertionError), nothing_executed():
        exec("1")


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=60))
def test_random_text(text: str) -> None:
    attempt(text)


WORDS = [
    "t",
    "p",
    "a",
    "x",
    "facts",
    "initial",
    "state",
    "now",
    "_x",
    "__class__",
    "len",
    "any",
    "all",
    "default",
    "range",
    "sorted",
    "min",
    "round",
    "set",
    "keys",
    "get",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    ".",
    ".x",
    ".y\n+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "=",
    ":=",
    "in",
    "not",
    "is",
    "and",
    "or",
    "if",
    "else",
    "for",
    "lambda",
    "async",
    "await",
    "yield",
    "import",
    "None",
    "True",
    "False",
    "0",
    "1",
    "9",
    "99999",
    "1e18\n'x'",
    '"y"',
    "'a%s'",
    "f'{t}'",
    "b'x'",
    "1j",
    "...",
    "@",
    "~",
    "&",
    "|",
    "^",
    "<<",
    "*",
    "**",
    "#",
    "\\",
    "\n",
    ";",
    "é",
    "𝔱",
    "\x00",
    "�",
]


@settings(max_examples=1500, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=14), st.sampled_from(["", " "]))
def test_token_soup(words: list[str], gap: str) -> None:
    attempt(gap.join(words))


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("", 1, "empty"),
        ("   \n ", 1, "empty"),
        ("t.__class__", 1, "'__class__' begins with '_'"),
        ("().__class__.__bases__[0].__subclasses__()", 1, "there are no methods"),
        ("t.x.__globals__['os']", 1, "'__globals__' begins with '_'"),
        ("_t", 1, "'_t' begins with '_'"),
        ("__import__('os').system('true')", 1, "there are no methods"),
        ("__import__('os')", 1, "'__import__' begins with '_'"),
        ("eval('1')", 1, "unknown function 'eval'"),
        ("open('/etc/passwd')", 1, "unknown function 'open'"),
        ("getattr(t, 'x')", 1, "unknown function 'getattr'"),
        ("type(t)", 1, "unknown function 'type'"),
        ("len", 1, "is a function: call it"),
        ("t.keys()", 1, "there are no methods"),
        ("'{0.__class__}'.format(t)", 1, "there are no methods"),
        ("(lambda: 1)()", 1, "there are no methods"),
        ("1 + (lambda: 1)", 6, "lambda"),
        ("1 + (y := 2)", 6, "':='"),
        ("[y := 1, y ** 2]", 2, "':='"),
        ("1 + f'{t}'", 5, "f-strings"),
        ("f'{t.__class__}'", 1, "f-strings"),
        ("await t", 1, "await"),
        ("(yield)", 2, "yield"),
        ("[x async for x in t]", 14, "async"),
        ("import os", 1, "not an expression"),
        ("x = 1", 3, "not an expression"),
        ("t.x; t.y", 4, "not an expression"),
        ("1) or (1", 2, "not an expression"),
        ("2 + 9 ** 9 ** 9 ** 9", 5, r"'\*\*'"),
        ("1 << 99999", 1, "'<<'"),
        ("t | t", 1, "write `or`"),
        ("t.x & 1", 1, "write `and`"),
        ("~1", 1, "write `not`"),
        ("t @ t", 1, "'@'"),
        ("p is None", 1, "write =="),
        ("p is not None", 1, "write !="),
        ("b'x' == p", 1, "type bytes"),
        ("1j", 1, "type complex"),
        ("...", 1, "type ellipsis"),
        ("1e999", 1, "numbers go up to"),
        ("9999999999999999999", 1, "numbers go up to"),
        ("len(*t)", 5, r"'\*'"),
        ("[*t]", 2, r"'\*'"),
        ("{**t}", 1, r"'\*\*'"),
        ("sorted(t, key=len)", 15, "by position"),
        ("{k: 1 for k in t}", 1, "dict comprehensions"),
        ("t.y[::2]", 7, "no step"),
        ("[1 for t.x in [1]]", 8, "binds names only"),
        ("[1 for p in [1]]", 8, "'p' would hide another 'p'"),
        ("[1 for x in [1] for x in [2]]", 21, "'x' would hide another 'x'"),
        ("[x for x in [1]] == x", 21, "unknown name 'x'"),
        ("any(x for y in x)", 16, "unknown name 'x'"),
        ("len()", 1, "len takes 1 arguments, not 0"),
        ("default(1)", 1, "default takes 2 arguments, not 1"),
        ("lenn(t)", 1, "did you mean 'len'"),
        ("q.x == 1", 1, "unknown name 'q'"),
        ("p == true", 6, "write True"),
        ("p == null", 6, "write None"),
        ("facts", 1, "stands before a dot"),
        ("facts.b", 1, "unknown fact 'b'; known: a"),
        ("initial.q", 1, "unknown name of the state 'q'"),
        ("1 + état", 5, "unknown name 'état'"),
        ("'é' == q", 8, "unknown name 'q'"),
        ("print(1)", 1, "unknown function 'print'"),
    ],
)
def test_attack(text: str, column: int, reason: str) -> None:
    with nothing_executed(), pytest.raises(ExpressionError, match=reason) as caught:
        Expression(text, SCOPE)
    assert (caught.value.line, caught.value.column) == (1, column)
    assert caught.value.text == text


def test_positions_count_lines_and_leading_space() -> None:
    with pytest.raises(ExpressionError) as caught:
        Expression("\n  (t.x ==\n    q)", SCOPE)
    assert (caught.value.line, caught.value.column) == (3, 5)
    with pytest.raises(ExpressionError) as caught:
        Expression("  q", SCOPE)
    assert (caught.value.line, caught.value.column) == (1, 3)
    assert str(caught.value).startswith("1:3: unknown name 'q'")


@pytest.mark.parametrize(
    "deep", ["(" * 500 + "1" + ")" * 500, "[" * 900 + "]" * 900, "-" * 1500 + "1", "not " * 480 + "1", "t" + ".x" * 900]
)
def test_deep_nesting(deep: str) -> None:
    with pytest.raises(ExpressionError, match=f"nested more than {MAX_DEPTH}|too many nested|not an expression|recursion"):
        Expression(deep, SCOPE)


def test_length() -> None:
    Expression("1" + " " * (MAX_CHARS - 1), SCOPE)
    with pytest.raises(ExpressionError, match="2001 characters; at most 2000"):
        Expression("1" + " " * MAX_CHARS, SCOPE)
    Expression(" or ".join(["p == 'x'"] * 150), SCOPE)  # long but flat


def test_no_escape_hatch_in_the_source() -> None:
    """The language is compiled to closures: nothing in its modules executes text."""
    folder = Path(syntax.__file__).parent
    modules = [
        "syntax",
        "values",
        "functions",
        "context",
        "arithmetic",
        "logic",
        "loops",
        "lookups",
        "reads",
        "compiling",
        "expressions",
    ]
    source = "".join((folder / f"{name}.py").read_text() for name in modules)
    for word in ("eval(", "exec(", "compile(", "__import__", "globals(", "importlib"):
        assert f" {word}" not in source and f"({word}" not in source
