"""Records in words, for prompts: the operator catalog, scenarios, calls, conversations, evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from selfevolve.environments.protocol import Environment
from selfevolve.gradus.blueprints import Blueprint, Call
from selfevolve.gradus.judgement import Branch, Unit
from selfevolve.gradus.operators import Choice, Guard, Library, Operator
from selfevolve.gradus.records import Fact, Situation
from selfevolve.gradus.roles import Evidence
from selfevolve.gradus.tasks import Event, Task

_BRANCH = re.compile(r"([^\s:]+): ([^\s/]+)/(\S+)")


def unit_name(unit: Unit) -> str:
    return f"{unit[0]}/{unit[1]}"


def measured(operator: Operator) -> list[Guard]:
    """The branches that execution can meet: with a condition, and reachable."""
    return [guard for guard in operator.guards if guard.expression is not None and guard.unreachable is None]


def catalog(library: Library) -> str:
    """The operators as a model reads them: every reachable branch in words, and what the actions change."""
    title = (
        "The environment's actions, with the branches of every rule (allow: the agent may go on; deny: the agent must not, or the tool "
        "refuses), and their effects:"
    )
    return "\n\n".join([title, *map(_operator, library.operators.values())])


def _operator(operator: Operator) -> str:
    who = "" if operator.requestor == "assistant" else ", the user's own"
    parameters = "; ".join(f"{parameter.name}: {parameter.text}" for parameter in operator.parameters.values())
    lines = [f"{operator.action} ({operator.kind}{who}): {operator.description}"]
    lines += [f"  parameters: {parameters}"] if parameters else []
    for guard in operator.guards:
        if guard.unreachable is not None:
            continue
        verdict = "deny, the tool refuses" if guard.verdict == "deny" and guard.enforced_by == "api" else guard.verdict
        name = unit_name(guard.unit) if guard.expression is not None else "(no unit, always to be minded)"
        effects = "; ".join(f"{effect.path.text} := {effect.value.text if effect.value else '...'}" for effect in guard.effects)
        lines.append(f"  {name} [{verdict}] {guard.text}" + (f" => {effects}" if effects else ""))
    return "\n".join(lines)


def artifacts(library: Library, env: Environment) -> str:
    """What the ablation without guarded operators (Table 2, A.6) shows instead of the catalog: policy, tools and state schema.

    The names of branches remain, without their conditions: a scenario has to name what it intends, or coverage could not be measured.
    """
    names = "\n".join(
        f"  {operator.action}: {', '.join(unit_name(guard.unit) for guard in measured(operator))}"
        for operator in library.operators.values()
    )
    parts = {
        "Policy": env.policy,
        "Tools": tools([*env.tools, *env.user_tools]),
        "State schema": compact(env.state_schema),
        "Branches of the rules, as action: policy_id/outcome (the policy tells when each holds; allow: the agent may go on; deny: the "
        "agent must not, or the tool refuses)": names,
    }
    return "\n\n".join(f"{title}:\n{text}" for title, text in parts.items())


def facts(library: Library) -> str:
    """The dialogue facts of a library, one a line."""

    def one(name: str, fact: Fact) -> str:
        values = " | ".join(map(compact, fact.values)) if fact.values else fact.type
        whole = ", the same for the whole conversation" if fact.scope == "conversation" else ""
        return f"{name} ({values}{whole}): {fact.text}"

    return bullets(one(name, fact) for name, fact in library.facts.items())


def beginnings(library: Library) -> str:
    """What init actions can do: functions with expressions for the arguments that make sense, and situations with all their actions."""

    def function(choice: Choice) -> str:
        arguments = "; ".join(f"{name}: {values.text}" for name, values in choice.arguments.items())
        return f"env_type {choice.env_type}, func_name {choice.func_name}, arguments {arguments}"

    def situation(each: Situation) -> str:
        return f"{each.text}: {compact([action.model_dump() for action in each.actions])}"

    return bullets([*map(function, library.settable), *map(situation, library.situations)])


def tools(schemas: Iterable[Mapping[str, Any]]) -> str:
    """Tools with their parameters, one a line."""
    return bullets(compact(schema["function"]) for schema in schemas)


def branch(found: Branch) -> str:
    return f"{found.action}: {unit_name(found.unit)}"


def branches(found: Iterable[Branch]) -> str:
    return bullets(map(branch, found))


def explained(found: Branch, library: Library) -> str:
    """A branch with its verdict and its condition in words."""
    operator = library.operators.get(found.action)
    for guard in operator.guards if operator else ():
        if guard.unit == found.unit:
            return f"{branch(found)} [{guard.verdict}] {guard.text}"
    return branch(found)


def blueprint(record: Blueprint) -> str:
    """A scenario with its steps."""
    lines = [f"goal: {record.goal}", f"context: {record.context or 'none'}"]
    lines += [f"known: {'; '.join(record.known) or 'nothing'}", f"unknown: {'; '.join(record.unknown) or 'nothing'}"]
    for number, step in enumerate(record.steps):
        after = f", needs the effects of {', '.join(map(str, step.after))}" if step.after else ""
        lines.append(
            f"step {number}: {step.decision} {step.action} on {step.entity}{after}: {', '.join(map(unit_name, step.units))}"
        )
    return "\n".join(lines)


def call(record: Call) -> str:
    who = "" if record.requestor == "assistant" else "user: "
    known = f"  [{compact(record.facts)}]" if record.facts else ""
    return f"{who}{record.name}({compact(record.arguments)}){known}"


def reference(task: Task) -> str:
    """The calls of a task and the refused ones."""
    lines = [call(each) for each in task.reference]
    lines += [f"must not be executed (forbidden at the {each.when}): {call(each.call)}" for each in task.refusals]
    return bullets(lines)


def conversation(events: Sequence[Event]) -> str:
    """A conversation with its calls, one event a line."""
    lines = []
    for event in events:
        if event.kind == "call" and event.call is not None:
            lines.append(
                f"{event.call.requestor} calls {event.call.name}({compact(event.call.arguments)}) -> {event.observation}"
            )
        else:
            lines.append(f"{event.kind}: {event.text}")
    return "\n".join(lines) or "(nothing was said)"


def evidence(record: Evidence, library: Library) -> str:
    """What code found out, in words."""
    same = record.reference_hash == record.demonstration_hash
    found = {
        "violations of the policy": [_violation(each, library) for each in record.violations],
        "intended outcomes that did not happen": [explained(each, library) for each in record.missing],
        "differences between the states": record.differences,
        "what is wrong with the proposed solution": record.errors,
    }
    lines = [f"The proposed solution and the agent's calls lead to {'the same state' if same else 'different states'}."]
    for title, items in found.items():
        lines.append(f"{title}: none" if not items else f"{title}:\n{bullets(items)}")
    return "\n".join(lines)


def _violation(text: str, library: Library) -> str:
    """A line that names a branch, `action: policy_id/outcome`, with its condition; another one as it is."""
    named = _BRANCH.fullmatch(text)
    return explained(Branch(*named.groups()), library) if named else text


def bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) or "- none"


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
