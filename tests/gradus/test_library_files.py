"""Library files that cannot be used: every problem is named with operator, guard, field, position and reason."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from selfevolve.gradus import operators
from selfevolve.gradus.operators import LibraryError

GUARD = {"policy_id": "p", "outcome": "o", "verdict": "allow", "text": "t", "when": "order_id in orders", "enforced_by": "api"}
OPERATOR = {
    "action": "cancel",
    "kind": "write",
    "description": "d",
    "parameters": {"order_id": {"values": "keys(orders)", "text": "t"}},
    "let": {"order": "orders[order_id]"},
    "guards": [GUARD],
}
LIBRARY = {
    "domain": "test/shop",
    "state": ["orders", "users"],
    "facts": {"reason": {"type": "string", "values": ["lost", "late"], "text": "t"}},
    "definitions": {"open(o)": "o.status == 'open'"},
    "operators": [OPERATOR],
}


def problems(folder: Path, content: Any) -> list[str]:
    path = folder / "library.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
    with pytest.raises(LibraryError) as caught:
        operators.load_file(path)
    assert str(caught.value) == "\n".join(f"{path}: {problem}" for problem in caught.value.problems)
    return [str(problem) for problem in caught.value.problems]


def changed(**changes: Any) -> dict:
    return {**LIBRARY, **changes}


def operator(**changes: Any) -> dict:
    return changed(operators=[{**OPERATOR, **changes}])


def guard(**changes: Any) -> dict:
    return operator(guards=[GUARD, {**GUARD, "outcome": "x", **changes}])


def without(record: dict, key: str) -> dict:
    return {name: value for name, value in record.items() if name != key}


def test_the_base_of_these_cases_loads(tmp_path: Path) -> None:
    path = tmp_path / "library.yaml"
    path.write_text(yaml.safe_dump(LIBRARY))
    library = operators.load_file(str(path))
    assert list(library.operators) == ["cancel"] and library.path == path


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (changed(extra=1), "extra: unknown field"),
        (without(LIBRARY, "state"), "state: required field"),
        (changed(state=["orders", "facts"]), "state: 'facts' has a meaning of its own in expressions"),
        (changed(operators=[]), "operators: Tuple should have at least 1 item"),
        (
            changed(facts={"n": {"type": "date", "text": "t"}}),
            "facts.n.type: Input should be 'string', 'boolean', .*, not 'date'",
        ),
        (
            changed(facts={"n": {"type": "string", "values": [True], "text": "t"}}),
            "facts.n: value True is no string .*quote them",
        ),
        (changed(facts={"n": {"type": "integer", "values": [True], "text": "t"}}), "facts.n: value True is no integer"),
        (changed(facts={"_n": {"type": "string", "text": "t"}}), "facts._n"),
        (
            changed(facts={"n": {"type": "string", "scope": "call once", "text": "t"}}),
            "facts.n.scope: Input should be 'call' or 'conv",
        ),
        (
            changed(facts={"n": {"type": "string", "source": "reads", "text": "t"}}),
            "facts.n: source reads makes a boolean so, and this is of type string",
        ),
        (changed(conduct={"enabling": ["free"]}), "conduct.enabling: no operator for 'free'"),
        (changed(conduct={"finished": "done"}), "conduct.finished: no operator for 'done'"),
        (changed(conduct={"refused": {"action": "refuse"}}), "conduct.refused: no operator for 'refuse'"),
        (changed(conduct={"refused": {"action": "cancel", "facts": {"goal": "action"}}}), "conduct.refused: no fact 'goal'"),
        (changed(conduct={"identified": [{"action": "cancel", "result": "user_id"}]}), "conduct.identified: no fact 'user_id'"),
        (
            changed(conduct={"identified": [{"action": "cancel", "result": "reason", "facts": {"reason": "mood"}}]}),
            "conduct.identified: the fact 'reason' cannot be 'mood'",
        ),
        (
            changed(settable=[{"func_name": "set_order", "entity": "id", "arguments": {"status": "['open']"}}]),
            r"settable.0: entity 'id' is none of the arguments \['status'\]",
        ),
        (
            changed(settable=[{"func_name": "set_order", "entity": "id", "arguments": {"id": "keys(order)"}}]),
            "settable.0.arguments.id: 1:6: unknown name 'order'",
        ),
        (changed(definitions={"open(o)": "p"}), r"definitions.open\(o\): 1:1: unknown name 'p'"),
        (changed(definitions={"open o": "1"}), "definitions.open o: 1:6: not an expression"),
        (changed(operators=[OPERATOR, OPERATOR]), "operator cancel: action: has an operator already"),
        (operator(kind="delete"), "operator cancel: kind: Input should be 'read', 'write' or 'other', not 'delete'"),
        (operator(requestor="agent"), "operator cancel: requestor: Input should be 'assistant' or 'user', not 'agent'"),
        (operator(guards=[]), "operator cancel: guards: Tuple should have at least 1 item"),
        (operator(when="x"), "operator cancel: when: unknown field"),
        (
            operator(let={"order": "orders[oder_id]"}),
            "operator cancel: let.order: 1:8: unknown name 'oder_id'; did you mean 'order_id'",
        ),
        (operator(let={"orders": "1"}), "operator cancel: let.orders: would hide another 'orders'"),
        (operator(let={"order_id": "1"}), "operator cancel: let.order_id: would hide another 'order_id'"),
        (operator(let={"a": "b", "b": "1"}), "operator cancel: let.a: 1:1: unknown name 'b'"),
        (
            operator(parameters={"order_id": {"values": "keys(order)", "text": "t"}}),
            "parameters.order_id.values: depends on 'order_id'",
        ),
        (
            operator(parameters={"order_id": {"values": "[item]", "text": "t"}, "item": {"values": "[1]", "text": "t"}}),
            "operator cancel: parameters.order_id.values: depends on 'item', which is not before 'order_id'",
        ),
        (operator(parameters={"order_id": {"text": "t"}}), "operator cancel: parameters.order_id.values: required field"),
        (guard(outcome="o"), r"operator cancel: guard 1 \(p/o\): the operator has this policy_id and outcome already"),
        (guard(when="order.status = 'open'"), r"operator cancel: guard 1 \(p/x\): when: 1:14: not an expression"),
        (guard(when="open(order, 1)"), r"operator cancel: guard 1 \(p/x\): when: 1:1: open takes 1 arguments, not 2"),
        (guard(when="facts.mood"), r"guard 1 \(p/x\): when: 1:1: unknown fact 'mood'; known: reason"),
        (guard(when=True), r"guard 1 \(p/x\): when: Input should be a valid string, not True"),
        (guard(verdict="maybe"), r"guard 1 \(p/x\): verdict: Input should be 'allow' or 'deny', not 'maybe'"),
        (guard(enforced_by="policy"), r"guard 1 \(p/x\): cites is empty: a guard enforced by the policy quotes it"),
        (guard(effects=[{"path": "order.status"}], when=None), r"guard 1 \(p/x\): effects without `when`"),
        (guard(effects=[{"path": "open(order)"}]), r"guard 1 \(p/x\): effects.0.path: an effect changes one place of the state"),
        (guard(effects=[{"path": "order_id"}]), r"guard 1 \(p/x\): effects.0.path: an effect changes one place"),
        (guard(effects=[{"path": "orders["}]), r"guard 1 \(p/x\): effects.0.path: 1:7: not an expression"),
        (guard(effects=[{"path": "order.status", "value": "lost"}]), r"effects.0.value: 1:1: unknown name 'lost'"),
        (guard(effects=[{"path": "order.status", "to": "lost"}]), r"effects.0.to: unknown field"),
        (operator(guards=[without(GUARD, "text")]), r"guard 0 \(p/o\): text: required field"),
        (operator(guards=["x"]), "operator cancel: guard 0"),
        (changed(operators=["x"]), "operator 0: Input should be"),
        ("a: 1\nb: 2\na: 3\n", "3:1: not YAML: repeated key 'a'"),
        ("a: [1\n", "not YAML: expected ',' or ']'"),
        ("a: !!python/object/apply:os.system ['true']\n", "not YAML: could not determine a constructor"),
        ("", "Input should be a valid dictionary"),
        ("- 1\n", "Input should be a valid dictionary"),
    ],
)
def test_problem(tmp_path: Path, content: Any, problem: str) -> None:
    assert re.search(problem, problems(tmp_path, content)[0])


def test_repeated_keys_deep_inside(tmp_path: Path) -> None:
    text = yaml.safe_dump(LIBRARY, sort_keys=False).replace(
        "      order: orders[order_id]", "      order: orders[order_id]\n      order: '1'"
    )
    text = text.replace("    order: orders[order_id]", "    order: orders[order_id]\n    order: '1'")
    assert "repeated key 'order'" in problems(tmp_path, text)[0]


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    content = guard(when="nobody")
    content = {**content, "definitions": {"open(o)": "nothing"}}
    content["operators"][0]["let"] = {"order": "nowhere"}
    found = problems(tmp_path, content)
    assert [problem.split(": unknown name")[0] for problem in found] == [
        "definitions.open(o): 1:1",
        "operator cancel: let.order: 1:1",
        "operator cancel: guard 1 (p/x): when: 1:1",
    ]


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        operators.load_file(tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LibraryError, match="not UTF-8"):
        operators.load_file(tmp_path / "bytes.yaml")
