"""JSON schemas for schema-constrained answers, in the subset that strict modes accept.

OpenAI's strict mode and vLLM's grammars agree on this much: every object lists all its properties as required and allows no others; no
defaults; unions by `anyOf`; the top is an object. So in an answer record:

* A field that may be left out is `X | None` and must be said to be null.
* An object whose keys are not known beforehand (arguments of a call, dialogue facts) is a text field that holds a JSON object, as the
  arguments of OpenAI's own tool calls are. A list of key-value pairs would need a type for values that can be anything.

Bounds (`minimum`, `minLength`, ...) are left out, since servers differ in which they know; pydantic checks them on the answer.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from selfevolve.gradus.llm.calls import Output

_KEPT = ("$ref", "anyOf", "const", "description", "enum", "items", "type")


def output(form: type[BaseModel]) -> Output:
    """The constraint for answers that are a `form`. Raises TypeError for a form that strict mode cannot express."""
    schema = form.model_json_schema()
    return Output(name=form.__name__, json_schema=_strict(schema, form.__name__))


def _strict(schema: dict[str, Any], place: str) -> dict[str, Any]:
    kept = {key: value for key, value in schema.items() if key in _KEPT}
    if not kept:
        raise TypeError(f"{place} can be anything, which strict schemas cannot say: make it a text field that holds JSON")
    if "anyOf" in kept:
        kept["anyOf"] = [_strict(one, place) for one in kept["anyOf"]]
    if kept.get("type") == "array":
        if "items" not in kept:
            raise TypeError(f"{place} is a list of fixed length or of anything: use a list of one type")
        kept["items"] = _strict(kept["items"], f"{place}[]")
    if kept.get("type") == "object":
        if "properties" not in schema or schema.get("additionalProperties"):
            raise TypeError(
                f"{place} has keys of its own choice, which strict schemas cannot say: make it a text field that holds JSON"
            )
        properties = {name: _strict(one, f"{place}.{name}") for name, one in schema["properties"].items()}
        kept |= {"properties": properties, "required": list(properties), "additionalProperties": False}
        kept.pop("description", None)  # the record's docstring, which is for us; it must not change a recorded call's key
    if "$defs" in schema:
        kept["$defs"] = {name: _strict(one, name) for name, one in schema["$defs"].items()}
    if "$ref" in kept:
        kept = {"$ref": kept["$ref"]}  # a reference stands alone in strict mode
    return kept
