"""Which action enables or disables which branch of another: the edges along which blueprints are composed.

Paper: Gradus section 2.2 ("how an action's effects can establish or invalidate another action's conditions") and the causal
kernel of 2.3; A.7 shows one edge, cabin upgrade -> business -> cancellation. A model reads the edges off the operators there.

Here an edge is measured: where the path of an effect overlaps what a condition reads, candidates of the one action are
executed and candidates of the other, about the same entities, are judged before and after. Counts are of executed calls, so
they say how easily an edge is found, not how often users need it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable

import polars as pl

from selfevolve.environments import Environment
from selfevolve.gradus import candidates, outcomes
from selfevolve.gradus.differences import Change, changes, view
from selfevolve.gradus.exploration import about, effect_paths
from selfevolve.gradus.operators import Library, Operator
from selfevolve.gradus.schema import overlap

SCHEMA = {
    "source": pl.String,
    "path": pl.String,
    "target": pl.String,
    "policy_id": pl.String,
    "outcome": pl.String,
    "verdict": pl.String,
    "relation": pl.String,
    "count": pl.Int64,
}


def edges(library: Library, env: Environment, executed: int = 20, judged: int = 6, seed: int = 0) -> pl.DataFrame:
    """Measured edges, from the base state and every situation of the library. `env` is reset.

    Args:
        executed: calls of each source that change something, over all starts.
        judged: candidate calls of each target about the same entities, for each of these.
        seed: of the candidates.

    Returns:
        One row per source action, path of one of its effects, target action, branch of the target (policy_id, outcome,
        verdict) and relation: "enables" if the branch could hold for no facts before and for some after, "disables" if it
        is the other way round. `count`: executed calls after which that was so for some judged call. Most frequent first.
    """
    rng = random.Random(seed)
    counts: dict[tuple[str, ...], int] = {}
    links = static(library)
    starts = [[], *([action.model_dump() for action in situation.actions] for situation in library.situations)]
    share = math.ceil(executed / len(starts))
    for source in library.operators.values():
        targets = sorted({target for name, _, target, _ in links if name == source.action})
        for start in starts:
            env.reset(start)
            blob, left = env.snapshot(), share
            for arguments in list(candidates.calls(library, env, source.action, 4 * share, rng)):
                if left == 0:
                    break
                found = _effects(library, env, source, arguments, links, [library.operators[t] for t in targets], judged, rng)
                env.restore(blob)
                if found is not None:
                    left -= 1
                    for edge in found:
                        counts[edge] = counts.get(edge, 0) + 1
    env.reset()
    rows = [(*edge, count) for edge, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def static(library: Library) -> set[tuple[str, str, str, tuple[str, str]]]:
    """(source, path, target, unit) wherever an effect's path overlaps what the condition of a branch reads."""
    return {
        (source.action, path, target.action, guard.unit)
        for source in library.operators.values()
        for path in effect_paths(source)
        for target in library.operators.values()
        for guard in target.guards
        if guard.expression is not None and any(overlap(path, read) for read in guard.expression.reads)
    }


def _effects(
    library: Library,
    env: Environment,
    source: Operator,
    arguments: candidates.Arguments,
    links: set[tuple[str, str, str, tuple[str, str]]],
    targets: Iterable[Operator],
    judged: int,
    rng: random.Random,
) -> set[tuple[str, ...]] | None:
    """The edges that one executed call shows; None if it changes nothing. The state is left as the call made it."""
    before, blob = view(env.state), env.snapshot()
    if not env.call(source.action, arguments, source.requestor).ok:
        return None
    changed = changes(before, env.state)
    if not changed:
        return None
    near, after = about(env, arguments, changed), env.snapshot()
    env.restore(blob)
    found: set[tuple[str, ...]] = set()
    for target in targets:
        calls = _about_same(library, env, target, near, judged, rng)
        env.restore(after)
        new = [call for call in _about_same(library, env, target, near, judged, rng) if call not in calls]
        read = {unit[0] for name, _, action, unit in links if (name, action) == (source.action, target.action)}
        later = [_units(library, env, target, call, read) for call in [*calls, *new]]
        env.restore(blob)
        earlier = [_units(library, env, target, call, read) for call in [*calls, *new]]
        for had, has in zip(earlier, later, strict=True):
            for relation, units in (("enables", has - had), ("disables", had - has)):
                found |= {
                    (source.action, path, target.action, guard.policy_id, guard.outcome, guard.verdict, relation)
                    for guard in target.guards
                    if guard.unit in units
                    for path in _paths(links, source, target, guard.unit, changed)
                }
    env.restore(after)
    return found


def _about_same(
    library: Library, env: Environment, target: Operator, near: dict, judged: int, rng: random.Random
) -> list[candidates.Arguments]:
    about_same = list(candidates.calls(library, env, target.action, judged, rng, near))
    return about_same or list(candidates.calls(library, env, target.action, judged, rng))


def _units(
    library: Library, env: Environment, target: Operator, call: candidates.Arguments, policies: set[str]
) -> set[tuple[str, str]]:
    return outcomes.units(outcomes.possible(library, env, target.action, call, policies))


def _paths(
    links: set[tuple[str, str, str, tuple[str, str]]],
    source: Operator,
    target: Operator,
    unit: tuple[str, str],
    changed: list[Change],
) -> list[str]:
    """The effects of the source that the branch reads and that happened."""
    return [
        path
        for path in sorted(effect_paths(source))
        if (source.action, path, target.action, unit) in links and any(change.below(path) for change in changed)
    ]
