"""Plain curves for the training notebooks.

Apart from `selfevolve.analysis` on purpose: the training stages depend on every module they import, and an edit to a figure of the
analysis must not make a trained model stale.
"""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import polars as pl
from matplotlib.figure import Figure


def loss_figure(losses: Mapping[str, list[float]]) -> Figure:
    """Supervised loss (nats per learned token) against the share of steps done, one line per agent."""
    drawn, ax = plt.subplots(figsize=(8, 3), layout="constrained")
    for name, values in losses.items():
        ax.plot([(i + 1) / len(values) for i in range(len(values))], values, label=name)
    ax.set(xlabel="share of steps done", ylabel="loss, nats per learned token", ylim=(0, None))
    if losses:
        ax.legend(frameon=False)
    plt.close(drawn)
    return drawn


def training_figure(metrics: pl.DataFrame, columns: Mapping[str, str], window: int = 10) -> Figure:
    """One panel per column of `metrics.csv` (column -> axis label): moving averages over `window` iterations, a line per seed."""
    drawn, axes = plt.subplots(1, len(columns), figsize=(8, 2.6), layout="constrained", squeeze=False)
    for ax, (column, label) in zip(axes[0], columns.items(), strict=True):
        for (seed,), run in metrics.sort("seed", "iteration").group_by("seed", maintain_order=True):
            values = run[column].cast(pl.Float64, strict=False).rolling_mean(window, min_samples=1)
            ax.plot(run["iteration"], values, label=f"seed {seed}")
        ax.set(xlabel="iteration", title=label, ylim=(0, None))
    axes[0][0].legend(frameon=False, fontsize=8)
    plt.close(drawn)
    return drawn
