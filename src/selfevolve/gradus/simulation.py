"""Simulation: a conversation of the solving agent with the user simulator, in a task's environment.

Paper: Gradus 2.4 ("a solving agent that sees only the conversation and tool responses, never the hidden task specification or reference").

The user speaks first. Whoever has the turn makes calls until it sends a message, which gives the turn to the other side. Calls that the
environment refuses (unknown tools, bad arguments, the tool's own refusal) are events like the others, with the kind of error.
"""

from __future__ import annotations

from collections.abc import Sequence

from selfevolve.environments.protocol import Environment
from selfevolve.gradus.blueprints import Blueprint, Call
from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.roles import AgentView, Roles
from selfevolve.gradus.tasks import Demonstration, Event, Task
from selfevolve.seeding import derive


def simulate(
    roles: Roles,
    env: Environment,
    fork: Environment,
    blueprint: Blueprint,
    task: Task,
    branch: int,
    attempt: int,
    feedback: Sequence[str],
    seed: int,
    max_turns: int,
) -> Demonstration:
    """One attempt at a task.

    Args:
        env: the environment of the conversation, in any state.
        fork: another one of the same domain, which `AgentView.probe` lends to the agent.
        feedback: what the evaluator said of earlier attempts, for the agent.
        max_turns: messages and calls after which the conversation is cut off.

    Returns:
        The conversation. `stop`: the user ended it (done), it was cut off (max_turns), or a role gave no answer (error; the last event is
        then an empty message of that role, and its `error` says why).

    Raises:
        ValueError: an init action of the task cannot be applied.
    """
    env.reset(task.init_actions)
    now: bytes | None = None  # snapshot of the state, until a call is made

    def probe() -> Environment:
        nonlocal now
        now = env.snapshot() if now is None else now
        fork.restore(now)
        return fork

    tools, user_tools = tuple(env.tools), tuple(env.user_tools)
    events: list[Event] = []
    visible: list[Event] = []  # to the agent: not the calls that the user makes
    stop, agents_turn = "max_turns", False
    while len(events) < max_turns:
        try:
            if agents_turn:
                view = AgentView(env.policy, tools, tuple(visible), probe)
                said = roles.act(view, feedback, derive(seed, "act", len(events)))
            else:
                said = roles.user(task, blueprint, tuple(events), user_tools, derive(seed, "user", len(events)))
        except RoleFailed as error:
            events.append(Event(kind="assistant" if agents_turn else "user", error=str(error)))
            stop = "error"
            break
        if said is None:
            stop = "done"
            break
        side = "assistant" if agents_turn else "user"
        if isinstance(said, Call):
            event, now = _called(env, said, side), None
        else:
            event = Event(kind=side, text=said)
        events.append(event)
        if agents_turn or event.kind != "call":
            visible.append(event)
        if event.kind != "call":
            agents_turn = not agents_turn
    return Demonstration(task=blueprint.id, round=task.round, branch=branch, attempt=attempt, events=tuple(events), stop=stop)


def _called(env: Environment, call: Call, side: str) -> Event:
    """Make a call on the side of whoever wants it."""
    call = call if call.requestor == side else call.model_copy(update={"requestor": side})
    observation = env.call(call.name, call.arguments, side)
    return Event(kind="call", call=call, observation=observation.text, error=observation.error)
