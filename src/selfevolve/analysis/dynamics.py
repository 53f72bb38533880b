"""Figure 6 of SynCo: reward trajectories under the variants, and the optimisation behind them (section 4.8).

Curves are trailing 10-step moving averages, as in the paper. Deviations: mean over seeds with the band from the
lowest to the highest seed (the paper draws one run); the static pool is shown beside the two Synthesizer variants;
rewards are those of the rollouts on the tasks of the moment, so a variant that meets easier tasks scores higher: read
them together with accuracy.
"""

from collections.abc import Mapping

import polars as pl
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from selfevolve.analysis import style
from selfevolve.analysis.variants import label, ordered

WINDOW = 10  # iterations
_SCHEMA = {
    "variant": pl.String,
    "iteration": pl.Int64,
    "mean": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "seeds": pl.Int64,
}


def trajectories(metrics: Mapping[str, pl.DataFrame], column: str, window: int = WINDOW) -> pl.DataFrame:
    """Moving average of one metrics.csv column per variant: variant, iteration, mean, low, high (over seeds), seeds.

    Each seed is averaged over its last ``window`` iterations first (fewer at the start; empty cells are skipped).
    Iterations without any value are absent, so a variant that never logs the column simply has no rows.
    """
    parts = [pl.DataFrame(schema=_SCHEMA)]
    for variant in ordered(metrics):
        smooth = _numeric(metrics[variant], column).select(
            "seed",
            "iteration",
            pl.col(column).rolling_mean(window, min_samples=1).over("seed", order_by="iteration").alias("value"),
        )
        parts.append(
            smooth.drop_nulls("value")
            .group_by("iteration", maintain_order=True)
            .agg(
                pl.col("value").mean().alias("mean"),
                pl.col("value").min().alias("low"),
                pl.col("value").max().alias("high"),
                pl.len().cast(pl.Int64).alias("seeds"),
            )
            .sort("iteration")
            .select(pl.lit(variant).alias("variant"), pl.all())
        )
    return pl.concat(parts)


def end_values(metrics: Mapping[str, pl.DataFrame], column: str = "reasoner_reward", window: int = WINDOW) -> pl.DataFrame:
    """Where the moving average of ``column`` starts and ends: variant, first, last, low, high (seeds, at the end),
    seeds.

    ``first`` is the average at iteration ``window`` (or the last one, in shorter runs), the first full window.
    """
    curves = trajectories(metrics, column, window)
    full = pl.col("iteration") >= window
    return curves.group_by("variant", maintain_order=True).agg(
        pl.col("iteration").max(),
        pl.coalesce(pl.col("mean").filter(full).first(), pl.col("mean").last()).alias("first"),
        pl.col("mean").last().alias("last"),
        pl.col("low").last(),
        pl.col("high").last(),
        pl.col("seeds").last(),
    )


def gradient_bearing_figure(metrics: Mapping[str, pl.DataFrame], window: int = WINDOW) -> Figure:
    """The headline plot: share of admitted tasks whose rollout rewards differ, over iterations, per variant."""
    with style.theme():
        figure, axes = style.figure(height=4.0)
        ax = axes[0, 0]
        _draw(ax, metrics, "gradient_bearing_rate", window, floor=0.0)
        style.percent(ax)
        ax.set_title("Tasks that still carry a gradient")
        ax.set_ylabel("gradient-bearing share of admitted tasks")
        _say(figure, metrics, window)
    return figure


def reward_figure(metrics: Mapping[str, pl.DataFrame], window: int = WINDOW) -> Figure:
    """Figure 6: mean Reasoner reward, with the Synthesizer's mean reward beside it (per proposed card, rejected ones
    included).
    """
    with style.theme():
        figure, axes = style.figure(1, 2, 3.8)
        _draw(axes[0, 0], metrics, "reasoner_reward", window)
        axes[0, 0].set_title("Reasoner")
        axes[0, 0].set_ylabel("mean rollout reward (0 to 1)")
        _draw(axes[0, 1], metrics, "synthesizer_reward", window)
        axes[0, 1].set_title("Synthesizer")
        axes[0, 1].set_ylabel("mean card reward (−0.5 to 1.1)")
        _say(figure, metrics, window)
    return figure


def optimisation_figure(metrics: Mapping[str, pl.DataFrame], window: int = WINDOW) -> Figure:
    """Token entropy and gradient norm of both agents; an agent that is not updated logs neither and has no curve."""
    with style.theme():
        figure, axes = style.figure(2, 2, 6.2)
        for row, agent in enumerate(("reasoner", "synthesizer")):
            for column, (name, unit) in enumerate((("entropy", "nats per token"), ("grad_norm", "L2 norm"))):
                ax = axes[row, column]
                _draw(ax, metrics, f"{agent}_{name}", window, floor=0.0)
                ax.set_title(f"{agent.capitalize()}: {'entropy' if name == 'entropy' else 'gradient norm'}")
                ax.set_ylabel(unit)
        _say(figure, metrics, window)
    return figure


def _numeric(metrics: pl.DataFrame, column: str) -> pl.DataFrame:
    """The column as floats. A CSV column that is empty throughout is read as text; a run that diverged may hold NaN."""
    if column not in metrics.columns:
        raise ValueError(f"metrics.csv has no column {column!r}; it has {metrics.columns}")
    number = pl.col(column).cast(pl.Float64, strict=False).fill_nan(None)
    return metrics.select("seed", "iteration", number).sort("seed", "iteration")


def _draw(ax: Axes, metrics: Mapping[str, pl.DataFrame], column: str, window: int, floor: float | None = None) -> None:
    curves = trajectories(metrics, column, window)
    variants = ordered(curves["variant"])
    ax.set_xlabel("co-training iteration")
    if not variants:
        ax.text(0.5, 0.5, "not logged by these variants", transform=ax.transAxes, ha="center", color=style.FAINT)
        return
    palette = {name: style.colour(name) for name in variants}
    data = style.to_pandas_free(curves)
    sns.lineplot(
        data=data,
        x="iteration",
        y="mean",
        hue="variant",
        hue_order=variants,
        palette=palette,
        errorbar=None,
        legend=False,
        ax=ax,
    )
    ends = []
    for name in variants:
        rows = curves.filter(variant=name)
        ax.fill_between(rows["iteration"], rows["low"], rows["high"], color=palette[name], alpha=0.16, linewidth=0)
        ends.append((rows["iteration"][-1], rows["mean"][-1], label(name), palette[name]))
    if floor is not None:
        ax.set_ylim(bottom=floor)
    ax.set_xlim(1, curves["iteration"].max() if curves["iteration"].max() > 1 else 2)
    ax.set_xlabel("co-training iteration")
    style.label_ends(ax, ends)


def _say(figure: Figure, metrics: Mapping[str, pl.DataFrame], window: int) -> None:
    seeds = max((frame["seed"].n_unique() for frame in metrics.values()), default=0)
    spread = f"mean of {seeds} seeds, band: lowest to highest seed" if seeds > 1 else "one seed"
    style.footnote(figure, f"{window}-iteration moving average; {spread}")
