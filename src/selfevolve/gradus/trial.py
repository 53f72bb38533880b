"""One candidate call, executed: does the environment do what the guards say of it?

Paper: Gradus section 2.2 and A.7 (which conditions the API enforces; effects on the state). The paper's extraction states
both; here each statement is put to the test.

What is compared:

* A deny branch with `enforced_by: api` holds: the call fails and nothing changes. None holds: the call succeeds.
* Everything that changes lies at or below the path of an effect of a branch that holds. A branch that only the dialogue
  decides may have effects that happen or not.
* An effect with a value: its place has that value after the call, and so has every other place of that path that changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from selfevolve.environments import Environment, Observation
from selfevolve.gradus.candidates import Arguments
from selfevolve.gradus.context import UNSET, Context
from selfevolve.gradus.differences import ABSENT, Change, changes, value_at, view
from selfevolve.gradus.operators import Effect, Guard, Library, Operator
from selfevolve.gradus.problems import Problem, at, shown
from selfevolve.gradus.values import MISSING, Unknown, equal


class Trial(NamedTuple):
    """What an executed call did. `changes` is what differs from the state before it."""

    observation: Observation
    changes: list[Change]
    problems: list[Problem]


def execute(library: Library, env: Environment, action: str, arguments: Arguments) -> Trial:
    """Execute a call in `env` (whose state it changes) and compare it with the guards of its operator.

    Raises:
        UnknownAction: if the library has no operator for the action.
        EvaluationError: from an expression that takes too much work.
    """
    before = library.context(env, action, arguments)
    operator = library.operators[action]
    sure, possible = _holding(operator, before)
    declared = [(guard, effect, _value(effect, before)) for guard in sure for effect in guard.effects]
    allowed = [effect for guard in (*sure, *possible) for effect in guard.effects]
    lets = _named(operator, before)
    was = view(env.state)
    observation = env.call(action, arguments, operator.requestor)
    changed = changes(was, env.state)
    after = Context(env.state, env.initial, env.now, arguments, {}, len(lets))
    after.lets[:] = lets
    call = shown(action, arguments)
    problems = [
        *_enforcement(operator, sure, observation, changed, call),
        *(_effects(operator, declared, allowed, changed, was, env, after, call) if observation.ok else ()),
    ]
    return Trial(observation, changed, problems)


def _holding(operator: Operator, context: Context) -> tuple[list[Guard], list[Guard]]:
    """The guards that hold whatever the facts, and those that hold under some facts."""
    sure, possible = [], []
    for guard in operator.guards:
        holds = False if guard.expression is None else guard.expression.holds(context)
        if holds is not False:
            (sure if holds is True else possible).append(guard)
    return sure, possible


def _value(effect: Effect, context: Context) -> Any:
    """The declared value, computed before the call; ABSENT if the library gives none that can be computed."""
    value = MISSING if effect.value is None else effect.value.evaluate(context)
    return ABSENT if value is MISSING or isinstance(value, Unknown) else value


def _named(operator: Operator, context: Context) -> list[Any]:
    """The `let` values of the state after the call: texts and numbers stay what they were, since they name places (the id
    of a new record); records are looked up anew."""
    lets: list[Any] = []
    for expression in operator.let.values():
        value = expression.evaluate(context)
        lets.append(value if isinstance(value, str | int | float) else UNSET)
    return lets


def _enforcement(
    operator: Operator, sure: list[Guard], observation: Observation, changed: list[Change], call: str
) -> Iterator[Problem]:
    denied = [guard for guard in sure if guard.verdict == "deny" and guard.enforced_by == "api"]
    # Of a refusal that is described in words only, nothing can be said.
    untold = any(g.expression is None for g in operator.guards if g.verdict == "deny" and g.enforced_by == "api")
    if denied and observation.ok:
        for guard in denied:
            reason = f"it holds for {call}, which the tool carries out: use enforced_by: policy, or correct the condition"
            yield Problem(kind="enforcement", reason=reason, **at(guard, operator.action, "enforced_by"))
    if not observation.ok and changed:
        reason = f"{call} fails ({observation.text}) but changes {changed[0].path}: an environment must not do that"
        yield Problem(kind="environment", operator=operator.action, reason=reason)
    if observation.error == "invalid_arguments" and not denied:
        reason = f"the tool's schema refuses {call}: {observation.text}; let `values` give only arguments that it takes"
        yield Problem(kind="candidates", operator=operator.action, field="parameters", reason=reason)
    elif not observation.ok and not denied and not untold:
        reason = (
            f"the tool refuses {call} ({observation.text}), but no deny branch with enforced_by: api holds: add one whose "
            "condition says when it refuses"
        )
        yield Problem(kind="enforcement", operator=operator.action, field="guards", reason=reason)


def _effects(
    operator: Operator,
    declared: list[tuple[Guard, Effect, Any]],
    allowed: list[Effect],
    changed: list[Change],
    was: dict[str, Any],
    env: Environment,
    after: Context,
    call: str,
) -> Iterator[Problem]:
    action = operator.action
    if operator.kind == "read" and changed and not allowed:
        reason = f"{call} changes {changed[0].path}, so it is no read: use kind: write and declare the effect"
        yield Problem(kind="kind", operator=action, field="kind", reason=reason)
        return
    undeclared = {change.path: change for change in changed if not any(_below(change, effect) for effect in allowed)}
    for path, change in undeclared.items():
        reason = (
            f"{call} changes {path} from {_short(change.before)} to {_short(change.after)}, which no effect of a branch that "
            f"holds declares: add {{path: ..., value: ...}} to the branch that brings it about"
        )
        yield Problem(kind="effect", operator=action, field=f"effects on {path}", reason=reason)
    for guard, effect, value in declared:
        if value is ABSENT:
            continue
        number = guard.effects.index(effect)
        there = effect.path.evaluate(after)
        if there is MISSING or not _same(there, value):
            found = "is not there" if there is MISSING else f"is {_short(there)}"
            reason = (
                f"after {call} it {found}, not {_short(value)}: correct the value (it is computed before the call) or the path"
            )
            yield Problem(kind="effect", reason=reason, **at(guard, action, f"effects.{number}.value"))
            continue
        depth = len((effect.path.path or "").split("."))
        places = {change.place[:depth]: change for change in changed if _below(change, effect)}
        rivals = [other for _, other, _ in declared if other is not effect and other.path.path == effect.path.path]
        for place in places:
            if not rivals and not _same(value_at(env.state, place), value):
                reason = f"{call} also changes {'.'.join(map(str, place))}, to {_short(value_at(env.state, place))}: declare it"
                yield Problem(kind="effect", reason=reason, **at(guard, action, f"effects.{number}.path"))


def _below(change: Change, effect: Effect) -> bool:
    return effect.path.path is not None and change.below(effect.path.path)


def _same(left: Any, right: Any) -> bool:
    return left is not ABSENT and equal(left, right, lambda steps: None)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:97] + "..."
