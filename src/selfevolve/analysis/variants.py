"""Names of the compared systems, their order and display names, and how to stack their tables."""

from collections.abc import Callable, Mapping

import polars as pl

LABELS = {  # in the order of the paper's Table 1
    "vanilla": "Vanilla",
    "metamathqa": "MetaMathQA",
    "scalequest": "ScaleQuest-Math",
    "openmathinstruct2": "OpenMathInstruct-2",
    "static_pool_sft": "Reject-sample SFT",
    "static_pool": "Static pool",
    "rewriting": "Offline rewriting",
    "r_zero": "R-Zero",
    "frozen": "Frozen Synth.",
    "synco": "SynCo",
}
SYSTEMS = tuple(LABELS)
CORE = ("vanilla", "static_pool", "frozen", "synco")
"""The systems of the default pipeline; the others are run on demand."""
COMPARISONS = (
    *(("synco", name) for name in ("vanilla", "frozen", *(n for n in SYSTEMS if n not in ("vanilla", "frozen", "synco")))),
    *((name, "vanilla") for name in SYSTEMS if name not in ("vanilla", "synco")),
)


def label(name: str) -> str:
    """The display name of a system; names outside the fixed set are shown as they are."""
    return LABELS.get(name, name)


def ordered(names) -> list[str]:
    """``names`` once each: known systems in their fixed order, then the others alphabetically."""
    names = set(names)
    return [name for name in SYSTEMS if name in names] + sorted(names - set(SYSTEMS))


def by_variant(table: Callable[..., pl.DataFrame], frames: Mapping[str, pl.DataFrame], **options) -> pl.DataFrame:
    """``table(frame, **options)`` for each variant's frame, stacked under a first column ``variant``.

    Raises ValueError if ``frames`` is empty.
    """
    if not frames:
        raise ValueError("by_variant: no variant given; run the cotraining stage for at least one variant first")
    parts = [table(frames[name], **options).select(pl.lit(name).alias("variant"), pl.all()) for name in ordered(frames)]
    return pl.concat(parts)
