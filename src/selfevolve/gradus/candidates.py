"""Candidate calls of an action in a state.

Paper: Gradus section 2.2 (operators are grounded in states) and 2.4 (blueprints are grounded in concrete entities). The paper
lets a model propose groundings; here the `values` expressions of a library list them, so that coverage can be measured.

Choices the paper leaves open:

* The first parameter is the entity of a call. Every entity gets a first call before any gets a second one. The order is
  random, but the entity listed last comes first: lists of ids end with the one that does not exist.
* The other parameters are drawn at random from their values, which may depend on earlier ones, without repetition. If an
  entity has no more than `ENUMERATED` calls, each of them comes in the end.
* A value None of a parameter that the tool does not require means that the argument is left out.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from selfevolve.environments import Environment
from selfevolve.gradus.operators import Library, Operator, UnknownAction
from selfevolve.gradus.values import unwrap

ENUMERATED = 64  # calls per entity that are listed in full
_SCALARS = frozenset({str, int, float, bool, type(None)})
_ATTEMPTS = 20  # draws in a row that bring nothing new before an entity counts as exhausted

Arguments = dict[str, Any]


def calls(
    library: Library,
    env: Environment,
    action: str,
    limit: int,
    rng: random.Random,
    entities: Collection[Any] | None = None,
) -> Iterator[Arguments]:
    """Up to `limit` different candidate arguments of `action` in the current state of `env`, which must not change meanwhile.

    Args:
        entities: if given, only calls whose first argument is one of these texts and numbers.

    Raises:
        UnknownAction: if the library has no operator for the action.
    """
    if action not in library.operators:
        raise UnknownAction(f"{library.domain} has no operator for {action!r}; it has {', '.join(sorted(library.operators))}")
    operator, optional = library.operators[action], _optional(env, action)
    names = list(operator.parameters)
    if not names:
        yield from itertools.islice([{}], limit)
        return
    first = _listed(library, env, operator, names[0], {})
    if entities is not None:
        first = [entity for entity in first if isinstance(entity, str | int | float) and entity in entities]
    first = [plain(entity) for entity in first]
    first = [*first[-1:], *rng.sample(first[:-1], len(first[:-1]))]
    turns = [_of_entity(library, env, operator, optional, {names[0]: entity}, rng) for entity in first]
    while turns:
        alive = []
        for turn in turns:
            arguments = next(turn, None)
            if arguments is None:
                continue
            if limit <= 0:
                return
            limit -= 1
            yield arguments
            alive.append(turn)
        turns = alive


def entity(operator: Operator, arguments: Mapping[str, Any]) -> Any:
    """What a call is about: its first argument, None for an action without parameters."""
    return arguments.get(next(iter(operator.parameters), ""))


def values(library: Library, env: Environment, action: str, parameter: str, arguments: Arguments) -> list[Any]:
    """Candidate values of one parameter, given the arguments before it; none if a look-up is missing."""
    return [plain(value) for value in _listed(library, env, library.operators[action], parameter, arguments)]


def _listed(library: Library, env: Environment, operator: Operator, parameter: str, arguments: Arguments) -> list[Any]:
    found = operator.parameters[parameter].values.evaluate(library.context(env, operator.action, arguments))
    if isinstance(found, set | frozenset):
        return sorted(found, key=repr)
    return list(found) if isinstance(found, list | tuple | Mapping) else []


def _of_entity(
    library: Library, env: Environment, operator: Operator, optional: frozenset[str], start: Arguments, rng: random.Random
) -> Iterator[Arguments]:
    names = list(operator.parameters)[len(start) :]
    known: dict[tuple[str, str], list[Any]] = {}

    def choices(name: str, arguments: Arguments) -> list[Any]:
        read = operator.parameters[name].values.arguments
        key = (name, _key({other: arguments[other] for other in read if other in arguments}))
        if key not in known:
            known[key] = values(library, env, operator.action, name, arguments)
        return known[key]

    def listed(arguments: Arguments, rest: list[str]) -> Iterator[Arguments]:
        if not rest:
            yield arguments
            return
        for value in choices(rest[0], arguments):
            yield from listed({**arguments, rest[0]: value}, rest[1:])

    def drawn() -> Arguments | None:
        arguments = dict(start)
        for name in names:
            found = choices(name, arguments)
            if not found:
                return None
            arguments[name] = rng.choice(found)
        return arguments

    def finished(arguments: Arguments) -> Arguments:
        return {name: plain(value) for name, value in arguments.items() if value is not None or name not in optional}

    # Draws, until one brings nothing new. Then a list of all calls if there are few, or else more draws.
    seen: set[str] = set()
    failures, few = 0, True
    while failures < _ATTEMPTS:
        arguments = drawn()
        key = arguments and _key(arguments)
        if arguments is not None and key not in seen:
            failures = 0
            seen.add(key)
            yield finished(arguments)
            continue
        failures += 1
        if few:
            everything = list(itertools.islice(listed(start, names), ENUMERATED + 1))
            few = len(everything) <= ENUMERATED
            if few:
                rng.shuffle(everything)
                yield from (finished(arguments) for arguments in everything if _key(arguments) not in seen)
                return


def _optional(env: Environment, action: str) -> frozenset[str]:
    for tool in [*env.tools, *env.user_tools]:
        if tool["function"]["name"] == action:
            parameters = tool["function"]["parameters"]
            return frozenset(parameters.get("properties", {})) - frozenset(parameters.get("required", ()))
    return frozenset()


def scalars(values: Iterable[Any], most: int = sys.maxsize) -> dict[Any, None]:
    """The texts and numbers in nested values of the state or of arguments, in order, without repetition; at most about `most`."""
    return dict.fromkeys(value for _, value in leaves(list(values), most))


def leaves(value: Any, most: int = sys.maxsize) -> list[tuple[str, Any]]:
    """(name of the field it is in, text or number) for those in a nested value, in order; at most about `most`."""
    found: list[tuple[str, Any]] = []

    def visit(value: Any, name: str) -> None:
        kind = type(value)
        if len(found) >= most or value is None or kind is bool:
            return
        if kind is str or kind is int or kind is float:
            found.append((name, value))
        elif kind is list or kind is tuple:
            for item in value:
                visit(item, name)
        elif isinstance(value, BaseModel):
            for field, item in value.__dict__.items():
                visit(item, field)
        elif isinstance(value, Mapping):
            for key, item in value.items():
                visit(item, unwrap(key))
        elif (plain := unwrap(value)) is not value:
            visit(plain, name)

    visit(value, "")
    return found


def fields_of(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a model or the items of a mapping; of anything else, none."""
    if isinstance(value, BaseModel):
        yield from ((name, getattr(value, name)) for name in type(value).model_fields)
    elif isinstance(value, Mapping):
        yield from ((unwrap(key), item) for key, item in value.items())


def plain(value: Any) -> Any:
    """A value of the state as JSON-like data of its own: models and mappings as dicts, tuples and sets as lists."""
    if type(value) in _SCALARS:
        return value
    value = unwrap(value)
    if isinstance(value, BaseModel | Mapping):
        return {name: plain(item) for name, item in fields_of(value)}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=repr)
    return value


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)
