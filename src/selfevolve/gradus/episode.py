"""One call of an episode, taken by hand: what it exercises and breaks, what the environment answers, what it changes.

Paper: Gradus section 2.1 (executable transitions) and A.7 (a trace of calls and the guards each of them meets).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from selfevolve.environments import Environment, Observation
from selfevolve.gradus.candidates import Arguments, plain
from selfevolve.gradus.differences import ABSENT, Change, changes, view
from selfevolve.gradus.operators import Judgement, Library


class Step(NamedTuple):
    """One executed call.

    `judgement` and `branches` are of the state before it: one row per branch that holds or that a fact decides (policy_id,
    outcome, verdict, enforced_by, holds, text). `changes`: one row per place that differs after it (place, before, after).
    """

    judgement: Judgement
    branches: pl.DataFrame
    observation: Observation
    changes: pl.DataFrame


def step(library: Library, env: Environment, action: str, arguments: Arguments, facts: Mapping[str, Any] | None = None) -> Step:
    """Judge a call in the current state of `env`, then execute it as its operator's requestor.

    Raises:
        UnknownAction: if the library has no operator for the action.
        ValueError: for a fact that the library does not declare.
    """
    judgement = library.judge(env, action, arguments, facts)
    before = view(env.state)
    observation = env.call(action, arguments, library.operators[action].requestor)
    return Step(judgement, branches(library, action, judgement), observation, table(changes(before, env.state)))


def branches(library: Library, action: str, judgement: Judgement) -> pl.DataFrame:
    """The branches of a judgement in words; see `Step`."""
    needed = {(policy, outcome): facts for policy, outcome, facts in judgement.undetermined}
    rows = []
    for guard in library.operators[action].guards:
        if guard.unit in judgement.units or guard.unit in needed:
            holds = "yes" if guard.unit in judgement.units else f"depends on {', '.join(needed[guard.unit])}"
            rows.append((*guard.unit, guard.verdict, guard.enforced_by, holds, guard.text))
    names = ("policy_id", "outcome", "verdict", "enforced_by", "holds", "text")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def table(changed: list[Change]) -> pl.DataFrame:
    """Changes as text: place (`reservations.ZFA04Y.cabin`), before, after; "" where there is nothing."""
    rows = [(".".join(map(str, change.place)), _text(change.before), _text(change.after)) for change in changed]
    return pl.DataFrame(rows, schema=dict.fromkeys(("place", "before", "after"), pl.String), orient="row")


def _text(value: Any) -> str:
    return "" if value is ABSENT else str(plain(value))
