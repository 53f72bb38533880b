"""Looking into a finished run by hand: its cards, their rollouts and rewards, and a curve of anything in the memory.

For notebooks/explore.ipynb. Every function takes and gives plain frames, and takes an empty one for what it is, so that the notebook runs
where there is no run to look into.
"""

from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from selfevolve.analysis import style
from selfevolve.cards import FIELDS
from selfevolve.synco.memory import SCHEMA

HOW = (
    "No finished run in `{folder}`. `make repro` in the root of the repository makes one (the `tiny` profile takes minutes on two CPU cores); "
    "`dvc pull` fetches one, if your DVC remote holds it. Then run this notebook again. Until then the tables below are empty."
)
_OUTCOME = ("quality", "reliability", "novelty", "success_rate", "teachability", "synthesizer_reward", "true_key")


def finished(folder: Path) -> list[str]:
    """The variants whose memory lies in ``folder`` (artifacts/cotraining), in alphabetical order."""
    return sorted(path.parent.name for path in folder.glob("*/memory.parquet"))


def memory(folder: Path, variant: str) -> pl.DataFrame:
    """The memory of a variant, one row per proposed card (``synco.memory.SCHEMA``); empty if it has not been run."""
    path = folder / variant / "memory.parquet"
    return pl.read_parquet(path) if path.is_file() else pl.DataFrame(schema=SCHEMA)


def listing(cards: pl.DataFrame) -> pl.DataFrame:
    """The columns that tell cards apart at a glance."""
    return cards.select(
        "seed",
        "iteration",
        "slot",
        "admitted",
        "reason",
        "skill",
        "difficulty",
        "success_rate",
        "gradient_bearing",
        "problem",
        "final_answer",
    )


def card(cards: pl.DataFrame) -> pl.DataFrame:
    """The first of the cards in full: field, value. No rows for no cards."""
    first = cards.head(1).select(*FIELDS, "reason", *_OUTCOME, "text")
    return first.select(pl.all().cast(pl.String)).unpivot(variable_name="field", value_name="value").drop_nulls("value")


def rollouts(cards: pl.DataFrame) -> pl.DataFrame:
    """The first card's rollouts: rollout (what the Reasoner wrote), answer, correct, reward."""
    names = {"rollouts": "rollout", "answers": "answer", "correct": "correct", "rewards": "reward"}
    return cards.head(1).filter(pl.col("rewards").list.len() > 0).select(*names).explode(*names).rename(names)


def curve(cards: pl.DataFrame, value: str, by: str | None = None, window: int = 5) -> Figure:
    """Mean of a column per iteration, moving average over ``window``, a line per value of ``by`` (the eight most frequent ones).

    Numbers, booleans (as a share) and lists of numbers (their mean) can be drawn; rows without a value are left out. Raises ValueError for
    a column that is none of these.
    """
    kind = cards.schema.get(value)
    if kind is None:
        raise ValueError(f"curve: no column {value!r}; there are {', '.join(cards.columns)}")
    if isinstance(kind, pl.List):
        number = pl.col(value).list.mean()
    elif kind == pl.Boolean or kind.is_numeric():
        number = pl.col(value).cast(pl.Float64)
    else:
        raise ValueError(f"curve: column {value!r} holds {kind}; choose one of numbers, booleans or lists of numbers")
    points = cards.select(
        "iteration", pl.lit("all").alias("group") if by is None else pl.col(by).cast(pl.String).alias("group"), number
    )
    points = points.drop_nulls()
    groups = points.group_by("group").len().sort("len", "group", descending=[True, False])["group"].head(8).to_list()
    with style.theme():
        figure, axes = style.figure(height=3.6)
        ax = axes[0, 0]
        for name, ink in zip(groups, style.SERIES, strict=False):
            line = points.filter(group=name).group_by("iteration").agg(pl.mean(value)).sort("iteration")
            ax.plot(line["iteration"], line[value].rolling_mean(window, min_samples=1), color=ink, label=name)
        ax.set_xlabel("iteration")
        ax.set_ylabel(f"{value}, mean over cards")
        if by is not None and groups:
            ax.legend(title=by, frameon=False)
        if not groups:
            ax.text(0.5, 0.5, "nothing to draw", transform=ax.transAxes, ha="center", color=style.FAINT)
        style.footnote(figure, f"{window}-iteration moving average, all seeds together")
    return figure
