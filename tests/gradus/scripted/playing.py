"""Conversations between the scripted agent and the scripted user, and blueprints by hand, for the tests of the scripted roles."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

from selfevolve.environments import Environment, load
from selfevolve.gradus import operators
from selfevolve.gradus.blueprints import Blueprint, Call, Step
from selfevolve.gradus.judgement import Unit
from selfevolve.gradus.roles import AgentView
from selfevolve.gradus.scripted.binding import Binder
from selfevolve.gradus.scripted.grounding import Grounder
from selfevolve.gradus.scripted.language import Language
from selfevolve.gradus.scripted.permitting import Permits
from selfevolve.gradus.scripted.settings import FAULTLESS, AgentSlips, GroundingSlips
from selfevolve.gradus.scripted.solving import Agent
from selfevolve.gradus.scripted.user import User
from selfevolve.gradus.tasks import Event, Task

DOMAINS = ("desk", "tau2/airline", "tau2/retail", "tau2/telecom")
EXACT = GroundingSlips(base=0, per_depth=0, learning=0)
ALWAYS = AgentSlips(base=1, per_depth=0, per_interaction=0, learning=0)

library = functools.cache(operators.load)
language = functools.cache(lambda domain: Language(library(domain)))
environments = functools.cache(lambda domain: (load(domain), load(domain)))


def agent(domain: str, slips: AgentSlips = FAULTLESS) -> Agent:
    return Agent(language(domain), Permits(library(domain)), slips)


def grounder(domain: str, slips: GroundingSlips = EXACT) -> Grounder:
    return Grounder(language(domain), Permits(library(domain)), Binder(library(domain)), slips, lambda: environments(domain)[1])


def task(scenario: str, init_actions: Sequence[dict[str, Any]] = (), **facts: Any) -> Task:
    return Task(blueprint="by hand", round=0, scenario=scenario, init_actions=tuple(init_actions), facts=facts, reference=())


def booking(id: str, plan: str, status: str, due: int, age: int) -> dict[str, Any]:
    """The init action for a booking of the desk."""
    arguments = {"id": id, "plan": plan, "status": status, "due": due, "age": age}
    return {"env_type": "assistant", "func_name": "set_booking", "arguments": arguments}


def play(
    domain: str, told: Task, solver: Agent | None = None, feedback: Sequence[str] = (), seed: int = 0, most: int = 80
) -> tuple[Event, ...]:
    """A conversation from the task's start to the end that the user sets, in the first of the `environments`."""
    env, fork = environments(domain)
    solver, user, events = solver or agent(domain), User(language(domain)), list[Event]()
    env.reset(told.init_actions)

    def probe() -> Environment:
        fork.restore(env.snapshot())
        return fork

    def call(made: Call) -> None:
        seen = env.call(made.name, made.arguments, made.requestor)
        events.append(Event(kind="call", call=made, observation=seen.text, error=seen.error))

    while (said := user.answer(told, events)) is not None:
        assert len(events) < most, transcript(events)
        if isinstance(said, Call):
            call(said)
            continue
        events.append(Event(kind="user", text=said))
        while not isinstance(
            done := solver.act(
                AgentView(env.policy, tuple(env.tools), seen_by_agent(events), probe), feedback, seed + len(events)
            ),
            str,
        ):
            assert len(events) < most, transcript(events)
            call(done)
        events.append(Event(kind="assistant", text=done))
    return tuple(events)


def seen_by_agent(events: Sequence[Event]) -> tuple[Event, ...]:
    """All but the calls that the user makes."""
    return tuple(event for event in events if event.call is None or event.call.requestor == "assistant")


def calls(events: Sequence[Event]) -> list[tuple[Any, ...]]:
    """Executed calls: the name, then the arguments."""
    return [
        (event.call.name, *event.call.arguments.values()) for event in events if event.call is not None and event.error is None
    ]


def said(events: Sequence[Event], kind: str = "assistant") -> list[str]:
    return [event.text for event in events if event.kind == kind]


def transcript(events: Sequence[Event]) -> str:
    """A conversation to read."""
    lines = []
    for event in events:
        if event.call is not None:
            lines.append(
                f"  {event.call.requestor}: {event.call.name}({json.dumps(event.call.arguments)}) -> {(event.observation or '')[:80]}"
            )
        else:
            lines.append(f"{event.kind}: {event.text}")
    return "\n".join(lines)


def step(decision: str, action: str, entity: str, *units: str, after: tuple[int, ...] = ()) -> Step:
    """A step; units as `policy/outcome`."""
    pairs = tuple(Unit(*unit.split("/", 1)) for unit in units)
    return Step(action=action, entity=entity, decision=decision, units=pairs, after=after)


def blueprint(domain: str, *steps: Step, interactions: Sequence[str] = ()) -> Blueprint:
    return Blueprint(
        domain=domain, parent=None, depth=len(steps), kernels=(), interactions=tuple(interactions), goal="By hand.", steps=steps
    )
