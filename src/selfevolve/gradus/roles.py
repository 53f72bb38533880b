"""The roles of the method, as one protocol with two implementations: `llm` (prompts) and `scripted` (seeded, offline).

Paper: Gradus 2.3, 2.4 and Algorithm 1 (A.4), which marks each operation as the LLM's or code's. What is the LLM's is a method here; the
schedule, the sampling of kernels, replay and acceptance are code's and live elsewhere.

Every method may be called from several threads at once. `seed` makes a draw: the same request with the same seed gets the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import Field

from selfevolve.environments.protocol import Environment
from selfevolve.gradus.blueprints import Blueprint, Call, Record
from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.outcomes import Facts
from selfevolve.gradus.tasks import Demonstration, Event, Task


class Kernel(Record):
    """A transformation of blueprints (2.3): structural kernels change what a task requires, interaction kernels how it is surfaced."""

    name: str
    kind: Literal["structural", "interaction"]
    instruction: str = Field(description="what the model is told to do")
    relation: Literal["enables", "independent", "repeat"] | None = Field(
        default=None, description="structural: how the new step relates to the parent's"
    )
    surface: str | None = Field(
        default=None, description="interaction: how a scripted user says it; {request} stands for the request"
    )


class Declined(Record):
    """The model finds the extension incoherent."""

    reason: str


@dataclass(frozen=True)
class AgentView:
    """All that the solving agent sees (2.4): policy, tools, and its own conversation. Never the task or its reference.

    `probe` gives a private copy of the environment as it is now, in place of what reading with the tools would show. A scripted agent
    judges its calls in it; a model never gets it.
    """

    policy: str
    tools: tuple[dict[str, Any], ...]
    events: tuple[Event, ...]
    probe: Callable[[], Environment]


class Evidence(Record):
    """What execution showed about a demonstration, for the evaluator and the diagnosis; written by code."""

    reference_hash: str
    demonstration_hash: str
    violations: tuple[str, ...] = Field(description="policies that the demonstration breaks, 'action: policy/outcome'")
    missing: tuple[Branch, ...] = Field(description="intended branches that the demonstration did not realise")
    differences: tuple[str, ...] = Field(description="state differences between reference and demonstration, one line each")
    errors: tuple[str, ...] = Field(
        description="what is wrong with the reference, 'check: details': it fails, breaks a policy, misses an intended branch, ..."
    )


class Evaluation(Record):
    """The trajectory evaluator's opinion (2.4); it guides the next attempt and certifies nothing."""

    action: float = Field(ge=0, le=1)
    policy: float = Field(ge=0, le=1)
    communication: float = Field(ge=0, le=1)
    feedback: str


class Diagnosis(Record):
    """Where a failed tuple goes: back to initialization (`task`) or to further search (`solution`)."""

    route: Literal["task", "solution"]
    feedback: str


class Roles(Protocol):
    """What a model does for the method."""

    def write(self, actions: Sequence[str], least_covered: Sequence[Branch], count: int, seed: int) -> list[Blueprint]:
        """Up to `count` blueprints. One action: atomic ones that exercise its conditional behaviours; several: scenarios that take these
        actions in this order; none: whatever comes to mind."""

    def evolve(self, parent: Blueprint, kernel: Kernel, least_covered: Sequence[Branch], seed: int) -> Blueprint | Declined:
        """A child that keeps the parent's requirements and adds what the kernel asks for, or a refusal to make one."""

    def vary(self, blueprint: Blueprint, kernel: Kernel, seed: int) -> Blueprint | Declined:
        """The same requirements, surfaced as the interaction kernel asks."""

    def ground(self, blueprint: Blueprint, env: Environment, round: int, feedback: Sequence[str], seed: int) -> Task:
        """A concrete task with a candidate reference. `env` is a private copy to probe; `feedback` is what went wrong before."""

    def tell(self, blueprint: Blueprint, told: Facts, calls: Sequence[Call], env: Environment, seed: int) -> Task:
        """The task of a trajectory that was found by exploring (trajectory-first baseline, 3.1): the scenario of a user whose requests these
        calls meet, with them as the reference. `told`: facts that hold for the whole conversation. `env` is a private copy."""

    def act(self, view: AgentView, feedback: Sequence[str], seed: int) -> Call | str:
        """The solving agent's next call or message. `feedback`: what the evaluator said of earlier attempts."""

    def user(
        self, task: Task, blueprint: Blueprint, events: Sequence[Event], tools: Sequence[dict[str, Any]], seed: int
    ) -> Call | str | None:
        """The user simulator's next message or call of its own tools; None ends the conversation."""

    def evaluate(self, task: Task, demonstration: Demonstration, evidence: Evidence, seed: int) -> Evaluation:
        """Score an attempt and say what to change."""

    def diagnose(self, task: Task, demonstration: Demonstration, evidence: Evidence, seed: int) -> Diagnosis:
        """Attribute a failed verification to the task or to the solution."""
