"""Causal extensions of a blueprint: steps connected by an edge, what else they take, and on which records.

Paper: Gradus 2.3 (the causal kernel "connects actions through a state change") and A.7 (upgrade -> cancel; cancel -> replacement denied).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from selfevolve.gradus.blueprints import Step
from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.scripted.catalog import Catalog, fresh
from selfevolve.gradus.scripted.rehearsing import Steps

Edge = tuple[str, str, Branch]  # action, path that it changes, branch that this enables


class Chains:
    """Finds them with one catalog."""

    def __init__(self, catalog: Catalog):
        self._catalog = catalog

    def extending(self, steps: Sequence[Step], gaps: Sequence[Branch], rng: random.Random) -> Iterator[Steps]:
        """Steps to add: those that meet a gap first, and of these first those that are most bound up with what is there."""
        edges = rng.sample(self._catalog.edges, len(self._catalog.edges))
        hows: tuple[Callable[[Sequence[Step], Edge, Branch], Iterator[Steps]], ...] = (
            self._undoing,
            self._following,
            self._beside,
        )
        for among in ([edge for edge in edges if edge[2] in gaps], edges):
            for how in hows:
                for edge in among:
                    opening = rng.choice(self._catalog.sure(edge[0]) or self._catalog.permitted(edge[0]))
                    yield from (new for new in how(steps, edge, opening) if not self._contradicted((*steps, *new)))

    def _undoing(self, steps: Sequence[Step], edge: Edge, opening: Branch) -> Iterator[Steps]:
        """A change of a record that makes possible what has been refused, and this."""
        source, path, target = edge
        creates = path.count(".") < 2  # a whole record comes into being, which is another one than that of the refusal
        if self._catalog.guards[target].verdict == "deny" or creates or self._catalog.apart(*edge):
            return
        for number, step in enumerate(steps):
            denials = [Branch(step.action, *unit) for unit in step.units if (step.action, unit.policy_id) == target[:2]]
            undone = [denial for denial in denials if self._catalog.undoes(source, denial)]
            again = any((later.action, later.entity) == (step.action, step.entity) for later in steps[number + 1 :])
            if step.decision == "refuse" and undone and not again:
                chain = (self._catalog.step(undone[0], step.entity), *self._pair(opening, target, step.entity, 1))
                if self._catalog.possible(chain):
                    yield self._pair(opening, target, step.entity, len(steps))

    def _following(self, steps: Sequence[Step], edge: Edge, opening: Branch) -> Iterator[Steps]:
        """What an action that is there makes possible, or impossible for good."""
        source, _, target = edge
        apart = self._catalog.apart(*edge)
        if self._catalog.liftable(target) or not (apart or self._catalog.follows(source, target)):
            return
        for number, step in enumerate(steps):
            changed = any(later.entity == step.entity and later.decision == "perform" for later in steps[number + 1 :])
            if step.decision == "perform" and step.action == source and not changed:
                yield self._after(source, target, fresh(steps) if apart else step.entity, number, len(steps))

    def _beside(self, steps: Sequence[Step], edge: Edge, opening: Branch) -> Iterator[Steps]:
        """An action and what it makes possible or impossible, on records that are not mentioned yet."""
        source, _, target = edge
        entity, place = fresh(steps), len(steps)
        if self._catalog.liftable(target):
            return
        if self._catalog.apart(*edge):
            first = self._catalog.step(opening, entity)
            yield first, *self._after(source, target, fresh((*steps, first)), place, place + 1)
        elif self._catalog.follows(source, target):
            yield self._pair(opening, target, entity, place)

    def _pair(self, opening: Branch, target: Branch, entity: str, place: int) -> Steps:
        return self._catalog.step(opening, entity), *self._after(opening.action, target, entity, place, place + 1)

    def _after(self, source: str, target: Branch, entity: str, number: int, place: int) -> Steps:
        """The target after step `number`, and before it what else it takes then; to be put at a place of the list."""
        taken: Steps = ()
        if self._catalog.guards[target].verdict == "allow":
            for action in self._catalog.repairs(source, target):
                taken += (self._catalog.step(self._catalog.sure(action)[0], entity, after=(number,)),)
                number = place + len(taken) - 1
        return *taken, self._catalog.step(target, entity, after=(number,))

    def _contradicted(self, steps: Sequence[Step]) -> bool:
        """Whether the last step refuses what an earlier one performs: the same call, if it says nothing but the record."""
        *others, last = steps
        done = any((each.action, each.entity, each.decision) == (last.action, last.entity, "perform") for each in others)
        return last.decision == "refuse" and done and len(self._catalog.library.operators[last.action].parameters) <= 1
