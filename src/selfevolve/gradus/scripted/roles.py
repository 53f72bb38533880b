"""All roles played by programs: seeded, offline, wrong at declared rates.

Paper: Gradus 2.3, 2.4 and Algorithm 1 (A.4). In place of a model they let the whole method run and be tested; their rates are settings, so
nothing that depends on them is a finding about any model.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from selfevolve.environments import Environment
from selfevolve.gradus.blueprints import Blueprint, Call
from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.operators import Library
from selfevolve.gradus.outcomes import Facts
from selfevolve.gradus.roles import AgentView, Declined, Diagnosis, Evaluation, Evidence, Kernel
from selfevolve.gradus.scripted.binding import Binder
from selfevolve.gradus.scripted.grounding import Grounder
from selfevolve.gradus.scripted.judging import Judge
from selfevolve.gradus.scripted.language import Language
from selfevolve.gradus.scripted.permitting import Permits
from selfevolve.gradus.scripted.rehearsing import Rehearsal
from selfevolve.gradus.scripted.settings import ScriptedSettings
from selfevolve.gradus.scripted.solving import Agent
from selfevolve.gradus.scripted.user import User
from selfevolve.gradus.scripted.writing import Writer
from selfevolve.gradus.tasks import Demonstration, Event, Task


@functools.lru_cache(maxsize=1)
def _knowledge(library: Library) -> tuple[Language, Permits, Binder]:
    """What is learned about a domain by trying, and remembered: it does not depend on the arm."""
    return Language(library), Permits(library), Binder(library)


class ScriptedRoles:
    """`roles.Roles` for one domain. Methods may be called from any thread: nothing of a conversation is kept.

    Args:
        env_factory: makes environments of the domain; one is made for each thread that initializes tasks.
        edges: what enables what, of `graph.edges`.
        operators: whether the writer knows the operators, or guesses from names (A.6).
    """

    def __init__(
        self,
        library: Library,
        env_factory: Callable[[], Environment],
        edges: pl.DataFrame,
        settings: ScriptedSettings,
        operators: bool = True,
    ):
        self._local, self._env_factory = threading.local(), env_factory
        language, permits, binder = _knowledge(library)
        self._grounder = Grounder(language, permits, binder, settings.grounding, self._scratch)
        rehearsal = Rehearsal(library, permits, binder, env_factory()) if operators else None
        self._writer = Writer(library, edges, 1.0 if operators else 1.0 - settings.misjudged, rehearsal)
        self._agent, self._user = Agent(language, permits, settings.agent), User(language)
        self._judge = Judge(language, settings.misroute)

    def write(self, actions: Sequence[str], least_covered: Sequence[Branch], count: int, seed: int) -> list[Blueprint]:
        return self._writer.write(actions, least_covered, count, seed)

    def evolve(self, parent: Blueprint, kernel: Kernel, least_covered: Sequence[Branch], seed: int) -> Blueprint | Declined:
        return self._writer.evolve(parent, kernel, least_covered, seed)

    def vary(self, blueprint: Blueprint, kernel: Kernel, seed: int) -> Blueprint | Declined:
        return self._writer.vary(blueprint, kernel, seed)

    def ground(self, blueprint: Blueprint, env: Environment, round: int, feedback: Sequence[str], seed: int) -> Task:
        return self._grounder.ground(blueprint, env, round, feedback, seed)

    def tell(self, blueprint: Blueprint, told: Facts, calls: Sequence[Call], env: Environment, seed: int) -> Task:
        return self._grounder.tell(blueprint, told, calls, env, seed)

    def act(self, view: AgentView, feedback: Sequence[str], seed: int) -> Call | str:
        return self._agent.act(view, feedback, seed)

    def user(
        self, task: Task, blueprint: Blueprint, events: Sequence[Event], tools: Sequence[dict[str, Any]], seed: int
    ) -> Call | str | None:
        try:
            return self._user.answer(task, events)
        except ValueError as error:
            raise RoleFailed(f"user: {error}") from None

    def evaluate(self, task: Task, demonstration: Demonstration, evidence: Evidence, seed: int) -> Evaluation:
        return self._judge.evaluate(task, demonstration, evidence)

    def diagnose(self, task: Task, demonstration: Demonstration, evidence: Evidence, seed: int) -> Diagnosis:
        return self._judge.diagnose(task, demonstration, evidence, seed)

    def _scratch(self) -> Environment:
        """This thread's own environment."""
        if not hasattr(self._local, "env"):
            self._local.env = self._env_factory()
        return self._local.env
