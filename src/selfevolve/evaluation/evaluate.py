"""Held-out accuracy of one Reasoner: greedy, and over several independent sampled runs (SynCo C.3)."""

import os
from pathlib import Path

import polars as pl

from selfevolve.checker import check_batch
from selfevolve.models.generation import Sampling
from selfevolve.models.policy import load
from selfevolve.params import Profile
from selfevolve.progress import Progress
from selfevolve.seeding import derive
from selfevolve.synco.context import reasoner_messages

SCHEMA = {
    "system": pl.String,
    "seed": pl.Int64,
    "benchmark": pl.String,
    "item": pl.String,
    "skill": pl.String,
    "level": pl.Int64,
    "mode": pl.String,
    "draw": pl.Int64,
    "correct": pl.Boolean,
    "boxed": pl.Boolean,
    "answer": pl.String,
    "tokens": pl.Int64,
}
"""One row per (system, seed, item, mode, draw). `correct` is null where the reference cannot be read."""


def evaluate(system: str, seed: int, agent: Path, profile: Profile, items: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Answer every item greedily and in `draws` sampled runs, check the answers, and keep the rows at `path`.

    If `path` is there already, it was written by a run that was interrupted later: it is read instead.
    """
    if path.is_file():
        return pl.read_parquet(path)
    settings, models = profile.evaluation, profile.models
    policy = load(agent, models.dtype, models.generation_batch)
    prompts = policy.encode([reasoner_messages(problem, models.prompts) for problem in items["problem"]])
    greedy = Sampling(temperature=0.0, top_p=1.0, max_new_tokens=settings.sampling.max_new_tokens)
    progress = Progress(f"evaluate {system} seed {seed}: run", settings.draws + 1)
    frames = []
    for run in range(settings.draws + 1):
        mode, sampling = ("greedy", greedy) if run == 0 else ("sampled", settings.sampling)
        completions = policy.generate(prompts, sampling, derive(settings.seed, system, seed, "run", run))
        verdicts = check_batch([(c.text, a) for c, a in zip(completions, items["answer"], strict=True)])
        rows = items.select(
            pl.lit(system).alias("system"),
            pl.lit(seed).alias("seed"),
            "benchmark",
            pl.col("id").alias("item"),
            "skill",
            "level",
            pl.lit(mode).alias("mode"),
            pl.lit(max(0, run - 1)).alias("draw"),
            pl.Series("correct", [v.correct for v in verdicts], dtype=pl.Boolean),
            pl.Series("boxed", [v.boxed for v in verdicts]),
            pl.Series("answer", [v.answer for v in verdicts], dtype=pl.String),
            pl.Series("tokens", [len(c.ids) for c in completions]),
        )
        frames.append(rows.select([pl.col(name).cast(dtype) for name, dtype in SCHEMA.items()]))
        progress.update(run + 1)
    result = pl.concat(frames)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    result.write_parquet(temporary)
    os.replace(temporary, path)
    return result
