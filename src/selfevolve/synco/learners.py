"""How the Reasoner learns from an iteration's batch: GRPO, or rejection-sampling SFT (SynCo 3.3, C.2).

Reject-Sample SFT, from the paper: "samples Reasoner trajectories, retains those with verified correct answers, and fine-tunes the model
on the resulting successful solutions", after ReST-EM (Singh et al. 2023): rounds of generation with a fixed policy, each followed by
fine-tuning the *initial* model on what was kept. Rounds are equal stretches of the run's iterations, so that it generates as much as
every other variant; the updates of a round all come at its end. The number of rounds and the optimiser are not stated.
"""

import shutil
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import polars as pl

from selfevolve.models.generation import encode_chats
from selfevolve.models.grpo import GroupRelativeTrainer, StepMetrics
from selfevolve.models.policy import Policy, load
from selfevolve.models.sft import IGNORED, Example, fine_tune
from selfevolve.params import Profile
from selfevolve.progress import Progress
from selfevolve.seeding import derive
from selfevolve.synco.batch import Interaction, reasoner_rows
from selfevolve.synco.bootstrap import schedule
from selfevolve.synco.context import reasoner_messages
from selfevolve.synco.memory import Memory


class Learner(Protocol):
    def learn(self, iteration: int, batch: Sequence[Interaction]) -> StepMetrics | None:
        """Update the Reasoner after `iteration`, whose rows are in the memory already; None if it waits."""

    def save(self, folder: Path) -> None:
        """Write what a resumed run needs."""


class Grpo:
    """One group-relative step per iteration (Eq. 9)."""

    def __init__(self, trainer: GroupRelativeTrainer):
        self.trainer = trainer

    def learn(self, iteration: int, batch: Sequence[Interaction]) -> StepMetrics | None:
        return self.trainer.step(reasoner_rows(batch))

    def save(self, folder: Path) -> None:
        self.trainer.save(folder)


class RejectionSft:
    """Fine-tuning on correct rollouts at the end of each round."""

    def __init__(self, policy: Policy, initial: Path, profile: Profile, memory: Memory, seed: int, folder: Path):
        """`initial`: agent folder of the untrained Reasoner. `folder`: for the checkpoints of the fine-tunings."""
        self.policy, self.initial, self.profile = policy, initial, profile
        self.memory, self.seed, self.folder = memory, seed, folder
        loop = profile.cotraining
        rounds = loop.rejection_sft.rounds
        self._ends = [(i + 1) * loop.iterations // rounds for i in range(rounds)]

    def learn(self, iteration: int, batch: Sequence[Interaction]) -> StepMetrics | None:
        if iteration not in self._ends:
            return None
        number = self._ends.index(iteration)
        length = iteration - ([0, *self._ends][number])
        rows = self.memory.recent(iteration + 1, length)
        settings, models = self.profile.cotraining.rejection_sft, self.profile.models
        kept = solutions(rows, settings.per_problem)
        examples = sft_examples(self.policy, kept, models.prompts)
        if not examples:
            return None
        seed = derive(self.seed, "rejection_sft", number)
        ordered = schedule(examples, [], settings.sft, seed)
        fresh = load(self.initial, models.dtype, models.generation_batch)
        progress = Progress("rejection-sampling SFT: step", settings.sft.steps)
        work = self.folder / f"sft-{number + 1}"
        losses = fine_tune(fresh.model, fresh.tokenizer, ordered, settings.sft, seed, work, progress.update, fresh.bf16)
        self.policy.model.load_state_dict(fresh.model.state_dict())
        shutil.rmtree(work, ignore_errors=True)  # not there if there were no steps
        return StepMetrics(
            loss=statistics.fmean(losses) if losses else None,
            grad_norm=None,
            learning_rate=settings.sft.learning_rate,
            entropy=None,
            rows=len(examples),
            tokens=sum(label != IGNORED for example in examples for label in example.labels),
        )

    def save(self, folder: Path) -> None:
        self.policy.save(folder)


def solutions(rows: pl.DataFrame, per_problem: int) -> list[tuple[str, str]]:
    """(problem, solution) of the correct rollouts in memory rows: the first `per_problem` different ones of each problem."""
    kept: dict[str, dict[str, None]] = {}
    for problem, texts, correct in rows.filter("admitted").select("problem", "rollouts", "correct").iter_rows():
        own = kept.setdefault(problem, {})
        for text, right in zip(texts, correct, strict=True):
            if right and text.strip() and len(own) < per_problem:
                own[text] = None
    return [(problem, text) for problem, texts in kept.items() for text in texts]


def sft_examples(policy: Policy, pairs: Sequence[tuple[str, str]], prompts: str) -> list[Example]:
    """Training rows with loss on the solution and its end token. Texts are encoded anew; a rollout that was cut gets its end."""
    if not pairs:
        return []
    tokenizer = policy.tokenizer
    asked = encode_chats(tokenizer, [reasoner_messages(problem, prompts) for problem, _ in pairs])
    told = tokenizer([text for _, text in pairs], add_special_tokens=False)["input_ids"]
    end = tokenizer.eos_token_id
    return [Example([*a, *t, end], [*[IGNORED] * len(a), *t, end]) for a, t in zip(asked, told, strict=True)]
