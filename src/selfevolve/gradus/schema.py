"""Paths into a state, checked against its JSON schema.

Paper: Gradus section 2.2 (guards and effects refer to the environment's state) and appendix A.7 (low-level state paths).

A path is a dotted text such as `reservations.*.flights.*.date`: names of objects' fields, and `*` for a key of a
mapping or an index of a list. Schemas are as pydantic emits them: `$ref` into `$defs`, `anyOf` for unions (null among
them), `additionalProperties` for mappings, `items` and `prefixItems` for lists. A schema that says nothing (`{}`)
allows every path below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any] | bool


def fault(schema: dict[str, Any], path: str) -> str | None:
    """Why no state of `schema` can have `path`, naming the first step that fails and what there is instead; else None."""
    here: list[Schema] = [schema]
    steps = path.split(".")
    for number, step in enumerate(steps):
        options = [option for one in here for option in _options(schema, one)]
        if any(_is_open(option) for option in options):
            return None
        below = [found for option in options for found in _step(option, step)]
        if not below:
            place = ".".join(steps[:number]) or "the state"
            names = sorted({name for option in options for name in option.get("properties", {})})
            return f"{place} has no {step!r}; it has {', '.join(names) if names else _kinds(options)}"
        here = below
    return None


def overlap(left: str, right: str) -> bool:
    """Whether one path is the other or lies below it, `*` standing for any one step."""
    return all(a == b or "*" in (a, b) for a, b in zip(left.split("."), right.split("."), strict=False))


def _options(root: dict[str, Any], schema: Schema) -> Iterator[dict[str, Any]]:
    """The alternatives of a schema, references followed, null left out."""
    if isinstance(schema, bool):
        if schema:
            yield {}
        return
    if "$ref" in schema:
        target: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        yield from _options(root, target)
        return
    unions = [one for key in ("anyOf", "oneOf", "allOf") for one in schema.get(key, ())]
    for one in unions:
        yield from _options(root, one)
    if not unions and schema.get("type") != "null":
        yield schema


def _is_open(schema: dict[str, Any]) -> bool:
    return not ({"type", "properties", "items", "prefixItems", "enum", "const", "additionalProperties"} & set(schema))


def _step(schema: dict[str, Any], step: str) -> Iterator[Schema]:
    properties = schema.get("properties", {})
    if step in properties:
        yield properties[step]
        return
    kind = schema.get("type")
    if kind == "array" or "items" in schema or "prefixItems" in schema:
        if step == "*" or step.isdigit():
            yield from schema.get("prefixItems", ())
            yield schema.get("items", {})
        return
    if kind == "object" or properties or "additionalProperties" in schema:
        # pydantic leaves the keyword out for models, whose fields are then all there is; a mapping always has it.
        more = schema.get("additionalProperties", not properties)
        if more is not False:
            yield {} if more is True else more
        elif step == "*":  # a computed key
            yield from properties.values()


def _kinds(options: list[dict[str, Any]]) -> str:
    kinds = sorted({str(option.get("type", "a fixed value")) for option in options})
    return f"no fields (it is {' or '.join(kinds)})" if kinds else "nothing"
