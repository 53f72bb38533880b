"""Extraction of a library by a model: parts, the validator's problems fed back, and an honest report of what is left."""

from __future__ import annotations

import copy
import json
import re

import pytest
import yaml

from selfevolve.environments import load
from selfevolve.gradus import operators, validation
from selfevolve.gradus.exploration import Budget
from selfevolve.gradus.llm.extraction import SHARED, extract

DESK = yaml.safe_load(operators.load("desk").path.read_text(encoding="utf-8"))


def shared_form() -> dict:
    return {
        "facts": [
            {"name": name, "values": None, "scope": "call", "source": "user", **fact} for name, fact in DESK["facts"].items()
        ],
        "definitions": [{"head": head, "body": body} for head, body in DESK["definitions"].items()],
        "not_operational": copy.deepcopy(DESK["not_operational"]),
    }


def operator_form(action: str) -> dict:
    entry = copy.deepcopy(next(each for each in DESK["operators"] if each["action"] == action))
    guards = []
    for guard in entry["guards"]:
        effects = [{"path": effect["path"], "value": effect.get("value")} for effect in guard.get("effects", ())]
        guards.append({"when": None, "unreachable": None, "cites": [], **guard, "effects": effects})
    return {
        "action": action,
        "kind": entry["kind"],
        "requestor": entry.get("requestor", "assistant"),
        "description": entry["description"],
        "parameters": [{"name": name, **parameter} for name, parameter in entry.get("parameters", {}).items()],
        "let": [{"name": name, "expression": text} for name, text in entry.get("let", {}).items()],
        "guards": guards,
        "new_facts": [],
    }


def task_of(body: dict) -> str:
    """Which part a request asks for."""
    if body["response_format"]["json_schema"]["name"] == "Shared":
        return SHARED
    return re.search(r"Write the operator of the tool (\w+)", body["messages"][1]["content"])[1]


def sound(body: dict) -> dict:
    return shared_form() if task_of(body) == SHARED else operator_form(task_of(body))


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """The validator's search with few calls; whether it finds every branch is tested elsewhere."""
    check = validation.check
    fields = {name: min(value, 40) for name, value in vars(Budget()).items() if isinstance(value, int)}
    monkeypatch.setattr(validation, "check", lambda library, env: check(library, env, budget=Budget(**fields)))


def test_a_sound_model_gives_the_library_back(serve, connect, tmp_path):
    server = serve(lambda body: json.dumps(sound(body)))
    client = connect(server.url)
    result = extract(client, load("desk"), tmp_path / "desk.yaml", rounds=0, seed=1)
    assert result.loads and not [each for each in result.problems if "[unreached]" not in each.text]
    library, original = operators.load_file(tmp_path / "desk.yaml"), operators.load("desk")
    assert {guard.unit for each in library.operators.values() for guard in each.guards} == {
        guard.unit for each in original.operators.values() for guard in each.guards
    }
    assert library.facts == original.facts
    prompt = server.bodies[1]["messages"][0]["content"]
    env = load("desk")
    assert env.policy in prompt and '"bookings"' in prompt and "hours_between" in prompt
    assert len(server.bodies) == 1 + len(env.tools)


def test_problems_go_back_to_the_part_that_has_them(serve, connect, tmp_path):
    def reply(body: dict) -> str:
        form = sound(body)
        revising = "Code checked it" in body["messages"][1]["content"]
        if task_of(body) == "pay" and not revising:
            form["guards"][0]["effects"][0]["value"] = "1"  # paying leaves something due, says the model
        if task_of(body) == "swap" and not revising:
            form["guards"][0]["cites"] = ["Swapping is free."]  # invented
        return json.dumps(form)

    server = serve(reply)
    result = extract(connect(server.url), load("desk"), tmp_path / "desk.yaml", rounds=2, seed=1)
    revisions = [body for body in server.bodies if "Code checked it" in body["messages"][1]["content"]]
    told = {task_of(body): body["messages"][1]["content"] for body in reversed(revisions)}  # of each part, the first one
    assert "[effect]" in told["pay"] and "booking.due" in told["pay"] and '"value":"1"' in told["pay"]
    assert "[quote]" in told["swap"] and "Swapping is free." in told["swap"]
    assert result.rounds[1] < result.rounds[0] and not [
        each for each in result.problems if each.part in ("pay", "swap") and "[unreached]" not in each.text
    ]


def test_a_library_that_does_not_compile_is_saved_and_said_to_be_wrong(serve, connect, tmp_path):
    def reply(body: dict) -> str:
        form = sound(body)
        if task_of(body) == "up":
            form["guards"][0]["when"] = "booking.plan ="
        return json.dumps(form)

    server = serve(reply)
    result = extract(connect(server.url), load("desk"), tmp_path / "desk.yaml", rounds=1, seed=1)
    assert not result.loads and (tmp_path / "desk.yaml").is_file() and result.rounds == (1, 1)
    assert [each.part for each in result.problems] == ["up"] and "it does not load" in result.text()
    revision = server.bodies[-1]["messages"][1]["content"]
    assert task_of(server.bodies[-1]) == "up" and "guard 0" in revision and len(server.bodies) == 1 + len(load("desk").tools) + 1


def test_a_part_without_answer_is_a_problem_not_an_error(serve, connect, tmp_path):
    server = serve(lambda body: "no idea" if task_of(body) == "swap" else json.dumps(sound(body)))
    result = extract(connect(server.url, reasks=0), load("desk"), tmp_path / "desk.yaml", rounds=0, seed=1)
    found = [each.text for each in result.problems if each.part == "swap"]
    assert any("gave no usable answer" in text for text in found) and any("has no operator" in text for text in found)
    assert "swap" not in operators.load_file(tmp_path / "desk.yaml").operators


def test_an_extraction_replays_with_the_server_down(serve, connect, tmp_path):
    server = serve(lambda body: json.dumps(sound(body)))
    client = connect(server.url)
    first = extract(client, load("desk"), tmp_path / "desk.yaml", rounds=1, seed=1)
    saved = (tmp_path / "desk.yaml").read_bytes()
    client.close()
    server.stop()
    again = extract(connect(server.url), load("desk"), tmp_path / "desk.yaml", rounds=1, seed=1)
    assert again == first and (tmp_path / "desk.yaml").read_bytes() == saved
