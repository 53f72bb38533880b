"""Where to look for the entity of a call: what the library lists, seen from the user and from what is bound already.

Paper: Gradus 2.4 (blueprints are grounded in executable entities and user state).

Candidate values of an action's first parameter that occur in the records of the user or of the entity come first; then others, among them
the one that does not exist. Where the library lets a task set a record, a record is made up: random arguments, changed one by one as long
as that brings the call nearer to what is wanted.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from selfevolve.environments import Environment
from selfevolve.gradus import candidates
from selfevolve.gradus.context import Context
from selfevolve.gradus.operators import Library
from selfevolve.gradus.scripted.satisfying import Facts, Satisfier, Wanted

OTHERS = 12  # entities tried beyond those of the user
CHANGES = 80  # changes of a record that is made up
KEPT = 200  # lists of entities that are remembered
NEAR = 400  # texts and numbers of a record that are looked at

Start = tuple[dict[str, Any], ...]


class Entities:
    """The entities of one domain."""

    def __init__(self, library: Library, satisfier: Satisfier):
        self._library, self._satisfier = library, satisfier
        self._lists: dict[tuple[str, str], Collection[Any]] = {}

    def near(self, env: Environment, values: Iterable[Any]) -> dict[Any, None]:
        """The texts and numbers in the records that are named by the values, and the values."""
        texts = [value for value in values if isinstance(value, str) and value]
        found = dict.fromkeys(texts)
        for table in env.state.values():
            if isinstance(table, Mapping):
                records = [table[text] for text in texts if text in table]
            elif isinstance(table, list | tuple):
                records = [record for record in table if any(text in _texts(record) for text in texts)]
            else:
                continue
            found |= candidates.scalars(records, NEAR)
        return found

    def values(
        self, env: Environment, wanted: Wanted, told: Facts, known: Mapping[str, Any], used: set[Any], rng: random.Random
    ) -> list[Any] | None:
        """Values of the first parameter to try, in order; None for an action without parameters.

        Args: `known`: those of the symbolic entity, by parameter; `used`: by other entities.
        """
        first = next(iter(self._library.operators[wanted.action].parameters), None)
        if first is None:
            return None
        if first in known:
            return [known[first]]
        listed = self._listed(env, wanted.action, first)
        if not isinstance(listed, dict):
            return rng.sample(list(listed), len(listed))
        own = self.own(env, wanted.action, {**told, **{f"known {name}": value for name, value in known.items()}})
        rng.shuffle(own)
        if len(own) > 1:
            own = [value for value in own if value not in used]
        if own and wanted.perform:
            return own
        *others, last = listed
        rest = [value for value in rng.sample(others, min(OTHERS + len(own), len(others))) if value not in own][:OTHERS]
        return [*rest, last] if wanted.perform else [*own, last, *rest]

    def own(self, env: Environment, action: str, known: Mapping[str, Any]) -> list[Any]:
        """Values of the first parameter that occur in the records which the known values name."""
        first = next(iter(self._library.operators[action].parameters), None)
        listed = self._listed(env, action, first) if first is not None else ()
        return [value for value in self.near(env, known.values()) if value in listed] if isinstance(listed, dict) else []

    def made_up(
        self, env: Environment, wanted: Wanted, told: Facts, used: set[Any], rng: random.Random, start: Callable[[Start], None]
    ) -> tuple[Start, dict[str, Any]] | None:
        """An init action for a record that suits a call, and the argument that names it; None if none was found.

        Args: `start`: begins anew with one more init action.
        """
        first = next(iter(self._library.operators[wanted.action].parameters), None)
        choices = [choice for choice in self._library.settable if choice.entity == first]
        if not choices:
            return None
        choice = rng.choice(choices)
        context = Context(env.initial, env.initial, env.now, {}, {})
        lists = {name: candidates.plain(list(values.evaluate(context))) for name, values in choice.arguments.items()}
        lists[choice.entity] = [value for value in lists[choice.entity] if value not in used]
        if not lists[choice.entity]:
            return None
        arguments = {name: rng.choice(values) for name, values in lists.items()}
        others = [name for name in lists if name != choice.entity]
        known = {choice.entity: arguments[choice.entity]}

        def begun(arguments: dict[str, Any]) -> tuple[int, Start]:
            action: Start = ({"env_type": choice.env_type, "func_name": choice.func_name, "arguments": arguments},)
            start(action)
            return self._satisfier.faults(env, wanted, told, known), action

        faults, action = begun(arguments)
        for _ in range(CHANGES):
            if not faults:
                return action, known
            name = rng.choice(others)
            changed = arguments | {name: rng.choice(lists[name])}
            now, tried = begun(changed)
            if now <= faults:
                arguments, faults, action = changed, now, tried
        return None

    def _listed(self, env: Environment, action: str, first: str) -> Collection[Any]:
        """Values of a first parameter in the library's order, as a dict if they are texts and numbers."""
        key = (env.state_hash(), action)
        if key not in self._lists:
            if len(self._lists) >= KEPT:
                self._lists.clear()
            values = candidates.values(self._library, env, action, first, {})
            plain = all(isinstance(value, str | int | float) for value in values)
            self._lists[key] = dict.fromkeys(values) if plain else values
        return self._lists[key]


def _texts(record: Any) -> list[str]:
    return [value for _, value in candidates.fields_of(record) if isinstance(value, str)]
