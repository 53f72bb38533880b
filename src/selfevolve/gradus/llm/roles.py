"""The roles played by a language model, through prompts that are files beside this one.

Paper: Gradus 2.3, 2.4 and Algorithm 1. Every method is a call of `client`, so it is recorded, and the same request with the same seed
has the same answer. What a role answers is checked here as far as one record goes (names that exist, steps that keep their order); whether
it is right, execution shows.

The solving agent gets the policy, its tools and its own conversation, and what the evaluator said of earlier attempts; `act` is given
nothing else to put into a prompt.

Deviations: a child's steps are its parent's followed by new ones, put together here, so that no model can lose a requirement. Probing is
a loop of structured answers rather than native tool calls, so that it works with any model that can be constrained by a schema.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from selfevolve.environments.protocol import Environment
from selfevolve.gradus.blueprints import Blueprint, Call, Step
from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.llm import forms, prompts, talking, wording
from selfevolve.gradus.llm.client import Client
from selfevolve.gradus.llm.grounding import Grounding
from selfevolve.gradus.operators import Library
from selfevolve.gradus.outcomes import Facts
from selfevolve.gradus.roles import AgentView, Declined, Diagnosis, Evaluation, Evidence, Kernel
from selfevolve.gradus.tasks import Demonstration, Event, Task

QUOTED = 8
"""Words. Feedback that repeats as many words in a row of the hidden scenario would tell the agent of it, and is asked for again."""


class LlmRoles:
    """All roles, played by the model of one client. Methods may be called from any thread.

    Every method raises RoleFailed if the model gives no usable answer, and EndpointError if the endpoint gives none.
    """

    def __init__(self, client: Client, library: Library, env: Environment, catalog: str | None = None):
        """`env`, which is the roles' own from now on, tells policy, tools and schema.

        `catalog`: what the proposing roles are shown in place of the operators, such as `wording.artifacts`. Then nothing else tells them
        of the operators' conditions either.
        """
        self._client, self._library = client, library
        self._env, self._lock = env, threading.Lock()
        self._catalog, self._operators = (wording.catalog(library), True) if catalog is None else (catalog, False)
        self._guards = {
            operator.action: {wording.unit_name(guard.unit): guard for guard in wording.measured(operator)}
            for operator in library.operators.values()
        }
        self._grounding = Grounding(client, library, env, self._operators)

    def write(self, actions: Sequence[str], least_covered: Sequence[Branch], count: int, seed: int) -> list[Blueprint]:
        section = "freely" if not actions else "atomic" if len(actions) == 1 else "path"
        request = prompts.part(
            "write", section, count=str(count), action=actions[0] if actions else "", actions=", ".join(actions)
        )
        chat = prompts.messages("write", catalog=self._catalog, request=request, gaps=_gaps("write", least_covered))

        def accept(answer: forms.Written) -> list[Blueprint]:
            if not 0 < len(answer.scenarios) <= count:
                raise ValueError(f"{len(answer.scenarios)} scenarios, where 1 to {count} are asked for")
            written = []
            for number, one in enumerate(answer.scenarios):
                steps = self._steps(one.steps)
                left = iter(step.action for step in steps)
                for action in actions:
                    if action not in left:  # of an iterator: the steps up to the one that was sought are gone
                        raise ValueError(f"scenario {number} has no step of {action}, or has it in another place")
                written.append(self._blueprint(one, steps, depth=1 if len(actions) == 1 else max(1, len(steps))))
            return written

        return self._client.ask("write", chat, forms.Written, seed, accept)

    def evolve(self, parent: Blueprint, kernel: Kernel, least_covered: Sequence[Branch], seed: int) -> Blueprint | Declined:
        chat = prompts.messages(
            "evolve",
            catalog=self._catalog,
            parent=wording.blueprint(parent),
            kernel=kernel.name,
            instruction=kernel.instruction,
            next_step=str(len(parent.steps)),
            gaps=_gaps("evolve", least_covered),
        )

        def accept(answer: forms.Evolved) -> Blueprint | Declined:
            if answer.scenario is None:
                return _declined(answer.declined, "scenario")
            new = self._steps(answer.scenario.new_steps)
            if not new:
                raise ValueError("new_steps is empty: add at least one step, or decline")
            return self._blueprint(
                answer.scenario, (*parent.steps, *new), parent.depth + 1, parent, kernels=(*parent.kernels, kernel.name)
            )

        return self._client.ask("evolve", chat, forms.Evolved, seed, accept)

    def vary(self, blueprint: Blueprint, kernel: Kernel, seed: int) -> Blueprint | Declined:
        chat = prompts.messages(
            "vary",
            catalog=self._catalog,
            blueprint=wording.blueprint(blueprint),
            kernel=kernel.name,
            instruction=kernel.instruction,
        )

        def accept(answer: forms.Varied) -> Blueprint | Declined:
            if answer.wording is None:
                return _declined(answer.declined, "wording")
            return self._blueprint(
                answer.wording, blueprint.steps, blueprint.depth, blueprint, interactions=(*blueprint.interactions, kernel.name)
            )

        return self._client.ask("vary", chat, forms.Varied, seed, accept)

    def ground(self, blueprint: Blueprint, env: Environment, round: int, feedback: Sequence[str], seed: int) -> Task:
        return self._grounding.task(blueprint, env, round, feedback, seed)

    def tell(self, blueprint: Blueprint, told: Facts, calls: Sequence[Call], env: Environment, seed: int) -> Task:
        return self._grounding.tell(blueprint, told, calls, seed)

    def act(self, view: AgentView, feedback: Sequence[str], seed: int) -> Call | str:
        chat = prompts.messages("act", policy=view.policy, feedback=wording.bullets(feedback)) + talking.as_agent(view.events)
        reply = self._client.converse("act", chat, view.tools, seed)
        return Call(name=reply.tool, arguments=reply.arguments) if reply.tool else reply.text

    def user(
        self, task: Task, blueprint: Blueprint, events: Sequence[Event], tools: Sequence[dict[str, Any]], seed: int
    ) -> Call | str | None:
        known = [(name, value) for name, value in task.facts.items() if self._library.facts[name].source == "user"]
        told = [f"{name} ({self._library.facts[name].text}): {wording.compact(value)}" for name, value in known]
        chat = prompts.messages(
            "user",
            scenario=task.scenario,
            known=wording.bullets(blueprint.known),
            unknown=wording.bullets(blueprint.unknown),
            facts=wording.bullets(told),
        )
        reply = self._client.converse("user", chat + talking.as_user(events), tools, seed)
        if reply.tool:
            return Call(name=reply.tool, arguments=reply.arguments, requestor="user")
        return None if talking.STOP in reply.text else reply.text

    def evaluate(self, task: Task, demonstration: Demonstration, evidence: Evidence, seed: int) -> Evaluation:
        chat = prompts.messages("evaluate", **self._tried(task, demonstration, evidence))

        def accept(answer: forms.Evaluated) -> Evaluation:
            if quoted := _quoted(task.scenario, answer.feedback):
                raise ValueError(
                    f'the feedback quotes the hidden instructions ("{quoted}"): say it as advice about policy and tools'
                )
            return Evaluation(**answer.model_dump())

        return self._client.ask("evaluate", chat, forms.Evaluated, seed, accept)

    def diagnose(self, task: Task, demonstration: Demonstration, evidence: Evidence, seed: int) -> Diagnosis:
        chat = prompts.messages("diagnose", **self._tried(task, demonstration, evidence))

        def accept(answer: forms.Diagnosed) -> Diagnosis:
            # Feedback for the solution side reaches the solving agent; that for the task side is about the scenario.
            if answer.route == "solution" and (quoted := _quoted(task.scenario, answer.feedback)):
                raise ValueError(
                    f'the feedback quotes the hidden instructions ("{quoted}"): say it as advice about policy and tools'
                )
            return Diagnosis(**answer.model_dump())

        return self._client.ask("diagnose", chat, forms.Diagnosed, seed, accept)

    def _tried(self, task: Task, demonstration: Demonstration, evidence: Evidence) -> dict[str, str]:
        with self._lock:
            self._env.reset(task.init_actions)
            policy = self._env.policy  # it may name the member whom the task is about
        return {
            "policy": policy,
            "scenario": task.scenario,
            "reference": wording.reference(task),
            "conversation": wording.conversation(demonstration.events),
            "evidence": wording.evidence(evidence, self._library),
        }

    def _steps(self, steps: Sequence[forms.StepForm]) -> tuple[Step, ...]:
        """Steps with the units they name. Raises ValueError for an action or a branch that the library does not have, or cannot have so."""
        made = []
        for step in steps:
            known = self._guards.get(step.action)
            if known is None:
                raise ValueError(f"{step.action!r} is no action of the catalog, which has {', '.join(self._guards)}")
            if unknown := [name for name in step.units if name not in known]:
                raise ValueError(f"{step.action} has no branch {unknown[0]!r}; it has {', '.join(known)}")
            denied = [name for name in step.units if known[name].verdict == "deny"]
            if self._operators and step.decision == "perform" and denied:
                raise ValueError(f"the step performs {step.action}, which {denied[0]} denies: refuse it, or name another branch")
            if self._operators and step.decision == "refuse" and not denied:
                raise ValueError(f"the step refuses {step.action}, but none of its units denies it")
            units = tuple(dict.fromkeys(known[name].unit for name in step.units))
            made.append(Step(**{**step.model_dump(), "units": units}))
        return tuple(made)

    def _blueprint(
        self,
        form: forms.Wording,
        steps: tuple[Step, ...],
        depth: int,
        parent: Blueprint | None = None,
        **applied: tuple[str, ...],
    ) -> Blueprint:
        before = (
            {"kernels": parent.kernels, "interactions": parent.interactions} if parent else {"kernels": (), "interactions": ()}
        )
        return Blueprint(
            domain=self._library.domain,
            parent=parent.id if parent else None,
            depth=depth,
            goal=form.goal,
            context=form.context,
            known=tuple(form.known),
            unknown=tuple(form.unknown),
            steps=steps,
            **(before | applied),
        )


def _gaps(role: str, least_covered: Sequence[Branch]) -> str:
    """The paragraph on coverage; none in arms without a ledger."""
    return prompts.part(role, "gaps", least_covered=wording.branches(least_covered)) if least_covered else ""


def _declined(reason: str | None, field: str) -> Declined:
    if not reason:
        raise ValueError(f"{field} and declined are both null: give one of them")
    return Declined(reason=reason)


def _quoted(hidden: str, text: str) -> str | None:
    """The first `QUOTED` words in a row that both texts have, case and punctuation aside."""
    said = _words(text)
    grams = {tuple(said[start : start + QUOTED]) for start in range(len(said) - QUOTED + 1)}
    words = _words(hidden)
    runs = (tuple(words[start : start + QUOTED]) for start in range(len(words) - QUOTED + 1))
    return next((" ".join(run) for run in runs if run in grams), None)


def _words(text: str) -> list[str]:
    return [word for word in ("".join(filter(str.isalnum, each)) for each in text.lower().split()) if word]
