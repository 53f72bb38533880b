"""Scored rows, and how they become the micro-batches of one gradient (SynCo section 3.3, the batch of Eq. 8)."""

import math
from collections.abc import Sequence
from typing import Literal, Self

import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator


class Row(BaseModel):
    """One sampled completion with its gradient weight."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt_ids: tuple[int, ...] = Field(min_length=1, description="token ids of the prompt, unpadded")
    completion_ids: tuple[int, ...] = Field(min_length=1, description="token ids as sampled, with the final EOS if any")
    advantage: float = Field(allow_inf_nan=False, description="from `group_advantages`")
    mask: tuple[Literal[0, 1], ...] | None = Field(
        None, description="per completion token: 1 = the policy wrote it, 0 = the environment did; None = all 1"
    )

    @model_validator(mode="after")
    def _mask_fits(self) -> Self:
        if self.mask is not None and len(self.mask) != len(self.completion_ids):
            raise ValueError(f"mask has {len(self.mask)} entries for {len(self.completion_ids)} completion tokens")
        return self

    @property
    def length(self) -> int:
        """Tokens of prompt and completion together."""
        return len(self.prompt_ids) + len(self.completion_ids)

    @property
    def tokens(self) -> int:
        """Policy tokens: those that count in the loss."""
        return len(self.completion_ids) if self.mask is None else sum(self.mask)


def micro_batches(rows: Sequence[Row], world: int, size: int) -> list[list[list[Row]]]:
    """Split rows into micro-batches of at most `size` rows of similar length, equally many on every rank.

    DDP needs the same number of backward passes from all ranks, and TRL gathers one figure per row from all of them.
    So where the last ranks have one row fewer, they get an idle one: its mask is all 0, and it weighs nothing.

    Args:
        rows: at least one.
        world: number of ranks.
        size: most rows in one micro-batch.

    Returns:
        `[micro-batch][rank] -> rows`; within a micro-batch every rank has the same number of rows, at least one.
    """
    # Similar lengths keep padding small; longest first shows at once whether memory suffices. The sort is stable.
    ordered = sorted(rows, key=lambda row: row.length, reverse=True)
    idle = ordered[-1].model_copy(update={"mask": (0,) * len(ordered[-1].completion_ids)})
    slots = math.ceil(len(rows) / world)
    ordered += [idle] * (slots * world - len(rows))
    count = math.ceil(slots / size)
    bounds = [i * slots // count for i in range(count + 1)]
    return [[ordered[rank::world][start:end] for rank in range(world)] for start, end in zip(bounds, bounds[1:], strict=False)]


def collate(rows: Sequence[Row], pad_id: int) -> dict[str, torch.Tensor]:
    """Tensors of one micro-batch under TRL's names, padded on the right only.

    TRL pads prompts left and completions right, so a batch is as wide as its longest prompt plus its longest
    completion. Here the "prompt" is what every row has of it (the first `min(prompt lengths)` tokens), and the rest
    of each prompt opens its "completion", outside the loss by `tool_mask`. The batch is then as wide as its longest
    row, and every token keeps the position it had when it was sampled.

    Returns:
        `prompt_ids`, `prompt_mask` (rows, P); `completion_ids`, `completion_mask`, `tool_mask` (rows, C), int64;
        `advantages` (rows,), float32.
    """
    split = min(len(row.prompt_ids) for row in rows)
    width = max(row.length for row in rows) - split

    def padded(values: tuple[int, ...], fill: int) -> tuple[int, ...]:
        return values + (fill,) * (width - len(values))

    tails = [row.prompt_ids[split:] + row.completion_ids for row in rows]
    policy = [
        (0,) * (len(row.prompt_ids) - split) + ((1,) * len(row.completion_ids) if row.mask is None else row.mask) for row in rows
    ]
    return {
        "prompt_ids": torch.tensor([row.prompt_ids[:split] for row in rows]),
        "prompt_mask": torch.ones(len(rows), split, dtype=torch.int64),
        "completion_ids": torch.tensor([padded(tail, pad_id) for tail in tails]),
        "completion_mask": torch.tensor([padded((1,) * len(tail), 0) for tail in tails]),
        "tool_mask": torch.tensor([padded(mask, 0) for mask in policy]),
        "advantages": torch.tensor([row.advantage for row in rows], dtype=torch.float32),
    }
