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
from selfevolve.gradus.scripted.catalog import Catalog, fresh, moved
from selfevolve.gradus.scripted.chaining import Chains
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
        self._chains = Chains(self._catalog)

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
                    steps += (self._catalog.step(branch, fresh(steps)),)
                depth = len(steps)
            else:
                length = rng.choices(range(1, len(LENGTHS) + 1), LENGTHS)[0]
                steps = self._requests(self._catalog.guards, gaps, length, rng)
                depth = len({step.entity for step in steps})
            if steps:
                steps = self._judged(steps, rng)
                made.setdefault(steps, self._blueprint(steps, depth))
        return list(made.values())

    def evolve(self, parent: Blueprint, kernel: Kernel, least_covered: Sequence[Branch], seed: int) -> Blueprint | Declined:
        """See `Roles.evolve`."""
        rng = random.Random(derive(seed, "evolve"))
        match kernel.relation:
            case "enables":
                options = self._chains.extending(parent.steps, least_covered, rng)
                lacking = "no action that is known to enable another one fits here"
            case "repeat":
                options = self._repeated(parent, least_covered, rng)
                lacking = "no request could be made of other records, too"
            case _:
                options = self._added(parent.steps, self._catalog.guards, least_covered, rng)
                lacking = "nothing else fits here"
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
            untold = f"that the agent needs more to {about.action.replace('_', ' ')} ({about.entity})"
            update["unknown"] = (*blueprint.unknown, untold)
        return blueprint.model_copy(update=update)

    def _requests(self, branches: Collection[Branch], gaps: Sequence[Branch], number: int, rng: random.Random) -> Steps:
        """So many requests that fit together; fewer, if no more come to mind. The first one follows the gaps, the others habit."""
        steps: Steps = ()
        for place in range(number):
            options = self._added(steps, branches, (), rng) if place else self._added((), self._telling(branches), gaps, rng)
            steps += next((new for new in islice(options, TRIED) if self._catalog.fits((*steps, *new))), ())
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
        for branch in self._minded(branches, gaps, rng):
            yield moved(rng.choice(self._catalog.ways(branch)), fresh(steps), len(steps))

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
