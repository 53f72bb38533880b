"""Coverage-guided evolution: atomic blueprints, structural kernels level by level, then interaction kernels.

Paper: Gradus 2.3. Code owns the schedule and samples the kernels; a role realises each request, chooses a compatible alternative, or
declines.

Choices the paper leaves open:

* Requests go out in waves: all requests of a wave see the ledger as it was before it, so that many can be under way at once and the result
  does not depend on their order. What comes back is committed in the order of the requests.
* Every depth has a quota. At the first one, operators are asked in turn, each for no more than its share of the quota (k at most). Parents of a depth are visited in a seeded order, one child of each before the second of any, until the quota of
  the next depth is filled or every parent has had its K requests.
* A child must begin with its parent's steps, each with the same action, entity and decision and at least the same units. What does not, and
  what is proposed a second time, is refused with the reason.
* A variation takes the place of what it varies, in the lineage too: whose parent has been varied descends from the variation.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import NamedTuple

from selfevolve.gradus.blueprints import Blueprint, Record
from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.journal import Journal
from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.ledger import Ledger
from selfevolve.gradus.operators import Library
from selfevolve.gradus.roles import Declined, Kernel, Roles
from selfevolve.gradus.settings import Arm
from selfevolve.gradus.settings import Search as SearchSettings
from selfevolve.gradus.threads import each
from selfevolve.seeding import derive

FRUITLESS = 3  # passes in a row that bring nothing new before a level is given up


class Refused(Record):
    """A request that brought no blueprint, or one that was not taken. `reason` begins with what happened: declined, lost, duplicate, failed."""

    request: str
    parent: str | None
    kernel: str | None
    reason: str


Gaps = list[Branch]


class Request(NamedTuple):
    """What a role is asked. `make` gets the least covered branches and the seed; `actions`: those the gaps are about, all if empty;
    `number`: blueprints asked for."""

    label: str
    make: Callable[[Gaps, int], list[Blueprint] | Blueprint | Declined]
    actions: tuple[str, ...] = ()
    parent: Blueprint | None = None
    kernel: Kernel | None = None
    number: int = 1


class Proposals:
    """Asks for blueprints, journaled under the label of the request, and keeps what was refused."""

    def __init__(self, seed: int, journal: Journal, workers: int):
        self.refused: list[Refused] = []
        self._seed, self._journal, self._workers = seed, journal, workers

    def ask(
        self, requests: Sequence[Request], gaps: Callable[[Request], Gaps] = lambda request: []
    ) -> Iterator[tuple[Request, list[Blueprint]]]:
        """The blueprints of each request, in the order of the requests; refusals are noted. All gaps are looked up before anything is asked."""
        shown = [(request, gaps(request)) for request in requests]
        for (request, _), answer in zip(shown, each(self._one, shown, self._workers), strict=True):
            if "reason" in answer:
                self.refuse(request, answer["reason"])
            yield request, [Blueprint.model_validate(record) for record in answer.get("blueprints", ())]

    def refuse(self, request: Request, reason: str) -> None:
        parent, kernel = request.parent, request.kernel
        self.refused.append(
            Refused(request=request.label, parent=parent and parent.id, kernel=kernel and kernel.name, reason=reason)
        )

    def _one(self, shown: tuple[Request, Gaps]) -> dict:
        request, gaps = shown
        answer = self._journal.get(request.label)
        if answer is None:
            try:
                made = request.make(gaps, derive(self._seed, "request", request.label))
            except RoleFailed as error:
                answer = {"reason": f"failed: {error}"}
            else:
                if isinstance(made, Declined):
                    answer = {"reason": f"declined: {made.reason}"}
                else:
                    made = [made] if isinstance(made, Blueprint) else made
                    answer = {"blueprints": [blueprint.model_dump(mode="json") for blueprint in made]}
            self._journal.put(request.label, answer)
        return answer


def evolve(
    roles: Roles,
    library: Library,
    kernels: Sequence[Kernel],
    settings: SearchSettings,
    arm: Arm,
    seed: int,
    journal: Journal,
    workers: int = 1,
) -> tuple[list[Blueprint], list[Refused]]:
    """Search blueprints as an arm asks for.

    Args:
        journal: takes the answer to every request; what it has already is not asked again.
        workers: requests of a wave under way at once.

    Returns:
        Blueprints by depth, in the order they were taken, at most `arm.blueprints`; and what was refused.
    """
    search = _Search(roles, library, kernels, settings, arm, seed, journal, workers)
    found = search.structural() if arm.structural else search.one_shot()
    return (search.varied(found) if arm.interaction else found), search.proposals.refused


class _Search:
    def __init__(
        self,
        roles: Roles,
        library: Library,
        kernels: Sequence[Kernel],
        settings: SearchSettings,
        arm: Arm,
        seed: int,
        journal: Journal,
        workers: int,
    ):
        self._roles, self._settings, self._arm, self._seed = roles, settings, arm, derive(seed, "search")
        self._kernels = {kind: [each for each in kernels if each.kind == kind] for kind in ("structural", "interaction")}
        self._ledger, self._seen = Ledger(library), set[tuple]()
        covered = {branch.action for branch in self._ledger.universe}
        self._actions = [action for action in library.operators if action in covered - library.conduct.actions]
        self.proposals = Proposals(self._seed, journal, workers)

    def structural(self) -> list[Blueprint]:
        """Atomic blueprints, then level by level."""
        first, *later = self._settings.quotas(self._arm.blueprints)
        levels = [self._level(first, self._atomic(first))]
        for quota in later:
            levels.append(self._level(quota, self._children(levels[-1])))
        return [blueprint for level in levels for blueprint in level]

    def one_shot(self) -> list[Blueprint]:
        """Scenarios of any depth at once (A.6)."""
        each, wave = self._settings.per_operator, self._settings.wave
        passes = ([self._write((), f"scenario {begin + number}", each) for number in range(wave)] for begin in count(0, wave))
        return self._level(self._arm.blueprints, passes)

    def varied(self, blueprints: list[Blueprint]) -> list[Blueprint]:
        """Each with the setting's probability rewritten by a sampled interaction kernel."""
        requests = []
        for blueprint in blueprints:
            rng = random.Random(derive(self._seed, "interaction", blueprint.id))
            if rng.random() < self._settings.interaction:
                kernel = rng.choice(self._kernels["interaction"])
                requests.append(self._vary(blueprint, kernel))
        variants: dict[str, Blueprint] = {}
        for request, made in self.proposals.ask(requests):
            for variant in made:
                if request.parent is None or variant.steps != request.parent.steps or variant.depth != request.parent.depth:
                    self.proposals.refuse(request, "lost: a variation must keep the steps as they are")
                else:
                    variants[request.parent.id] = variant
        return self._in_place(blueprints, variants)

    def _in_place(self, blueprints: Sequence[Blueprint], variants: dict[str, Blueprint]) -> list[Blueprint]:
        """The blueprints, or their variations, with the parents that are in the list; parents come before their children."""
        renamed: dict[str | None, str] = {}
        placed = []
        for blueprint in blueprints:
            parent = renamed.get(blueprint.parent, blueprint.parent)
            placed.append(variants.get(blueprint.id, blueprint).model_copy(update={"parent": parent}))
            renamed[blueprint.id] = placed[-1].id
        refused = self.proposals.refused
        self.proposals.refused = [each.model_copy(update={"parent": renamed.get(each.parent, each.parent)}) for each in refused]
        return placed

    def _atomic(self, quota: int) -> Iterator[list[Request]]:
        each = min(self._settings.per_operator, max(1, quota // len(self._actions)))
        for number in count():
            yield [self._write((action,), f"atomic {action} {number}", each) for action in self._actions]

    def _children(self, parents: Sequence[Blueprint]) -> Iterator[list[Request]]:
        order = list(parents)
        random.Random(derive(self._seed, "parents", order[0].depth if order else 0)).shuffle(order)
        for number in range(self._settings.children):
            yield [self._evolve(parent, number) for parent in order]

    def _level(self, quota: int, passes: Iterable[list[Request]]) -> list[Blueprint]:
        """Go through passes of requests until the quota is filled, the passes end, or nothing new comes."""
        level: list[Blueprint] = []
        fruitless = 0
        for requests in passes:
            before, waiting = len(level), deque(requests)
            while waiting and len(level) < quota:
                wave = _wave(waiting, self._settings.wave, quota - len(level))
                for request, made in self.proposals.ask(wave, self._gaps):
                    level += self._taken(request, made, quota - len(level))
            if len(level) >= quota:
                break
            fruitless = 0 if len(level) > before else fruitless + 1
            if fruitless >= FRUITLESS or not requests:
                break
        return level

    def _taken(self, request: Request, made: Sequence[Blueprint], most: int) -> list[Blueprint]:
        taken: list[Blueprint] = []
        for blueprint in made:
            key = (blueprint.goal, blueprint.steps)
            if len(taken) >= most:
                break
            if lost := request.parent and _lost(request.parent, blueprint, request.kernel):
                self.proposals.refuse(request, f"lost: {lost}")
            elif key in self._seen:
                self.proposals.refuse(request, "duplicate: it has been proposed before")
            else:
                self._seen.add(key)
                self._ledger.add(blueprint)
                taken.append(blueprint)
        return taken

    def _gaps(self, request: Request) -> Gaps:
        if not self._arm.ledger:
            return []
        seed = derive(self._seed, "gaps", request.label)
        performed = request.parent.actions if request.parent else ()
        return self._ledger.least_covered(self._settings.gaps, seed, request.actions or None, performed)

    def _write(self, actions: tuple[str, ...], label: str, number: int) -> Request:
        return Request(label, lambda gaps, seed: self._roles.write(actions, gaps, number, seed), actions, number=number)

    def _evolve(self, parent: Blueprint, number: int) -> Request:
        kernel = random.Random(derive(self._seed, "kernel", parent.id, number)).choice(self._kernels["structural"])
        make = partial(self._roles.evolve, parent, kernel)
        return Request(f"child {parent.id} {number}", make, parent=parent, kernel=kernel)

    def _vary(self, blueprint: Blueprint, kernel: Kernel) -> Request:
        make = lambda gaps, seed: self._roles.vary(blueprint, kernel, seed)  # noqa: E731
        return Request(f"variant {blueprint.id}", make, parent=blueprint, kernel=kernel)


def _wave(waiting: deque[Request], size: int, missing: int) -> list[Request]:
    """Requests off the head of the queue: no more than a wave, and no more than can bring what is missing."""
    wave: list[Request] = []
    while waiting and len(wave) < size and sum(request.number for request in wave) < missing:
        wave.append(waiting.popleft())
    return wave


def _lost(parent: Blueprint, child: Blueprint, kernel: Kernel | None) -> str | None:
    """What a child lost of its parent's requirements, or says wrongly of its descent; None if nothing."""
    if child.parent != parent.id or child.depth != parent.depth + 1 or child.kernels != (*parent.kernels, kernel and kernel.name):
        return "its lineage is not that of a child"
    if len(child.steps) <= len(parent.steps):
        return "a child adds a step"
    for number, (old, new) in enumerate(zip(parent.steps, child.steps, strict=False)):
        same = (old.action, old.entity, old.decision, old.after) == (new.action, new.entity, new.decision, new.after)
        if not same or not set(old.units) <= set(new.units):
            return f"step {number} of its parent ({old.decision} {old.action} on {old.entity})"
    return None
