"""What a library must agree with and can be read off without executing anything: tools, state schema, policy text.

Paper: Gradus section 2.2 and appendix A.7 (an operator names its tool, parameters, state paths and sources).
"""

from __future__ import annotations

from collections.abc import Iterator

from selfevolve.environments import Environment
from selfevolve.gradus import schema
from selfevolve.gradus.expressions import Expression
from selfevolve.gradus.operators import Library, Operator
from selfevolve.gradus.problems import Problem, at
from selfevolve.gradus.sentences import Sentences


def check(library: Library, env: Environment) -> list[Problem]:
    """All problems that can be seen without a call. Order: domain, tools, then operator by operator, then the policy text."""
    problems = []
    if library.domain != env.name:
        reason = f"the library is of {library.domain!r}, the environment is {env.name!r}: set `domain: {env.name}`"
        problems.append(Problem(kind="domain", field="domain", reason=reason))
    problems += _state(library, env)
    problems += _tools(library, env)
    for operator in library.operators.values():
        problems += _paths(operator, env)
        problems += _api_facts(operator)
    problems += _policy(library, env)
    return problems


def _state(library: Library, env: Environment) -> Iterator[Problem]:
    names = env.state_schema.get("properties", {})
    for name in library.state:
        if name not in names:
            reason = f"the state has no {name!r}; it has {', '.join(names)}"
            yield Problem(kind="path", field="state", reason=reason)


def _tools(library: Library, env: Environment) -> Iterator[Problem]:
    schemas = {}
    for requestor, tools in (("assistant", env.tools), ("user", env.user_tools)):
        for tool in tools:
            name = tool["function"]["name"]
            schemas[name] = (requestor, tool["function"]["parameters"])
            if name not in library.operators:
                reason = f"the {requestor}'s tool has no operator: add one with `action: {name}`, also if no rule concerns it"
                yield Problem(kind="tool", operator=name, field="action", reason=reason)
    for action, operator in library.operators.items():
        if action not in schemas:
            reason = f"there is no such tool; the tools are {', '.join(sorted(schemas))}"
            yield Problem(kind="tool", operator=action, field="action", reason=reason)
            continue
        requestor, parameters = schemas[action]
        if operator.requestor != requestor:
            yield Problem(kind="tool", operator=action, field="requestor", reason=f"it is a tool of the {requestor}")
        known = parameters.get("properties", {})
        for name in known:
            if name not in operator.parameters:
                reason = "the tool has this parameter: add it, with `values` that list candidates for it"
                yield Problem(kind="parameter", operator=action, field=f"parameters.{name}", reason=reason)
        for name in operator.parameters:
            if name not in known:
                reason = f"the tool has no such parameter; it has {', '.join(known) or 'none'}"
                yield Problem(kind="parameter", operator=action, field=f"parameters.{name}", reason=reason)


def _paths(operator: Operator, env: Environment) -> Iterator[Problem]:
    for name, parameter in operator.parameters.items():
        for reason in _faults(parameter.values, env):
            yield Problem(kind="path", operator=operator.action, field=f"parameters.{name}.values", reason=reason)
    in_lets: set[str] = set()  # a fault of a let is reported once, not again in every guard that uses it
    for name, expression in operator.let.items():
        faults = [reason for reason in _faults(expression, env) if reason not in in_lets]
        in_lets.update(faults)
        for reason in faults:
            yield Problem(kind="path", operator=operator.action, field=f"let.{name}", reason=reason)
    for guard in operator.guards:
        parts = [] if guard.expression is None else [("when", guard.expression)]
        for number, effect in enumerate(guard.effects):
            parts.append((f"effects.{number}.path", effect.path))
            parts += [] if effect.value is None else [(f"effects.{number}.value", effect.value)]
        for field, expression in parts:
            for reason in _faults(expression, env):
                if reason not in in_lets:
                    yield Problem(kind="path", reason=reason, **at(guard, operator.action, field))


def _faults(expression: Expression, env: Environment) -> list[str]:
    faults = []
    for path in sorted({path.removeprefix("initial.") for path in expression.reads}):
        reason = schema.fault(env.state_schema, path)
        # The analysis does not know numbers from lists: of `a.due + b.due` it says that elements of both are read.
        if reason and not (path.endswith(".*") and schema.fault(env.state_schema, path[:-2]) is None):
            faults.append(reason)
    return faults


def _api_facts(operator: Operator) -> Iterator[Problem]:
    for guard in operator.guards:
        if guard.enforced_by == "api" and guard.verdict == "deny" and guard.expression is not None and guard.expression.facts:
            names = ", ".join(sorted(guard.expression.facts))
            reason = (
                f"the tool cannot know the dialogue ({names}): use enforced_by: policy, or a condition over state and arguments"
            )
            yield Problem(kind="enforcement", reason=reason, **at(guard, operator.action, "when"))


def _policy(library: Library, env: Environment) -> Iterator[Problem]:
    sentences = Sentences(env.policy)
    advice = "copy the words exactly as the policy has them (white space, list markers and emphasis do not matter)"
    quotes = []
    for action, operator in library.operators.items():
        for guard in operator.guards:
            for number, quote in enumerate(guard.cites):
                quotes.append(quote)
                if not sentences.places(quote):
                    reason = f"{quote!r} is not in the policy: {advice}"
                    yield Problem(kind="quote", reason=reason, **at(guard, action, f"cites.{number}"))
    for number, entry in enumerate(library.not_operational):
        quotes.append(entry.sentence)
        if not sentences.places(entry.sentence):
            reason = f"{entry.sentence!r} is not in the policy: {advice}"
            yield Problem(kind="quote", field=f"not_operational.{number}.sentence", reason=reason)
    for text in sentences.uncovered(quotes):
        reason = f"{text!r} is neither cited by a guard nor listed under not_operational (with why)"
        yield Problem(kind="sentence", reason=reason)
