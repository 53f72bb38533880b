"""The systems of the accuracy table: the Reasoner before co-training, and each variant's Reasoner after it."""

from pathlib import Path

from selfevolve.params import Params
from selfevolve.paths import ARTIFACTS
from selfevolve.synco.runs import seed_folder

VANILLA = "vanilla"


def systems(settings: Params) -> list[tuple[str, int, Path]]:
    """(system, seed, agent folder) of every Reasoner to evaluate; vanilla counts as one seed, 0."""
    trained = [
        (variant, seed, seed_folder(ARTIFACTS / "cotraining" / variant, seed) / "reasoner")
        for variant in settings.cotraining.variants
        for seed in settings.cotraining.seeds
    ]
    return [(VANILLA, 0, ARTIFACTS / "synthesis" / "reasoner"), *trained]
