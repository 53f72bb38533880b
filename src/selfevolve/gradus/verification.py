"""Verification: whether a task, its reference and a demonstration belong together. Code alone decides.

Paper: Gradus 2.4 ("the whole tuple is accepted" when the two outcomes agree and the programmatic policy checks pass; "a mutually agreeable
but environment-inconsistent tuple cannot be accepted") and A.2 (replay from the same initial state).

Choices the paper leaves open:

* Beyond agreement and policies, every step of the blueprint must be met by a call or a refusal of its own that exercises all the branches
  it intends, in the reference and in the demonstration; what is refused must be forbidden; and the conversation must have come to its end.
* States are compared by `Environment.state_hash`: from one start, the official hashes of the tau2 domains agree exactly when it does, and
  take a hundred times as long.
* A solving agent that says what the dialogue established for its calls is held to it. One that does not, as a model, is judged with what
  the task has the user say about the same action on the same entity.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from selfevolve.environments.protocol import Environment
from selfevolve.gradus import candidates, differences
from selfevolve.gradus.blueprints import Blueprint, Call, Record, Step
from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.operators import Library
from selfevolve.gradus.replay import Replayed, replay
from selfevolve.gradus.roles import Evidence
from selfevolve.gradus.tasks import Demonstration, Task

SHOWN = 20  # differences between states that are written out
_LONGEST = 100  # characters of a value in a difference


class Verdict(Record):
    """What verification found.

    `reasons`: one line per failed check, "check: details"; none if accepted. `realised`: branches the demonstration exercised, sorted.
    `do_nothing`: the reference ends in the state it began in, so that an agent that does nothing reaches it too. `failed`: calls of the
    demonstration that the environment refused; they change nothing and are no reason.
    """

    accepted: bool
    reasons: tuple[str, ...]
    evidence: Evidence
    realised: tuple[Branch, ...]
    do_nothing: bool
    failed: tuple[str, ...]


def verify(
    env: Environment,
    library: Library,
    blueprint: Blueprint,
    task: Task,
    demonstration: Demonstration,
    reference: Replayed | None = None,
) -> Verdict:
    """Replay both sides in `env`, in any state, and check them.

    Args:
        reference: the replay of the task's reference, if it has been made.

    Raises:
        ValueError: an init action of the task cannot be applied.
    """
    wanted = replay(env, library, task, task.reference) if reference is None else reference
    found = replay(env, library, task, _calls(library, task, demonstration))
    differing = () if wanted.end_hash == found.end_hash else _differences(env, task)
    do_nothing = wanted.end_hash == wanted.start_hash
    unmet = _unmet(blueprint, found)
    faults = _faults(blueprint, task, wanted)
    checks: list[tuple[str, Iterable[str]]] = [
        *faults,
        ("demonstration fails", found.errors),
        ("demonstration breaks policy", found.violations),
        ("demonstration does what it must refuse", _executed(task, demonstration.calls)),
        ("demonstration misses", map(_words, unmet)),
        ("states differ", differing),
        ("conversation not ended", _unended(demonstration)),
    ]
    reasons = tuple(f"{check}: {'; '.join(details)}" for check, lines in checks if (details := list(lines)))
    return Verdict(
        accepted=not reasons,
        reasons=reasons,
        evidence=Evidence(
            reference_hash=wanted.end_hash,
            demonstration_hash=found.end_hash,
            violations=found.violations,
            missing=tuple(sorted({Branch(step.action, *unit) for step in unmet for unit in step.units})),
            differences=differing,
            errors=tuple(f"{check}: {line}" for check, lines in faults for line in lines),
        ),
        realised=tuple(sorted(found.realised)),
        do_nothing=do_nothing,
        failed=tuple(
            f"{event.call.name}: {event.observation or event.error}"
            for event in demonstration.events
            if event.call is not None and event.error is not None
        ),
    )


class Verifier:
    """`verify` for the demonstrations of one task, whose reference has been replayed. Conversations that are alike are checked once."""

    def __init__(self, library: Library, blueprint: Blueprint, task: Task, reference: Replayed):
        self._library, self._blueprint, self._task, self._reference = library, blueprint, task, reference
        self._known: list[tuple[Demonstration, Verdict]] = []

    def verify(self, env: Environment, demonstration: Demonstration) -> Verdict:
        """As the function."""
        for known, verdict in self._known:
            if (known.events, known.stop) == (demonstration.events, demonstration.stop):
                return verdict
        verdict = verify(env, self._library, self._blueprint, self._task, demonstration, self._reference)
        self._known.append((demonstration, verdict))
        return verdict


def _faults(blueprint: Blueprint, task: Task, replayed: Replayed) -> list[tuple[str, list[str]]]:
    """What is wrong with a reference, whatever the demonstration: (check, details), failed checks only."""
    allowed = [
        f"{refusal.call.name} {refusal.call.arguments} at the {refusal.when}{f' ({judged.error})' if judged.error else ''}"
        for refusal, judged in zip(task.refusals, replayed.refused, strict=True)
        if not judged.forbidden
    ]
    idle = replayed.end_hash == replayed.start_hash and not task.refusals
    checks = [
        ("reference fails", list(replayed.errors)),
        ("reference breaks policy", list(replayed.violations)),
        ("reference does what it must refuse", _executed(task, task.reference)),
        ("refusal not called for", allowed),
        ("reference misses", [_words(step) for step in _unmet(blueprint, replayed)]),
        ("nothing to check", ["no reference and no refusal"] if not task.reference and not task.refusals else []),
        ("nothing to do", ["the reference changes nothing, and nothing is refused"] if task.reference and idle else []),
    ]
    return [(check, details) for check, details in checks if details]


def _unmet(blueprint: Blueprint, replayed: Replayed) -> list[Step]:
    """The steps that no call or refusal is left for, in order, when as many as possible have one of their own."""
    refused = tuple(judged.branches for judged in replayed.refused)
    fitting: list[list[tuple[str, int]]] = []
    for step in blueprint.steps:
        intended = {Branch(step.action, *unit) for unit in step.units}
        met = replayed.executed if step.decision == "perform" else refused
        fitting.append([(step.decision, number) for number, branches in enumerate(met) if intended <= branches])
    taken: dict[tuple[str, int], int] = {}

    def placed(step: int, tried: set[tuple[str, int]]) -> bool:
        """Find a place for a step, moving others if need be."""
        for place in fitting[step]:
            if place not in tried:
                tried.add(place)
                if place not in taken or placed(taken[place], tried):
                    taken[place] = step
                    return True
        return False

    return [step for number, step in enumerate(blueprint.steps) if not placed(number, set())]


def _calls(library: Library, task: Task, demonstration: Demonstration) -> Sequence[Call]:
    """The executed calls of the demonstration with the facts they are judged by."""
    calls = demonstration.calls
    if any(call.facts for call in calls):
        return calls
    known = [call for call in (*task.reference, *(refusal.call for refusal in task.refusals)) if call.facts]
    return [_told(library, call, known) for call in calls] if known else calls


def _told(library: Library, call: Call, known: list[Call]) -> Call:
    operator = library.operators.get(call.name)
    if operator is None:
        return call
    entity = candidates.entity(operator, call.arguments)
    same = [each for each in known if each.name == call.name and candidates.entity(operator, each.arguments) == entity]
    exact = [each for each in same if each.arguments == call.arguments]
    return call.model_copy(update={"facts": [*exact, *same][0].facts}) if same else call


def _executed(task: Task, calls: Iterable[Call]) -> list[str]:
    """The calls among `calls` that must not be executed at any time."""
    refused = [refusal.call for refusal in task.refusals if refusal.when == "end"]
    same = lambda a, b: (a.name, a.arguments, a.requestor) == (b.name, b.arguments, b.requestor)  # noqa: E731
    return [f"{call.name} {call.arguments}" for call in calls if any(same(call, each) for each in refused)]


def _unended(demonstration: Demonstration) -> list[str]:
    if demonstration.stop == "done":
        return []
    last = demonstration.events[-1] if demonstration.events else None
    return [last.error if demonstration.stop == "error" and last is not None and last.error else demonstration.stop]


def _differences(env: Environment, task: Task) -> tuple[str, ...]:
    """The places where the states differ that the reference and the calls just replayed in `env` lead to, one line each."""
    reached = differences.view(env.state)
    env.reset(task.init_actions)
    for call in task.reference:
        env.call(call.name, call.arguments, call.requestor)
    found = differences.changes(env.state, reached)
    lines = [
        f"{'.'.join(map(str, change.place))}: reference {_short(change.before)}, demonstration {_short(change.after)}"
        for change in found[:SHOWN]
    ]
    lines += [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return tuple(lines or ["in what no record shows"])


def _words(step: Step) -> str:
    return f"{step.decision} {step.action} {step.entity} ({', '.join('/'.join(unit) for unit in step.units)})"


def _short(value: object) -> str:
    text = repr(candidates.plain(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
