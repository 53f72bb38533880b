"""Schemas of answers: what strict modes accept, and nothing that pydantic would take but they would not."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from answers import ANSWERS
from pydantic import BaseModel

from selfevolve.gradus.llm import extraction_forms, forms
from selfevolve.gradus.llm.schemas import output

FORMS = [
    forms.Written, forms.Evolved, forms.Varied, forms.Probing, forms.Grounded, forms.Evaluated, forms.Diagnosed,
    extraction_forms.Shared, extraction_forms.Extracted,
]  # fmt: skip


def parts(schema: Any) -> list[dict]:
    """All schemas in a schema; names of properties are not."""
    if isinstance(schema, list):
        return [part for each in schema for part in parts(each)]
    found = [schema]
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            found += [part for each in value.values() for part in parts(each)]
        elif key in ("items", "anyOf"):
            found += parts(value)
    return found


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_strict(form):
    schema = output(form).json_schema
    assert schema["type"] == "object"
    jsonschema.Draft202012Validator.check_schema(schema)
    for part in parts(schema):
        assert set(part) <= {
            "$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "items", "properties", "required", "type"
        }  # fmt: skip
        if part.get("type") == "object":
            assert part["additionalProperties"] is False and part["required"] == list(part["properties"])
        assert "$ref" not in part or set(part) == {"$ref"}


@pytest.mark.parametrize("form", [form for form in FORMS if form.__name__ in ANSWERS])
def test_what_pydantic_takes_the_schema_takes(form):
    jsonschema.validate(ANSWERS[form.__name__], output(form).json_schema)
    form.model_validate(ANSWERS[form.__name__])


def test_docstrings_are_not_sent():
    assert "description" not in output(forms.Probing).json_schema


class Open(BaseModel):
    arguments: dict[str, int]


class Anything(BaseModel):
    value: Any


class Pair(BaseModel):
    pair: tuple[int, str]


@pytest.mark.parametrize(("form", "place"), [(Open, "Open.arguments"), (Anything, "Anything.value"), (Pair, "Pair.pair")])
def test_what_strict_mode_cannot_say_is_an_error_that_names_the_field(form, place):
    with pytest.raises(TypeError, match=place):
        output(form)
