"""Independent answers to one problem, and what they agree on: consensus (SynCo B.2) and majority labels (R-Zero 3.3).

Answers are the same when the checker says so, as everywhere else: "1/2" and "0.5" vote for one label.
"""

from collections.abc import Sequence
from typing import NamedTuple

from selfevolve.checker import check_batch, extract
from selfevolve.models.generation import Sampling
from selfevolve.models.policy import Policy
from selfevolve.synco.context import reasoner_messages

STATED = ("box", "phrase")
"""How an answer must be given to vote: boxed, or after "answer is". R-Zero counts boxed ones only."""


class Vote(NamedTuple):
    """What most answers to a problem say."""

    label: str | None
    """The answer with most votes, as first written; of several, the one given first; None if nobody answered."""
    share: float
    """p: its votes among all answers asked for, in [0, 1]; who gives no answer votes for nothing."""
    supporter: int | None
    """Index of the first answer that voted for it."""


def solve(solver: Policy, problems: Sequence[str], prompts: str, answers: int, sampling: Sampling, seed: int) -> list[list[str]]:
    """`answers` independent solution texts of each problem. The solver sees the problem statement alone."""
    ids = solver.encode([reasoner_messages(problem, prompts) for problem in problems])
    completions = solver.generate([prompt for prompt in ids for _ in range(answers)], sampling, seed)
    texts = [completion.text for completion in completions]
    return [texts[i * answers : (i + 1) * answers] for i in range(len(problems))]


def agreement(solutions: Sequence[Sequence[str]], references: Sequence[str]) -> list[float]:
    """For each problem, the share of its solutions that the checker finds equal to the reference; in [0, 1]."""
    pairs = [(text, reference) for texts, reference in zip(solutions, references, strict=True) for text in texts]
    verdicts = iter(check_batch(pairs))
    return [sum(next(verdicts).correct is True for _ in texts) / len(texts) for texts in solutions]


def vote(solutions: Sequence[str]) -> Vote:
    """The majority answer of one problem's solutions."""
    labels: list[str] = []
    votes: list[int] = []
    first: list[int] = []
    for index, text in enumerate(solutions):
        found = extract(text)
        if found.how not in STATED or not found.answer:
            continue
        answer = found.answer
        at = labels.index(answer) if answer in labels else _equal(answer, labels)
        if at is None:
            labels.append(answer)
            votes.append(1)
            first.append(index)
        else:
            votes[at] += 1
    if not labels:
        return Vote(None, 0.0, None)
    best = votes.index(max(votes))
    return Vote(labels[best], votes[best] / len(solutions), first[best])


def _equal(answer: str, labels: Sequence[str]) -> int | None:
    """Index of the first label that equals `answer`."""
    verdicts = check_batch([(f"\\boxed{{{answer}}}", label) for label in labels])
    return next((at for at, verdict in enumerate(verdicts) if verdict.correct is True), None)
