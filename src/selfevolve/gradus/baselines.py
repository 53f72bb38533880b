"""The three controlled baselines: other ways to propose, under the same roles and budget.

Paper: Gradus 3.1. Model-prior: the role proposes freely. Graph-based: an ontology built from tool graphs, each path generating several
blueprints. Trajectory-first: executable trajectories first, a global tracker that discourages repeated action sequences, and a scenario and
oracle derived backward from each. All reject what does not verify at once (validity `reject`).

Deviations: the paper's trajectories are explored by the model; here code walks through candidate calls that break no policy, for scripted
roles and models alike, and the role tells the scenario of each. A proposal that repeats an earlier one is kept, under a number of its own:
not turning repetitions away is what these baselines are about.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count

from selfevolve.environments import Environment
from selfevolve.gradus import candidates, outcomes
from selfevolve.gradus.blueprints import Blueprint, Call, Step
from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.journal import Journal
from selfevolve.gradus.judgement import Unit
from selfevolve.gradus.operators import Library, Operator
from selfevolve.gradus.outcomes import Facts
from selfevolve.gradus.roles import Roles
from selfevolve.gradus.search import FRUITLESS, Proposals, Refused, Request
from selfevolve.gradus.settings import Arm, Search
from selfevolve.gradus.tasks import Task
from selfevolve.seeding import derive

LONGEST = 3  # actions of a path or a trajectory
ON = 0.6  # probability that a path goes on
TRIED = 12  # candidate calls looked at for one step of a trajectory

Proposed = tuple[list[Blueprint], list[Refused], dict[str, Task]]


def propose(
    arm: Arm, roles: Roles, library: Library, env: Environment, settings: Search, seed: int, journal: Journal, workers: int = 1
) -> Proposed:
    """Blueprints of a baseline, `arm.blueprints` of them; what was refused; and, for trajectory_first, the task of each blueprint by id.

    Args:
        env: changed.
        journal: takes the answer to every request.
    """
    seed = derive(seed, arm.method)
    proposals = Proposals(seed, journal, workers)
    if arm.method == "trajectory_first":
        return _trajectories(arm, roles, library, env, seed, journal, proposals)
    paths = _paths(library, env, seed) if arm.method == "graph_based" else ((f"scenario {number}", ()) for number in count())
    taken: list[Blueprint] = []
    fruitless = 0
    while len(taken) < arm.blueprints and fruitless < FRUITLESS:
        missing = math.ceil((arm.blueprints - len(taken)) / settings.per_operator)
        wave = [Request(*_written(roles, settings, *next(paths))) for _ in range(min(settings.wave, missing))]
        made = [blueprint for _, found in proposals.ask(wave) for blueprint in found]
        fruitless = 0 if made else fruitless + 1
        taken += made
    return _numbered(taken[: arm.blueprints]), proposals.refused, {}


def _written(roles: Roles, settings: Search, label: str, actions: tuple[str, ...]):
    return label, lambda gaps, seed: roles.write(actions, (), settings.per_operator, seed), actions


def _numbered(blueprints: Sequence[Blueprint]) -> list[Blueprint]:
    """Repetitions under a number of their own."""
    seen: Counter[str] = Counter()
    found = []
    for blueprint in blueprints:
        serial = seen[blueprint.id]
        seen[blueprint.id] += 1
        found.append(blueprint.model_copy(update={"serial": serial}) if serial else blueprint)
    return found


def _paths(library: Library, env: Environment, seed: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Paths through the tool graph, in which a tool leads to those that take what it takes, or a field of a record that it names."""
    defined = [each.get("properties", {}) for each in env.state_schema.get("$defs", {}).values()]
    takes = {
        operator.action: set(operator.parameters)
        for operator in library.operators.values()
        if operator.kind == "write" and operator.action not in library.conduct.actions
    }
    knows = {name: taken.union(*(fields for fields in defined if taken & set(fields))) for name, taken in takes.items()}
    near = {name: [other for other in takes if other != name and knows[name] & takes[other]] for name in takes}
    for number in count():
        rng = random.Random(derive(seed, "path", number))
        path = [rng.choice(list(takes))]
        while len(path) < LONGEST and near[path[-1]] and rng.random() < ON:
            path.append(rng.choice(near[path[-1]]))
        yield f"path {number}", tuple(path)


def _trajectories(
    arm: Arm, roles: Roles, library: Library, env: Environment, seed: int, journal: Journal, proposals: Proposals
) -> Proposed:
    tracker: Counter[tuple[str, ...]] = Counter()
    found: list[tuple[Blueprint, Task]] = []
    number = 0
    while len(found) < arm.blueprints and number < 4 * arm.blueprints:
        number += 1
        rng = random.Random(derive(seed, "trajectory", number))
        calls, units, told = _walk(library, env, tracker, rng)
        if not calls:
            continue
        tracker[tuple(call.name for call in calls)] += 1
        blueprint = _derived(library, calls, units, number)
        label = f"tell {number}"
        record = journal.get(label)
        if record is None:
            try:
                told_task = roles.tell(blueprint, told, calls, env, derive(seed, label))
                record = {"task": told_task.model_dump(mode="json")}
            except RoleFailed as error:
                record = {"reason": f"failed: {error}"}
            journal.put(label, record)
        if "reason" in record:
            proposals.refused.append(Refused(request=label, parent=None, kernel=None, reason=record["reason"]))
        else:
            found.append((blueprint, Task.model_validate(record["task"])))
    return [blueprint for blueprint, _ in found], proposals.refused, {blueprint.id: task for blueprint, task in found}


def _walk(
    library: Library, env: Environment, tracker: Counter[tuple[str, ...]], rng: random.Random
) -> tuple[list[Call], list[list[Unit]], Facts]:
    """A trajectory from the base state that breaks no policy: calls, what each exercised, and what was told in the whole conversation."""
    env.reset()
    actions = [
        operator
        for operator in library.operators.values()
        if operator.kind == "write" and operator.action not in library.conduct.actions and operator.requestor == "assistant"
    ]
    calls: list[Call] = []
    units: list[list[Unit]] = []
    told: Facts = {}
    near: dict | None = None
    for _ in range(rng.randint(1, LONGEST)):
        sequence = tuple(call.name for call in calls)
        weights = [1 / (1 + tracker[(*sequence, operator.action)]) ** 2 for operator in actions]
        for operator in sorted(actions, key=lambda each: rng.random() ** (1 / weights[actions.index(each)]), reverse=True):
            step = _step(library, env, operator, told, near, rng)
            if step is not None:
                break
        else:
            break
        call, realised, told = step
        calls.append(call)
        units.append(realised)
        near = candidates.scalars([told, call.arguments]) | outcomes.ids_near(env, [told, call.arguments])
    return calls, units, told


def _step(
    library: Library, env: Environment, operator: Operator, told: Facts, near: dict | None, rng: random.Random
) -> tuple[Call, list[Unit], Facts] | None:
    """A call that the policies allow under some facts, executed; None if none is found."""
    if near is None and operator.parameters:
        listed = candidates.values(library, env, operator.action, next(iter(operator.parameters)), {})
        near = dict.fromkeys(
            value for value in rng.sample(listed, min(TRIED, len(listed))) if isinstance(value, str | int | float)
        )
    for arguments in list(candidates.calls(library, env, operator.action, TRIED, rng, near)):
        _look(library, env, operator, arguments)
        judged = library.judge(env, operator.action, arguments, told)
        if judged.violations or judged.rejections:  # whatever else is told
            continue
        facts = _facts(library, env, operator, arguments, told)
        if facts is None:
            continue
        judged = library.judge(env, operator.action, arguments, facts)
        if judged.violations or judged.rejections or judged.undetermined:
            continue
        if not env.call(operator.action, arguments, operator.requestor).ok:
            continue
        scoped = {name: value for name, value in facts.items() if library.facts[name].scope == "conversation"}
        own = {name: value for name, value in facts.items() if name not in scoped}
        call = Call(name=operator.action, arguments=arguments, requestor=operator.requestor, facts=own)
        return call, sorted(judged.units), told | scoped
    return None


def _look(library: Library, env: Environment, operator: Operator, arguments: dict) -> None:
    """Read what the call is about, where the policy wants that to leave a trace."""
    for reading in library.operators.values():
        names = list(reading.parameters)
        traced = any(guard.effects for guard in reading.guards)
        if reading.kind == "read" and traced and len(names) == 1 and names[0] in arguments:
            env.call(reading.action, {names[0]: arguments[names[0]]}, reading.requestor)


def _facts(library: Library, env: Environment, operator: Operator, arguments: dict, told: Facts) -> Facts | None:
    """Facts of the dialogue under which no policy denies the call, policy by policy; None if a policy denies it whatever is told."""
    facts = dict(told)
    denying = {guard.unit for guard in operator.guards if guard.verdict == "deny"}
    for policy in dict.fromkeys(guard.policy_id for guard in operator.guards):
        sets = outcomes.possible(library, env, operator.action, arguments, {policy}, facts).get(policy, {})
        allowed = [assumed for together, assumed in sets.items() if not any((policy, outcome) in denying for outcome in together)]
        if sets and not allowed:
            return None
        facts |= allowed[0] if allowed else {}
    return facts


def _derived(library: Library, calls: Sequence[Call], units: Sequence[Sequence[Unit]], number: int) -> Blueprint:
    """The blueprint of a trajectory, backward: every call is a step that exercises what it did."""
    entities: dict[str, str] = {}
    steps = []
    for call, realised in zip(calls, units, strict=True):
        subject = repr(candidates.entity(library.operators[call.name], call.arguments))
        entity = entities.setdefault(subject, chr(ord("A") + len(entities)))
        steps.append(Step(action=call.name, entity=entity, decision="perform", units=tuple(realised)))
    return Blueprint(
        domain=library.domain,
        parent=None,
        depth=len(steps),
        kernels=(),
        interactions=(),
        goal="; ".join(f"{step.action.replace('_', ' ')} for {step.entity}" for step in steps),
        steps=tuple(steps),
        serial=number,
    )
