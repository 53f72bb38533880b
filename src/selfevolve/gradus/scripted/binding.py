"""Database entities for the symbolic ones of a blueprint: a start, a user, and a call for every step that realises its outcomes.

Paper: Gradus 2.4 (initialization) and A.7 (the first realization selected a gold member with five reservations).

One conversation serves one user, so first a start and a user are chosen under which every step that depends on no other can be realised by
itself; then the steps are bound in order (`placing`). An outcome that no start and no user offers is prepared: a call with an effect on
what its condition reads comes before, as one more request of the user.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from selfevolve.environments import Environment
from selfevolve.gradus import candidates
from selfevolve.gradus.blueprints import Call, Step
from selfevolve.gradus.exploration import effect_paths
from selfevolve.gradus.judgement import Unit
from selfevolve.gradus.operators import Library
from selfevolve.gradus.schema import overlap
from selfevolve.gradus.scripted.entities import Entities, Start
from selfevolve.gradus.scripted.placing import Finder, Placing
from selfevolve.gradus.scripted.satisfying import Facts, Satisfier, Wanted
from selfevolve.seeding import derive

TRIES = 8  # bindings that are tried from one start
AGAIN = 3  # times that the same user is tried, where records are made up
MORE = 3  # times as many that are tried from all starts
OPENINGS = 8  # ways to prepare an outcome that are kept, and considered from one start
OPENED = 80  # attempts to find them
SOMEBODY = 20  # users who are looked at for them
EACH = 3  # users with whom each is tried
DEEP = 2  # calls that prepare an outcome
CHECKS = 150  # policies that are evaluated to see whether a record can be part of what is wanted
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


@dataclass(frozen=True)
class Offer:
    """Entities with which an outcome can be realised: those `values` of the user's own, of which there are `listed`, or others."""

    values: frozenset[Any]
    elsewhere: bool
    listed: int

    def __and__(self, other: Offer) -> Offer:
        return Offer(self.values & other.values, self.elsewhere and other.elsewhere, self.listed)

    def __bool__(self) -> bool:
        return bool(self.values) or self.elsewhere


class Binder:
    """Binds blueprints of one domain. What can be realised where is remembered."""

    def __init__(self, library: Library):
        self._library = library
        satisfier = Satisfier(library)
        self._finder = Finder(library, satisfier, Entities(library, satisfier))
        named = {name for operator in library.operators.values() for name in operator.parameters}
        self._user = next((name for name, fact in library.facts.items() if fact.scope == "conversation" and name in named), None)
        situations = (tuple(action.model_dump() for action in situation.actions) for situation in library.situations)
        self._starts: tuple[Start, ...] = ((), *situations)
        self._groups: tuple[Facts, ...] | None = None
        self._known: dict[tuple, Offer] = {}
        self._opened: dict[tuple, list[tuple[Start, tuple[Step, ...]]]] = {}
        self._making: dict[tuple, list[Step]] = {}

    def bind(self, steps: Sequence[Step], env: Environment, seed: int, tries: int = TRIES) -> Iterator[Bound]:
        """Bindings, each from another start or user or prepared in another way, until so many have been tried from each start."""
        rng = random.Random(derive(seed, "bind"))
        impossible = [step for step in _independent(steps) if not self._starts_of(env, step)]
        offered = [step for step in _independent(steps) if step not in impossible]
        dependent = [step for step in steps if step not in offered and step not in impossible]
        ways = [self._ways(env, step) for step in impossible]
        if not all(ways):
            return
        tried = 0
        for start in self._fitting_starts(offered, dependent, env, rng):
            openings = [[opening for begun, opening in each if begun == start] for each in ways]
            if not all(openings):
                continue
            attempts = 0
            groups = self._users(env)
            order = [*rng.sample(groups[:POOL], len(groups[:POOL])), *rng.sample(groups[POOL:], len(groups[POOL:]))]
            for group in order * (AGAIN if self._library.settable else 1):
                env.reset(start)
                chosen = [rng.choice(each) for each in openings]
                if not self._offers(env, start, group, [*offered, *(opening[0] for opening in chosen)]):
                    continue
                tried, attempts = tried + 1, attempts + 1
                planned = _prepared(steps, impossible, chosen)
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
        offered = [step for step in (steps if self._library.settable else _independent(steps)) if self._starts_of(env, step)]
        for start in self._fitting_starts(offered, [], env, random.Random(0)):
            env.reset(start)
            if all(any(self._offer(env, start, group, step) for group in self._users(env)) for step in offered):
                return True
        return False

    def _ways(self, env: Environment, step: Step) -> list[tuple[Start, tuple[Step, ...]]]:
        """Starts, and steps on the same entity that make possible there what no start offers; some of those there are. Found by trying."""
        key = (step.action, step.units, step.decision)
        if key not in self._opened:
            rng = random.Random(derive(0, "ways", *map(str, key)))
            found: list[tuple[Start, tuple[Step, ...]]] = []
            tried = 0
            for start in rng.sample(self._starts, len(self._starts)):
                env.reset(start)
                for opening in self._openings(env, start, step, rng):
                    env.reset(start)
                    somebody = [group for group in self._users(env)[:SOMEBODY] if self._offer(env, start, group, opening[0])]
                    for group in rng.sample(somebody, min(EACH, len(somebody))):
                        tried += 1
                        placing = Placing(self._finder, env, [*_linked(opening, step)], rng)
                        if (start, opening) not in found and placing.run(start, group) is not None:
                            found.append((start, opening))
                if len(found) >= OPENINGS or tried >= OPENED:
                    break
            self._opened[key] = found
        return [(start, tuple(_about(each, step.entity) for each in opening)) for start, opening in self._opened[key]]

    def _openings(
        self, env: Environment, start: Start, step: Step, rng: random.Random, deep: int = DEEP
    ) -> list[tuple[Step, ...]]:
        """Steps on the same entity that may make a step possible, the first of which somebody offers at the start. `env` is at the start,
        and stays so."""
        found: list[tuple[Step, ...]] = []
        sources = self._sources(step)
        for source in rng.sample(sources, min(OPENINGS * 2, len(sources))):
            if any(self._offer(env, start, group, source) for group in self._users(env)[:SOMEBODY]):
                found.append((source,))
            elif deep > 1:
                found += [(*before, source) for before in self._openings(env, start, source, rng, deep - 1)][:1]
        return found[:OPENINGS]

    def _sources(self, step: Step) -> list[Step]:
        """Steps with an effect on what decides the outcomes of a step, or, if it is to be performed, whether it is denied."""
        key = (step.action, step.units, step.decision)
        if key not in self._making:
            performed = step.decision == "perform"
            guards = [
                guard
                for guard in self._library.operators[step.action].guards
                if guard.unit in step.units or (performed and guard.verdict == "deny")
            ]
            reads = {path for guard in guards if guard.expression for path in guard.expression.reads}
            found = []
            for operator in self._library.operators.values():
                paths = effect_paths(operator)
                if operator.action in self._library.conduct.actions or not any(overlap(p, read) for p in paths for read in reads):
                    continue
                for guard in operator.guards:
                    paths = {effect.path.path for effect in guard.effects if effect.path.path is not None}
                    if guard.verdict == "allow" and any(overlap(path, read) for path in paths for read in reads):
                        found.append(Step(action=operator.action, entity=step.entity, decision="perform", units=(guard.unit,)))
            self._making[key] = found
        return [_about(source, step.entity) for source in self._making[key]]

    def _users(self, env: Environment) -> tuple[Facts, ...]:
        """Who a conversation may be with, as facts; nobody in particular, if the policies do not tell users apart."""
        if self._groups is None:
            values: list[Any] = []
            if self._user is not None:
                values = list(self._library.facts[self._user].values or ())
                for action, operator in self._library.operators.items():
                    if not values and next(iter(operator.parameters), None) == self._user:
                        values = candidates.values(self._library, env, action, self._user, {})[:-1]
                random.Random(derive(0, "users", self._library.domain)).shuffle(values)
            self._groups = ({}, *({self._user: value} for value in values if self._user and value))
        return self._groups

    def _fitting_starts(
        self, offered: Sequence[Step], dependent: Sequence[Step], env: Environment, rng: random.Random
    ) -> list[Start]:
        """Starts that offer the steps, in random order, those first that offer more of the dependent ones; joined ones if no single one
        will do."""
        options = [self._starts_of(env, step) for step in offered]
        common = [start for start in self._starts if all(start in each for each in options)]
        if len(common) > 1:
            others = [self._starts_of(env, step) for step in dependent]
            rng.shuffle(common)
            common.sort(key=lambda start: -sum(start in each for each in others))
        if common or len(self._starts) == 1:
            return common
        joined: dict[str, Start] = {}
        for _ in range(TRIES):
            actions = list(itertools.chain(*(rng.choice(each) for each in options)))
            unique = [action for number, action in enumerate(actions) if action not in actions[:number]]
            joined.setdefault(repr(unique), tuple(unique))
        return [start for start in joined.values() if _begins(env, start)]

    def _starts_of(self, env: Environment, step: Step) -> list[Start]:
        """The starts from which somebody's call can realise each outcome of a step."""
        found = []
        for start in self._starts:
            env.reset(start)
            if any(self._offer(env, start, group, step) for group in self._users(env)):
                found.append(start)
        return found

    def _offers(self, env: Environment, start: Start, group: Facts, steps: Sequence[Step]) -> bool:
        """Whether a user offers the steps, each symbolic entity standing for a record of its own. `env` is at the start, and stays so."""
        offers: dict[tuple[str, str], Offer] = {}
        for step in sorted(steps, key=lambda each: each.decision):  # what is to be performed is rarer
            offer = self._offer(env, start, group, step)
            if not offer:
                return False
            place = (next(iter(self._library.operators[step.action].parameters), ""), step.entity)
            offers[place] = offers[place] & offer if place in offers else offer
        return all(offers.values()) and _apart([(parameter, offer) for (parameter, _), offer in offers.items()])

    def _offer(self, env: Environment, start: Start, group: Facts, step: Step) -> Offer:
        """With which entities each outcome of a step can be realised by itself. `env` is at the start, and stays so."""
        first, *rest = step.units
        offer = self._realised_with(env, start, group, step, first)
        for unit in rest:
            if not offer:
                break
            offer &= self._realised_with(env, start, group, step, unit)
        return offer

    def _realised_with(self, env: Environment, start: Start, group: Facts, step: Step, unit: Unit) -> Offer:
        key = (repr(start), repr(group), step.action, unit, step.decision)
        if key not in self._known:
            rng = random.Random(derive(0, *map(str, key)))
            wanted = Wanted(step.action, frozenset([unit]), step.decision == "perform")
            own = self._finder.entities.own(env, step.action, group)
            first = next(iter(self._library.operators[step.action].parameters), "")
            if wanted.perform:
                fit = [value for value in own if not self._finder.satisfier.faults(env, wanted, group, {first: value})]
            else:
                fit = own
            values = [value for value in fit if self._possible(env, wanted, group, [value], rng)]
            elsewhere = not values and self._elsewhere(env, wanted, group, own, rng)
            if not values and not elsewhere and self._library.settable:
                again = lambda action: env.reset((*start, *action))  # noqa: E731
                elsewhere = self._finder.entities.made_up(env, wanted, group, set(), rng, again) is not None
                env.reset(start)
            self._known[key] = Offer(frozenset(values), elsewhere, len(own))
        return self._known[key]

    def _elsewhere(self, env: Environment, wanted: Wanted, group: Facts, own: list[Any], rng: random.Random) -> bool:
        """Whether a call about something that is not the user's own can be as wanted, or one about nothing."""
        rest = self._finder.entities.values(env, wanted, group, {}, set(own), rng)
        rest = None if rest is None else [value for value in rest if value not in own]
        return rest != [] and self._possible(env, wanted, group, rest, rng)

    def _possible(self, env: Environment, wanted: Wanted, group: Facts, entities: list[Any] | None, rng: random.Random) -> bool:
        calls = self._finder.satisfier.calls(env, wanted, group, rng, entities, only=not wanted.perform, checks=CHECKS)
        return next(calls, None) is not None


def _begins(env: Environment, start: Start) -> bool:
    """Whether a start can be begun: one situation may be in another's way."""
    try:
        env.reset(start)
    except ValueError:
        return False
    return True


def _apart(offers: list[tuple[str, Offer]]) -> bool:
    """Whether each of the offers can have an entity of its own, where a user has several of the kind."""
    tight = sorted(
        (offer for offer in offers if not offer[1].elsewhere and offer[1].listed > 1), key=lambda each: len(each[1].values)
    )

    def placed(number: int, taken: frozenset[tuple[str, Any]]) -> bool:
        if number == len(tight):
            return True
        parameter, offer = tight[number]
        free = [(parameter, value) for value in offer.values if (parameter, value) not in taken]
        return any(placed(number + 1, taken | {each}) for each in free)

    return placed(0, frozenset())


def _prepared(steps: Sequence[Step], impossible: Sequence[Step], openings: Sequence[tuple[Step, ...]]) -> list[Step]:
    """The steps, before each impossible one what opens the way to it."""
    made: list[Step] = []
    places: list[int] = []
    ways = dict(zip(map(id, impossible), openings, strict=True))
    for step in steps:
        after = tuple(places[number] for number in step.after)
        for opening in ways.get(id(step), ()):
            made.append(opening.model_copy(update={"after": after}))
            after = (len(made) - 1,)
        places.append(len(made))
        made.append(step.model_copy(update={"after": after}))
    return made


def _linked(opening: Sequence[Step], step: Step) -> Iterator[Step]:
    """The steps of an opening and the one they open the way to, each after the one before."""
    for number, each in enumerate((*opening, step)):
        yield _about(each, "A").model_copy(update={"after": (number - 1,) if number else ()})


def _about(step: Step, entity: str) -> Step:
    return step.model_copy(update={"entity": entity})


def _independent(steps: Sequence[Step]) -> list[Step]:
    """The steps that meet their entity as it is at the start."""
    return [
        step
        for number, step in enumerate(steps)
        if not step.after
        and not any(earlier.entity == step.entity and earlier.decision == "perform" for earlier in steps[:number])
    ]
