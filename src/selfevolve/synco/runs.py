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


def write(out: Path, memory: pl.DataFrame, metrics: pl.DataFrame, seeds: tuple[int, ...], work: Path) -> None:
    """Write `memory.parquet`, `metrics.csv` and `seed-<seed>/<agent>/` (trained weights) to `out`."""
    out.mkdir(parents=True, exist_ok=True)
    memory.write_parquet(out / "memory.parquet")
    metrics.write_csv(out / "metrics.csv")
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
