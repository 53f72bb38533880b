"""Drawings of Table 1 of SynCo and of the gains between systems, from the frames that accuracy.py returns."""

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from selfevolve.analysis import style
from selfevolve.analysis.variants import label, ordered


def accuracy_figure(table: pl.DataFrame, mode: str = "greedy") -> Figure:
    """Dot and interval per system, one panel per benchmark; small open dots are the single seeds.

    ``table`` is ``accuracy_table``'s. Raises ValueError if it has no row of that mode.
    """
    table = _of_mode(table, mode, "accuracy_figure").drop_nulls("value")
    benchmarks = table["benchmark"].unique(maintain_order=True).to_list()
    systems = ordered(table["system"])
    columns = min(3, len(benchmarks))
    lines = -(-len(benchmarks) // columns)
    with style.theme():
        height = lines * (0.55 * len(systems) + 1.0)
        figure, axes = style.figure(lines, columns, height, sharey=True)
        for ax in axes.flat[len(benchmarks) :]:
            ax.set_visible(False)
        for ax, benchmark in zip(axes.flat, benchmarks, strict=False):
            rows = table.filter(benchmark=benchmark)
            for row in rows.iter_rows(named=True):
                y, ink = systems.index(row["system"]), style.colour(row["system"])
                ax.plot([row["low"], row["high"]], [y, y], color=ink, linewidth=2.2, solid_capstyle="round")
                ax.plot(row["value"], y, style.MARKERS.get(row["system"], "o"), color=ink, markersize=8)
                if row["seeds"] > 1:
                    seeds = [value for value in row["per_seed"] if value is not None]
                    ax.plot(seeds, [y + 0.24] * len(seeds), "o", mfc="white", mec=ink, markersize=3.8, mew=0.9)
                ax.annotate(
                    f"{row['value']:.1%}",
                    (row["value"], y),
                    xytext=(0, 7),
                    textcoords="offset points",
                    ha="center",
                    color=ink,
                    fontsize=9.5,
                )
            ax.set_title(f"{benchmark} ({rows['n'].max()} tasks)")
            ax.set_yticks(range(len(systems)), [label(system) for system in systems])
            ax.set_ylim(len(systems) - 0.45, -0.6)
            ax.grid(False, axis="y")
            ax.margins(x=0.12)
            style.percent(ax, "x")
        figure.supxlabel(f"accuracy, {mode} decoding (line: 95% interval; open dots: single seeds)", fontsize=10)
    return figure


def gains_figure(gains: pl.DataFrame, mode: str = "greedy") -> Figure:
    """Paired differences with their intervals, in percentage points; a filled dot where the interval leaves out 0."""
    gains = _of_mode(gains, mode, "gains_figure").drop_nulls("value")
    benchmarks = gains["benchmark"].unique(maintain_order=True).to_list()
    names = gains["comparison"].unique(maintain_order=True).to_list()
    columns = min(3, len(benchmarks))
    lines = -(-len(benchmarks) // columns)
    with style.theme():
        figure, axes = style.figure(lines, columns, lines * (0.45 * len(names) + 1.0), sharex=True, sharey=True)
        for ax in axes.flat[len(benchmarks) :]:
            ax.set_visible(False)
        for ax, benchmark in zip(axes.flat, benchmarks, strict=False):
            ax.axvline(0, color=style.INK, linewidth=1)
            for row in gains.filter(benchmark=benchmark).iter_rows(named=True):
                y, ink = names.index(row["comparison"]), style.colour(row["system"])
                ax.plot([100 * row["low"], 100 * row["high"]], [y, y], color=ink, linewidth=2.2, solid_capstyle="round")
                ax.plot(
                    100 * row["value"],
                    y,
                    "o",
                    mfc=ink if row["excludes_zero"] else "white",
                    mec=ink,
                    mew=1.6,
                    markersize=8,
                )
                ax.annotate(
                    f"{100 * row['value']:+.1f}",
                    (100 * row["value"], y),
                    xytext=(0, 7),
                    textcoords="offset points",
                    ha="center",
                    color=ink,
                    fontsize=9.5,
                )
            ax.set_title(benchmark)
            ax.set_yticks(range(len(names)), names)
            ax.set_ylim(len(names) - 0.45, -0.7)
            ax.grid(False, axis="y")
        figure.supxlabel(f"difference in accuracy, percentage points, {mode} decoding (line: 95% interval)", fontsize=10)
    return figure


def accuracy_by_figure(table: pl.DataFrame) -> Figure:
    """Accuracy over level or skill, one line of dots and intervals per system. ``table`` is ``accuracy_by``'s."""
    by = table.columns[1]
    table = table.drop_nulls("value")
    if table.is_empty():
        with style.theme():
            figure, axes = style.figure(height=1.0)
            axes[0, 0].set_axis_off()
            axes[0, 0].text(0, 0.5, f"No problem of these benchmarks has a {by}.")
        return figure
    groups = sorted(table[by].unique().to_list())
    systems = ordered(table["system"])
    with style.theme():
        figure, axes = style.figure(height=3.6 + 0.25 * (len(systems) > 4))
        ax = axes[0, 0]
        for k, system in enumerate(systems):
            rows = table.filter(system=system)
            x = np.array([groups.index(group) for group in rows[by]]) + (k - (len(systems) - 1) / 2) * min(
                0.11, 0.8 / len(systems)
            )
            value, low, high = (rows[name].to_numpy() for name in ("value", "low", "high"))
            ink = style.colour(system)
            joined = "-" if by == "level" else "none"  # skills have no order to follow
            ax.plot(x, value, linestyle=joined, color=ink, alpha=0.45, linewidth=1.2)
            ax.vlines(x, low, high, color=ink, linewidth=1.8)
            ax.plot(x, value, style.MARKERS.get(system, "o"), color=ink, markersize=6.5, label=label(system))
        counts = {group: table.filter(pl.col(by) == group)["n"].max() for group in groups}
        ax.set_xticks(range(len(groups)), [f"{group}\n({counts[group]} tasks)" for group in groups])
        ax.set_xlabel({"level": "level (number of operations)"}.get(by, by))
        ax.set_ylabel("accuracy (95% interval)")
        ax.set_ylim(-0.02, 1.02)
        ax.grid(False, axis="x")
        style.percent(ax)
        figure.legend(loc="outside upper left", ncols=min(4, len(systems)), frameon=False)
    return figure


def _of_mode(table: pl.DataFrame, mode: str, caller: str) -> pl.DataFrame:
    rows = table.filter(pl.col("mode") == mode)
    if rows.is_empty():
        raise ValueError(f"{caller}: no row of mode {mode!r}; the table has {sorted(set(table['mode']))}")
    return rows
