"""Guarded operators: libraries of actions with the conditions and outcomes of every policy, loaded and compiled once.

Paper: Gradus 2.2 (operators g(a) = {r => q}) and A.7 (the airline's cancellation). `load(domain).judge(env, action, arguments,
facts)` says which (policy, outcome) units a call exercises in the environment's current state, which policies it breaks, and
which it cannot decide without a dialogue fact. The file's format is in `records`, the language of conditions in `expressions`.

Deviation: the paper's operators are written for a model to read; these are executable too, and cite the policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol

from selfevolve import paths
from selfevolve.gradus.expressions import Context, Definition, Expression, ExpressionError, Let, Scope, define
from selfevolve.gradus.judgement import Judgement, Undetermined, Unit, judged
from selfevolve.gradus.records import (
    Conduct,
    Fact,
    GuardRecord,
    LibraryError,
    LibraryRecord,
    NotOperational,
    OperatorRecord,
    Problem,
    Settable,
    Situation,
    conduct_problems,
    read,
)

__all__ = [
    "Choice", "Conduct", "Effect", "Guard", "Judgement", "Library", "LibraryError", "Operator", "Parameter", "Problem", "Situation",
    "Undetermined", "Unit", "UnknownAction", "load", "load_file",
]  # fmt: skip


class State(Protocol):
    """What a judgement reads of an environment."""

    @property
    def state(self) -> Mapping[str, Any]: ...
    @property
    def initial(self) -> Mapping[str, Any]: ...
    @property
    def now(self) -> str | None: ...


class UnknownAction(KeyError):
    """An action no operator describes."""

    def __str__(self) -> str:
        return self.args[0]


@dataclass(frozen=True)
class Effect:
    """A change of the state. `path.path` is its schema path; `value`, over the state before the call, None if not simple."""

    path: Expression
    value: Expression | None


@dataclass(frozen=True)
class Parameter:
    """A parameter of an action; `values` gives candidate values, over the state and the parameters before it."""

    name: str
    values: Expression
    text: str


@dataclass(frozen=True)
class Guard:
    """One branch of a policy; the fields of `records.GuardRecord`, compiled. `expression` is None where `when` is."""

    policy_id: str
    outcome: str
    verdict: Literal["allow", "deny"]
    text: str
    when: str | None
    expression: Expression | None
    effects: tuple[Effect, ...]
    enforced_by: Literal["api", "policy"]
    cites: tuple[str, ...]
    unreachable: str | None
    unit: Unit


@dataclass(frozen=True)
class Operator:
    """One action: `parameters` and `let` in the file's order, and its guards."""

    action: str
    kind: Literal["read", "write", "other"]
    requestor: Literal["assistant", "user"]
    description: str
    parameters: Mapping[str, Parameter]
    let: Mapping[str, Expression]
    guards: tuple[Guard, ...]


@dataclass(frozen=True)
class Choice:
    """A `records.Settable`, compiled: `arguments` gives candidate values for each argument of the init action, over the base state."""

    env_type: Literal["assistant", "user"]
    func_name: str
    entity: str
    arguments: Mapping[str, Expression]


@dataclass(frozen=True, eq=False)
class Library:
    """The operators of one domain, by action. Two libraries are equal if they are the same object."""

    domain: str
    path: Path
    state: tuple[str, ...]
    facts: Mapping[str, Fact]
    definitions: Mapping[str, Definition]
    situations: tuple[Situation, ...]
    not_operational: tuple[NotOperational, ...]
    operators: Mapping[str, Operator]
    settable: tuple[Choice, ...] = ()
    conduct: Conduct = Conduct()

    def judge(self, env: State, action: str, arguments: Mapping[str, Any], facts: Mapping[str, Any] | None = None) -> Judgement:
        """Judge a call in the environment's current state, without executing it.

        Args: `facts`, what the dialogue told; a fact left out, or None, is unknown.
        Raises: UnknownAction (a KeyError); ValueError for a fact the library does not declare, or a value it cannot have;
        EvaluationError for a guard that takes too much work.
        """
        context = self.context(env, action, arguments, facts)
        return judged(self.operators[action], context)

    def context(self, env: State, action: str, arguments: Mapping[str, Any], facts: Mapping[str, Any] | None = None) -> Context:
        """What the action's expressions are evaluated in: `expression.evaluate(context)`. Good until the state changes.

        Raises UnknownAction and ValueError as `judge` does.
        """
        operator = self.operators.get(action)
        if operator is None:
            raise UnknownAction(f"{self.domain} has no operator for {action!r}; it has {', '.join(sorted(self.operators))}")
        told = {name: value for name, value in (facts or {}).items() if value is not None}
        for name, value in told.items():
            self._check_fact(name, value)
        return Context(env.state, env.initial, env.now, arguments, told, len(operator.let))

    def _check_fact(self, name: str, value: Any) -> None:
        fact = self.facts.get(name)
        if fact is None:
            raise ValueError(f"{self.domain} has no fact {name!r}; it has {', '.join(sorted(self.facts)) or 'none'}")
        if not fact.accepts(value):
            wanted = f"one of {', '.join(map(repr, fact.values))}" if fact.values else f"a value of type {fact.type}"
            raise ValueError(f"the fact {name!r} of {self.domain} is {wanted}, not {value!r}")


def load(domain: str) -> Library:
    """The library of a domain, such as "tau2/airline". Raises FileNotFoundError or LibraryError, each saying what to do."""
    path = paths.DATA / "operators" / f"{domain.replace('/', '-')}.yaml"
    if not path.is_file():
        there = ", ".join(sorted(file.stem for file in path.parent.glob("*.yaml"))) or "none"
        raise FileNotFoundError(f"{path} is missing (libraries there: {there}); `dvc pull data.dvc` restores data/")
    library = load_file(path)
    if library.domain != domain:
        raise LibraryError(path, [Problem(field="domain", reason=f"is {library.domain!r}, but the file is that of {domain!r}")])
    return library


def load_file(path: Path | str) -> Library:
    """The library in a file. Raises FileNotFoundError, or LibraryError with every problem found."""
    path = Path(path)
    record = read(path)
    build = _Build(record)
    operators, settable = build.operators(), build.settable()
    build.problems += conduct_problems(record)
    if build.problems:
        raise LibraryError(path, build.problems)
    return Library(
        domain=record.domain,
        path=path,
        state=record.state,
        facts=MappingProxyType(record.facts),
        definitions=MappingProxyType(dict(build.scope.definitions)),
        situations=record.situations,
        not_operational=record.not_operational,
        operators=MappingProxyType(operators),
        settable=settable,
        conduct=record.conduct,
    )


class _Build:
    """Compiles a record; collects the problems of all its expressions."""

    def __init__(self, record: LibraryRecord):
        self.record, self.problems = record, list[Problem]()
        self.scope = Scope(frozenset(record.state), frozenset(record.facts))
        for name in record.state:
            if name in ("facts", "initial", "state", "now"):
                self.problems.append(Problem(field="state", reason=f"{name!r} has a meaning of its own in expressions"))
        for head, body in record.definitions.items():
            try:
                definition = define(head, body, self.scope)
            except ExpressionError as error:
                self._report(error, field=f"definitions.{head}")
            else:
                self.scope = replace(self.scope, definitions={**self.scope.definitions, definition.name: definition})

    def operators(self) -> dict[str, Operator]:
        """All operators by action."""
        built: dict[str, Operator] = {}
        for record in self.record.operators:
            if record.action in built:
                self.problems.append(Problem(operator=record.action, field="action", reason="has an operator already"))
            built[record.action] = self._operator(record)
        return built

    def settable(self) -> tuple[Choice, ...]:
        """The init actions whose arguments a task may choose."""
        return tuple(self._choice(number, record) for number, record in enumerate(self.record.settable))

    def _choice(self, number: int, record: Settable) -> Choice:
        place = f"settable.{number}.arguments"
        arguments = {name: self._compile(text, self.scope, field=f"{place}.{name}") for name, text in record.arguments.items()}
        return Choice(record.env_type, record.func_name, record.entity, MappingProxyType(arguments))

    def _report(self, error: ExpressionError, **place: str | None) -> None:
        self.problems.append(Problem(line=error.line, column=error.column, reason=error.reason, **place))

    def _compile(self, text: str, scope: Scope, **place: str | None) -> Expression:
        """The expression, or a stand-in when there is a problem with it."""
        try:
            return Expression(text, scope)
        except ExpressionError as error:
            self._report(error, **place)
            return Expression("None", scope)

    def _operator(self, record: OperatorRecord) -> Operator:
        names, action = tuple(record.parameters), record.action
        scope = replace(self.scope, parameters=names)
        for index, (name, text) in enumerate(record.let.items()):
            if name in {*names, *scope.tables, "facts", "initial", "state", "now"}:
                reason = f"would hide another {name!r}: rename it"
                self.problems.append(Problem(operator=action, field=f"let.{name}", reason=reason))
            expression = self._compile(text, scope, operator=action, field=f"let.{name}")
            scope = replace(scope, lets={**scope.lets, name: Let(index, expression)})
        parameters = {}
        for position, (name, parameter) in enumerate(record.parameters.items()):
            place = {"operator": action, "field": f"parameters.{name}.values"}
            values = self._compile(parameter.values, scope, **place)
            if later := sorted(values.arguments & set(names[position:])):
                reason = f"depends on {later[0]!r}, which is not before {name!r} in the list of parameters"
                self.problems.append(Problem(reason=reason, **place))
            parameters[name] = Parameter(name, values, parameter.text)
        return Operator(
            action=action,
            kind=record.kind,
            requestor=record.requestor,
            description=record.description,
            parameters=MappingProxyType(parameters),
            let=MappingProxyType({name: let.expression for name, let in scope.lets.items()}),
            guards=tuple(self._guards(record.guards, scope, action)),
        )

    def _guards(self, records: Iterable[GuardRecord], scope: Scope, action: str) -> Iterable[Guard]:
        seen: set[Unit] = set()
        for index, record in enumerate(records):
            unit = Unit(record.policy_id, record.outcome)
            place = {"operator": action, "guard": f"{index} ({'/'.join(unit)})"}
            if unit in seen:
                self.problems.append(Problem(reason="the operator has this policy_id and outcome already", **place))
            seen.add(unit)
            when = None if record.when is None else self._compile(record.when, scope, field="when", **place)
            effects = []
            for number, effect in enumerate(record.effects):
                path = self._compile(effect.path, scope, field=f"effects.{number}.path", **place)
                if path.path is None and path.text == effect.path:
                    reason = "an effect changes one place of the state: a chain from a let name or a table, such as order.status"
                    self.problems.append(Problem(field=f"effects.{number}.path", reason=reason, **place))
                value = effect.value and self._compile(effect.value, scope, field=f"effects.{number}.value", **place)
                effects.append(Effect(path, value))
            fields = {**dict(record), "effects": tuple(effects)}
            yield Guard(expression=when, unit=unit, **fields)
