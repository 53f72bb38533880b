"""From a bound blueprint to the script of its user: what is asked, said, withheld, described and insisted on.

Paper: Gradus 2.3 (interaction variation: indirect references, ambiguity, user pressure, additional reasoning) and A.7 (the final step).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from selfevolve.environments import Environment
from selfevolve.gradus import candidates
from selfevolve.gradus.blueprints import Blueprint, Call, Step
from selfevolve.gradus.operators import Library
from selfevolve.gradus.scripted.binding import Bound
from selfevolve.gradus.scripted.phrases import Given, Hurries, Nth, Request, Sentence, Sum, Told
from selfevolve.gradus.scripted.script import Ask, Script

TOGETHER = 3  # requests of one message
INSISTENCE = 2  # times a user under the pressure kernel insists (A.7: "push back twice")
CHOICES = 3  # entities that a described one is told from


def at_start(steps: Sequence[Step], number: int) -> bool:
    """Whether a refused step is enabled later: a later step performs the same action on the same entity."""
    step = steps[number]
    later = steps[number + 1 :]
    return any(each.decision == "perform" and (each.action, each.entity) == (step.action, step.entity) for each in later)


def unasked(library: Library, steps: Sequence[Step], number: int) -> bool:
    """Whether the agent will do without being asked what a step wants: an enabling call on the way to a later step, or a request that it
    makes possible by itself."""
    step, enabling = steps[number], library.conduct.enabling
    if step.decision == "refuse":
        return bool(enabling) and at_start(steps, number)
    needed = {number}
    for later, each in enumerate(steps[number + 1 :], number + 1):
        if each.entity == step.entity and needed & set(each.after):
            needed.add(later)
    return step.action in enabling and any(steps[later].action not in enabling for later in needed - {number})


def script(
    library: Library, env: Environment, blueprint: Blueprint, bound: Bound, rng: random.Random, asks_all: bool = False
) -> Script:
    """The script; `env` is at the start of the task. `asks_all`: also for what the agent may do unasked."""
    steps = bound.steps
    numbers = [number for number in range(len(steps)) if asks_all or not unasked(library, steps, number)]
    early = [number for number in numbers if _unidentified(library, bound.calls[number])]
    numbers = [*early, *(number for number in numbers if number not in early)]
    asks: list[Ask] = []
    message: list[int] = []
    for number in numbers:
        step = steps[number]
        apart = any(steps[other].entity == step.entity or other in step.after for other in message)
        apart = apart or (number not in early and bool(message) and message[-1] in early)
        along = bool(message) and not apart and len(message) < TOGETHER and rng.random() < 0.5
        message = [*message, number] if along else [number]
        asks.append(_ask(library, bound.calls[number], along))
    refused = [steps[number].decision == "refuse" for number in numbers]
    asks = _varied(library, env, blueprint.interactions, refused, asks, rng)
    opening = _opening(library, env, bound.told)
    if early and len(early) < len(asks):  # the user says who they are when they are asked for the first time after that
        known = asks[len(early)]
        asks[len(early)] = replace(known, said=(*opening, *known.said))
    return Script(tuple(asks), () if early else opening)


def _unidentified(library: Library, call: Call) -> bool:
    """Whether a call is asked for before the agent knows who the user is."""
    return any(library.facts[name].scope == "conversation" for name in call.facts)


def _ask(library: Library, call: Call, along: bool) -> Ask:
    said: list[Sentence] = []
    answers = []
    made = {name for each in library.conduct.identified for name in each.facts}
    for name, value in call.facts.items():
        fact = library.facts[name]
        if name in made or value == "":
            continue  # nobody says that they have not been identified
        if fact.source == "user" and fact.type == "boolean":
            answers.append(Told(name, value))
        elif fact.source == "user" or value is not (fact.source == "reads"):
            said.append(Told(name, value))
    return Ask(Request(call.name, call.arguments), tuple(said), tuple(answers), along=along)


def _opening(library: Library, env: Environment, told: Mapping[str, Any]) -> tuple[Told, ...]:
    """What the user says about themselves: facts of the conversation, or what they are found by."""
    if not told:
        return ()
    identified = library.conduct.identified
    made = {name for each in identified for name in (each.result, *each.facts)}
    opening = {name: value for name, value in told.items() if name not in made}
    for look_up in identified:
        if told.get(look_up.result) and all(told.get(name) == value for name, value in look_up.facts.items()):
            record = _record(env, told[look_up.result])
            known = {name: value for name, value in candidates.leaves(record)[::-1]} | opening
            names = list(library.operators[look_up.action].parameters)
            if all(name in known for name in names):
                return tuple(Told(name, value) for name, value in ({name: known[name] for name in names} | opening).items())
    claimed = {each.result: told[each.result] for each in identified if told.get(each.result)}
    return tuple(Told(name, value) for name, value in (opening | claimed).items())


def _record(env: Environment, id: Any) -> Any:
    for table in env.state.values():
        if isinstance(table, Mapping) and id in table:
            return table[id]
        if isinstance(table, list | tuple):
            for record in table:
                if next((value for _, value in candidates.fields_of(record)), None) == id:
                    return record
    return {}


def _varied(
    library: Library, env: Environment, kernels: Sequence[str], refused: Sequence[bool], asks: list[Ask], rng: random.Random
) -> list[Ask]:
    """The requests, surfaced as the interaction kernels say; each kernel changes one request that it fits. `refused`: of each request."""
    for kernel in kernels:
        order = rng.sample(range(len(asks)), len(asks))
        if kernel == "pressure":
            order.sort(key=lambda place: not refused[place])
        for place in order:
            changed = _surfaced(kernel, library, env, asks[place], refused[place], rng)
            if changed is not None:
                asks[place] = changed
                break
    return asks


def _surfaced(kernel: str, library: Library, env: Environment, ask: Ask, refused: bool, rng: random.Random) -> Ask | None:
    """The request under a kernel, None if it does not fit."""
    values = dict(ask.request.values)
    plain = [name for name, value in values.items() if not isinstance(value, Sum | Nth)]
    match kernel:
        case "pressure":
            return replace(ask, insist=INSISTENCE) if refused else replace(ask, said=(*ask.said, Hurries()))
        case "ambiguity":
            if not plain:
                return None
            name = plain[-1]
            return replace(ask, request=_request(ask, values, name), answers=(*ask.answers, Given(name, values[name])))
        case "indirect_reference" if plain and plain[0] == next(iter(values)):
            return _described(library, env, ask, lambda place: place, rng)
        case "reasoning":
            numbers = [name for name in plain if type(values[name]) is int]
            if numbers:
                name = numbers[-1]
                more = rng.randint(1, 4)
                return replace(ask, request=Request(ask.request.action, values | {name: Sum(values[name] + more, -more)}))
            if plain and plain[0] == next(iter(values)):
                return _described(library, env, ask, lambda place: Sum(place + 1, -1), rng)
    return None


def _request(ask: Ask, values: Mapping[str, Any], without: str) -> Request:
    return Request(ask.request.action, {name: value for name, value in values.items() if name != without})


def _described(library: Library, env: Environment, ask: Ask, place: Any, rng: random.Random) -> Ask | None:
    """The entity by its place among others of the kind."""
    first, value = next(iter(ask.request.values.items()))
    others = [each for each in candidates.values(library, env, ask.request.action, first, {}) if each != value]
    if not others:
        return None
    options = rng.sample(others, min(CHOICES - 1, len(others)))
    position = rng.randint(1, len(options) + 1)
    options.insert(position - 1, value)
    return replace(ask, request=Request(ask.request.action, ask.request.values | {first: Nth(place(position), tuple(options))}))
