"""Replay: run a list of calls from a task's initial state, judging each in the state it meets.

Paper: Gradus 2.4 ("code replays the reference and the demonstrated actions from the same initial state") and A.2. The calls that a task
wants refused are judged too, in the state at the start or at the end, and never executed.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

from selfevolve.environments.protocol import Environment
from selfevolve.gradus.blueprints import Call
from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.operators import Library, UnknownAction
from selfevolve.gradus.tasks import Task
from selfevolve.gradus.values import EvaluationError


@dataclass(frozen=True, slots=True)
class Judged:
    """A call in one state.

    `branches`: what it exercises; `violations`: broken policies that the environment does not enforce, `rejections`: those it enforces, both
    as "action: policy_id/outcome"; `undetermined`: deny branches that depend on facts nobody told; `error`: why it could not be judged.
    """

    branches: frozenset[Branch] = frozenset()
    violations: tuple[str, ...] = ()
    rejections: tuple[str, ...] = ()
    undetermined: tuple[str, ...] = ()
    error: str | None = None

    @property
    def forbidden(self) -> bool:
        return bool(self.violations or self.rejections)


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a list of calls did.

    Hashes are `Environment.state_hash` after `reset` and at the end. `executed`: the branches that each executed call exercised, in order;
    `refused`: the judgements of the task's refusals, in theirs. `violations` and `undetermined` are of executed calls; `errors`, "action: reason", of calls that the
    environment refused or that cannot be judged.
    """

    start_hash: str
    end_hash: str
    executed: tuple[frozenset[Branch], ...]
    refused: tuple[Judged, ...]
    violations: tuple[str, ...]
    errors: tuple[str, ...]
    undetermined: tuple[str, ...]

    @property
    def realised(self) -> frozenset[Branch]:
        """Every branch exercised, by execution or by refusal."""
        return frozenset[Branch]().union(*self.executed, *(judged.branches for judged in self.refused))


def replay(env: Environment, library: Library, task: Task, calls: Iterable[Call]) -> Replayed:
    """Reset `env` as the task begins, then judge and execute the calls. A call that fails changes nothing, and the rest goes on.

    Raises:
        ValueError: an init action of the task cannot be applied.
    """
    env.reset(task.init_actions)
    start = env.state_hash()
    judged = functools.partial(judge, env, library, task)
    refused = {number: judged(refusal.call) for number, refusal in enumerate(task.refusals) if refusal.when == "start"}
    executed, violations, errors, undetermined = [], [], [], []
    for call in calls:
        found = judged(call)
        observation = env.call(call.name, call.arguments, call.requestor)
        if observation.error is not None:
            errors.append(f"{call.name}: {observation.text.removeprefix('Error: ')}")
            continue
        if found.error is not None:
            errors.append(f"{call.name}: {found.error}")
        executed.append(found.branches)
        violations += found.violations
        undetermined += found.undetermined
    refused |= {number: judged(refusal.call) for number, refusal in enumerate(task.refusals) if refusal.when == "end"}
    return Replayed(
        start_hash=start,
        end_hash=env.state_hash(),
        executed=tuple(executed),
        refused=tuple(refused[number] for number in range(len(refused))),
        violations=tuple(violations),
        errors=tuple(errors),
        undetermined=tuple(undetermined),
    )


def judge(env: Environment, library: Library, task: Task, call: Call) -> Judged:
    """Judge one call in the environment's current state, with the facts of the task and of the call."""
    try:
        judgement = library.judge(env, call.name, call.arguments, {**task.facts, **call.facts})
    except (UnknownAction, EvaluationError, ValueError) as error:
        return Judged(error=str(error))
    denials = [guard for guard in library.operators[call.name].guards if guard.verdict == "deny" and guard.expression is not None]
    broken = [guard for guard in denials if guard.unit in judgement.units]
    open_ = {(each.policy_id, each.outcome): ", ".join(each.facts) for each in judgement.undetermined}
    return Judged(
        frozenset(Branch(call.name, *unit) for unit in judgement.units),
        tuple(f"{call.name}: {'/'.join(guard.unit)}" for guard in broken if guard.enforced_by == "policy"),
        tuple(f"{call.name}: {'/'.join(guard.unit)}" for guard in broken if guard.enforced_by == "api"),
        tuple(f"{call.name}: {'/'.join(guard.unit)} ({open_[guard.unit]})" for guard in denials if guard.unit in open_),
    )
