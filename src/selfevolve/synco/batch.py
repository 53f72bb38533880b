"""The shared interaction batch B_t (SynCo 3.3, Eq. 6-8): cards, rollouts, outcomes and the rewards they give both agents."""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from selfevolve import families
from selfevolve.cards import FIELDS
from selfevolve.checker import Verdict, check_batch
from selfevolve.models.advantages import group_advantages
from selfevolve.models.generation import Completion
from selfevolve.models.grpo import Row
from selfevolve.synco import labels
from selfevolve.synco.memory import SCHEMA, SIGNALS
from selfevolve.synco.proposals import Proposal
from selfevolve.synco.rewards import reasoner_reward, synthesizer_reward, teachability
from selfevolve.synco.verifier import Report, Verifier


class Rollouts(NamedTuple):
    """The Reasoner's K rollouts on one admitted card."""

    prompt_ids: tuple[int, ...]
    completions: list[Completion]
    verdicts: list[Verdict]

    @property
    def rewards(self) -> list[float]:
        return [reasoner_reward(verdict) for verdict in self.verdicts]

    @property
    def success_rate(self) -> float:
        """mu (Eq. 6): the share of rollouts that are correct."""
        return fmean(verdict.correct is True for verdict in self.verdicts)

    @property
    def gradient_bearing(self) -> bool:
        """Whether the rewards differ, so that the group has non-zero advantages (D.2)."""
        return max(self.rewards) > min(self.rewards)


class Interaction(NamedTuple):
    """One proposal and all that came of it; `rollouts` is None for a rejected card."""

    proposal: Proposal
    report: Report
    rollouts: Rollouts | None

    @property
    def synthesizer_reward(self) -> float:
        mu = self.rollouts.success_rate if self.rollouts else None
        non_empty = bool(self.proposal.text.strip())
        return synthesizer_reward(self.report.admitted, self.report.quality, self.report.reliability, mu, non_empty)


def verify(
    proposals: Sequence[Proposal], verifier: Verifier, remember: bool, checks: frozenset[str] | None = None
) -> list[Report]:
    """Verify the proposals in order; with `remember`, each admitted card joins the pool that later ones must differ from.

    `checks` are the verifier's checks that decide; None: all.
    """
    reports = []
    for proposal in proposals:
        report = verifier.verify(proposal.text, checks)
        if report.admitted and remember:
            verifier.remember(report.card)
        reports.append(report)
    return reports


def judge(
    reports: Sequence[Report], prompts: Sequence[tuple[int, ...]], completions: Sequence[Completion]
) -> list[Rollouts | None]:
    """Check the rollouts of the admitted cards. `completions` holds K for each of `prompts`, which are one per admitted card."""
    admitted = [report for report in reports if report.admitted]
    k = len(completions) // max(1, len(prompts))
    pairs = [(c.text, admitted[i // k].card.final_answer) for i, c in enumerate(completions)]
    verdicts = check_batch(pairs)
    groups = iter(
        Rollouts(prompt, list(completions[i * k : (i + 1) * k]), verdicts[i * k : (i + 1) * k])
        for i, prompt in enumerate(prompts)
    )
    return [next(groups) if report.admitted else None for report in reports]


def reasoner_rows(batch: Sequence[Interaction]) -> list[Row]:
    """The Reasoner's update: the K rollouts of a card are a group."""
    groups = [item.rollouts for item in batch if item.rollouts]
    advantages = group_advantages([group.rewards for group in groups])
    return [
        Row(prompt_ids=group.prompt_ids, completion_ids=tuple(completion.ids), advantage=value)
        for group, values in zip(groups, advantages, strict=True)
        for completion, value in zip(group.completions, values, strict=True)
    ]


def synthesizer_rows(batch: Sequence[Interaction]) -> list[Row]:
    """The Synthesizer's update: the cards that answer one context are a group."""
    groups: dict[int, list[Interaction]] = {}
    for item in batch:
        groups.setdefault(item.proposal.group, []).append(item)
    advantages = group_advantages([[item.synthesizer_reward for item in group] for group in groups.values()])
    return [
        Row(prompt_ids=item.proposal.prompt_ids, completion_ids=item.proposal.completion_ids, advantage=value)
        for group, values in zip(groups.values(), advantages, strict=True)
        for item, value in zip(group, values, strict=True)
    ]


def record(seed: int, iteration: int, slot: int, item: Interaction) -> dict:
    """The memory row of one interaction (`memory.SCHEMA`)."""
    proposal, report, rollouts = item
    card = report.card
    row = dict.fromkeys(SCHEMA) | {
        "seed": seed,
        "iteration": iteration,
        "slot": slot,
        "context": proposal.context,
        "weakness": proposal.weakness,
        "text": proposal.text,
        "admitted": report.admitted,
        "reason": report.reason,
        **{name: getattr(card, name) if card else None for name in FIELDS},
        "skill": labels.skill(card.target_reasoning_style) if card else None,
        "difficulty": labels.difficulty(card.difficulty_estimate) if card else None,
        **{name: getattr(report, name, None) for name in SIGNALS},
        "rollouts": [],
        "answers": [],
        "correct": [],
        "rewards": [],
        # A pool card was not written for this Reasoner, so nothing is paid for it.
        "synthesizer_reward": item.synthesizer_reward if proposal.completion_ids else None,
        "origin": proposal.origin,
        "agreement": proposal.agreement if report.agreement is None else report.agreement,
    }
    if card and proposal.weakness:
        row["alignment"] = float(row["skill"] == proposal.weakness)
    if rollouts:
        row |= {
            "rollouts": [completion.text for completion in rollouts.completions],
            "answers": [verdict.answer for verdict in rollouts.verdicts],
            "correct": [verdict.correct for verdict in rollouts.verdicts],
            "rewards": rollouts.rewards,
            "success_rate": rollouts.success_rate,
            "teachability": teachability(rollouts.success_rate),
            "gradient_bearing": rollouts.gradient_bearing,
            "true_key": _true_key(item),
        }
    return row


def _true_key(item: Interaction) -> bool | None:
    card = item.report.card
    known = item.proposal.true_key
    return families.true_key(card.problem, card.final_answer) if known is None else known
