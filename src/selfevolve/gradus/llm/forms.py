"""The forms of structured answers, one per question. `schemas` says why calls carry their arguments as JSON text.

A reason or a feedback comes before the decision it leads to, since a model writes fields in this order.
"""

from __future__ import annotations

import json
from typing import Any, Literal, NoReturn

from pydantic import Field

from selfevolve.gradus.blueprints import Record, Requestor

JsonText = str


def object_of(text: JsonText, what: str) -> dict[str, Any]:
    """The object in a text field. Raises ValueError naming `what`."""
    try:
        value = json.loads(text or "{}", parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{what} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f'{what} must be a JSON object written as text, such as \'{{"id": "A1"}}\'')
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not of JSON")


class StepForm(Record):
    action: str
    entity: str
    decision: Literal["perform", "refuse"]
    units: list[str] = Field(description="policy_id/outcome")
    after: list[int]


class Wording(Record):
    goal: str
    context: str
    known: list[str]
    unknown: list[str]


class Scenario(Wording):
    steps: list[StepForm]


class Extension(Wording):
    new_steps: list[StepForm]


class Written(Record):
    scenarios: list[Scenario]


class Evolved(Record):
    declined: str | None
    scenario: Extension | None


class Varied(Record):
    declined: str | None
    wording: Wording | None


class InitAction(Record):
    env_type: Requestor
    func_name: str
    arguments: JsonText


class CallForm(Record):
    name: str
    arguments: JsonText
    requestor: Requestor
    facts: JsonText


class RefusalForm(Record):
    call: CallForm
    when: Literal["start", "end"]


class Binding(Record):
    entity: str
    id: str


class TaskForm(Record):
    bindings: list[Binding]
    init_actions: list[InitAction]
    scenario: str
    facts: JsonText
    reference: list[CallForm]
    refusals: list[RefusalForm]


class Told(Record):
    scenario: str
    reference: list[CallForm]


class Look(Record):
    kind: Literal["look"]
    path: list[str]


class Try(Record):
    kind: Literal["call"]
    name: str
    arguments: JsonText
    requestor: Requestor


class Judge(Record):
    kind: Literal["judge"]
    name: str
    arguments: JsonText
    facts: JsonText


class Restart(Record):
    kind: Literal["restart"]
    init_actions: list[InitAction]


Probe = Look | Try | Judge | Restart


class Probing(Record):
    """A turn of the grounding role while it may probe."""

    thought: str
    probes: list[Probe]
    task: TaskForm | None


class Grounded(Record):
    """The last turn of the grounding role."""

    thought: str
    task: TaskForm


class Evaluated(Record):
    feedback: str
    action: float = Field(ge=0, le=1, description="0 to 1")
    policy: float = Field(ge=0, le=1, description="0 to 1")
    communication: float = Field(ge=0, le=1, description="0 to 1")


class Diagnosed(Record):
    feedback: str
    route: Literal["task", "solution"]
