"""Where the tasks of an iteration come from (SynCo 3.2; baselines C.2).

`SynthesizerSource` asks the Synthesizer, whether its weights are trained or frozen. `FixedPool` replays tasks that were there
before training started: cards the untrained Synthesizer wrote (Static-Pool GRPO), rewritten problems (`rewriting`), or an external
corpus (`corpora`). R-Zero's alternating Challenger is in `r_zero`.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import polars as pl

from selfevolve.models.generation import Sampling
from selfevolve.models.grpo import GroupRelativeTrainer, StepMetrics
from selfevolve.models.policy import Policy
from selfevolve.seeding import derive
from selfevolve.synco.batch import Interaction, synthesizer_rows
from selfevolve.synco.context import build_contexts, synthesizer_messages
from selfevolve.synco.proposals import Proposal


class TaskSource(Protocol):
    """Where proposals come from, and what learns when they have been tried."""

    checks: frozenset[str] | None
    """The verifier's checks that decide on admission; None: all of them."""
    remember: bool
    """Whether admitted cards join the recent pool that later ones must differ from."""

    def propose(self, iteration: int, recent: pl.DataFrame) -> list[Proposal]:
        """Candidates for `iteration` (1-based), given the recent rows of the memory."""

    def learn(self, batch: Sequence[Interaction]) -> StepMetrics | None:
        """Update the policy behind the source with the iteration's batch; None if nothing was updated."""

    def save(self, folder: Path) -> None:
        """Write what a resumed run needs of that policy."""


class SynthesizerSource:
    """Cards written by a Synthesizer under the current contexts (Eq. 1); without a `trainer` its weights are frozen."""

    checks, remember = None, True

    def __init__(
        self,
        policy: Policy,
        prompts: str,
        tasks: int,
        contexts: int,
        sampling: Sampling,
        seed: int,
        trainer: GroupRelativeTrainer | None = None,
    ):
        self.policy, self.prompts, self.sampling, self.seed, self.trainer = policy, prompts, sampling, seed, trainer
        self.contexts, self.per_context = contexts, tasks // contexts

    def propose(self, iteration: int, recent: pl.DataFrame) -> list[Proposal]:
        drafts = []
        for group, context in enumerate(build_contexts(recent, self.contexts)):
            messages = synthesizer_messages(context, self.prompts)
            ids = tuple(self.policy.encode([messages])[0])
            drafts += [Proposal("", group, messages[-1]["content"], context.weakness, ids)] * self.per_context
        seed = derive(self.seed, "synthesizer", iteration)
        completions = self.policy.generate([draft.prompt_ids for draft in drafts], self.sampling, seed)
        return [
            draft._replace(text=completion.text, completion_ids=tuple(completion.ids))
            for draft, completion in zip(drafts, completions, strict=True)
        ]

    def learn(self, batch: Sequence[Interaction]) -> StepMetrics | None:
        return self.trainer.step(synthesizer_rows(batch)) if self.trainer else None

    def save(self, folder: Path) -> None:
        if self.trainer:
            self.trainer.save(folder)


class FixedPool:
    """A fixed pool, drawn without replacement and reshuffled when it is used up (Static-Pool GRPO, C.2)."""

    remember = False  # a pool repeats itself by design

    def __init__(self, pool: Sequence[Proposal], tasks: int, seed: int, checks: frozenset[str] | None = None):
        if not pool:
            raise ValueError("the pool of tasks is empty: no card got past the verifier when it was made")
        self.pool, self.tasks, self.seed, self.checks = pool, tasks, seed, checks

    def propose(self, iteration: int, recent: pl.DataFrame) -> list[Proposal]:
        return draw(self.pool, (iteration - 1) * self.tasks, self.tasks, self.seed, "pool")

    def learn(self, batch: Sequence[Interaction]) -> StepMetrics | None:
        return None

    def save(self, folder: Path) -> None:
        pass


def draw(pool: Sequence[Proposal], first: int, count: int, seed: int, *name: str | int) -> list[Proposal]:
    """Positions `first` to `first + count` of an endless walk through `pool`: whole passes, each in an order of its own.

    The order of a pass is named by (seed, *name, number of the pass), so that any stretch can be drawn without the ones before.
    """
    return [pool[_order(len(pool), seed, *name, at // len(pool))[at % len(pool)]] for at in range(first, first + count)]


def _order(size: int, seed: int, *name: str | int) -> list[int]:
    order = list(range(size))
    random.Random(derive(seed, *name)).shuffle(order)
    return order
