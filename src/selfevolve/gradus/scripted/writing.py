"""The scripted writer: blueprints from the operator catalog and the measured edges between operators.

Paper: Gradus 2.3 (atomic blueprints, structural kernels, interaction variation, declining what is unrealistic) and A.7 (the evolution trace).

Left to itself it has habits (`catalog.HABIT`: a setting, no finding), and the coverage ledger is what leads it elsewhere. Some of what it
proposes it can try out (`rehearsing`), in place of a model's sense of what can be true at once. Without operators (A.6) it cannot, knows no
edges, and takes some denials for permissions and the reverse.

A scenario begins with a request that leaves something to verify: a change, or a refusal. What only reads comes along with others.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

import polars as pl

from selfevolve.gradus.blueprints import Blueprint, Step
from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.operators import Library
from selfevolve.gradus.roles import Declined, Kernel
from selfevolve.gradus.scripted.catalog import Catalog, moved
from selfevolve.gradus.scripted.outlining import outlined
from selfevolve.gradus.scripted.rehearsing import Rehearsal, Steps
from selfevolve.seeding import derive

LENGTHS = (0.45, 0.3, 0.15, 0.07, 0.03)  # requests of a scenario written in one go
TWICE = 0.3  # probability that a repetition adds two entities rather than one
TRIED = 10  # extensions that are considered before one is declined


class Writer:
    """Plays `Roles.write`, `evolve` and `vary`.

    Args:
        edges: of `graph.edges`.
        knows: with operators 1; else the probability that it takes a verdict for what it is, and it sees names alone.
        rehearsal: lets it try out what it proposes; None if it cannot.
    """

    def __init__(self, library: Library, edges: pl.DataFrame, knows: float = 1.0, rehearsal: Rehearsal | None = None):
        self._library, self._knows = library, knows
        self._catalog = Catalog(library, edges, rehearsal, operators=knows == 1.0)

    def write(self, actions: Sequence[str], least_covered: Sequence[Branch], count: int, seed: int) -> list[Blueprint]:
        """See `Roles.write`."""
        made: dict[tuple[Step, ...], Blueprint] = {}
        for number in range(count):
            rng = random.Random(derive(seed, "write", number))
            gaps = [*least_covered[number:], *least_covered[:number]]  # another one for each scenario
            if len(actions) == 1:
                steps, depth = self._requests(self._catalog.of(actions[0]), gaps, 1, rng), 1
            elif actions:
                chosen = [next(self._minded(self._catalog.permitted(action), gaps, rng), None) for action in actions]
                steps = ()
                for branch in filter(None, chosen):
                    steps += (self._catalog.step(branch, _fresh(steps)),)
                depth = len(steps)
            else:
                depth = rng.choices(range(1, len(LENGTHS) + 1), LENGTHS)[0]
                steps = self._requests(self._catalog.guards, gaps, depth, rng)
            if steps:
                steps = self._judged(steps, rng)
                made.setdefault(steps, self._blueprint(steps, depth))
        return list(made.values())

    def evolve(self, parent: Blueprint, kernel: Kernel, least_covered: Sequence[Branch], seed: int) -> Blueprint | Declined:
        """See `Roles.evolve`."""
        rng = random.Random(derive(seed, "evolve"))
        match kernel.relation:
            case "enables":
                options, lacking = (
                    self._chains(parent, least_covered, rng),
                    "no action that is known to enable another one fits here",
                )
            case "repeat":
                options, lacking = self._repeated(parent, least_covered, rng), "no request could be made of other records, too"
            case _:
                options, lacking = self._added(parent.steps, self._catalog.guards, least_covered, rng), "nothing else fits here"
        for new in islice(options, TRIED):
            if self._catalog.fits((*parent.steps, *new)):
                steps = (*parent.steps, *self._judged(new, rng))
                return self._blueprint(steps, parent.depth + 1, parent, (*parent.kernels, kernel.name))
        return Declined(reason=lacking)

    def vary(self, blueprint: Blueprint, kernel: Kernel, seed: int) -> Blueprint | Declined:
        """See `Roles.vary`."""
        named = [step for step in blueprint.steps if self._library.operators[step.action].parameters]
        if not named and kernel.name != "pressure":
            return Declined(reason="the requests name nothing that could be put in another way")
        rng = random.Random(derive(seed, "vary"))
        about = rng.choice(named or blueprint.steps)
        update = {
            "parent": blueprint.id,
            "interactions": (*blueprint.interactions, kernel.name),
            "goal": (kernel.surface or "{request}").replace("{request}", blueprint.goal.removesuffix(".")) + ".",
        }
        if kernel.name == "ambiguity":
            update["unknown"] = (
                *blueprint.unknown,
                f"that the agent needs more to {about.action.replace('_', ' ')} {about.entity}",
            )
        return blueprint.model_copy(update=update)

    def _requests(self, branches: Collection[Branch], gaps: Sequence[Branch], number: int, rng: random.Random) -> Steps:
        """So many requests that fit together; fewer, if no more come to mind. The first one follows the gaps, the others habit."""
        steps: Steps = ()
        for place in range(number):
            options = islice(
                self._added(steps, branches if place else self._telling(branches), () if place else gaps, rng), TRIED
            )
            steps += next((new for new in options if self._catalog.fits((*steps, *new))), ())
        return steps

    def _telling(self, branches: Collection[Branch]) -> list[Branch]:
        """The branches that leave something to verify."""
        guards, operators = self._catalog.guards, self._library.operators
        return [branch for branch in branches if guards[branch].verdict == "deny" or operators[branch.action].kind == "write"]

    def _minded(self, branches: Collection[Branch], gaps: Iterable[Branch], rng: random.Random) -> Iterator[Branch]:
        """The branches as they come to mind: those shown as gaps, then by habit."""
        shown = [branch for branch in gaps if branch in branches]
        yield from shown
        yield from self._catalog.drawn([branch for branch in branches if branch not in shown], rng)

    def _added(
        self, steps: Sequence[Step], branches: Collection[Branch], gaps: Iterable[Branch], rng: random.Random
    ) -> Iterator[Steps]:
        """Requests about a record that the steps do not mention."""
        fresh = _fresh(steps)
        for branch in self._minded(branches, gaps, rng):
            yield moved(rng.choice(self._catalog.ways(branch)), fresh, len(steps))

    def _repeated(self, parent: Blueprint, gaps: Sequence[Branch], rng: random.Random) -> Iterator[Steps]:
        """The action of a request, on one or two more records, with other outcomes if there are any."""
        actions = list(dict.fromkeys(step.action for step in parent.steps if self._library.operators[step.action].parameters))
        times = 2 if rng.random() < TWICE else 1
        for action in rng.sample(actions, len(actions)):
            own = self._catalog.of(action)
            new = [branch for branch in own if branch not in parent.branches] or own
            for first in self._added(parent.steps, new, gaps, rng):
                steps = (*parent.steps, *first)
                second = next(self._added(steps, [branch for branch in new if branch.unit not in first[-1].units], gaps, rng), ())
                yield (*first, *second) if times == 2 else first

    def _chains(self, parent: Blueprint, gaps: Sequence[Branch], rng: random.Random) -> Iterator[Steps]:
        """Steps connected by an edge; those that meet a gap first, then those that are most bound up with the parent."""
        links = rng.sample(self._catalog.edges, len(self._catalog.edges))
        for among in ([edge for edge in links if edge[2] in gaps], links):
            for how in (self._undoing, self._following, self._linked):
                for source, path, target in among:
                    opening = rng.choice(self._catalog.sure(source) or self._catalog.permitted(source))
                    for new in how(parent, opening, path, target):
                        apart = (
                            new[-1].entity != parent.steps[new[-1].after[0]].entity
                            if len(new) == 1
                            else new[-1].entity != new[0].entity
                        )
                        if not _contradicts(self._library, (*parent.steps, *new)) and (
                            apart or self._catalog.follows(source, target)
                        ):
                            yield new

    def _undoing(self, parent: Blueprint, opening: Branch, path: str, target: Branch) -> Iterator[Steps]:
        """A change of a record that makes possible what the parent is refused (A.7)."""
        allowed, within = self._catalog.guards[target].verdict == "allow", path.count(".") >= 2  # else a record comes into being
        if not allowed or not within or self._catalog.apart(opening.action, path, target):
            return
        for number, step in enumerate(parent.steps):
            denials = [Branch(step.action, *unit) for unit in step.units if (step.action, unit.policy_id) == target[:2]]
            again = any((later.action, later.entity) == (step.action, step.entity) for later in parent.steps[number + 1 :])
            undone = [denial for denial in denials if self._catalog.undoes(opening.action, denial)]
            if step.decision == "refuse" and undone and not again:
                chain = (self._catalog.step(opening, step.entity), *self._after(opening.action, target, step.entity, 0, 1))
                if self._catalog.possible((self._catalog.step(undone[0], step.entity), *moved(chain, step.entity, 1))):
                    yield moved(chain, step.entity, len(parent.steps))

    def _following(self, parent: Blueprint, opening: Branch, path: str, target: Branch) -> Iterator[Steps]:
        """What an action of the parent makes possible, or impossible for good."""
        if self._catalog.liftable(target):
            return
        apart = self._catalog.apart(opening.action, path, target)
        for number, step in enumerate(parent.steps):
            last = not any(later.entity == step.entity and later.decision == "perform" for later in parent.steps[number + 1 :])
            if step.decision == "perform" and step.action == opening.action and last:
                entity = _fresh(parent.steps) if apart else step.entity
                yield self._after(step.action, target, entity, number, len(parent.steps))

    def _linked(self, parent: Blueprint, opening: Branch, path: str, target: Branch) -> Iterator[Steps]:
        """Both on a record that the parent does not mention, or on two."""
        if not self._catalog.liftable(target):
            first = self._catalog.step(opening, _fresh(parent.steps))
            apart = self._catalog.apart(opening.action, path, target)
            entity = _fresh((*parent.steps, first)) if apart else first.entity
            yield first, *self._after(opening.action, target, entity, len(parent.steps), len(parent.steps) + 1)

    def _after(self, source: str, target: Branch, entity: str, number: int, place: int) -> Steps:
        """The target, to be put at a place of the list, after step `number`; before it, what else it takes then."""
        steps: Steps = ()
        if self._catalog.guards[target].verdict == "allow":
            for action in self._catalog.repairs(source, target):
                sure = (self._catalog.sure(action) or self._catalog.permitted(action))[0]
                steps += (self._catalog.step(sure, entity, after=(number,)),)
                number = place + len(steps) - 1
        return *steps, self._catalog.step(target, entity, after=(number,))

    def _judged(self, steps: Steps, rng: random.Random) -> Steps:
        """The steps with the verdicts that the writer takes them to have."""
        other = {"perform": "refuse", "refuse": "perform"}
        return tuple(
            step if rng.random() < self._knows else step.model_copy(update={"decision": other[step.decision]}) for step in steps
        )

    def _blueprint(self, steps: Steps, depth: int, parent: Blueprint | None = None, kernels: tuple[str, ...] = ()) -> Blueprint:
        return Blueprint(
            domain=self._library.domain,
            parent=parent and parent.id,
            depth=depth,
            kernels=kernels,
            interactions=(),
            steps=steps,
            **outlined(self._library, steps),
        )


def _contradicts(library: Library, steps: Sequence[Step]) -> bool:
    """Whether the last step refuses what an earlier one performs: the same call, if it names nothing but the record."""
    last = steps[-1]
    done = any((each.action, each.entity, each.decision) == (last.action, last.entity, "perform") for each in steps[:-1])
    return last.decision == "refuse" and done and len(library.operators[last.action].parameters) <= 1


def _fresh(steps: Sequence[Step]) -> str:
    """A, B, ..., Z, A1, B1, ...: the first one that no step is about."""
    place = len({step.entity for step in steps})
    letter = chr(ord("A") + place % 26)
    return letter if place < 26 else f"{letter}{place // 26}"
