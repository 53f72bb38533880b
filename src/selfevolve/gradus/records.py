"""The file of an operator library: YAML to frozen records, everything checked that needs no expression compiled.

Paper: Gradus 2.2 (g(a) = {r => q}, with citations of the policy) and A.7 (the artifact: parameters, precondition, effects).

Deviations: the paper's precondition, postcondition and ambiguity texts are one list of guards here, each one branch with its
own condition, effects and enforcer, so that coverage of (policy, outcome) pairs can be measured by code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

Text = Annotated[str, StringConstraints(pattern=r"\S")]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
FactType = Literal["string", "boolean", "integer", "number", "array"]

PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list, tuple),
}


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Fact(_Record):
    """Something only the dialogue tells. `values`: the ones it can have, where these are few.

    `scope`: told for one call, or once and the same for the whole conversation. `source`: who makes it so: the user says it, the
    agent's own look-ups do (true once it has read what a call is about), or its requests (true while one is open).
    """

    type: FactType
    values: tuple[str | int | float | bool, ...] | None = Field(default=None, min_length=1)
    scope: Literal["call", "conversation"] = "call"
    source: Literal["user", "reads", "requests"] = "user"
    text: Text

    @model_validator(mode="after")
    def _typed(self) -> Fact:
        if self.source != "user" and self.type != "boolean":
            raise ValueError(f"source {self.source} makes a boolean so, and this is of type {self.type}")
        wrong = [value for value in self.values or () if type(value) not in PYTHON_TYPES[self.type]]
        if wrong:
            raise ValueError(
                f"value {wrong[0]!r} is no {self.type} (YAML reads unquoted yes, no, on, off as booleans: quote them)"
            )
        return self

    def accepts(self, value: Any) -> bool:
        """Whether the fact can have this value."""
        return type(value) in PYTHON_TYPES[self.type] and (self.values is None or value in self.values)


class NotOperational(_Record):
    """A sentence of the policy that no guard can carry, and why."""

    sentence: Text
    why: Text


class EffectRecord(_Record):
    """A change of the state: the place, and its new value as an expression over the state before the call, if that is simple."""

    path: Text
    value: Text | None = None


class ParameterRecord(_Record):
    """A parameter: an expression for a list of candidate values, and what it is."""

    values: Text
    text: Text


class GuardRecord(_Record):
    """One branch of a policy: r => q."""

    policy_id: Text
    outcome: Text
    verdict: Literal["allow", "deny"]
    text: Text
    when: Text | None = None
    effects: tuple[EffectRecord, ...] = ()
    enforced_by: Literal["api", "policy"]
    cites: tuple[Text, ...] = ()
    unreachable: Text | None = None

    @model_validator(mode="after")
    def _complete(self) -> GuardRecord:
        if not self.cites and self.enforced_by == "policy":
            raise ValueError("cites is empty: a guard enforced by the policy quotes it")
        if self.effects and self.when is None:
            raise ValueError("effects without `when`: nothing decides whether they happen")
        return self


class InitAction(_Record):
    """One init action of an environment, as in the official task files."""

    env_type: Literal["assistant", "user"]
    func_name: Text
    arguments: dict[str, Any] = {}


class Situation(_Record):
    """A start besides the base state, for branches that no few calls reach from there: `actions` for `env.reset`."""

    name: Name
    text: Text
    actions: tuple[InitAction, ...] = Field(min_length=1)


class Settable(_Record):
    """An init action whose arguments a task may choose, for what one record is at the start. `entity`: the argument that says which
    record; `arguments`: an expression over the base state for the candidate values of each."""

    env_type: Literal["assistant", "user"] = "assistant"
    func_name: Text
    entity: Name
    arguments: dict[Name, Text]

    @model_validator(mode="after")
    def _named(self) -> Settable:
        if self.entity not in self.arguments:
            raise ValueError(f"entity {self.entity!r} is none of the arguments {sorted(self.arguments)}")
        return self


class Refused(_Record):
    """The tool by which the agent records that it refuses a request, and the facts of that call that are about the request."""

    action: Name
    facts: dict[Name, Literal["action"]] = {}


class Identified(_Record):
    """A look-up by which the agent finds out who the user is: the facts that hold once it has succeeded. `result`: the one whose value
    is what the tool answers, or the field of that name in its answer."""

    action: Name
    result: Name
    facts: dict[Name, str | int | float | bool] = {}


class Conduct(_Record):
    """What the agent does of its own accord, besides what the user asks for.

    `enabling`: actions it may take unasked to make a request possible. `refused`: how it records a refusal. `finished`: the tool that
    ends its turn. `identified`: how it finds out who the user is.
    """

    enabling: tuple[Name, ...] = ()
    refused: Refused | None = None
    finished: Name | None = None
    identified: tuple[Identified, ...] = ()

    @property
    def actions(self) -> frozenset[str]:
        """Those that no user asks for: the refusal, and the end of a turn."""
        return frozenset(filter(None, (self.refused and self.refused.action, self.finished)))


class OperatorRecord(_Record):
    """One action with its guards."""

    action: Name
    kind: Literal["read", "write", "other"]
    requestor: Literal["assistant", "user"] = "assistant"
    description: Text
    parameters: dict[Name, ParameterRecord] = {}
    let: dict[Name, Text] = {}
    guards: tuple[GuardRecord, ...] = Field(min_length=1)


class LibraryRecord(_Record):
    """A whole file. `state`: the top-level names of the environment's state, which expressions may use."""

    domain: Text
    state: tuple[Name, ...] = Field(min_length=1)
    facts: dict[Name, Fact] = {}
    definitions: dict[Text, Text] = {}
    situations: tuple[Situation, ...] = ()
    settable: tuple[Settable, ...] = ()
    conduct: Conduct = Conduct()
    not_operational: tuple[NotOperational, ...] = ()
    operators: tuple[OperatorRecord, ...] = Field(min_length=1)


class Problem(BaseModel):
    """One thing wrong with a library: where (`line` and `column` are within the expression, or the YAML file), and why."""

    model_config = ConfigDict(frozen=True)

    operator: str | None = None
    guard: str | None = Field(default=None, description="'3 (policy_id/outcome)', counted from 0")
    field: str | None = None
    line: int | None = None
    column: int | None = None
    reason: str

    def __str__(self) -> str:
        place = [
            f"operator {self.operator}" if self.operator else "",
            f"guard {self.guard}" if self.guard else "",
            self.field or "",
        ]
        place += [f"{self.line}:{self.column}"] if self.line else []
        return ": ".join([*filter(None, place), self.reason])


class LibraryError(ValueError):
    """A library that cannot be used: `path`, and `problems`, each naming operator, guard, field, position and reason."""

    def __init__(self, path: Path, problems: list[Problem]):
        super().__init__("\n".join(f"{path}: {problem}" for problem in problems))
        self.path, self.problems = path, tuple(problems)


def read(path: Path) -> LibraryRecord:
    """The record of a library file. Raises FileNotFoundError or LibraryError."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeys)
        return LibraryRecord.model_validate(content)
    except UnicodeDecodeError as error:
        raise LibraryError(path, [Problem(reason=f"not UTF-8: {error.reason}")]) from None
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = {"line": mark.line + 1, "column": mark.column + 1} if mark else {}
        raise LibraryError(path, [Problem(reason=f"not YAML: {getattr(error, 'problem', None) or error}", **place)]) from None
    except ValidationError as error:
        raise LibraryError(path, [_problem(each, content) for each in error.errors()]) from None


def conduct_problems(record: LibraryRecord) -> list[Problem]:
    """The actions and facts in the conduct that the library does not have."""
    conduct, actions = record.conduct, {operator.action for operator in record.operators}
    named: list[tuple[str, str, dict[str, Any]]] = [("enabling", action, {}) for action in conduct.enabling]
    named += [("refused", conduct.refused.action, dict.fromkeys(conduct.refused.facts))] if conduct.refused else []
    named += [("finished", conduct.finished, {})] if conduct.finished else []
    named += [("identified", each.action, {each.result: None, **each.facts}) for each in conduct.identified]
    reasons = []
    for field, action, facts in named:
        reasons += [(field, f"no operator for {action!r}")] if action not in actions else []
        for name, value in facts.items():
            fact = record.facts.get(name)
            if fact is None:
                reasons.append((field, f"no fact {name!r}"))
            elif value is not None and not fact.accepts(value):
                reasons.append((field, f"the fact {name!r} cannot be {value!r}"))
    return [Problem(field=f"conduct.{field}", reason=reason) for field, reason in reasons]


class _UniqueKeys(yaml.SafeLoader):
    """YAML without repeated keys, which PyYAML would let pass, the last one winning."""


def _mapping(loader: _UniqueKeys, node: yaml.MappingNode) -> dict:
    seen: set[str] = set()
    for key, _ in node.value:
        if key.value in seen and isinstance(key, yaml.ScalarNode):
            raise yaml.constructor.ConstructorError(None, None, f"repeated key {key.value!r}", key.start_mark)
        seen.add(key.value if isinstance(key, yaml.ScalarNode) else "")
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


_UniqueKeys.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def _problem(error: Any, content: Any) -> Problem:
    """A pydantic error, its numbers replaced by the action and the policy they stand for."""
    place, operator, guard = list(error["loc"]), None, None
    if len(place) > 1 and place[0] == "operators" and isinstance(place[1], int):
        record = content["operators"][place[1]]
        operator = record.get("action", place[1]) if isinstance(record, dict) else place[1]
        place = place[2:]
        if len(place) > 1 and place[0] == "guards" and isinstance(place[1], int):
            branch = record["guards"][place[1]]
            names = [str(branch.get(key, "?")) for key in ("policy_id", "outcome")] if isinstance(branch, dict) else []
            guard, place = f"{place[1]} ({'/'.join(names)})", place[2:]
    reason = {"extra_forbidden": "unknown field", "missing": "required field"}.get(error["type"])
    reason = reason or error["msg"].removeprefix("Value error, ") + f", not {_short(error['input'])}"
    return Problem(
        operator=None if operator is None else str(operator), guard=guard, field=".".join(map(str, place)) or None, reason=reason
    )


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
