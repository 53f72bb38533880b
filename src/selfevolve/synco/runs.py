"""A variant's runs, one per seed: gather what they left and write the stage's outputs."""

import shutil
from pathlib import Path

import polars as pl

from selfevolve.paths import ARTIFACTS
from selfevolve.synco import AGENTS
from selfevolve.synco.memory import METRICS, TIMINGS, Memory


def seed_folder(folder: Path, seed: int) -> Path:
    return folder / f"seed-{seed}"


def collect(seeds: tuple[int, ...], work: Path) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Memory, metrics and timings of all seeds, each ordered by (seed, iteration)."""
    folders = [seed_folder(work, seed) for seed in seeds]
    memory = pl.concat([Memory(folder / "memory").all() for folder in folders])
    metrics, timings = (
        pl.concat([pl.read_csv(folder / name, infer_schema_length=None) for folder in folders], how="vertical_relaxed")
        for name in (METRICS, TIMINGS)
    )
    return memory, metrics, timings


SOURCE = "source"
"""Folder of a run where its source keeps what it made before or while training: the pool it built, or R-Zero's rounds."""


def collect_source(seeds: tuple[int, ...], work: Path) -> pl.DataFrame | None:
    """What the source made: `rewriting.SCHEMA` or `corpora.SCHEMA` (the same pool for all seeds), or `r_zero.SCHEMA`; None if nothing."""
    parts = [sorted((seed_folder(work, seed) / SOURCE).glob("*.parquet")) for seed in seeds]
    frames = [pl.read_parquet(path) for own in parts for path in own]
    if not frames:
        return None
    return pl.concat(frames) if "seed" in frames[0].columns else frames[0]


def source_summary(seeds: tuple[int, ...], work: Path) -> pl.DataFrame | None:
    """How many tasks the source made, by kind and by the reason they were left out ("" if they were not); None if it made nothing."""
    if (made := collect_source(seeds, work)) is None:
        return None
    kinds = [name for name in ("stage", "origin", "reason") if name in made.columns]
    return made.group_by(kinds).len().sort("len", *kinds, descending=[True, *[False] * len(kinds)])


def write(
    out: Path, memory: pl.DataFrame, metrics: pl.DataFrame, contamination: pl.DataFrame, seeds: tuple[int, ...], work: Path
) -> None:
    """Write `memory.parquet`, `metrics.csv`, `contamination.parquet` (`overlap.report`), `source.parquet` (`collect_source`, if the
    source made something) and `seed-<seed>/<agent>/` (trained weights) to `out`."""
    out.mkdir(parents=True, exist_ok=True)
    memory.write_parquet(out / "memory.parquet")
    metrics.write_csv(out / "metrics.csv")
    contamination.write_parquet(out / "contamination.parquet")
    if (made := collect_source(seeds, work)) is not None:
        made.write_parquet(out / "source.parquet")
    for seed in seeds:
        for agent in AGENTS:
            shutil.rmtree(copy := seed_folder(out, seed) / agent, ignore_errors=True)
            if (trained := seed_folder(work, seed) / agent).is_dir():
                shutil.copytree(trained, copy)


def timings_path(variant: str, out: Path) -> Path:
    """Where a variant's wall times go: never into `out`, whose bytes must not depend on them."""
    folder = ARTIFACTS / "timings" if out.is_relative_to(ARTIFACTS) else out.parent
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"cotraining-{variant}.csv"
