"""Steps in words: the goal, the context, what the user knows and what not.

Paper: Gradus 2.3 ("A blueprint specifies the user goal, relevant context, known and unknown information") and A.7 (the evolution trace).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from selfevolve.gradus.blueprints import Step
from selfevolve.gradus.operators import Guard, Library


def outlined(library: Library, steps: Sequence[Step]) -> dict[str, Any]:
    """The fields goal, context, known and unknown of a blueprint with these steps."""
    guards = {(action, guard.unit): guard for action, operator in library.operators.items() for guard in operator.guards}
    context, known, unknown = [], [], []
    for number, step in enumerate(steps):
        for unit in step.units:
            guard = guards[step.action, unit]
            said = f"{step.entity}: {_sentence(guard)}"
            if guard.expression is not None and guard.expression.facts:
                known.append(said)
            else:
                context.append(f"{said} (once {_asked(library, steps[step.after[-1]])} is done)" if step.after else said)
        if step.decision == "refuse":
            again = any(
                (each.action, each.entity, each.decision) == (step.action, step.entity, "perform") for each in steps[number:]
            )
            unknown.append(f"that {_asked(library, step)} is denied{' as things stand' if again else ''}")
    records = list(dict.fromkeys(step.entity for step in steps if library.operators[step.action].parameters))
    if records:
        known.insert(
            0, f"which record {records[0]} stands for" if len(records) == 1 else f"which records {_listed(records)} stand for"
        )
    asked = list(
        dict.fromkeys(_asked(library, step) for number, step in enumerate(steps) if not unprompted(library, steps, number))
    )
    return {
        "goal": f"The user wants to {_listed(asked)}.",
        "context": "; ".join(context),
        "known": tuple(dict.fromkeys(known)),
        "unknown": tuple(dict.fromkeys(unknown)),
    }


def unprompted(library: Library, steps: Sequence[Step], number: int) -> bool:
    """Whether the agent takes a step of its own accord, to make another one possible."""
    step = steps[number]
    later = [each for each in steps[number + 1 :] if each.entity == step.entity and each.decision == "perform"]
    return step.decision == "perform" and step.action in library.conduct.enabling and any(_blocked(steps, each) for each in later)


def _blocked(steps: Sequence[Step], step: Step) -> bool:
    return any((each.action, each.entity, each.decision) == (step.action, step.entity, "refuse") for each in steps)


def _asked(library: Library, step: Step) -> str:
    action = step.action.replace("_", " ")
    return f"{action} ({step.entity})" if library.operators[step.action].parameters else action


def _sentence(guard: Guard) -> str:
    text = " ".join(guard.text.split())
    return text[:1].lower() + text[1:]


def _listed(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
