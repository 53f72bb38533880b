"""Arguments of a call, checked against the tool's JSON schema before the tool runs.

Paper: Gradus section 2.1 (a call is valid only if its arguments fit the tool's schema). The tools trust their
arguments: without this check a certificate of -500 dollars or a list for a name would reach them.

`jsonschema` decides. What it would accept is refused beforehand where the state would no longer be JSON or no longer
small: NaN and infinities, numbers beyond 64 bits, text with half of a UTF-16 pair, Python values that JSON does not
have, and arguments that are very long or deep. For JSON schema 5.0 is an integer; the tool gets 5, because a state that
holds 5.0 has another hash. Ordinary valid arguments are recognised by a few closures made from the schema (twenty times
faster); all others, and every refusal, go through `jsonschema`, which is imported only then: it takes three seconds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

MAX_DEPTH = 20  # levels of nesting; the deepest schema has 4
MAX_VALUES = 1_000  # values and names in all
MAX_CHARS = 10_000  # of one text
MAX_NUMBER = 2**63

_TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: type(value) is str,
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) is int or type(value) is float,
    "boolean": lambda value: type(value) is bool,
    "null": lambda value: value is None,
}
_NOTES = {"description", "title", "default"}


class Arguments:
    """The check of one tool's arguments.

    Args:
        parameters: JSON schema (draft 2020-12) of an object with `properties`.

    Raises:
        ValueError: if `parameters` is not a valid schema.
    """

    def __init__(self, parameters: Mapping[str, Any]):
        self.parameters = parameters
        self._fits = _recogniser(parameters)
        if self._fits is None:
            try:
                self._validator.check_schema(parameters)
            except Exception as error:
                raise ValueError(f"not a JSON schema of parameters: {excerpt(error)}") from None

    @functools.cached_property
    def _validator(self) -> Draft202012Validator:
        from jsonschema import Draft202012Validator

        return Draft202012Validator(self.parameters)

    def fault(self, arguments: Any) -> str | None:
        """Why `arguments` cannot be passed, naming the argument; None if they can. Never raises, whatever the value."""
        return self.read(arguments)[1]

    def read(self, arguments: Any) -> tuple[dict[str, Any], str | None]:
        """(the arguments to pass, None), or ({}, why they cannot be passed). Never raises, whatever the value."""
        if type(arguments) is not dict:
            return {}, f"the arguments must be an object, not {excerpt(arguments)}"
        left = [MAX_VALUES]
        for name, value in arguments.items():
            if type(name) is not str:
                return {}, f"argument names must be text, not {excerpt(name)}"
            if reason := _not_json(name, 0, left) or _not_json(value, MAX_DEPTH, left):
                return {}, f"argument {excerpt(name)}: {reason}"
        if self._fits is not None and self._fits(arguments):
            return arguments, None
        try:
            if self._validator.is_valid(arguments):
                return _whole(self.parameters, arguments), None
            from jsonschema.exceptions import best_match

            return {}, _describe(best_match(self._validator.iter_errors(arguments)), arguments)
        except Exception as error:  # what cannot be checked is not passed on
            return {}, f"the arguments cannot be checked: {type(error).__name__}"


def _whole(schema: Any, value: Any) -> Any:
    """The value with an int wherever the schema wants an integer and the value has one as a float."""
    if not isinstance(schema, Mapping):
        return value
    if type(value) is dict:
        properties = schema.get("properties", {})
        return {name: _whole(properties.get(name), item) for name, item in value.items()}
    if type(value) is list:
        return [_whole(schema.get("items"), item) for item in value]
    kinds = {option.get("type") for option in (schema, *schema.get("anyOf", ()))}
    if type(value) is float and "integer" in kinds and "number" not in kinds:
        return int(value)
    return value


def _recogniser(schema: Any) -> Callable[[Any], bool] | None:
    """A quick check that accepts nothing the schema refuses; None if the schema says more than it can check."""
    if not isinstance(schema, Mapping):
        return None
    rules = {key: value for key, value in schema.items() if key not in _NOTES}
    kind = rules.pop("type", None)
    if isinstance(kind, list):
        return None
    if kind in _TYPES and not rules:
        return _TYPES[kind]
    if kind == "string" and rules.keys() == {"enum"} and isinstance(rules["enum"], list):
        choices = rules["enum"]
        return lambda value: type(value) is str and value in choices
    if kind == "integer" and rules.keys() == {"minimum"} and type(rules["minimum"]) is int:
        minimum = rules["minimum"]
        return lambda value: type(value) is int and value >= minimum
    if kind is None and rules.keys() == {"anyOf"} and isinstance(rules["anyOf"], list):
        options = [_recogniser(option) for option in rules["anyOf"]]
        return None if None in options else lambda value: any(option(value) for option in options)
    if kind == "array" and rules.keys() <= {"items"}:
        each = _recogniser(rules.get("items", {"type": "none"}))
        return each and (lambda value: type(value) is list and all(map(each, value)))
    if kind == "object" and rules.keys() <= {"properties", "required", "additionalProperties"}:
        return _object_recogniser(rules)
    return None


def _object_recogniser(rules: Mapping[str, Any]) -> Callable[[Any], bool] | None:
    properties, required = rules.get("properties", {}), rules.get("required", [])
    if rules.get("additionalProperties") is not False or not isinstance(properties, Mapping) or not isinstance(required, list):
        return None
    checks = {name: _recogniser(schema) for name, schema in properties.items()}
    if None in checks.values() or not all(isinstance(name, str) for name in required):
        return None

    def fits(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for name, item in value.items():
            check = checks.get(name)
            if check is None or not check(item):
                return False
        return all(name in value for name in required)

    return fits


def _describe(error: ValidationError, arguments: dict[str, Any]) -> str:
    if error.absolute_path:
        first, *rest = error.absolute_path
        place = "".join(f"[{part!r}]" for part in rest)
        return f"argument {first!r}{': at ' + place if place else ''}: {excerpt(error.message, 200)}"
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in arguments)
        return f"argument {missing!r} is missing"
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        unknown = next(name for name in arguments if name not in known)
        return f"argument {excerpt(unknown)} is unknown; the tool takes {', '.join(known) or 'none'}"
    return excerpt(error.message, 200)


def _not_json(value: Any, depth: int, left: list[int]) -> str | None:
    """Why a value is not plain JSON of modest size; `left` counts down the values that may still come."""
    left[0] -= 1
    kind = type(value)
    if kind is str:
        if len(value) > MAX_CHARS:
            return f"text of more than {MAX_CHARS:,} characters"
        return None if value.isascii() or _encodable(value) else "text with half of a UTF-16 pair"
    if kind is bool or value is None:
        return None
    if kind is int or kind is float:
        return None if -MAX_NUMBER < value < MAX_NUMBER else "not a finite number of at most 64 bits"
    if kind is not list and kind is not dict:
        return f"a {kind.__name__} is not a JSON value"
    if depth == 0 or len(value) > left[0]:
        return f"nested deeper than {MAX_DEPTH} levels" if depth == 0 else f"more than {MAX_VALUES:,} values"
    if kind is dict:
        for key in value:
            if type(key) is not str:
                return "an object with a key that is not text"
            if reason := _not_json(key, 0, left):
                return f"a key is {reason}"
        value = value.values()
    for item in value:
        if reason := _not_json(item, depth - 1, left):
            return reason
    return None


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def excerpt(value: object, limit: int = 60) -> str:
    """A printable excerpt for messages, whatever the value."""
    try:
        shown = value if type(value) is str and limit > 60 else ascii(value[:limit] if isinstance(value, (str, list)) else value)
    except Exception:
        return f"a {type(value).__name__}"
    return shown if len(shown) <= limit else shown[: limit - 3] + "..."
