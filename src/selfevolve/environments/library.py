"""What the tau2 domains take from `inspect-evals`: toolkits, tool descriptions and data files.

Paper: Gradus section 2.1 (tools and their schemas). The library runs its toolkits inside an evaluation framework; here
their methods are lifted out of it, and their schemas made strict.
"""

from __future__ import annotations

import functools
import gzip
import inspect
import json
import tomllib
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai.tool import ToolDef
from inspect_evals.tau2.utils import TAU2_DATA_DIR
from pydantic import BaseModel, create_model

from selfevolve.environments.arguments import Arguments

DATA = Path(TAU2_DATA_DIR) / "domains"


class Listed(NamedTuple):
    """A tool that may be called."""

    description: dict[str, Any]  # in OpenAI form
    arguments: Arguments
    writes: bool

    @property
    def name(self) -> str:
        return self.description["function"]["name"]


def listed(descriptions: list[dict[str, Any]], writes: frozenset[str]) -> list[Listed]:
    """The tools with these descriptions; `writes` names those that may change the state."""
    return [Listed(tool, Arguments(tool["function"]["parameters"]), tool["function"]["name"] in writes) for tool in descriptions]


def plain(toolkit: type) -> type:
    """A class with the methods and default values of a library toolkit, without the store of its evaluation framework.

    In the library every attribute read goes through that store, which is process-global in an evaluation.
    """
    kinds = (types.FunctionType, property, staticmethod)
    inherited = {"initialize"}
    members = {name: value for name, value in vars(toolkit).items() if isinstance(value, kinds) and name not in inherited}
    return type(toolkit.__name__, (), members)


def describe(wrapper: Callable[[], Any]) -> dict[str, Any]:
    """A library tool in OpenAI form, with a strict schema."""
    tool = ToolDef(wrapper())
    parameters = strict(tool.parameters.model_dump(exclude_none=True))
    return {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": parameters}}


@functools.cache
def arguments_of(function: Callable[..., Any]) -> Arguments:
    """The check of the arguments of a toolkit's function, from its annotations."""
    hints = typing.get_type_hints(function)
    parameters = list(inspect.signature(function).parameters.values())[1:]  # without self
    fields: dict[str, Any] = {p.name: (hints[p.name], ... if p.default is p.empty else p.default) for p in parameters}
    schema = strict(create_model("arguments", **fields).model_json_schema())
    return Arguments(schema | {"additionalProperties": False})


def strict(schema: Any) -> Any:
    """The schema without alternatives that allow anything of the same type as a stricter one, and without negative integers.

    The integers of the three domains are dollars, bags, bills and ports.
    """
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: strict(value) for key, value in schema.items()}
    if schema.get("type") == "integer":
        schema["minimum"] = 0
    options = schema.get("anyOf")
    if options:
        closed = {option.get("type") for option in options if "properties" in option or "enum" in option}
        kept = [option for option in options if "properties" in option or "enum" in option or option.get("type") not in closed]
        if len(kept) == 1:
            return {key: value for key, value in schema.items() if key != "anyOf"} | kept[0]
        schema["anyOf"] = kept
    return schema


def synchronous(wrapper: Callable[[], Any]) -> Callable[..., Any]:
    """A library tool that is a coroutine without awaits, as a function."""
    execute = wrapper()

    def run(**arguments: Any) -> Any:
        coroutine = execute(**arguments)
        try:
            coroutine.send(None)
        except StopIteration as finished:
            return finished.value
        coroutine.close()
        raise RuntimeError("the tool waits for something")

    return run


def read_data(path: Path) -> Any:
    """A JSON or TOML file of the library, gzipped or not."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return tomllib.loads(raw.decode()) if ".toml" in path.suffixes else json.loads(raw)


def schema_of(*databases: type[BaseModel]) -> dict[str, Any]:
    """JSON schema of the state: the tables of the given database models."""
    schemas = [database.model_json_schema() for database in databases]
    properties = {name: value for schema in schemas for name, value in schema["properties"].items()}
    definitions = {name: value for schema in schemas for name, value in schema.get("$defs", {}).items()}
    return {"type": "object", "properties": properties, "$defs": definitions}
