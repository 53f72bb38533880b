"""What a scripted writer knows of a domain: branches to ask for, how to ask for each, what enables what, and which of it comes to mind first.

Paper: Gradus 2.3 (the operator catalog in every prompt; the model's preferred patterns).

Mostly a branch is asked for by one step. A denial that the agent may lift by itself (`Library.conduct.enabling`) is no refusal in the end: it
is asked for, blocked, enabled, and then performed (`rehearsing`).

Without operators (A.6) all that is known are names: every branch can be asked for, and nothing enables anything.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Sequence

import polars as pl

from selfevolve.gradus.askable import askable
from selfevolve.gradus.blueprints import Step
from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.operators import Guard, Library
from selfevolve.gradus.scripted.rehearsing import Rehearsal, Steps
from selfevolve.gradus.scripted.telling import Conversations

HABIT = 1.2  # exponent of Zipf's law over the catalog: its first actions, and their first branches, come to mind first
READ = 0.25  # weight of an action that changes nothing, beside one that does


class Catalog:
    """What is known of one domain.

    Args:
        edges: of `graph.edges`.
        rehearsal: what can be tried out; None if nothing can.
        operators: false: names alone.

    Attributes:
        guards: the branches that can be asked for, in the library's order.
        edges: (action, path that it changes, branch that this enables), sorted; of actions that can be performed.
    """

    def __init__(self, library: Library, edges: pl.DataFrame, rehearsal: Rehearsal | None = None, operators: bool = True):
        self.library = library
        self._rehearsal = rehearsal if operators else None
        self._conversations = Conversations(library) if operators else None
        named = {
            Branch(action, *guard.unit): guard for action, operator in library.operators.items() for guard in operator.guards
        }
        self.guards: dict[Branch, Guard] = askable(library) if operators else named
        self._weights = _zipf(self.guards)
        self._of: dict[str, list[Branch]] = {}
        for branch in self.guards:
            self._of.setdefault(branch.action, []).append(branch)
        self._ways: dict[Branch, tuple[Steps, ...]] = {}
        self.edges = self._known(edges, "enables") if operators else ()
        self._against = self._known(edges, "disables") if operators else ()

    def _known(self, edges: pl.DataFrame, relation: str) -> tuple[tuple[str, str, Branch], ...]:
        rows = edges.filter(relation=relation).select("source", "path", "target", "policy_id", "outcome").iter_rows()
        known = ((source, path, Branch(*target)) for source, path, *target in rows)
        return tuple(sorted(edge for edge in known if edge[2] in self.guards and self.permitted(edge[0])))

    def of(self, action: str) -> list[Branch]:
        """The branches of an action."""
        return self._of.get(action, [])

    def permitted(self, action: str) -> list[Branch]:
        """The branches of an action with which it can be performed."""
        return [branch for branch in self.of(action) if self.guards[branch].verdict == "allow"]

    def sure(self, action: str) -> list[Branch]:
        """The branches that hold whenever the action can be performed: the only ones of their policies that permit it."""
        policies = [branch.policy_id for branch in self.permitted(action)]
        return [branch for branch in self.permitted(action) if policies.count(branch.policy_id) == 1]

    def step(self, branch: Branch, entity: str, after: tuple[int, ...] = ()) -> Step:
        """The step that asks for a branch."""
        decision = "perform" if self.guards[branch].verdict == "allow" else "refuse"
        return Step(action=branch.action, entity=entity, decision=decision, units=(branch.unit,), after=after)

    def ways(self, branch: Branch) -> tuple[Steps, ...]:
        """Alternative lists of steps about an entity A that ask for the branch."""
        if branch not in self._ways:
            lifted = self._rehearsal.lifted(branch) if self._rehearsal is not None and self.liftable(branch) else []
            self._ways[branch] = tuple(lifted) or ((self.step(branch, "A"),),)
        return self._ways[branch]

    def liftable(self, branch: Branch) -> bool:
        """Whether the agent may come to lift a denial by itself: a policy speaks against it, and not against what the user says in it."""
        guard, enabling = self.guards[branch], self.library.conduct.enabling
        if not enabling or guard.verdict == "allow" or guard.enforced_by == "api" or guard.expression is None:
            return False
        first = next(iter(self.library.operators[branch.action].parameters), None)
        return branch.action not in enabling or guard.expression.arguments <= {first}

    def follows(self, source: str, target: Branch) -> bool:
        """Whether the target's action can be taken after the source, and what that takes, about the same records. An edge does not say so: of
        an order that is not delivered, other items can be brought about, but they cannot be exchanged."""
        if self.guards[target].verdict == "deny":
            return True
        steps: Steps = ()
        for action in (source, *self.repairs(source, target), target.action):
            branch = (self.sure(action) or self.permitted(action))[0]
            steps += (self.step(branch, "A", after=(len(steps) - 1,) if steps else ()),)
        return self.possible(steps)

    def possible(self, steps: Steps) -> bool:
        """Whether the steps, all about one entity, can be taken one after the other, as far as can be told."""
        return self._rehearsal is None or self._rehearsal.possible(moved(steps, "A", 0))

    def apart(self, source: str, path: str, target: Branch) -> bool:
        """Whether what the source changes is no part of the records that both actions are about, so that each may be about another one: an
        order is paid back to the gift card with which another one is paid."""
        tables = self._tables(source)
        return tables == self._tables(target.action) != frozenset() and path.split(".")[0] not in tables

    def _tables(self, action: str) -> frozenset[str]:
        """Where the records that an action is about are listed."""
        parameters = self.library.operators[action].parameters
        return frozenset(path.split(".")[0] for parameter in [*parameters.values()][:1] for path in parameter.values.reads)

    def undoes(self, source: str, denial: Branch) -> bool:
        """Whether an action is known to end a denial."""
        return any((action, branch) == (source, denial) for action, _, branch in self._against)

    def repairs(self, source: str, target: Branch) -> list[str]:
        """What the agent may do about other policies of the target's action that the source turns against it: bringing a booking up makes
        something due, which is to be paid before the booking can be cancelled."""
        lost = {
            branch.policy_id
            for action, _, branch in self._against
            if (action, branch.action) == (source, target.action) and self.guards[branch].verdict == "allow"
        }
        turned = {
            branch.policy_id
            for action, _, branch in self.edges
            if (action, branch.action) == (source, target.action) and self.liftable(branch)
        }
        found: list[str] = []
        for policy in sorted(lost & turned - {target.policy_id}):
            found += [
                action
                for action, _, branch in self.edges
                if action in self.library.conduct.enabling
                and action != source
                and (branch.action, branch.policy_id) == (target.action, policy)
                and self.guards[branch].verdict == "allow"
            ][:1]
        return list(dict.fromkeys(found))

    def fits(self, steps: Sequence[Step]) -> bool:
        """Whether the steps can be realised together, as far as can be told."""
        if self._conversations is not None and not self._conversations.allow(steps):
            return False
        return self._rehearsal is None or self._rehearsal.offered(steps)

    def drawn(self, branches: Collection[Branch], rng: random.Random) -> Iterator[Branch]:
        """The branches in the order in which they come to mind: by habit, and by chance."""
        left = {branch: self._weights[branch] * self._weight(branch.action) for branch in branches}
        while left:
            branch = rng.choices(list(left), list(left.values()))[0]
            del left[branch]
            yield branch

    def _weight(self, action: str) -> float:
        return 1.0 if self.library.operators[action].kind == "write" else READ


def moved(steps: Iterable[Step], entity: str, place: int) -> Steps:
    """Steps about another entity, at another place of the list."""
    return tuple(
        step.model_copy(update={"entity": entity, "after": tuple(place + each for each in step.after)}) for step in steps
    )


def fresh(steps: Sequence[Step]) -> str:
    """A, B, ..., Z, A1, B1, ...: the first one that no step is about."""
    place = len({step.entity for step in steps})
    letter = chr(ord("A") + place % 26)
    return letter if place < 26 else f"{letter}{place // 26}"


def _zipf(branches: Iterable[Branch]) -> dict[Branch, float]:
    """The weight of the action among the actions times that of the branch among the action's."""
    grouped: dict[str, list[Branch]] = {}
    for branch in branches:
        grouped.setdefault(branch.action, []).append(branch)
    found: dict[Branch, float] = {}
    for place, own in enumerate(grouped.values(), 1):
        total = sum(rank**-HABIT for rank in range(1, len(own) + 1))
        found |= {branch: place**-HABIT * rank**-HABIT / total for rank, branch in enumerate(own, 1)}
    return found
