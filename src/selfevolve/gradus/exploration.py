"""The search for calls that reach the branches of a library, each tried on the environment on the way.

Paper: Gradus section 2.2 ("how its effects can establish or invalidate another action's conditions") and 2.4 (grounding in
executable states). Whether a branch can be reached is a question the paper's extraction leaves to the model.

How it searches:

1. From the base state and from every situation of the library, candidate calls of every action are judged; those that show
   something new are executed.
2. For each branch not reached, calls that might lead to it are executed first: those of actions with an effect on what the
   branch reads, then two in a row, the first with an effect on what the conditions of the second read. After them come
   candidates about the same entities (`about`).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from selfevolve.environments import Environment
from selfevolve.gradus import candidates, outcomes, trial
from selfevolve.gradus.candidates import Arguments
from selfevolve.gradus.differences import ABSENT, Change, changes, view
from selfevolve.gradus.operators import Guard, Library, Operator
from selfevolve.gradus.outcomes import Facts
from selfevolve.gradus.problems import Problem, at, shown
from selfevolve.gradus.schema import overlap
from selfevolve.gradus.values import EvaluationError

Branch = tuple[str, str, str]  # action, policy_id, outcome
Calls = tuple[tuple[str, Arguments], ...]  # action and arguments, in order


@dataclass(frozen=True)
class Budget:
    """How much is tried. Counts of calls, per action and start unless said otherwise."""

    judged: int = 300  # until every branch of the action has been reached and executed; then
    least: int = 40
    executed_per_branch: int = 3  # calls executed for each branch, over all starts
    executed: int = 12  # calls executed whatever they show
    first: int = 300  # calls tried as the earlier one
    second: int = 6  # calls tried after each of these, where two come earlier
    last: int = 12  # candidates of the branch's action after each sequence
    branch: int = 4_000  # calls for one branch, for each number of earlier calls; shared by the starts
    unreachable: int = 800  # the same for a branch that is said to be unreachable


@dataclass(frozen=True)
class Witness:
    """How a branch was reached: the start, the calls before, and the call with facts under which the branch holds."""

    situation: str
    earlier: Calls
    arguments: Arguments
    facts: Facts


@dataclass
class Exploration:
    """One search. `witnesses`: how each branch was first reached; `problems`: what the executed calls contradict; `set_aside`:
    actions that are not looked at, because they cannot be called or evaluated."""

    library: Library
    env: Environment
    rng: random.Random
    budget: Budget = field(default_factory=Budget)
    witnesses: dict[Branch, Witness] = field(default_factory=dict)
    problems: dict[tuple[str | None, ...], Problem] = field(default_factory=dict)
    set_aside: set[str] = field(default_factory=set)
    judged: int = 0
    executed: int = 0
    _tried: dict[Branch, int] = field(default_factory=dict)
    _firsts: dict[tuple[str, str], list[tuple[Operator, Arguments]]] = field(default_factory=dict)

    def run(self) -> None:
        """Search. The environment is left in its base state."""
        for name in self._starts():
            for operator in self._operators():
                self._from(name, operator)
        for earlier in (1, 2):
            for name in self._starts():
                blob = self.env.snapshot()
                for operator, guard in self.missing():
                    self._toward(name, operator, guard, earlier, blob)
                    self.env.restore(blob)
        self.env.reset()

    def _operators(self) -> list[Operator]:
        return [operator for operator in self.library.operators.values() if operator.action not in self.set_aside]

    def missing(self) -> list[tuple[Operator, Guard]]:
        """The branches with a condition that no call has reached so far."""
        return [
            (operator, guard)
            for operator in self._operators()
            for guard in operator.guards
            if guard.expression is not None and (operator.action, *guard.unit) not in self.witnesses
        ]

    def _starts(self) -> Iterator[str]:
        self.env.reset()
        yield ""
        for situation in self.library.situations:
            try:
                self.env.reset([action.model_dump() for action in situation.actions])
            except ValueError as error:
                reason = f"the environment refuses its actions: {error}"
                self._note([Problem(kind="candidates", field=f"situations.{situation.name}", reason=reason)])
                continue
            yield situation.name

    def _from(self, start: str, operator: Operator) -> None:
        blob, executed = self.env.snapshot(), 0
        calls = self._candidates(operator, self.budget.judged)
        for position, arguments in enumerate(calls):
            if position >= self.budget.least and not self._wanted(self._branches(operator)):
                break
            branches = self._judge(start, (), operator, arguments)
            if operator.action in self.set_aside:
                return
            if executed < self.budget.executed or self._wanted(branches):
                executed += 1
                self._execute(operator, arguments, branches)
                self.env.restore(blob)
        if not calls and not start and operator.action not in self.set_aside:
            reason = "no candidate call in the base state: `values` must give at least one value for every parameter"
            self._note([Problem(kind="candidates", operator=operator.action, field="parameters", reason=reason)])

    def _toward(self, start: str, operator: Operator, guard: Guard, earlier: int, blob: bytes) -> None:
        if (operator.action, *guard.unit) in self.witnesses or guard.expression is None:  # met on the way to another
            return
        budget = self.budget.branch if guard.unreachable is None else self.budget.unreachable
        end = self.judged + self.executed + budget // (1 + len(self.library.situations))
        for calls, near in self._sequences(start, guard.expression.reads, earlier, blob):
            for arguments in self._near(operator, near, self.budget.last):
                if self.judged + self.executed > end:
                    return
                if guard.unit in outcomes.units(self._outcomes(operator, arguments, {guard.policy_id})):
                    self._execute(operator, arguments, self._judge(start, calls, operator, arguments))
                    return

    def _sequences(self, start: str, reads: Iterable[str], length: int, blob: bytes) -> Iterator[tuple[Calls, dict]]:
        """Sequences of calls that may change what is read, and the scalars they are about. The environment is in the state
        after a sequence when it is yielded, and in that of `blob` at the start."""
        for operator, arguments in self._earlier(start, reads if length == 1 else self._read_by_sources(reads)):
            self.env.restore(blob)
            near = self._change(operator, arguments)
            if not near:
                continue
            calls: Calls = ((operator.action, arguments),)
            if length == 1:
                yield calls, near
                continue
            between = self.env.snapshot()
            for last in self._sources(reads):
                for then in self._near(last, near, self.budget.second):
                    self.env.restore(between)
                    if more := self._change(last, then):
                        yield (*calls, (last.action, then)), near | more

    def _earlier(self, start: str, reads: Iterable[str]) -> Iterator[tuple[Operator, Arguments]]:
        """Candidates, in the state of the start, of the actions with an effect on what is read, one of each in turn."""
        lists = []
        for source in self._sources(reads):
            if (start, source.action) not in self._firsts:
                found = self._candidates(source, self.budget.first)
                self._firsts[start, source.action] = [(source, arguments) for arguments in found]
            lists.append(self._firsts[start, source.action])
        for turn in itertools.zip_longest(*lists):
            yield from filter(None, turn)

    def _read_by_sources(self, reads: Iterable[str]) -> frozenset[str]:
        guards = [guard for source in self._sources(reads) for guard in source.guards if guard.expression is not None]
        return frozenset(reads).union(*(guard.expression.reads for guard in guards))

    def _change(self, operator: Operator, arguments: Arguments) -> dict:
        """Execute a call; the scalars it is about, none if it changes nothing."""
        before = view(self.env.state)
        self.executed += 1
        if not self.env.call(operator.action, arguments, operator.requestor).ok:
            return {}
        return about(self.env, arguments, changed) if (changed := changes(before, self.env.state)) else {}

    def _sources(self, reads: Iterable[str]) -> list[Operator]:
        """The actions with an effect on one of the paths."""
        reads = list(reads)
        return [
            operator
            for operator in self._operators()
            if any(overlap(path, read) for path in effect_paths(operator) for read in reads)
        ]

    def _candidates(self, operator: Operator, limit: int, near: Collection | None = None) -> list[Arguments]:
        """Candidates as a list: the state may change while they are used."""
        try:
            return list(candidates.calls(self.library, self.env, operator.action, limit, self.rng, near))
        except EvaluationError as error:
            return self._give_up(operator, "parameters", error) or []

    def _near(self, operator: Operator, near: Collection, limit: int) -> list[Arguments]:
        """Candidates about what earlier calls were about; any, if the action has none about it."""
        return self._candidates(operator, limit, near) or self._candidates(operator, limit)

    def _judge(self, start: str, earlier: Calls, operator: Operator, arguments: Arguments) -> list[Branch]:
        """The branches a call reaches. Notes how they were reached, and policies with no outcome or contradictory ones."""
        found = self._outcomes(operator, arguments)
        self._note(_policies(operator, arguments, found))
        branches = []
        for policy, sets in found.items():
            for together, facts in sets.items():
                for outcome in together:
                    branch = (operator.action, policy, outcome)
                    branches.append(branch)
                    self.witnesses.setdefault(branch, Witness(start, earlier, arguments, facts))
        return branches

    def _outcomes(self, operator: Operator, arguments: Arguments, only: Collection[str] | None = None) -> outcomes.Outcomes:
        self.judged += 1
        try:
            return outcomes.possible(self.library, self.env, operator.action, arguments, only)
        except EvaluationError as error:
            return self._give_up(operator, "guards", error) or {}

    @staticmethod
    def _branches(operator: Operator) -> list[Branch]:
        return [(operator.action, *guard.unit) for guard in operator.guards if guard.expression is not None]

    def _wanted(self, branches: Iterable[Branch]) -> bool:
        return any(self._tried.get(branch, 0) < self.budget.executed_per_branch for branch in branches)

    def _execute(self, operator: Operator, arguments: Arguments, branches: Iterable[Branch]) -> None:
        """Execute a call and compare what it does with what the guards say."""
        self.executed += 1
        for branch in branches:
            self._tried[branch] = self._tried.get(branch, 0) + 1
        try:
            done = trial.execute(self.library, self.env, operator.action, arguments)
        except EvaluationError as error:
            self._give_up(operator, "effects", error)
        else:
            self._note(done.problems)

    def _give_up(self, operator: Operator, part: str, error: EvaluationError) -> None:
        self._note([Problem(kind="work", operator=operator.action, field=part, reason=str(error))])
        self.set_aside.add(operator.action)

    def _note(self, problems: Iterable[Problem]) -> None:
        """Keep the first problem of a kind at a place; the others differ in the example only."""
        for problem in problems:
            place = (problem.kind, problem.operator, problem.policy_id, problem.outcome, problem.field)
            self.problems.setdefault(place, problem)


def effect_paths(operator: Operator) -> set[str]:
    """The schema paths an action changes."""
    return {effect.path.path for guard in operator.guards for effect in guard.effects if effect.path.path is not None}


def about(env: Environment, arguments: Arguments, changed: list[Change]) -> dict:
    """What a call was about: its texts and numbers, those of what it changed (keys of records, old and new values), and the
    ids in the records that its arguments name (the user of a reservation)."""
    values = [value for change in changed for value in (change.before, change.after) if value is not ABSENT]
    found = candidates.scalars([dict(arguments), *(list(change.place) for change in changed), *values])
    return found | outcomes.ids_near(env, [dict(arguments)])


def _policies(operator: Operator, arguments: Arguments, found: outcomes.Outcomes) -> Iterator[Problem]:
    """Totality and consistency of the policies that concern a call which the API does not refuse."""
    units = outcomes.units(found)
    if any(guard.unit in units for guard in operator.guards if guard.verdict == "deny" and guard.enforced_by == "api"):
        return
    guards: dict[str, list[Guard]] = {}
    for guard in operator.guards:
        guards.setdefault(guard.policy_id, []).append(guard)
    for policy, sets in found.items():
        denying = [g for g in guards[policy] if g.verdict == "deny" and g.enforced_by == "policy"]
        if not denying or any(g.expression is None for g in guards[policy]):
            continue
        allowing = {g.outcome for g in guards[policy] if g.verdict == "allow"}
        for together, facts in sets.items():
            call = shown(operator.action, arguments, facts)
            if not together:
                reason = (
                    f"no outcome holds for {call}: let the conditions of the policy cover every call that the tool carries out"
                )
                yield Problem(kind="totality", operator=operator.action, policy_id=policy, reason=reason)
            for guard in denying:
                if guard.outcome in together and allowing & together:
                    reason = f"for {call} the outcome {min(allowing & together)!r}, which allows it, holds too: make them exclude each other"
                    yield Problem(kind="contradiction", reason=reason, **at(guard, operator.action, "when"))
