import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from selfevolve.environments.arguments import MAX_CHARS, MAX_VALUES, Arguments, _recogniser

SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "an id"},
        "cabin": {"type": "string", "enum": ["economy", "business"]},
        "bags": {"type": "integer", "minimum": 0},
        "price": {"type": "number"},
        "port": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "people": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "member": {"type": "boolean"}},
                "required": ["name"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["id"],
    "additionalProperties": False,
}
CHECK = Arguments(SCHEMA)
SCALAR = st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.sampled_from(["economy", "x", "\ud800"])
JSON = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "member", "x"]), inner, max_size=2),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "must be an object"),
        ({}, "'id' is missing"),
        ({"id": 3}, "argument 'id'"),
        ({"id": "x", "ID": "y"}, "argument 'ID' is unknown; the tool takes id, cabin"),
        ({"id": "x", "cabin": "first"}, "argument 'cabin'"),
        ({"id": "x", "bags": -1}, "argument 'bags'"),
        ({"id": "x", "bags": True}, "argument 'bags'"),
        ({"id": "x", "bags": 1.5}, "argument 'bags'"),
        ({"id": "x", "people": [{"name": "A"}, {"name": 3}]}, "argument 'people': at [1]['name']"),
        ({"id": "x", "people": [{"member": True}]}, "argument 'people': at [0]"),
        ({"id": "x", "people": [{"name": "A", "age": 3}]}, "argument 'people': at [0]"),
        ({"id": "x", "price": math.nan}, "argument 'price': not a finite number"),
        ({"id": "x", "price": 10**400}, "argument 'price': not a finite number"),
        ({"id": "\ud800"}, "argument 'id': text with half"),
        ({"id": "x" * (MAX_CHARS + 1)}, "argument 'id': text of more"),
        ({"id": "x", "people": [{"name": "A"}] * MAX_VALUES}, "argument 'people': more than"),
        ({"id": b"x"}, "argument 'id': a bytes"),
        ({"id": "x", 3: 4}, "must be text"),
    ],
)
def test_faults_name_the_argument(arguments, words):
    fault = CHECK.fault(arguments)
    assert words in fault
    assert len(fault) < 400


def test_whole_floats_reach_the_tool_as_integers():
    arguments = {"id": "x", "bags": 2.0, "price": 3.0, "port": 8.0, "people": [{"name": "A"}]}
    read, fault = CHECK.read(arguments)
    assert fault is None and read == arguments
    assert [type(read[name]) for name in ("bags", "price", "port")] == [int, float, int]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "x"]), JSON, max_size=4).map(lambda some: {"id": "A"} | some))
def test_agrees_with_jsonschema(arguments):
    """Beyond what JSON schema can say (NaN, surrogates), jsonschema decides; the quick check never accepts more."""
    valid = Draft202012Validator(SCHEMA).is_valid(arguments)
    fault = CHECK.fault(arguments)
    assert not CHECK._fits(arguments) or valid
    assert (fault is None) == valid or (valid and ("finite" in fault or "UTF-16" in fault))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "x"},
        {"type": "object", "properties": {}},
        {"type": "array", "items": {"const": 3}},
        {"type": "number", "minimum": 3},
        {"anyOf": [{"type": "string"}, {"not": {}}]},
        {"type": ["string", "null"]},
        {"$ref": "#/x"},
        True,
    ],
)
def test_what_the_quick_check_cannot_read_is_left_to_jsonschema(schema):
    assert _recogniser(schema) is None
    assert Arguments({"type": "object", "properties": {"x": {"type": "string", "pattern": "b"}}}).fault({"x": "a"})


def test_bad_schema():
    with pytest.raises(ValueError, match="not a JSON schema"):
        Arguments({"type": "thing"})
