"""The grounding role (Gradus 2.4, initialization): probe a private copy of the environment, then hand in a task."""

from __future__ import annotations

from collections.abc import Sequence

from selfevolve.environments.protocol import Environment
from selfevolve.gradus.blueprints import Blueprint, Call
from selfevolve.gradus.llm import forms, probing, prompts, wording
from selfevolve.gradus.llm.client import Client
from selfevolve.gradus.llm.forms import object_of
from selfevolve.gradus.operators import Library
from selfevolve.gradus.tasks import Refusal, Task


class Grounding:
    """Grounds blueprints of one domain."""

    def __init__(self, client: Client, library: Library, env: Environment):
        self._client, self._library = client, library
        self._known = {
            "policy": env.policy,
            "tools": wording.tools(env.tools),
            "user_tools": wording.tools(env.user_tools),
            "state_schema": wording.compact(env.state_schema),
            "facts": wording.facts(library),
        }
        self._tools = {
            "assistant": {tool["function"]["name"] for tool in env.tools},
            "user": {tool["function"]["name"] for tool in env.user_tools},
        }

    def task(self, blueprint: Blueprint, env: Environment, round: int, feedback: Sequence[str], seed: int) -> Task:
        """A task for the blueprint. `env` is a private copy, changed by the probes. At most `settings.probes` of them are run."""
        left = self._client.settings.probes
        chat = prompts.messages(
            "ground",
            blueprint=wording.blueprint(blueprint),
            feedback=wording.bullets(feedback),
            probes=str(left),
            **self._known,
        )

        def handed_in(answer: forms.Grounded) -> Task:
            return self._task(blueprint, round, answer.task)

        def turn(answer: forms.Probing) -> tuple[forms.Probing, Task | None]:
            if answer.task is None and not answer.probes:
                raise ValueError("neither probes nor a task: give one of them")
            return answer, None if answer.task is None else self._task(blueprint, round, answer.task)

        while left > 0:
            answer, task = self._client.ask("ground", chat, forms.Probing, seed, turn)
            if task is not None:
                return task
            probes = answer.probes[:left]
            left -= len(probes)
            results = wording.bullets(
                f"{wording.compact(probe.model_dump())} -> {probing.run(probe, self._library, env)}" for probe in probes
            )
            told = prompts.fill(prompts.sections("ground")["results"], {"results": results, "left": str(left)})
            chat += [{"role": "assistant", "content": answer.model_dump_json()}, {"role": "user", "content": told}]
        return self._client.ask("ground", chat, forms.Grounded, seed, handed_in)

    def _task(self, blueprint: Blueprint, round: int, form: forms.TaskForm) -> Task:
        """The task of a form. Raises ValueError for a binding that is missing, a tool or a fact that does not exist."""
        bindings = {binding.entity: binding.id for binding in form.bindings}
        if missing := {step.entity for step in blueprint.steps} - set(bindings):
            raise ValueError(f"bindings has no record for {', '.join(sorted(missing))}")
        return Task(
            blueprint=blueprint.id,
            round=round,
            init_actions=probing.init_actions(form.init_actions),
            scenario=form.scenario,
            facts=self._facts(form.facts, "facts"),
            reference=tuple(self._call(call) for call in form.reference),
            refusals=tuple(Refusal(call=self._call(each.call), when=each.when) for each in form.refusals),
            bindings=bindings,
        )

    def _call(self, form: forms.CallForm) -> Call:
        known = self._tools[form.requestor]
        if form.name not in known:
            raise ValueError(f"{form.name!r} is no tool of the {form.requestor}, who has {', '.join(sorted(known)) or 'none'}")
        return Call(
            name=form.name,
            arguments=object_of(form.arguments, f"arguments of {form.name}"),
            requestor=form.requestor,
            facts=self._facts(form.facts, f"facts of {form.name}"),
        )

    def _facts(self, text: str, what: str) -> dict:
        told = object_of(text, what)
        for name, value in told.items():
            fact = self._library.facts.get(name)
            if fact is None:
                raise ValueError(f"{what}: there is no fact {name!r}; there are {', '.join(self._library.facts) or 'none'}")
            if not fact.accepts(value):
                wanted = " | ".join(map(str, fact.values)) if fact.values else fact.type
                raise ValueError(f"{what}: {name} is {wanted}, not {value!r}")
        return told
