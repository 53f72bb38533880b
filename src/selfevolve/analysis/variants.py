"""Names of the compared systems, their order and display names, and how to stack their tables."""

from collections.abc import Callable, Mapping

import polars as pl

SYSTEMS = ("vanilla", "static_pool", "frozen", "synco")
VARIANTS = SYSTEMS[1:]  # vanilla is not trained, so it has no memory, metrics or timings
LABELS = {
    "vanilla": "Vanilla",
    "static_pool": "Static pool",
    "frozen": "Frozen Synth.",
    "synco": "SynCo",
}
COMPARISONS = (
    ("synco", "vanilla"),
    ("frozen", "vanilla"),
    ("static_pool", "vanilla"),
    ("synco", "frozen"),
    ("synco", "static_pool"),
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
