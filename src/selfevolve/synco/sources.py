"""Where the tasks of an iteration come from (SynCo 3.2; baselines C.2).

`SynthesizerSource` asks the Synthesizer, whether its weights are trained or frozen. `StaticPool` replays cards that the
untrained Synthesizer wrote before training started.
"""

import random
from typing import NamedTuple, Protocol

import polars as pl

from selfevolve.models.generation import Sampling
from selfevolve.models.policy import Policy
from selfevolve.seeding import derive
from selfevolve.synco.context import build_contexts, synthesizer_messages


class Proposal(NamedTuple):
    """One candidate task of an iteration, as text that still has to pass the verifier."""

    text: str
    group: int
    """Index of its context: cards of one group are compared with each other."""
    context: str = ""
    weakness: str | None = None
    prompt_ids: tuple[int, ...] = ()
    completion_ids: tuple[int, ...] = ()
    """Token ids for the Synthesizer's update; empty for a pool card."""


class TaskSource(Protocol):
    def propose(self, iteration: int, recent: pl.DataFrame) -> list[Proposal]:
        """Candidates for `iteration` (1-based), given the recent rows of the memory."""


class SynthesizerSource:
    """Cards written by a Synthesizer under the current contexts (Eq. 1)."""

    def __init__(self, policy: Policy, prompts: str, tasks: int, contexts: int, sampling: Sampling, seed: int):
        self.policy, self.prompts, self.sampling, self.seed = policy, prompts, sampling, seed
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


class StaticPool:
    """A fixed pool, drawn without replacement and reshuffled when it is used up (Static-Pool GRPO, C.2)."""

    def __init__(self, cards: list[str], tasks: int, seed: int):
        if not cards:
            raise ValueError("the static pool is empty: the Synthesizer got no card past the verifier in stage synthesis")
        self.cards, self.tasks, self.seed = cards, tasks, seed

    def propose(self, iteration: int, recent: pl.DataFrame) -> list[Proposal]:
        first = (iteration - 1) * self.tasks
        return [Proposal(self._card(position), 0) for position in range(first, first + self.tasks)]

    def _card(self, position: int) -> str:
        epoch, index = divmod(position, len(self.cards))
        order = list(range(len(self.cards)))
        random.Random(derive(self.seed, "pool", epoch)).shuffle(order)
        return self.cards[order[index]]
