"""The scripted evaluator and diagnosis: what the evidence of execution says, in words; wrong at a declared rate.

Paper: Gradus 2.4 (a trajectory evaluator scores action correctness, policy compliance and communication quality; a diagnostic model attributes
a failure to the task or to the solution) and A.7 (feedback of the reflection retries; diagnoses 1 and 2).

The feedback names policies and kinds of mistakes, never what the hidden task wants.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from selfevolve.gradus import candidates
from selfevolve.gradus.blueprints import Call
from selfevolve.gradus.roles import Diagnosis, Evaluation, Evidence
from selfevolve.gradus.scripted.language import Language
from selfevolve.gradus.scripted.phrases import Given, Whichever, plain
from selfevolve.gradus.scripted.script import Scripts
from selfevolve.gradus.tasks import Demonstration, Task
from selfevolve.seeding import derive


class Judge:
    """Plays `Roles.evaluate` and `Roles.diagnose` in one domain. `misroute`: how often the wrong side is blamed."""

    def __init__(self, language: Language, misroute: float):
        self._library, self._scripts, self._misroute = language.library, Scripts(language), misroute

    def evaluate(self, task: Task, demonstration: Demonstration, evidence: Evidence) -> Evaluation:
        """Scores: of the requests the share that was handled as asked; 1 without violations, halved by each; 1 if the conversation ended."""
        left, wrong = list(self._left_out(task, demonstration)), list(self._contrary(task, demonstration))
        agree = evidence.reference_hash == evidence.demonstration_hash
        handled = 1.0 if agree else max(0.0, 1 - (len(left) + len(wrong) or 1) / max(1, len(self._wanted(task))))
        lines = [f"Keep the policy. {self._policy(violation)}" for violation in dict.fromkeys(evidence.violations)]
        lines += ["Meet every request that the policy allows; look up what it is about before you deny it."] if left else []
        lines += ["Make each call with exactly what the user said."] if wrong else []
        lines += (
            ["See to it that every request has the outcome that the policy gives it."] if evidence.missing and not lines else []
        )
        lines += ["Check that everything that the user asked for, and nothing else, has been done."] if not lines else []
        return Evaluation(
            action=handled,
            policy=0.5 ** len(evidence.violations),
            communication=1.0 if demonstration.stop == "done" else 0.5,
            feedback=" ".join(lines),
        )

    def diagnose(self, task: Task, demonstration: Demonstration, evidence: Evidence, seed: int) -> Diagnosis:
        """The side at fault."""
        if evidence.errors:
            route, reason = "task", f"The reference does not hold: {'; '.join(evidence.errors)}."
        elif evidence.violations:
            route, reason = "solution", " ".join(f"Keep the policy. {self._policy(each)}" for each in evidence.violations)
        elif any(self._left_out(task, demonstration)) or demonstration.stop != "done":
            route, reason = "solution", "Requests were left out: meet every one that the policy allows."
        elif any(self._contrary(task, demonstration)):
            route, reason = "solution", "Calls differ from what the user said: use exactly that."
        elif evidence.missing:
            route, reason = "solution", "Intended outcomes did not come about: look up and ask before you call."
        else:
            route, reason = "task", "Another outcome is as legitimate as the reference's: leave nothing open that it depends on."
        if random.Random(derive(seed, "misroute")).random() < self._misroute:
            route = "solution" if route == "task" else "task"
        return Diagnosis(route=route, feedback=reason)

    def _wanted(self, task: Task) -> list[Call]:
        return [call for call in task.reference if self._library.operators[call.name].kind == "write"]

    def _left_out(self, task: Task, demonstration: Demonstration) -> Iterator[Call]:
        """Writing calls of the reference that have no counterpart about the same entity."""
        made = [self._about(call) for call in demonstration.calls]
        for call in self._wanted(task):
            if self._about(call) not in made:
                yield call
            else:
                made.remove(self._about(call))

    def _contrary(self, task: Task, demonstration: Demonstration) -> Iterator[Call]:
        """Calls with another argument than the user said."""
        try:
            asks = self._scripts.read(task.scenario).asks
        except ValueError:  # a scenario in other words: nobody can tell
            return
        for call in demonstration.calls:
            same = [ask for ask in asks if ask.request.action == call.name]
            said = [
                {name: plain(value) for name, value in ask.request.values.items()}
                | {answer.name: plain(answer.value) for answer in ask.answers if isinstance(answer, Given)}
                for ask in same
            ]
            open_ = {answer.name for ask in same for answer in ask.answers if isinstance(answer, Whichever)}
            fits = [all(call.arguments.get(name) == value for name, value in each.items() if name not in open_) for each in said]
            if said and not any(fits):
                yield call

    def _about(self, call: Call) -> tuple[str, str]:
        return call.name, repr(candidates.entity(self._library.operators[call.name], call.arguments))

    def _policy(self, violation: str) -> str:
        """What a violation, "action: policy/outcome", is about, in the library's words."""
        action, _, unit = violation.partition(": ")
        for guard in self._library.operators[action].guards if action in self._library.operators else ():
            if "/".join(guard.unit) == unit:
                return f"Do not {action.replace('_', ' ')} where this holds: {guard.text.removesuffix('.')}."
        return f"{violation}."
