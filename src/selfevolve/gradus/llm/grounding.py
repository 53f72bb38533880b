"""The grounding role (Gradus 2.4, initialization): probe a private copy of the environment, then hand in a task; or tell a task to given
calls (trajectory-first baseline, 3.1)."""

from __future__ import annotations

from collections.abc import Sequence

from selfevolve.environments.protocol import Environment
from selfevolve.gradus.blueprints import Blueprint, Call
from selfevolve.gradus.llm import forms, probing, prompts, wording
from selfevolve.gradus.llm.client import Client
from selfevolve.gradus.llm.forms import object_of
from selfevolve.gradus.operators import Library
from selfevolve.gradus.outcomes import Facts
from selfevolve.gradus.tasks import Refusal, Task


class Grounding:
    """Grounds blueprints of one domain."""

    def __init__(self, client: Client, library: Library, env: Environment, operators: bool):
        """`operators`: whether the branches of a blueprint are told in words, or only by their names."""
        self._client, self._library, self._operators = client, library, operators
        self._known = {
            "policy": env.policy,
            "tools": wording.tools(env.tools),
            "user_tools": wording.tools(env.user_tools),
            "state_schema": wording.compact(env.state_schema),
            "facts": wording.facts(library),
            "beginnings": wording.beginnings(library),
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
            branches=self._branches(blueprint),
            feedback=wording.bullets(feedback),
            probes=str(left),
            **self._known,
        )

        def handed_in(answer: forms.Grounded) -> Task:
            return self._task(blueprint, env, round, answer.task)

        def turn(answer: forms.Probing) -> tuple[forms.Probing, Task | None]:
            if answer.task is None and not answer.probes:
                raise ValueError("neither probes nor a task: give one of them")
            return answer, None if answer.task is None else self._task(blueprint, env, round, answer.task)

        while left > 0:
            answer, task = self._client.ask("ground", chat, forms.Probing, seed, turn)
            if task is not None:
                return task
            probes = answer.probes[:left]
            left -= len(probes)
            results = wording.bullets(
                f"{wording.compact(probe.model_dump())} -> {probing.run(probe, self._library, env)}" for probe in probes
            )
            told = prompts.part("ground", "results", results=results, left=str(left))
            chat += [{"role": "assistant", "content": answer.model_dump_json()}, {"role": "user", "content": told}]
        return self._client.ask("ground", chat, forms.Grounded, seed, handed_in)

    def tell(self, blueprint: Blueprint, told: Facts, calls: Sequence[Call], seed: int) -> Task:
        """The task whose reference has these calls, one per step of the blueprint."""
        chat = prompts.messages(
            "tell", calls=wording.bullets(map(wording.call, calls)), told=wording.compact(dict(told)), **self._known
        )

        def accept(answer: forms.Told) -> Task:
            reference = tuple(self._call(call) for call in answer.reference)
            left = iter((each.name, each.arguments) for each in reference)
            for call in calls:
                if (call.name, call.arguments) not in left:  # of an iterator: those up to the one that was sought are gone
                    raise ValueError(f"reference lacks {wording.call(call)}, or has it in another place")
            entities = {
                step.entity: str(next(iter(call.arguments.values()), ""))
                for step, call in zip(blueprint.steps, calls, strict=True)
            }
            return Task(
                blueprint=blueprint.id,
                round=0,
                scenario=answer.scenario,
                facts=dict(told),
                reference=reference,
                bindings=entities,
            )

        return self._client.ask("tell", chat, forms.Told, seed, accept)

    def _branches(self, blueprint: Blueprint) -> str:
        found = sorted(blueprint.branches)
        return (
            wording.bullets(wording.explained(each, self._library) for each in found)
            if self._operators
            else wording.branches(found)
        )

    def _task(self, blueprint: Blueprint, env: Environment, round: int, form: forms.TaskForm) -> Task:
        """The task of a form. Raises ValueError for a missing binding, an impossible beginning, a tool or a fact that does not exist."""
        bindings = {binding.entity: binding.id for binding in form.bindings}
        if missing := {step.entity for step in blueprint.steps} - set(bindings):
            raise ValueError(f"bindings has no record for {', '.join(sorted(missing))}")
        init_actions = probing.init_actions(form.init_actions)
        env.reset(init_actions)
        return Task(
            blueprint=blueprint.id,
            round=round,
            init_actions=init_actions,
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
