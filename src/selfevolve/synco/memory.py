"""The interaction memory M_t (SynCo 3.2, 3.4): one row per proposed card, append-only, one Parquet part per iteration.

A part is written before the updates of its iteration are applied, and moved into place whole, so the memory never holds half an
iteration. `recent` is the window the next context is built from (Eq. 10).
"""

import os
from pathlib import Path

import polars as pl

from selfevolve.cards import FIELDS

METRICS, TIMINGS = "metrics.csv", "timings.csv"
"""Files of a run beside its memory: one row per iteration each, see `cotraining`."""
SIGNALS = (
    "completeness",
    "validity",
    "consistency",
    "steps",
    "grounding",
    "support",
    "format",
    "redundancy",
    "novelty",
    "alignment",
    "quality",
    "reliability",
)
SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "seed": pl.Int64,
    "iteration": pl.Int64,
    "slot": pl.Int64,
    "context": pl.String,
    "weakness": pl.String,
    "text": pl.String,
    "admitted": pl.Boolean,
    "reason": pl.String,
    **dict.fromkeys(FIELDS, pl.String),
    "skill": pl.String,
    "difficulty": pl.String,
    **dict.fromkeys(SIGNALS, pl.Float64),
    "rollouts": pl.List(pl.String),
    "answers": pl.List(pl.String),
    "correct": pl.List(pl.Boolean),
    "rewards": pl.List(pl.Float64),
    "success_rate": pl.Float64,
    "teachability": pl.Float64,
    "synthesizer_reward": pl.Float64,
    "gradient_bearing": pl.Boolean,
    "true_key": pl.Boolean,
    "origin": pl.String,
    "agreement": pl.Float64,
}
"""Columns of the memory. `context` is the Synthesizer's user prompt, `text` its raw output, `reason` empty when admitted. Lists have
one entry per rollout and are empty for a rejected card, whose outcome columns are null. `true_key` is the oracle's verdict on
`final_answer`, null where it cannot read the problem. `origin` says how a source other than the Synthesizer or its static pool came by
the task (`proposals.Proposal.origin`). `agreement` is the share of independent answers that support the key: of the consensus check, or
of R-Zero's vote; null where neither was asked."""


class Memory:
    """The memory of one run in a folder of its own."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def append(self, iteration: int, rows: list[dict]) -> None:
        """Write the part of `iteration` (1-based). Raises FileExistsError if it is there: nothing is ever overwritten."""
        path = self._part(iteration)
        if path.exists():
            raise FileExistsError(f"{path} exists: the memory is append-only")
        temporary = path.with_suffix(".tmp")
        pl.DataFrame(rows, schema=SCHEMA, orient="row").write_parquet(temporary)
        os.replace(temporary, path)

    def forget_after(self, iteration: int) -> None:
        """Drop parts later than the last completed iteration: a run killed in mid-iteration writes them again."""
        for path in self.folder.glob("*.parquet"):
            if int(path.stem) > iteration:
                path.unlink()

    def recent(self, iteration: int, window: int) -> pl.DataFrame:
        """Rows of the `window` iterations before `iteration`, in the order of generation."""
        return self._read(range(max(1, iteration - window), iteration))

    def all(self) -> pl.DataFrame:
        """Every row, in the order of generation."""
        return self._read(sorted(int(path.stem) for path in self.folder.glob("*.parquet")))

    def _read(self, iterations: range | list[int]) -> pl.DataFrame:
        parts = [pl.read_parquet(self._part(i)) for i in iterations]
        return pl.concat(parts) if parts else pl.DataFrame(schema=SCHEMA)

    def _part(self, iteration: int) -> Path:
        return self.folder / f"{iteration:06d}.parquet"
