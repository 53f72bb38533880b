"""Probes of the grounding role (Gradus 2.4): it looks at a private copy of the environment and tries calls on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from selfevolve.environments.protocol import Environment
from selfevolve.gradus.candidates import plain
from selfevolve.gradus.differences import ABSENT, value_at
from selfevolve.gradus.llm import forms, wording
from selfevolve.gradus.llm.forms import object_of
from selfevolve.gradus.operators import Library, UnknownAction
from selfevolve.gradus.values import EvaluationError

SHOWN = 3_000  # characters of one result
KEYS = 60  # of a large table


def run(probe: forms.Probe, library: Library, env: Environment) -> str:
    """What a probe shows, errors included; at most `SHOWN` characters."""
    try:
        text = _run(probe, library, env)
    except (ValueError, UnknownAction, EvaluationError) as error:
        text = f"Error: {error}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text):,} characters: look deeper)"


def init_actions(actions: Sequence[forms.InitAction]) -> tuple[dict[str, Any], ...]:
    """Init actions as `Environment.reset` takes them. Raises ValueError."""
    return tuple(
        {
            "env_type": action.env_type,
            "func_name": action.func_name,
            "arguments": object_of(action.arguments, f"arguments of {action.func_name}"),
        }
        for action in actions
    )


def _run(probe: forms.Probe, library: Library, env: Environment) -> str:
    match probe:
        case forms.Look():
            return _look(env, probe.path)
        case forms.Try():
            return env.call(probe.name, object_of(probe.arguments, "arguments"), probe.requestor).text
        case forms.Restart():
            env.reset(init_actions(probe.init_actions))
            return "at the beginning again"
        case forms.Judge():
            arguments, facts = object_of(probe.arguments, "arguments"), object_of(probe.facts, "facts")
            found = library.judge(env, probe.name, arguments, facts)
            return wording.compact(
                {
                    "meets": sorted(map(wording.unit_name, found.units)),
                    "breaks": found.violations,
                    "tool refuses because of": found.rejections,
                    "depends on facts": {wording.unit_name(each[:2]): each.facts for each in found.undetermined},
                }
            )


def _look(env: Environment, path: Sequence[str]) -> str:
    value: Any = env.state
    if path:
        place: tuple[Any, ...] = ()
        for key in path:
            here = value_at(env.state, (*place, key))
            if here is ABSENT and key.isdecimal():
                here, key = value_at(env.state, (*place, int(key))), int(key)
            if here is ABSENT:
                return f"Error: nothing is at {list(path)}: {key!r} is not there"
            place, value = (*place, key), here
    if isinstance(value, Mapping) and (len(value) > KEYS or not path):
        keys = list(map(str, value))
        return wording.compact({"keys": keys[:KEYS], "of": len(keys)})
    return wording.compact(plain(value))
