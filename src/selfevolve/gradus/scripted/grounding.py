"""The scripted initialization: a concrete task with a reference, wrong at a declared rate.

Paper: Gradus 2.4 (initialization) and A.7 (round-0 task; defects 1 and 2; recovery by re-grounding).

The reference is what the faultless agent does in a conversation with the user of the script; it is checked that it realises the blueprint.
A slip spoils a task in one of two ways that A.7 shows: an entity whose state realises another outcome than the reference assumes (the
flight believed flown was cancelled), or an argument left open, so that another outcome is as legitimate as the reference's (the connecting
itinerary). Feedback makes slips rarer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from selfevolve.environments import Environment
from selfevolve.gradus.blueprints import Blueprint, Call, Step
from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.judgement import Unit
from selfevolve.gradus.operators import Library
from selfevolve.gradus.outcomes import Facts
from selfevolve.gradus.roles import AgentView
from selfevolve.gradus.scripted.binding import Binder, Bound
from selfevolve.gradus.scripted.language import Language
from selfevolve.gradus.scripted.permitting import Permits
from selfevolve.gradus.scripted.script import Script, Scripts
from selfevolve.gradus.scripted.scripting import at_start, script, unasked
from selfevolve.gradus.scripted.settings import FAULTLESS, GroundingSlips
from selfevolve.gradus.scripted.solving import Agent
from selfevolve.gradus.scripted.spoiling import Spoiler
from selfevolve.gradus.scripted.user import User
from selfevolve.gradus.tasks import Event, Refusal, Task
from selfevolve.seeding import derive

LONGEST = 120  # events of a conversation


class Grounder:
    """Plays `Roles.ground` and `tell` in one domain. `scratch`: gives a second environment, one per thread."""

    def __init__(
        self, language: Language, permits: Permits, binder: Binder, slips: GroundingSlips, scratch: Callable[[], Environment]
    ):
        self._library: Library = language.library
        self._permits, self._slips, self._scratch = permits, slips, scratch
        self._scripts, self._user = Scripts(language), User(language)
        self._agent = Agent(language, permits, FAULTLESS)
        self._binder = binder
        self._spoiler = Spoiler(language, permits)
        self._impossible: set[str] = set()  # blueprints for which no entities were found

    def ground(self, blueprint: Blueprint, env: Environment, round: int, feedback: Sequence[str], seed: int) -> Task:
        """A task for the blueprint. `env` is left in any state. Raises RoleFailed if no entities realise it, and from then on without a search."""
        self._check(blueprint)
        rng = random.Random(derive(seed, "ground"))
        bindings = () if blueprint.id in self._impossible else self._binder.bind(blueprint.steps, env, seed)
        ways = self._ways(blueprint)
        for bound, asks_all in ((bound, way) for bound in bindings for way in ways):
            env.reset(bound.init_actions)
            plan = script(self._library, env, blueprint, bound, rng, asks_all)
            task = self._task(blueprint, bound, plan, env, round)
            if task is not None:
                if rng.random() < self._slips.rate(blueprint.depth, len(feedback)):
                    env.reset(task.init_actions)
                    return self._spoiler.spoil(task, blueprint, bound, plan, env, rng) or task
                return task
        self._impossible.add(blueprint.id)
        raise RoleFailed(f"ground: no entities realise {'; '.join(map(_words, blueprint.steps))}")

    def _ways(self, blueprint: Blueprint) -> Sequence[bool]:
        """Whether all steps are asked for: no, if the agent may do some of them unasked; yes, if that fails."""
        steps = blueprint.steps
        return (False, True) if any(unasked(self._library, steps, number) for number in range(len(steps))) else (True,)

    def tell(self, blueprint: Blueprint, told: Facts, calls: Sequence[Call], env: Environment, seed: int) -> Task:
        """The task of calls that were found by exploring, one per step. It cannot be about other entities than they are, but it may leave
        something open. Raises RoleFailed if a user who asks for them does not get them."""
        rng = random.Random(derive(seed, "tell"))
        entities = [next(iter(call.arguments.values()), "") for call in calls]
        bindings = {step.entity: str(entity) for step, entity in zip(blueprint.steps, entities, strict=True)}
        bound = Bound((), dict(told), blueprint.steps, tuple(calls), bindings)
        env.reset()
        plan = script(self._library, env, blueprint, bound, rng)
        task = self._task(blueprint, bound, plan, env, 0)
        if task is None:
            raise RoleFailed(f"tell: the user's requests do not lead to {'; '.join(map(_words, blueprint.steps))}")
        if rng.random() < self._slips.rate(blueprint.depth, 0):
            env.reset()
            return self._spoiler.left_open(task, blueprint, bound, plan, env, rng) or task
        return task

    def _check(self, blueprint: Blueprint) -> None:
        """Raise RoleFailed for steps that no call can realise."""
        for step in blueprint.steps:
            operator = self._library.operators.get(step.action)
            verdicts = {guard.unit: guard.verdict for guard in operator.guards if guard.expression} if operator else {}
            unknown = [unit for unit in step.units if unit not in verdicts]
            if unknown:
                raise RoleFailed(f"ground: no entities realise {_words(step)}: there is no such branch as {'/'.join(unknown[0])}")
            denied = any(verdicts[unit] == "deny" for unit in step.units)
            if denied is not (step.decision == "refuse"):
                reason = "a denied call cannot be performed" if denied else "nothing denies the call that is to be refused"
                raise RoleFailed(f"ground: no entities realise {_words(step)}: {reason}")
        if not self._library.conduct.finished and not any(map(self._leaves_a_trace, blueprint.steps)):
            raise RoleFailed(f"ground: {'; '.join(map(_words, blueprint.steps))}: nothing changes and nothing is refused")

    def _leaves_a_trace(self, step: Step) -> bool:
        operator = self._library.operators[step.action]
        return step.decision == "refuse" or any(guard.effects for guard in operator.guards)

    def _task(self, blueprint: Blueprint, bound: Bound, plan: Script, env: Environment, round: int) -> Task | None:
        """The task of a script, with what the faultless agent does in it as the reference; None if that is not what is intended."""
        task = Task(
            blueprint=blueprint.id,
            round=round,
            init_actions=bound.init_actions,
            scenario=self._scripts.write(plan, blueprint.goal),
            facts=bound.told,
            reference=(),
            bindings=dict(bound.bindings),
        )
        refusals = [
            Refusal(call=call, when="start" if at_start(bound.steps, number) else "end")
            for number, (step, call) in enumerate(zip(bound.steps, bound.calls, strict=True))
            if step.decision == "refuse"
        ]
        wanted = [frozenset(step.units) for step in bound.steps if step.decision == "refuse"]
        env.reset(bound.init_actions)
        start = env.state_hash()
        broken = {number: self._refused(env, task, refusal, wanted[number]) for number, refusal in enumerate(refusals)}
        conversation = _Conversation(self._library, self._permits, env, self._scratch(), task)
        if not conversation.held(self._agent, self._user):
            return None
        kept = []
        for number, refusal in enumerate(refusals):
            executed = any(_same(call, refusal.call) for call in conversation.executed)
            if refusal.when == "end" and not executed and self._refused(env, task, refusal, wanted[number]):
                kept.append(refusal)
            elif broken[number]:  # the agent has made it possible by itself, or changed what stood in its way
                kept.append(refusal.model_copy(update={"when": "start"}))
            else:
                return None
        if not conversation.meets([step for step in blueprint.steps if step.decision == "perform"]):
            return None
        if not kept and env.state_hash() == start:
            return None  # nothing to check: an agent that does nothing would do as well
        return task.model_copy(update={"reference": tuple(conversation.reference), "refusals": tuple(kept)})

    def _refused(self, env: Environment, task: Task, refusal: Refusal, units: frozenset) -> bool:
        call = refusal.call
        judgement = self._permits.judge(env, call.name, call.arguments, task.facts | call.facts)
        return bool(judgement.violations or judgement.rejections) and units <= judgement.units


class _Conversation:
    """A conversation of a user with an agent, judged as it goes. `reference`: the executed calls, without look-ups that nothing asks for."""

    def __init__(self, library: Library, permits: Permits, env: Environment, fork: Environment, task: Task):
        self._library, self._permits, self._env, self._fork, self._task = library, permits, env, fork, task
        self._events: list[Event] = []
        self._reads: list[Call] = []
        self.executed: list[Call] = []
        self.reference: list[Call] = []
        self._units: list[frozenset[Unit]] = []  # of the executed calls

    def held(self, agent: Agent, user: User) -> bool:
        """Hold it to the end; whether no call failed or broke a policy."""
        tools, policy = tuple(self._env.tools), self._env.policy
        said = user.answer(self._task, ())
        while said is not None:
            if isinstance(said, Call):
                if not self._call(said):
                    return False
            else:
                self._events.append(Event(kind="user", text=said))
                done = None
                while not isinstance(done, str):
                    done = agent.act(AgentView(policy, tools, tuple(self._events), self._probe), (), 0)
                    if isinstance(done, Call) and not self._call(done):
                        return False
                self._events.append(Event(kind="assistant", text=done))
            if len(self._events) > LONGEST:
                return False
            said = user.answer(self._task, self._events)
        return True

    def meets(self, steps: Sequence[Step]) -> bool:
        """Whether each of the steps, in order, has an executed call of its own."""
        free = list(zip(self.executed, self._units, strict=True))
        for step in steps:
            fitting = [each for each in free if each[0].name == step.action and set(step.units) <= each[1]]
            if not fitting:
                return False
            free.remove(fitting[0])
        return True

    def _probe(self) -> Environment:
        self._fork.restore(self._env.snapshot())
        return self._fork

    def _call(self, call: Call) -> bool:
        operator = self._library.operators[call.name]
        judgement = self._permits.judge(self._env, call.name, call.arguments, self._task.facts | call.facts)
        seen = self._env.call(call.name, call.arguments, call.requestor)
        self._events.append(Event(kind="call", call=call, observation=seen.text, error=seen.error))
        if not seen.ok or judgement.violations:
            return False
        self.executed.append(call)
        self._units.append(judgement.units)
        if operator.kind == "read" and not self._matters(call):
            self._reads.append(call)
            return True
        if any(self._library.facts[name].source == "reads" and value for name, value in call.facts.items()):
            self.reference += self._reads
        self._reads = []
        self.reference.append(call)
        return True

    def _matters(self, look_up: Call) -> bool:
        """Whether a look-up is more than reading: it is asked for, tells who the user is, or leaves a trace that the policy wants."""
        operator, conduct = self._library.operators[look_up.name], self._library.conduct
        asked = f"Please {look_up.name.replace('_', ' ')}" in self._task.scenario
        return (
            asked
            or any(guard.effects for guard in operator.guards)
            or look_up.name in {each.action for each in conduct.identified}
        )


def _same(call: Call, other: Call) -> bool:
    return call.name == other.name and call.arguments == other.arguments


def _words(step: Step) -> str:
    return f"{step.decision} {step.action} with {', '.join('/'.join(unit) for unit in step.units)}"
