"""R-Zero as a task source: a Challenger and a Solver that learn in turns (SynCo C.2; Huang et al. 2025, arXiv 2508.05004).

A round: the Challenger makes a few GRPO steps against the frozen Solver, paid for problems on which the Solver's answers disagree; the
then frozen Challenger writes candidates, the Solver's own answers vote on their labels, and those whose vote share is near one half are
kept; on these the Solver makes its steps. The Solver's steps are the iterations of the run, so that a Reasoner gets as many updates here
as from any other source; a round's first iteration also holds the Challenger's stage. The loop sees labelled cards and trains the
Reasoner on them as on any others, with `GroupRelativeTrainer` for both agents.

From the R-Zero paper: uncertainty reward 1 - 2|p - 1/2| (Eq. 3), repetition penalty (`repetition`), reward max(0, uncertainty - penalty),
0 for malformed output, majority labels, the band |p - 1/2| <= delta, the values in `params.yaml`'s comments.

What differs from its repository (github.com/Chengsong-Huang/R-Zero):

* its Challenger reward is min(p, 1 - p) - penalty without the 2 and the 0, and -1 - penalty for malformed output; its band is
  0.3 <= p <= 0.8 where its paper has 0.25 to 0.75; it labels the data set with 9 answers and the reward with 10; it leaves empty answers
  out of the data set's shares. Here the paper's definitions hold and an answer that cannot be found votes for nothing.
* both agents optimise with a KL term of 0.01 and weight decay 0.01 there, and answers are sampled with top-k 40; here all variants share
  the optimiser and the sampling of `params.yaml`, without KL (SynCo C.3).
* the Challenger writes the nine-field task card instead of `<question>` tags, under the Synthesizer's prompt without any report (its
  own solution and answer are not used); it starts as the bootstrapped Synthesizer, because a from-scratch model must first learn the format.
* its GRPO groups are 4 outputs of one prompt; the prompt never varies, so here all of a step's outputs are one group.
* the Solver is rewarded 1 / 0.9 / 0 (SynCo B.2) against the label; there 0.9 for correctness and 0.1 for the format.
* a problem that overlaps with a benchmark is refused here; there nothing is checked.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from selfevolve.cards import FIELDS, CardError, TaskCard, parse_card
from selfevolve.checker import check
from selfevolve.models.advantages import group_advantages
from selfevolve.models.grpo import GroupRelativeTrainer, Row, StepMetrics
from selfevolve.models.policy import Policy
from selfevolve.params import Profile
from selfevolve.seeding import derive
from selfevolve.synco.batch import Interaction
from selfevolve.synco.context import Context, synthesizer_messages
from selfevolve.synco.proposals import Proposal
from selfevolve.synco.repetition import cluster_shares
from selfevolve.synco.sources import draw
from selfevolve.synco.verifier import Verifier
from selfevolve.synco.voting import Vote, solve, vote

MALFORMED = 0.0  # reward of an output that is no card
CHECKS = frozenset({"contaminated"})
SCHEMA = {
    "seed": pl.Int64,
    "round": pl.Int64,
    "stage": pl.String,
    "step": pl.Int64,
    "slot": pl.Int64,
    "text": pl.String,
    "problem": pl.String,
    "label": pl.String,
    "agreement": pl.Float64,
    "reward": pl.Float64,
    "reason": pl.String,
    "card": pl.String,
}
"""One row per Challenger output. `stage` is "challenger" (paid, `step` from 1) or "candidate" (`step` 0); `agreement` is p, the label's
vote share; `card` is what the Solver trains on, null where `reason` says why it is not: schema:..., contaminated, no_answer, unreadable,
outside_band, or "paid" for the Challenger's own steps."""


def uncertainty(p: float) -> float:
    """1 - 2|p - 1/2| for a vote share p in [0, 1]: 1 where half of the answers agree, 0 where all or none do."""
    return 1.0 - 2.0 * abs(p - 0.5)


def challenger_reward(p: float, cluster_share: float, weight: float) -> float:
    """max(0, uncertainty - weight * cluster share), in [0, 1]."""
    return max(0.0, uncertainty(p) - weight * cluster_share)


class _Tried(NamedTuple):
    """A Challenger output and what the Solver made of it."""

    text: str
    card: TaskCard | None
    vote: Vote | None
    answers: list[str]
    reason: str


class RZeroSource:
    """Labelled problems of the current round; see the module docstring. Rounds are kept in `folder`, a file each."""

    checks, remember = CHECKS, False

    def __init__(
        self,
        challenger: Policy,
        solver: Policy,
        trainer: GroupRelativeTrainer,
        profile: Profile,
        verifier: Verifier,
        seed: int,
        folder: Path,
        done: int,
    ):
        """`done`: iterations completed already; rounds that opened later are forgotten and run again."""
        self.challenger, self.solver, self.trainer, self.verifier = challenger, solver, trainer, verifier
        self.profile, self.seed, self.folder = profile, seed, folder
        self.settings = profile.cotraining.sources.r_zero
        self._metrics: StepMetrics | None = None
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob("*.parquet"):
            if (int(path.stem) - 1) * self.settings.solver_steps >= done:
                path.unlink()

    def propose(self, iteration: int, recent: pl.DataFrame) -> list[Proposal]:
        """Tasks of the round `iteration` lies in; none if the Challenger wrote no problem within the band."""
        number, step = divmod(iteration - 1, self.settings.solver_steps)
        path = self.folder / f"{number + 1:06d}.parquet"
        if not path.is_file():
            rows = self._challenge(number + 1) + self._candidates(number + 1)
            temporary = path.with_suffix(".tmp")
            pl.DataFrame(rows, schema=SCHEMA, orient="row").write_parquet(temporary)
            os.replace(temporary, path)
        kept = pl.read_parquet(path).filter(pl.col("card").is_not_null()).select("card", "agreement")
        pool = [Proposal(card, 0, origin="challenger", agreement=share) for card, share in kept.iter_rows()]
        tasks = self.profile.cotraining.tasks
        return draw(pool, step * tasks, tasks, self.seed, "round", number + 1) if pool else []

    def learn(self, batch: Sequence[Interaction]) -> StepMetrics | None:
        """What the Challenger's stage of this iteration did last; the stage itself is over when the Solver starts."""
        metrics, self._metrics = self._metrics, None
        return metrics

    def save(self, folder: Path) -> None:
        self.trainer.save(folder)

    def _challenge(self, number: int) -> list[dict]:
        """The Challenger's steps of a round, and their rows."""
        rows, tasks = [], self.profile.cotraining.tasks
        for step in range(1, self.settings.challenger_steps + 1):
            prompt, outputs = self._write(tasks, "challenger", number, step)
            tried = self._try([text for text, _ in outputs], "vote", number, step)
            shares = cluster_shares([each.card.problem if each.card else "" for each in tried], self.settings.bleu_distance)
            weight = self.settings.repetition_weight
            rewards = [
                challenger_reward(each.vote.share, share, weight) if each.vote else MALFORMED
                for each, share in zip(tried, shares, strict=True)
            ]
            (advantages,) = group_advantages([rewards])
            update = [
                Row(prompt_ids=prompt, completion_ids=ids, advantage=advantage)
                for (_, ids), advantage in zip(outputs, advantages, strict=True)
            ]
            self._metrics = self.trainer.step(update)
            for slot, (each, reward) in enumerate(zip(tried, rewards, strict=True)):
                reason = each.reason or "paid"
                rows.append(self._row(number, "challenger", step, slot, each) | {"reward": reward, "reason": reason})
        return rows

    def _candidates(self, number: int) -> list[dict]:
        """Problems of the now frozen Challenger, labelled by the Solver's vote and filtered by the band."""
        _, outputs = self._write(self.settings.candidates, "candidates", number)
        rows = []
        for slot, each in enumerate(self._try([text for text, _ in outputs], "labels", number)):
            row = self._row(number, "candidate", 0, slot, each)
            if not each.reason and abs(each.vote.share - 0.5) > self.settings.band + 1e-9:
                row["reason"] = "outside_band"
            if not row["reason"]:
                text = labelled(each.card, each.vote.label, each.answers[each.vote.supporter])
                report = self.verifier.verify(text, CHECKS)
                row |= {"reason": report.reason, "card": text if report.admitted else None}
            rows.append(row)
        return rows

    def _write(self, count: int, *purpose: str | int) -> tuple[tuple[int, ...], list[tuple[str, tuple[int, ...]]]]:
        """The Challenger's prompt, and `count` outputs as (text, token ids)."""
        (prompt,) = self.challenger.encode([synthesizer_messages(Context(), self.profile.models.prompts)])
        seed = derive(self.seed, *purpose)
        completions = self.challenger.generate([prompt] * count, self.profile.cotraining.synthesizer_sampling, seed)
        return tuple(prompt), [(completion.text, tuple(completion.ids)) for completion in completions]

    def _try(self, texts: Sequence[str], *purpose: str | int) -> list[_Tried]:
        """Read each output and let the Solver vote on those that are cards and no benchmark's."""
        read: list[tuple[str, TaskCard | None, str]] = []
        for text in texts:
            try:
                card = parse_card(text)
                contaminated = self.verifier.contamination.overlap(card.problem) is not None
                read.append((text, card, "contaminated" if contaminated else ""))
            except CardError as error:
                read.append((text, None, f"schema:{error.reason}"))
        settings = self.profile.cotraining
        problems = [card.problem for _, card, reason in read if not reason]
        seed = derive(self.seed, *purpose)
        sampling, prompts = settings.reasoner_sampling, self.profile.models.prompts
        solutions = iter(solve(self.solver, problems, prompts, self.settings.answers, sampling, seed))
        tried = []
        for text, card, reason in read:
            answers = [] if reason else next(solutions)
            voted = None if reason else vote(answers)
            if voted and voted.label is None:
                reason = "no_answer"
            elif voted and check(f"\\boxed{{{voted.label}}}", voted.label).correct is None:
                reason = "unreadable"
            tried.append(_Tried(text, card, voted, answers, reason))
        return tried

    def _row(self, number: int, stage: str, step: int, slot: int, tried: _Tried) -> dict:
        return dict.fromkeys(SCHEMA) | {
            "seed": self.seed,
            "round": number,
            "stage": stage,
            "step": step,
            "slot": slot,
            "text": tried.text,
            "problem": tried.card.problem if tried.card else None,
            "label": tried.vote.label if tried.vote else None,
            "agreement": tried.vote.share if tried.vote else None,
            "reason": tried.reason,
        }


def labelled(card: TaskCard, label: str, solution: str) -> str:
    """The card's text with the voted label for its answer, and a solution that led to it."""
    values = {name: getattr(card, name) for name in FIELDS}
    return json.dumps(values | {"final_answer": label, "solution": solution})
