"""Roles that follow a script, and small tasks on the desk and in the airline to play: stand-ins for models in tests of the loop."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

from selfevolve.environments import Environment, load
from selfevolve.gradus import operators
from selfevolve.gradus.blueprints import Blueprint, Call, Step
from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.judgement import Unit
from selfevolve.gradus.roles import AgentView, Diagnosis, Evaluation, Evidence
from selfevolve.gradus.tasks import Demonstration, Event, Refusal, Task

Script = Sequence[Call | str | Exception]
"""What the agent does, step by step; after the last step it says goodbye."""

library = functools.cache(operators.load)
environment = functools.cache(load)


def lender(domain: str) -> Callable[[], Any]:
    """Lends environments, as `gradus.pool` does."""
    free: list[Environment] = []

    @contextmanager
    def lend():
        env = free.pop() if free else load(domain)
        yield env
        free.append(env)

    return lend


class Roles:
    """`tasks`: what `ground` answers, in order, the last one for ever; `agent`: from the feedback to a script; `score`: of a demonstration;
    `routes`: what `diagnose` answers, in order. What was asked is in `log`."""

    def __init__(
        self,
        tasks: Sequence[Task | Exception],
        agent: Callable[[tuple[str, ...]], Script],
        score: Callable[[Demonstration], float | Exception] = lambda demonstration: 0.5,
        routes: Sequence[Diagnosis | Exception] = (),
    ):
        self._tasks, self._agent, self._score, self._routes = list(tasks), agent, score, list(routes)
        self.log: list[tuple] = []

    def ground(self, blueprint: Blueprint, env: Environment, round: int, feedback: Sequence[str], seed: int) -> Task:
        self.log.append(("ground", round, tuple(feedback)))
        answer = self._tasks.pop(0) if len(self._tasks) > 1 else self._tasks[0]
        return given(answer).model_copy(update={"round": round})

    def act(self, view: AgentView, feedback: Sequence[str], seed: int) -> Call | str:
        step = sum(event.kind != "user" for event in view.events)
        if not step:
            self.log.append(("act", tuple(feedback)))
        script = self._agent(tuple(feedback))
        return given(script[step]) if step < len(script) else "Goodbye."

    def user(self, task: Task, blueprint: Blueprint, events: Sequence[Event], tools: Sequence[dict], seed: int) -> str | None:
        return "Please." if not events else None

    def evaluate(self, task: Task, demonstration: Demonstration, evidence: Evidence, seed: int) -> Evaluation:
        self.log.append(("evaluate", demonstration.branch, demonstration.attempt))
        score = given(self._score(demonstration))
        said = f"after attempt {demonstration.attempt} of branch {demonstration.branch}"
        return Evaluation(action=score, policy=score, communication=score, feedback=said)

    def diagnose(self, task: Task, demonstration: Demonstration, evidence: Evidence, seed: int) -> Diagnosis:
        self.log.append(("diagnose", demonstration.branch, demonstration.attempt))
        return given(self._routes.pop(0))

    def asked(self, role: str) -> list[tuple]:
        """What a role was asked, without its name."""
        return [entry[1:] for entry in self.log if entry[0] == role]


def given(answer: Any) -> Any:
    if isinstance(answer, Exception):
        raise answer
    return answer


def failed(text: str = "no answer") -> RoleFailed:
    return RoleFailed(text)


def call(name: str, facts: dict[str, Any] | None = None, **arguments: Any) -> Call:
    return Call(name=name, arguments=arguments, facts=facts or {})


def step(decision: str, action: str, *units: str, entity: str = "A") -> Step:
    """`units` as "policy/outcome"."""
    return Step(action=action, entity=entity, decision=decision, units=tuple(Unit(*unit.split("/", 1)) for unit in units))


def blueprint(domain: str, *steps: Step) -> Blueprint:
    return Blueprint(
        domain=domain, parent=None, depth=len(steps), kernels=(), interactions=(), goal="something done", steps=steps
    )


def task(plan: Blueprint, reference: Sequence[Call], refusals: Sequence[Refusal] = (), **fields: Any) -> Task:
    fields = {"scenario": "Ask for it.", "round": 0} | fields
    return Task(blueprint=plan.id, reference=tuple(reference), refusals=tuple(refusals), **fields)


def demonstration(
    plan: Blueprint, calls: Sequence[Call], stop: str = "done", errors: dict[int, str] | None = None
) -> Demonstration:
    """A conversation with these calls; `errors`: those that were refused, by index."""
    events = [Event(kind="user", text="Please.")]
    for number, each in enumerate(calls):
        events.append(Event(kind="call", call=each, observation="...", error=(errors or {}).get(number)))
    events.append(Event(kind="assistant", text="Goodbye."))
    return Demonstration(task=plan.id, round=0, branch=0, attempt=0, events=tuple(events), stop=stop)


# The desk: a basic booking of age 1 cannot be cancelled until it has gone up and what is then due has been paid.
AGED = (
    {
        "env_type": "assistant",
        "func_name": "set_booking",
        "arguments": {"id": "b10", "plan": "basic", "status": "open", "due": 0, "age": 1},
    },
)
CHAIN = blueprint(
    "desk",
    step("refuse", "cancel", "cancel.plan/aged_basic"),
    step("perform", "up", "up.booking/basic"),
    step("perform", "cancel", "cancel.plan/plus"),
)
DONE = call("done", {"pending": False})
CHAINED = (call("look", id="b10"), call("up", id="b10"), call("pay", id="b10", amount=2), call("cancel", id="b10"), DONE)
BLOCKED = Refusal(call=call("cancel", id="b10"), when="start")


def chained(**fields: Any) -> Task:
    """The task of CHAIN."""
    return task(CHAIN, **{"reference": CHAINED, "refusals": (BLOCKED,), "init_actions": AGED, **fields})


# The airline: two business reservations, one of them with a flight that the airline has cancelled; an old economy reservation without
# insurance; another user's reservation with a landed flight.
AMELIA = {"user_id": "amelia_khan_8728", "reason": "change_of_plan", "confirmed": True}
SOPHIA = AMELIA | {"user_id": "sophia_martin_4574"}
CANCEL = blueprint("tau2/airline", step("perform", "cancel_reservation", "cancel.trigger/business", "cancel.identity/own"))
FLOWN = blueprint("tau2/airline", step("refuse", "cancel_reservation", "cancel.flown/flown"))
CANCELLED = (call("cancel_reservation", reservation_id="U8XRWI"),)


def cancelled(**fields: Any) -> Task:
    """The task of CANCEL."""
    return task(CANCEL, **{"reference": CANCELLED, "facts": AMELIA, **fields})
