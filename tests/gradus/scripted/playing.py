"""A minimal conversation loop, and hand-written tasks, for the tests of the scripted roles."""

from __future__ import annotations

import json
from collections.abc import Callable

from selfevolve.environments import Environment
from selfevolve.gradus.blueprints import Call
from selfevolve.gradus.roles import AgentView
from selfevolve.gradus.tasks import Event, Task


def play(
    act: Callable[[AgentView, int], Call | str],
    answer: Callable[[tuple[Event, ...], int], Call | str | None],
    env: Environment,
    fork: Environment,
    task: Task,
    most: int = 80,
) -> tuple[Event, ...]:
    """A conversation from the task's start; fails if it has not ended after `most` events."""
    env.reset(task.init_actions)
    events: list[Event] = []

    def probe() -> Environment:
        fork.restore(env.snapshot())
        return fork

    def call(made: Call) -> None:
        seen = env.call(made.name, made.arguments, made.requestor)
        events.append(Event(kind="call", call=made, observation=seen.text, error=seen.error))

    said = answer((), 0)
    while said is not None:
        if isinstance(said, Call):
            call(said)
        else:
            events.append(Event(kind="user", text=said))
            while True:
                done = act(AgentView(policy=env.policy, tools=tuple(env.tools), events=tuple(events), probe=probe), len(events))
                if isinstance(done, str):
                    events.append(Event(kind="assistant", text=done))
                    break
                call(done)
                assert len(events) < most, transcript(events)
        assert len(events) < most, transcript(events)
        said = answer(tuple(events), len(events))
    return tuple(events)


def transcript(events) -> str:
    """A conversation to read."""
    lines = []
    for event in events:
        if event.call is not None:
            facts = f"  {json.dumps(event.call.facts)}" if event.call.facts else ""
            seen = (event.observation or "")[:80].replace("\n", " ")
            lines.append(f"  {event.call.requestor}: {event.call.name}({json.dumps(event.call.arguments)}){facts} -> {seen}")
        else:
            lines.append(f"{event.kind}: {event.text}")
    return "\n".join(lines)
