"""Database entities for the symbolic ones of a blueprint: a start, a user, and a call for every step that realises its outcomes.

Paper: Gradus 2.4 (initialization) and A.7 (the first realization selected a gold member with five reservations).

One conversation serves one user, so first a start and a user are chosen who offer every step that depends on no other (`offering`); what
nobody offers is prepared (`preparing`); then the steps are bound in order (`placing`).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from selfevolve.environments import Environment
from selfevolve.gradus.blueprints import Call, Step
from selfevolve.gradus.operators import Library
from selfevolve.gradus.scripted.entities import Entities, Start
from selfevolve.gradus.scripted.offering import Offers
from selfevolve.gradus.scripted.placing import Finder, Placing
from selfevolve.gradus.scripted.preparing import Preparation, prepared
from selfevolve.gradus.scripted.satisfying import Facts, Satisfier
from selfevolve.seeding import derive

TRIES = 16  # bindings that are tried from one start
MORE = 3  # times as many that are tried from all starts
POOL = 100  # users that are looked at before all others, so that what they can be part of is known soon


@dataclass(frozen=True)
class Bound:
    """A bound blueprint. `steps`: its own, and those that prepare them; `calls`: one per step, refused ones included; `told`: facts of
    the whole conversation."""

    init_actions: Start
    told: Facts
    steps: tuple[Step, ...]
    calls: tuple[Call, ...]
    bindings: Mapping[str, str]


class Binder:
    """Binds blueprints of one domain."""

    def __init__(self, library: Library):
        self._library = library
        satisfier = Satisfier(library)
        self._finder = Finder(library, satisfier, Entities(library, satisfier))
        self._offers = Offers(library, self._finder)
        self._preparation = Preparation(library, self._finder, self._offers)

    def bind(self, steps: Sequence[Step], env: Environment, seed: int, tries: int = TRIES) -> Iterator[Bound]:
        """Bindings, each from another start or user or prepared in another way, until so many have been tried from each start."""
        rng = random.Random(derive(seed, "bind"))
        impossible = [step for step in _independent(steps) if not self._offers.starts_of(env, step)]
        offered = [step for step in _independent(steps) if step not in impossible]
        dependent = [step for step in steps if step not in offered and step not in impossible]
        ways = [self._preparation.ways(env, step) for step in impossible]
        if not all(ways):
            return
        tried = 0
        for start in self._fitting_starts(offered, dependent, env, rng):
            openings = [[opening for begun, opening in each if begun == start] for each in ways]
            if not all(openings):
                continue
            attempts = 0
            groups = self._offers.users(env)
            for group in (*rng.sample(groups[:POOL], len(groups[:POOL])), *rng.sample(groups[POOL:], len(groups[POOL:]))):
                env.reset(start)
                chosen = [rng.choice(each) for each in openings]
                if not self._offers.together(env, start, group, [*offered, *(opening[0] for opening in chosen)]):
                    continue
                tried, attempts = tried + 1, attempts + 1
                planned = prepared(steps, impossible, chosen)
                found = Placing(self._finder, env, planned, random.Random(derive(seed, "place", tried))).run(start, group)
                if found is not None:
                    bindings = {symbol: str(next(iter(known.values()))) for symbol, known in found.values.items()}
                    yield Bound(found.init_actions, found.told, tuple(planned), tuple(found.calls), bindings)
                if attempts == tries:
                    break  # another start
            if tried >= tries * MORE:
                return

    def offers(self, steps: Sequence[Step], env: Environment) -> bool:
        """Whether one start, or several joined, offer all steps that meet their entity as it is, as far as any start does. Where tasks set
        records as they like, a start that offers a later step at once is also one from which it can come about."""
        offered = [
            step for step in (steps if self._library.settable else _independent(steps)) if self._offers.starts_of(env, step)
        ]
        for start in self._fitting_starts(offered, [], env, random.Random(0)):
            env.reset(start)
            if all(any(self._offers.of(env, start, group, step) for group in self._offers.users(env)) for step in offered):
                return True
        return False

    def _fitting_starts(
        self, offered: Sequence[Step], dependent: Sequence[Step], env: Environment, rng: random.Random
    ) -> list[Start]:
        """Starts that offer the steps, in random order, those first that offer more of the dependent ones; joined ones if no single one
        will do."""
        options = [self._offers.starts_of(env, step) for step in offered]
        common = [start for start in self._offers.starts if all(start in each for each in options)]
        if len(common) > 1:
            others = [self._offers.starts_of(env, step) for step in dependent]
            rng.shuffle(common)
            common.sort(key=lambda start: -sum(start in each for each in others))
        if common or len(self._offers.starts) == 1:
            return common
        joined: dict[str, Start] = {}
        for _ in range(TRIES):
            actions = list(itertools.chain(*(rng.choice(each) for each in options)))
            unique = [action for number, action in enumerate(actions) if action not in actions[:number]]
            joined.setdefault(repr(unique), tuple(unique))
        return [start for start in joined.values() if _begins(env, start)]


def _begins(env: Environment, start: Start) -> bool:
    """Whether a start can be begun: one situation may be in another's way."""
    try:
        env.reset(start)
    except ValueError:
        return False
    return True


def _independent(steps: Sequence[Step]) -> list[Step]:
    """The steps that meet their entity as it is at the start."""
    return [
        step
        for number, step in enumerate(steps)
        if not step.after
        and not any(earlier.entity == step.entity and earlier.decision == "perform" for earlier in steps[:number])
    ]
