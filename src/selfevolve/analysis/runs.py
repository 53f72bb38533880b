"""A finished run's own files, read once: what every table and figure is drawn from."""

import json
import math
from pathlib import Path
from typing import NamedTuple

import polars as pl
from safetensors import safe_open

from selfevolve.analysis.variants import ordered
from selfevolve.evaluation.systems import variants
from selfevolve.params import Params, ScratchModel
from selfevolve.paths import ARTIFACTS

FILES = {  # field of Run -> the files it holds
    "predictions": "artifacts/evaluation/predictions.parquet",
    "rollouts": "artifacts/evaluation/source_rollouts.parquet",
    "memory": "artifacts/cotraining/<variant>/memory.parquet",
    "contamination": "artifacts/cotraining/<variant>/contamination.parquet",
    "metrics": "artifacts/cotraining/<variant>/metrics.csv",
    "timings": "artifacts/timings/cotraining-<variant>.csv",
}
THIS_RUN = "this run"
"""How the run in `artifacts/` is called beside others."""


class Run(NamedTuple):
    """Frames by variant, and what the run was."""

    predictions: pl.DataFrame
    rollouts: pl.DataFrame
    """Tasks of every source before the untrained Reasoner (evaluation/boundary.py)."""
    memory: dict[str, pl.DataFrame]
    contamination: dict[str, pl.DataFrame]
    """Overlap of every admitted card with every benchmark (synco/overlap.py)."""
    metrics: dict[str, pl.DataFrame]
    timings: dict[str, pl.DataFrame]
    main_benchmark: str | None
    """The benchmark of the headline: the only one, or None for the average of several."""
    models: str
    """What both agents are, in words."""
    weights: int | None
    """Weights of one agent, None if its folder only points to a base model."""
    provenance: pl.DataFrame

    def gradient_bearing(self) -> pl.DataFrame:
        """The gradient-bearing rate of every iteration, mean over seeds, one column per variant (for `dvc plots`)."""
        frames = [
            frame.group_by("iteration").agg(pl.mean("gradient_bearing_rate").alias(name)) for name, frame in self.metrics.items()
        ]
        return pl.concat(frames, how="align").sort("iteration")


def load_runs(settings: Params, artifacts: Path = ARTIFACTS) -> Run:
    """Read the outputs of the stages synthesis, cotraining (of the variants that are run) and evaluation.

    Raises FileNotFoundError, naming the stage to run, if one is missing.
    """
    names = ordered(variants(settings))

    def path(field: str, variant: str = "") -> Path:
        stage = "cotraining" if "<variant>" in FILES[field] else "evaluation"
        return _need(stage, artifacts / FILES[field].removeprefix("artifacts/").replace("<variant>", variant))

    memory, contamination = (
        {name: pl.read_parquet(path(field, name)) for name in names} for field in ("memory", "contamination")
    )
    metrics, timings = (
        {  # a column without any value is read as text
            name: pl.read_csv(path(field, name), infer_schema_length=None).with_columns(pl.col(pl.String).cast(pl.Float64))
            for name in names
        }
        for field in ("metrics", "timings")
    )
    predictions, rollouts = pl.read_parquet(path("predictions")), pl.read_parquet(path("rollouts"))
    scratch = isinstance(settings.models.base, ScratchModel)
    models = (
        "tiny models trained from scratch on templated arithmetic"
        if scratch
        else f"copies of {settings.models.base.path} (the Synthesizer after {settings.synthesis.synthesizer.steps} bootstrap steps)"
    )
    weights = _weights(artifacts / "synthesis" / "reasoner")
    bootstrap = json.loads(_need("synthesis", artifacts / "synthesis" / "bootstrap.json").read_text())
    facts = {
        "profile": settings.profile,
        "variants": ", ".join(names),
        "agents": models,
        "weights per agent": f"{weights:,}" if weights else "as published",
        "seeds": ", ".join(map(str, settings.cotraining.seeds)),
        "iterations": str(settings.cotraining.iterations),
        "cards per iteration": str(settings.cotraining.tasks),
        "rollouts per card": str(settings.cotraining.rollouts),
        "benchmarks": ", ".join(settings.benchmarks.names),
        "Synthesizer before co-training: schema-valid outputs": _percent(bootstrap["schema_valid_rate"]),
        "Synthesizer before co-training: admitted": _percent(bootstrap["acceptance_rate"]),
        "Synthesizer before co-training: admitted cards with a true key": _percent(bootstrap["true_key_rate"]),
        "scripted roles": "none",
    }
    benchmarks = settings.benchmarks.names
    return Run(
        predictions,
        rollouts,
        memory,
        contamination,
        metrics,
        timings,
        benchmarks[0] if len(benchmarks) == 1 else None,
        models,
        weights,
        pl.DataFrame({"what": list(facts), "value": list(facts.values())}),
    )


def _need(stage: str, path: Path) -> Path:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: run the stage that writes it ({stage}), `dvc repro` runs them in order")
    return path


def _percent(rate: float | None) -> str:
    return "unknown" if rate is None else f"{rate:.1%}"


def _weights(folder: Path) -> int | None:
    path = folder / "model.safetensors"
    if not path.is_file():
        return None
    with safe_open(path, framework="numpy") as file:
        shapes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118
    return sum(math.prod(shape) for shape in shapes)
