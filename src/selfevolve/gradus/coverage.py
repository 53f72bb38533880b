"""How much of a library the base database offers: entities that realise each branch, and each combination of outcomes.

Paper: Gradus section 2.3 (the coverage ledger counts (policy, outcome) pairs) and 3.4. The ledger of a corpus counts what
tasks exercise; this counts what there is to exercise, so that an outcome which the data hardly offers is known before.

An entity is a value of an action's first parameter. It realises a branch if some candidate call of it does, under some
dialogue facts. Actions with further parameters are sampled (`per_entity` calls of each entity), so their counts are lower
bounds; those of actions with one parameter are exact.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from selfevolve.environments import Environment
from selfevolve.gradus import candidates, outcomes
from selfevolve.gradus.operators import Library

_SEED = 0


def actions(library: Library) -> pl.DataFrame:
    """A library at a glance: one row per action in the library's order.

    Columns: action, kind, requestor, policies, branches, and how many of these allow, are refused by the API, break the policy
    (the API lets them pass), need the dialogue to decide, and have an effect on the state.
    """
    rows = []
    for operator in library.operators.values():
        guards = operator.guards
        rows.append(
            {
                "action": operator.action,
                "kind": operator.kind,
                "requestor": operator.requestor,
                "policies": len({guard.policy_id for guard in guards}),
                "branches": len(guards),
                "allow": sum(guard.verdict == "allow" for guard in guards),
                "refused": sum(guard.verdict == "deny" and guard.enforced_by == "api" for guard in guards),
                "breach": sum(guard.verdict == "deny" and guard.enforced_by == "policy" for guard in guards),
                "dialogue": sum(guard.expression is None or bool(guard.expression.facts) for guard in guards),
                "effects": sum(bool(guard.effects) for guard in guards),
            }
        )
    return pl.DataFrame(rows)


def table(library: Library, env: Environment, per_entity: int = 1, most: int = 4_000) -> pl.DataFrame:
    """Entities per branch, over candidate calls in the current state of `env` (which stays as it is).

    Args:
        per_entity: candidate calls of each entity.
        most: candidate calls of each action.

    Returns:
        One row per guard in the library's order: action, policy_id, outcome, verdict, enforced_by, text, and entities, how
        many realise it; None where a guard has no condition that code could evaluate.
    """
    rows = []
    for action, operator in library.operators.items():
        realised: dict[tuple[str, str], set[str]] = {}
        for arguments in _calls(library, env, action, per_entity, most):
            key = repr(candidates.entity(operator, arguments))
            for unit in outcomes.units(outcomes.possible(library, env, action, arguments)):
                realised.setdefault(unit, set()).add(key)
        for guard in operator.guards:
            rows.append(
                {
                    "action": action,
                    "policy_id": guard.policy_id,
                    "outcome": guard.outcome,
                    "verdict": guard.verdict,
                    "enforced_by": guard.enforced_by,
                    "text": guard.text,
                    "entities": None if guard.expression is None else len(realised.get(guard.unit, ())),
                }
            )
    schema = dict.fromkeys(("action", "policy_id", "outcome", "verdict", "enforced_by", "text"), pl.String)
    return pl.DataFrame(rows, schema={**schema, "entities": pl.Int64})


def combinations(
    library: Library,
    env: Environment,
    action: str,
    *policy_ids: str,
    facts: Mapping[str, Any] | None = None,
    per_entity: int = 1,
    most: int = 4_000,
) -> pl.DataFrame:
    """Which outcomes of the given policies hold together, and for how many entities.

    Args:
        facts: what the dialogue has told; other facts take every value that matters.

    Returns:
        One row per set of outcomes, the most frequent first: outcomes (list; `policy_id/outcome` if several policies are
        given), entities (some facts realise it), always (whatever the facts, no other set can hold), and one example. An
        entity whose set depends on the facts is counted in each row it can realise, and in no row's `always`.

    Raises:
        ValueError: for a policy that the action does not have.
    """
    operator = library.operators[action]
    known = dict.fromkeys(guard.policy_id for guard in operator.guards if guard.expression is not None)
    for policy in policy_ids:
        if policy not in known:
            raise ValueError(f"{action} has no policy {policy!r} with conditions; it has {', '.join(known)}")
    order = {guard.unit: index for index, guard in enumerate(operator.guards)}
    sets: dict[str, set[tuple[str, ...]]] = {}
    examples: dict[str, Any] = {}
    for arguments in _calls(library, env, action, per_entity, most):
        found = outcomes.possible(library, env, action, arguments, facts=facts)
        together: list[list[tuple[str, str]]] = [[]]
        for policy in policy_ids:
            together = [[*one, *((policy, outcome) for outcome in more)] for one in together for more in found[policy]]
        subject = candidates.entity(operator, arguments)
        examples[repr(subject)] = subject
        for units in together:
            units.sort(key=lambda unit: order[unit])
            names = tuple(outcome if len(policy_ids) == 1 else f"{policy}/{outcome}" for policy, outcome in units)
            sets.setdefault(repr(subject), set()).add(names)
    counted: dict[tuple[str, ...], list[str]] = {}
    for subject, each in sets.items():
        for names in each:
            counted.setdefault(names, []).append(subject)
    rows = [
        {
            "outcomes": list(names),
            "entities": len(subjects),
            "always": sum(len(sets[subject]) == 1 for subject in subjects),
            "example": str(examples[min(subjects)]),
        }
        for names, subjects in sorted(counted.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    schema = {"outcomes": pl.List(pl.String), "entities": pl.Int64, "always": pl.Int64, "example": pl.String}
    return pl.DataFrame(rows, schema=schema)


def _calls(library: Library, env: Environment, action: str, per_entity: int, most: int) -> Iterator[dict[str, Any]]:
    """The candidates of an action; one per entity is all there is where the entity is the only argument."""
    operator = library.operators[action]
    count = 1
    if operator.parameters:
        count = len(candidates.values(library, env, action, next(iter(operator.parameters)), {}))
    yield from candidates.calls(library, env, action, min(most, count * per_entity), random.Random(_SEED))
