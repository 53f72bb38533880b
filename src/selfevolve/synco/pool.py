"""The candidates the untrained Synthesizer wrote: the static pool made of them, and what they say about it."""

import json
from pathlib import Path

import polars as pl


def first_admitted(candidates: pl.DataFrame, size: int) -> pl.DataFrame:
    """The static pool: the first `size` admitted candidates."""
    return candidates.filter("admitted").head(size)


def quality_of(candidates: pl.DataFrame) -> dict[str, float | int | None]:
    """What the bootstrapped Synthesizer writes, as rates over all candidates (`true_key_rate`: over the admitted ones)."""
    return {
        "candidates": candidates.height,
        "schema_valid_rate": candidates["problem"].is_not_null().mean(),
        "acceptance_rate": candidates["admitted"].mean(),
        "true_key_rate": candidates["true_key"].mean(),
    }


def write_summary(path: Path, candidates: pl.DataFrame, losses: dict[str, list[float]]) -> None:
    """`bootstrap.json`: `quality_of` the candidates and the bootstrap losses of each agent."""
    path.write_text(json.dumps({**quality_of(candidates), "losses": losses}, indent=1) + "\n", encoding="utf-8")
