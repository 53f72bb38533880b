"""Which look-ups a request calls for: the agent reads what its call is about before it decides.

Paper: Gradus A.7 ("call get_flight_status and verify; do not infer its status from the date").

By names alone, so that one rule serves every domain: a value called `reservation_id` (or a fact called `complaint_reservation`) is read
with the tool whose only required parameter is `reservation_id`; a record that is read or asked for and has a flight number and a date is
read on with the tool that requires these two. A look-up has to show a table of the state that the conditions of the call read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from selfevolve.gradus.operators import Library, Operator

MOST = 8  # look-ups for one request
Lookup = tuple[str, dict[str, Any]]


class LookUps:
    """The look-ups of one library. `tools`: schemas of the assistant's tools, which say what is required."""

    def __init__(self, library: Library, tools: Sequence[Mapping[str, Any]]):
        required = {tool["function"]["name"]: tool["function"]["parameters"].get("required", ()) for tool in tools}
        skipped = {look_up.action for look_up in library.conduct.identified}
        self._reads = {
            action: (tuple(required[action]), _tables(operator))
            for action, operator in library.operators.items()
            if operator.kind == "read" and action in required and action not in skipped and required[action]
        }
        self._tables = {action: _tables(operator) for action, operator in library.operators.items()}
        self._relevant = {action: self._relevant_to(tables) for action, tables in self._tables.items()}

    def of(self, action: str, values: Mapping[str, Any], answers: Mapping[str, str | None], key: Any) -> Iterator[Lookup]:
        """The look-ups for a call, those already made included, in order.

        Args:
            values: the arguments and what else is known by name.
            answers: what the calls so far have answered, by `key(action, arguments)`; None for one that was refused.
        """
        relevant = self._relevant[action]
        found: dict[str, Lookup] = {}

        def add(name: str, arguments: dict[str, Any]) -> None:
            found.setdefault(key(name, arguments), (name, arguments))

        for name, value in values.items():
            if type(value) is str and value:
                fitting = [
                    (read, required[0]) for read, required in relevant.items() if len(required) == 1 and _fits(name, required[0])
                ]
                exact = [each for each in fitting if each[1] == name]
                for read, parameter in exact or fitting:
                    add(read, {parameter: value})
        several = sorted((item for item in relevant.items() if len(item[1]) > 1), key=lambda item: len(item[1]))
        if several:
            records = [values, *_records(json.dumps(list(values.values()), default=str))]
            for made in list(found):
                records += _records(answers.get(made) or "")
            for record in records:
                for read, required in several:
                    if all(type(record.get(name)) in (str, int) for name in required):
                        add(read, {name: record[name] for name in required})
                        break
        yield from list(found.values())[:MOST]

    def _relevant_to(self, tables: frozenset[str]) -> dict[str, tuple[str, ...]]:
        return {read: required for read, (required, shown) in self._reads.items() if shown & tables}


def _tables(operator: Operator) -> frozenset[str]:
    """The tables of the state that the conditions of an action read."""
    reads = (path for guard in operator.guards if guard.expression is not None for path in guard.expression.reads)
    return frozenset(path.removeprefix("initial.").split(".")[0] for path in reads)


def _fits(name: str, parameter: str) -> bool:
    """Whether a value of this name is what the parameter of a look-up asks for."""
    return any(each == parameter or each.endswith(f"_{parameter}") for each in (name, f"{name}_id"))


@lru_cache(maxsize=2048)
def _records(text: str) -> tuple[Mapping[str, Any], ...]:
    """The records in JSON text, the inner ones too."""
    try:
        return tuple(_inside(json.loads(text)))
    except ValueError:
        return ()


def _inside(value: Any) -> Iterable[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _inside(item)
