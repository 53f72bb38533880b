"""What a scripted writer knows of a domain: branches to ask for, how to ask for each, what enables what, and which of it comes to mind first.

Paper: Gradus 2.3 (the operator catalog in every prompt; the model's preferred patterns) and A.7 (blocked at first, enabled later).

How a branch is asked for (`Catalog.ways`): by one step; or, if no record realises it at the start, after an action that enables it (only a
cancelled reservation can be refused for being cancelled). A denial that the agent may lift by itself (`Library.conduct.enabling`) is no
refusal in the end: it is asked for, blocked, enabled, and then performed.

Without operators (A.6) all that is known are names: every branch can be asked for by one step, nothing enables anything, and whether a branch
is permitted is guessed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice

import polars as pl

from selfevolve.gradus.askable import askable
from selfevolve.gradus.blueprints import Step
from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.operators import Guard, Library
from selfevolve.seeding import derive

HABIT = 1.2  # exponent of Zipf's law over the catalog: its first actions, and their first branches, come to mind first
READ = 0.25  # weight of an action that changes nothing, beside one that does
WAYS = 3  # ways to ask for a branch that are kept
TRIED = 24  # ways that are considered for them
LONGEST = 4  # actions in a row that enable another one

Steps = tuple[Step, ...]
Fits = Callable[[Sequence[Step]], bool]


class Catalog:
    """What is known of one domain.

    Args:
        edges: of `graph.edges`.
        fits: whether steps can be realised together, as far as the writer can tell; None if it cannot.
        operators: false: names alone.

    Attributes:
        guards: the branches that can be asked for, in the library's order.
        edges: (action, branch that it enables), sorted; of actions that can be performed.
    """

    def __init__(self, library: Library, edges: pl.DataFrame, fits: Fits | None = None, operators: bool = True):
        self.library = library
        self.fits: Fits = fits if fits is not None and operators else lambda steps: True
        named = {Branch(action, *guard.unit): guard for action, operator in library.operators.items() for guard in operator.guards}
        self.guards: dict[Branch, Guard] = askable(library) if operators else named
        self.edges: tuple[tuple[str, Branch], ...] = ()
        self._lifted: frozenset[Branch] = frozenset()
        self._ways: dict[Branch, tuple[Steps, ...]] = {}
        self._ranks = _ranks(self.guards)
        if operators:
            pairs = edges.select("relation", "source", "target", "policy_id", "outcome").iter_rows()
            known = sorted({(relation, source, Branch(*target)) for relation, source, *target in pairs})
            enabled = [(source, branch) for relation, source, branch in known if relation == "enables" and branch in self.guards]
            self.edges = tuple((source, branch) for source, branch in enabled if self.permitted(source))
            enabling = library.conduct.enabling
            lost = {branch for relation, source, branch in known if relation == "disables" and source in enabling}
            denied = {branch for branch in lost if branch in self.guards and self.guards[branch].verdict == "deny"}
            self._lifted = frozenset(branch for branch in denied if self.guards[branch].enforced_by == "policy")

    def of(self, action: str) -> list[Branch]:
        """The branches of an action."""
        return [branch for branch in self.guards if branch.action == action]

    def permitted(self, action: str) -> list[Branch]:
        """The branches of an action with which it can be performed."""
        return [branch for branch in self.of(action) if self.guards[branch].verdict == "allow"]

    def lifted(self, branch: Branch) -> bool:
        """Whether the agent may lift the denial by itself."""
        return branch in self._lifted

    def step(self, branch: Branch, entity: str, after: tuple[int, ...] = ()) -> Step:
        """The step that asks for a branch."""
        decision = "perform" if self.guards[branch].verdict == "allow" else "refuse"
        return Step(action=branch.action, entity=entity, decision=decision, units=(branch.unit,), after=after)

    def drawn(self, branches: Collection[Branch], rng: random.Random) -> Iterator[Branch]:
        """The branches in the order in which they come to mind: by habit, and by chance."""
        left = list(branches)
        while left:
            branch = rng.choices(left, [self._ranks[branch] * self._weight(branch.action) for branch in left])[0]
            left.remove(branch)
            yield branch

    def ways(self, branch: Branch) -> tuple[Steps, ...]:
        """Steps about one entity A that ask for the branch, some alternatives; none if it is not known how."""
        if branch not in self._ways:
            rng = random.Random(derive(0, "ways", *branch))
            self._ways[branch] = tuple(islice((steps for steps in self._considered(branch, rng) if self.fits(steps)), WAYS))
        return self._ways[branch]

    def _considered(self, branch: Branch, rng: random.Random) -> Iterator[Steps]:
        plain = self.step(branch, "A")
        if self.lifted(branch):
            yield from islice(self._lifting(branch, rng), TRIED)
            return
        if self.fits((plain,)):
            yield (plain,)
            return
        sources = [source for source, target in self.edges if target == branch]
        for source in rng.sample(sources, len(sources)):
            for opening in islice(self.drawn(self.permitted(source), rng), TRIED // len(sources)):
                yield self.step(opening, "A"), self.step(branch, "A", after=(0,))

    def _lifting(self, branch: Branch, rng: random.Random) -> Iterator[Steps]:
        """Blocked, enabled, performed: the denial, actions that lift it and what they bring about, and the same action again."""
        goals = [
            (source, target)
            for source, target in self.edges
            if source in self.library.conduct.enabling
            and (target.action, target.policy_id) == (branch.action, branch.policy_id)
            and self.guards[target].verdict == "allow"
        ]
        for times in range(1, LONGEST):
            for source, target in rng.sample(goals, len(goals)):
                repairs = self._repairs(source, branch)
                chain = [source, *repairs] * times
                if len(chain) > LONGEST:
                    continue
                for _ in range(2):
                    steps = [self.step(branch, "A")]
                    for action in chain:
                        opening = rng.choice(self.permitted(action))
                        steps.append(self.step(opening, "A", after=(len(steps) - 1,) if len(steps) > 1 else ()))
                    yield *steps, self.step(target, "A", after=(len(steps) - 1,))

    def _repairs(self, source: str, branch: Branch) -> list[str]:
        """Actions that the agent may take against what else an enabling action blocks."""
        blocked = {
            target.policy_id
            for other, target in self.edges
            if other == source and target.action == branch.action and self.lifted(target) and target.policy_id != branch.policy_id
        }
        found = []
        for policy in sorted(blocked):
            found += [
                other
                for other, target in self.edges
                if other in self.library.conduct.enabling
                and other != source
                and (target.action, target.policy_id) == (branch.action, policy)
                and self.guards[target].verdict == "allow"
            ][:1]
        return found

    def _weight(self, action: str) -> float:
        return 1.0 if self.library.operators[action].kind == "write" else READ


def moved(steps: Iterable[Step], entity: str, place: int) -> Steps:
    """Steps about another entity, at another place of the list."""
    return tuple(step.model_copy(update={"entity": entity, "after": tuple(place + each for each in step.after)}) for step in steps)


def _ranks(branches: Iterable[Branch]) -> dict[Branch, float]:
    """Zipf's weights: of the action among the actions times of the branch among the action's."""
    grouped: dict[str, list[Branch]] = {}
    for branch in branches:
        grouped.setdefault(branch.action, []).append(branch)
    found: dict[Branch, float] = {}
    for place, own in enumerate(grouped.values(), 1):
        total = sum(rank**-HABIT for rank in range(1, len(own) + 1))
        found |= {branch: place**-HABIT * rank**-HABIT / total for rank, branch in enumerate(own, 1)}
    return found
