"""The scripted writer: blueprints from the operator catalog and the measured edges between operators.

Paper: Gradus 2.3 (atomic blueprints, structural kernels, interaction variation) and A.7 (the evolution trace).

Left to itself it has habits: the first actions of the catalog, and their first outcomes, come up most (Zipf). The coverage ledger is what
leads it elsewhere. Without guarded operators (A.6) it sees names alone: it knows no edges, and it guesses whether an outcome is permitted.

A branch can be requested if a user can bring it about: not the agent's own conduct (look-ups it forgot), not what its library's conduct does
of its own accord, and no denial that the agent can lift by itself, because then the request is met.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import polars as pl

from selfevolve.gradus.blueprints import Blueprint, Step
from selfevolve.gradus.judgement import Branch, Unit
from selfevolve.gradus.operators import Guard, Library
from selfevolve.gradus.roles import Declined, Kernel
from selfevolve.gradus.schema import overlap
from selfevolve.seeding import derive

HABIT = 1.2  # exponent of Zipf's law over the catalog
READ = 0.25  # weight of an action that only reads, beside one that writes
LENGTHS = (0.45, 0.3, 0.15, 0.07, 0.03)  # steps of a scenario written in one go
TWICE = 0.3  # probability that a repetition adds two entities rather than one


class Writer:
    """Plays `Roles.write`, `evolve` and `vary`.

    Args:
        edges: of `graph.edges`.
        knows: with operators 1; else the probability that it guesses a verdict rightly, and it uses no edges.
    """

    def __init__(self, library: Library, edges: pl.DataFrame, knows: float = 1.0):
        self._library, self._knows = library, knows
        guided = knows == 1.0
        self._guards: dict[Branch, Guard] = {}
        for branch, guard in _requestable(library, edges) if guided else _named(library):
            self._guards[branch] = guard
        self._actions = [action for action in library.operators if any(branch.action == action for branch in self._guards)]
        self._edges: list[tuple[str, Branch]] = []
        if guided:
            rows = edges.filter(pl.col("relation") == "enables").select("source", "target", "policy_id", "outcome").iter_rows()
            known = [(source, Branch(target, *unit)) for source, target, *unit in rows]
            self._edges = sorted({edge for edge in known if edge[1] in self._guards and self._permitted(edge[0])})

    def write(self, actions: Sequence[str], least_covered: Sequence[Branch], count: int, seed: int) -> list[Blueprint]:
        """See `Roles.write`."""
        made = []
        for number in range(count):
            rng = random.Random(derive(seed, "write", number))
            if len(actions) == 1:
                branches = [self._choice(rng, self._of(actions[0]), least_covered[number:])]
            elif actions:
                branches = [self._choice(rng, self._permitted(action) or self._of(action), least_covered) for action in actions]
            else:
                length = rng.choices(range(1, len(LENGTHS) + 1), LENGTHS)[0]
                first = self._choice(rng, list(self._guards), least_covered[number:])
                branches = [first, *(self._choice(rng, list(self._guards), ()) for _ in range(length - 1))]
            steps = tuple(self._step(branch, _symbol(place), rng) for place, branch in enumerate(branches) if branch)
            if steps:
                made.append(self._blueprint(steps, depth=len(steps), seed=seed))
        return list({blueprint.id: blueprint for blueprint in made}.values())

    def evolve(self, parent: Blueprint, kernel: Kernel, least_covered: Sequence[Branch], seed: int) -> Blueprint | Declined:
        """See `Roles.evolve`."""
        rng = random.Random(derive(seed, "evolve"))
        fresh = _symbol(len({step.entity for step in parent.steps}))
        match kernel.relation:
            case "enables":
                options = self._chains(parent, fresh, rng)
                if not options:
                    return Declined(reason="no action that is known to change what another one may do fits here")
            case "repeat":
                repeated = [step for step in parent.steps if self._of(step.action) and not step.after]
                if not repeated:
                    return Declined(reason="no step that stands for itself could be repeated for a set")
                action = rng.choice(repeated).action
                times = 2 if rng.random() < TWICE else 1
                options = [self._repeated(self._of(action), parent, least_covered, times, rng)]
            case _:
                branch = self._choice(rng, list(self._guards), least_covered)
                options = [(self._step(branch, fresh, rng),)] if branch else []
        wanted = {branch: -place for place, branch in enumerate(least_covered)}
        rng.shuffle(options)
        new = max(options, key=lambda steps: max(wanted.get(branch, -len(wanted)) for branch in _branches(steps)), default=())
        if not new:
            return Declined(reason="nothing in the catalog fits here")
        steps = (*parent.steps, *new)
        return self._blueprint(steps, parent.depth + 1, seed, parent, (*parent.kernels, kernel.name))

    def vary(self, blueprint: Blueprint, kernel: Kernel, seed: int) -> Blueprint | Declined:
        """See `Roles.vary`."""
        goal = (kernel.surface or "{request}").replace("{request}", blueprint.goal)
        update = {"parent": blueprint.id, "interactions": (*blueprint.interactions, kernel.name), "goal": goal}
        if kernel.name == "ambiguity":
            update["unknown"] = (*blueprint.unknown, "what the agent needs to be told")
        return blueprint.model_copy(update=update)

    def _chains(self, parent: Blueprint, fresh: str, rng: random.Random) -> list[tuple[Step, ...]]:
        """Pairs of steps connected by an edge: to undo a refusal of the parent, after an action of it, or on a fresh entity."""
        place = len(parent.steps)
        options: list[tuple[Step, ...]] = []
        for source, target in self._edges:
            allowed = self._guards[target].verdict == "allow"
            opening = self._choice(rng, self._permitted(source), ())
            if opening is None:
                continue
            for number, step in enumerate(parent.steps):
                blocked = (
                    step.decision == "refuse" and step.action == target.action and step.units[0].policy_id == target.policy_id
                )
                if blocked and allowed:  # A.7: blocked at first, made possible, then done
                    first = self._step(opening, step.entity, rng)
                    options.append((first, self._step(target, step.entity, rng, after=(place,))))
                elif step.decision == "perform" and step.action == source:
                    options.append((self._step(target, step.entity, rng, after=(number,)),))
            options.append((self._step(opening, fresh, rng), self._step(target, fresh, rng, after=(place,))))
        return options

    def _repeated(
        self, branches: list[Branch], parent: Blueprint, least_covered: Sequence[Branch], times: int, rng: random.Random
    ) -> tuple[Step, ...]:
        used = len({step.entity for step in parent.steps})
        chosen = [self._choice(rng, branches, least_covered) for _ in range(times)]
        return tuple(self._step(branch, _symbol(used + place), rng) for place, branch in enumerate(chosen) if branch)

    def _choice(self, rng: random.Random, branches: Sequence[Branch], least_covered: Iterable[Branch]) -> Branch | None:
        """The least covered of the branches, if some of them are shown as such; else one by habit."""
        shown = [branch for branch in least_covered if branch in set(branches)]
        if shown:
            return shown[0]
        if not branches:
            return None
        actions = list(dict.fromkeys(branch.action for branch in branches))
        weights = [
            (1.0 if self._library.operators[action].kind == "write" else READ) * (place + 1) ** -HABIT
            for place, action in enumerate(actions)
        ]
        action = rng.choices(actions, weights)[0]
        own = [branch for branch in branches if branch.action == action]
        return rng.choices(own, [(place + 1) ** -HABIT for place in range(len(own))])[0]

    def _step(self, branch: Branch, entity: str, rng: random.Random, after: tuple[int, ...] = ()) -> Step:
        allowed = self._guards[branch].verdict == "allow"
        if rng.random() >= self._knows:
            allowed = not allowed
        return Step(
            action=branch.action, entity=entity, decision="perform" if allowed else "refuse", units=(branch.unit,), after=after
        )

    def _of(self, action: str) -> list[Branch]:
        return [branch for branch in self._guards if branch.action == action]

    def _permitted(self, action: str) -> list[Branch]:
        return [branch for branch in self._of(action) if self._guards[branch].verdict == "allow"]

    def _blueprint(
        self, steps: tuple[Step, ...], depth: int, seed: int, parent: Blueprint | None = None, kernels: tuple[str, ...] = ()
    ) -> Blueprint:
        wishes = [
            f"{step.action.replace('_', ' ')} for {step.entity}{'' if step.decision == 'perform' else ', which is to be refused'}"
            for step in steps
        ]
        texts = [f"{step.entity}: {self._text(step.action, unit)}" for step in steps for unit in step.units]
        return Blueprint(
            domain=self._library.domain,
            parent=parent and parent.id,
            depth=depth,
            kernels=kernels,
            interactions=(),
            goal="; ".join(wishes),
            context="; ".join(texts),
            known=tuple(f"which record {entity} is" for entity in dict.fromkeys(step.entity for step in steps)),
            steps=steps,
        )

    def _text(self, action: str, unit: Unit) -> str:
        return next(guard.text for guard in self._library.operators[action].guards if guard.unit == unit)


def _named(library: Library) -> list[tuple[Branch, Guard]]:
    """Every branch by name, whether it can be reached and asked for or not."""
    return [(Branch(action, *guard.unit), guard) for action, operator in library.operators.items() for guard in operator.guards]


def _requestable(library: Library, edges: pl.DataFrame) -> list[tuple[Branch, Guard]]:
    """The branches that a user can bring about by asking, in the library's order."""
    traces = {
        effect.path.path
        for operator in library.operators.values()
        if operator.kind == "read"
        for guard in operator.guards
        for effect in guard.effects
        if effect.path.path is not None
    }
    lifted = {
        Branch(target, policy, outcome)
        for source, target, policy, outcome, relation in edges.select(
            "source", "target", "policy_id", "outcome", "relation"
        ).iter_rows()
        if relation == "disables" and source in library.conduct.enabling
    }
    found = []
    for branch, guard in _named(library):
        operator = library.operators[branch.action]
        if operator.kind == "other" or branch.action in library.conduct.actions or guard.expression is None or guard.unreachable:
            continue
        if guard.verdict == "deny":
            own = {library.facts[name].source for name in guard.expression.facts} - {"user"}
            forgotten = any(overlap(trace, read) for trace in traces for read in guard.expression.reads)
            if own or forgotten or branch in lifted:
                continue
        found.append((branch, guard))
    return found


def _branches(steps: Iterable[Step]) -> list[Branch]:
    return [Branch(step.action, *unit) for step in steps for unit in step.units]


def _symbol(place: int) -> str:
    """A, B, ..., Z, A1, B1, ..."""
    letter = chr(ord("A") + place % 26)
    return letter if place < 26 else f"{letter}{place // 26}"
