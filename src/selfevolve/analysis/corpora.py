"""Figure 5 of SynCo: the tasks of every source, as the same untrained Reasoner meets them (section 4.7).

Deviations: shares have Wilson intervals over tasks; sources are those that were run, the static pool and the frozen Synthesizer among
them; "gradient-bearing" is "rewards not all identical" and stands beside "mixed" (0 < SR < 1), see curriculum.py. How the tasks were
sampled and rolled out: evaluation/boundary.py.
"""

import polars as pl
from matplotlib.figure import Figure

from selfevolve.analysis import style
from selfevolve.analysis.statistics import proportion
from selfevolve.analysis.variants import label, ordered

REGIMES = {"all_incorrect": "SR = 0", "mixed": "0 < SR < 1", "all_correct": "SR = 1"}
_FLOATS = dict.fromkeys(("value", "low", "high"), pl.Float64)


def outcome_table(rollouts: pl.DataFrame) -> pl.DataFrame:
    """Figure 5 (a): variant, outcome, value, low, high, tasks. ``outcome``: the three regimes, which sum to one, and gradient_bearing.

    ``rollouts`` follows artifacts/evaluation/source_rollouts.parquet (evaluation/boundary.py).
    """
    rate = pl.col("success_rate")
    tasks = rollouts.with_columns((rate == 0).alias("all_incorrect"), (rate == 1).alias("all_correct"))
    tasks = tasks.with_columns((~pl.col("all_incorrect") & ~pl.col("all_correct")).alias("mixed"))
    rows = []
    for variant in ordered(tasks["variant"]):
        part = tasks.filter(variant=variant)
        rows += [(variant, name, *proportion(int(part[name].sum()), part.height)) for name in (*REGIMES, "gradient_bearing")]
    return pl.DataFrame(rows, schema={"variant": pl.String, "outcome": pl.String, **_FLOATS, "tasks": pl.Int64}, orient="row")


def success_table(rollouts: pl.DataFrame) -> pl.DataFrame:
    """Figure 5 (b): variant, success_rate (every value that K rollouts can have), value (share of the tasks), low, high, tasks."""
    rows = []
    levels = sorted(rollouts["success_rate"].unique().to_list())
    if rollouts.height:
        k = rollouts["rewards"].list.len().max()
        levels = [i / k for i in range(k + 1)]
    for variant in ordered(rollouts["variant"]):
        rates = rollouts.filter(variant=variant)["success_rate"]
        rows += [(variant, level, *proportion(int((rates - level).abs().lt(1e-9).sum()), rates.len())) for level in levels]
    return pl.DataFrame(
        rows, schema={"variant": pl.String, "success_rate": pl.Float64, **_FLOATS, "tasks": pl.Int64}, orient="row"
    )


def corpora_figure(rollouts: pl.DataFrame) -> Figure:
    """Figure 5: (a) outcomes per source, stacked, with the gradient-bearing share; (b) distribution of the success rate per source.

    Raises ValueError if there is no task.
    """
    if rollouts.is_empty():
        raise ValueError("corpora_figure: no task was rolled out; run the evaluation stage")
    outcome, success = outcome_table(rollouts), success_table(rollouts)
    variants = ordered(rollouts["variant"])
    with style.theme():
        figure, axes = style.figure(1, 2, max(3.2, 0.42 * len(variants) + 1.6), width_ratios=[1.1, 1])
        left, right = axes[0]
        base = [0.0] * len(variants)
        for regime, ink in style.OUTCOMES.items():
            widths = outcome.filter(outcome=regime)["value"].to_list()
            left.barh(
                range(len(variants)), widths, left=base, height=0.66, color=ink, linewidth=0, label=regime.replace("_", " ")
            )
            base = [low + width for low, width in zip(base, widths, strict=True)]
        for y, row in enumerate(outcome.filter(outcome="gradient_bearing").iter_rows(named=True)):
            left.text(1.02, y, f"{row['value']:.0%}", va="center", fontsize=9)
        tasks = outcome.filter(outcome="mixed")["tasks"].to_list()
        left.set_yticks(range(len(variants)), [f"{label(name)} ({n})" for name, n in zip(variants, tasks, strict=True)])
        left.set_ylim(len(variants) - 0.5, -0.5)
        left.set_xlim(0, 1.12)
        left.grid(False, axis="y")
        left.set_xlabel("share of tasks (right: gradient-bearing)")
        style.percent(left, "x")
        left.legend(
            loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, frameon=False, fontsize=9, handlelength=1.2, columnspacing=1.0
        )
        for name in variants:
            rows = success.filter(variant=name)
            ink = style.colour(name)
            right.fill_between(rows["success_rate"], rows["low"], rows["high"], color=ink, alpha=0.13, linewidth=0)
            right.plot(rows["success_rate"], rows["value"], color=ink, marker=style.MARKERS.get(name, "o"), label=label(name))
        right.set_xticks(success["success_rate"].unique().sort().to_list())
        right.set_ylim(bottom=0)
        right.set_xlabel("success rate of a task (band: 95% interval)")
        right.set_ylabel("share of tasks")
        style.percent(right)
        right.legend(frameon=False, fontsize=9)
    return figure
