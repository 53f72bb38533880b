"""The systems of the accuracy table: the Reasoner before co-training, each variant's after it, and released checkpoints (SynCo C.2)."""

from pathlib import Path

from selfevolve import pipeline
from selfevolve.params import Params
from selfevolve.paths import ARTIFACTS
from selfevolve.synco.runs import seed_folder

VANILLA = "vanilla"


def variants(settings: Params) -> list[str]:
    """The variants that are run: those of `params.yaml` that the matrix of the stage cotraining in `dvc.yaml` names, in its order."""
    return [name for name in pipeline.choices("cotraining")["variant"] if name in settings.cotraining.variants]


def systems(settings: Params) -> list[tuple[str, int, Path | str]]:
    """(system, seed, agent folder or hub id) of every Reasoner to evaluate; what we did not train counts as one seed, 0."""
    trained = [
        (variant, seed, seed_folder(ARTIFACTS / "cotraining" / variant, seed) / "reasoner")
        for variant in variants(settings)
        for seed in settings.cotraining.seeds
    ]
    released = [(checkpoint.name, 0, checkpoint.path) for checkpoint in settings.evaluation.checkpoints]
    return [(VANILLA, 0, ARTIFACTS / "synthesis" / "reasoner"), *trained, *released]
