"""Figures 3 and 4 of Gradus: what search and recovery bring, and whether they keep the hard lessons (sections 3.5 and 3.6).

Difficulty of an accepted task is 1 - the success of independent rollouts without feedback (`recovery.scouts` of them), measured in the same
way for every task. The paper measures the success of an off-the-shelf student; here it is that of the role that solves, so with scripted
roles it follows from settings.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from selfevolve.analysis import style
from selfevolve.analysis.statistics import Interval

BINS = ("easy", "medium", "medium-hard", "hard")
_EDGES = (0.25, 0.5, 0.999)  # upper limits of difficulty: easy, medium, medium-hard; hard is never solved
_FILLS = ("#C6DBEF", "#6BAED6", "#2171B5", "#08306B")
_REPLICATES = 2000


def summary(records: pl.DataFrame) -> pl.DataFrame:
    """One row per arm: arm, proposed, accepted, verified_share and do_nothing_share (of accepted), recovered (accepted after the first pass of
    the loop), mean depth."""
    accepted = pl.col("accepted")
    return records.group_by("arm", maintain_order=True).agg(
        proposed=pl.len(),
        accepted=accepted.sum(),
        verified_share=pl.col("verified").filter(accepted).mean(),
        do_nothing_share=pl.col("do_nothing").filter(accepted).mean(),
        recovered=(accepted & (pl.col("passes") > 1)).sum(),
        mean_depth=pl.col("depth").filter(accepted).mean(),
    )


def search(attempts: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
    """Figure 3: share of tasks that some attempt of their first round solves, the more is tried.

    Args:
        attempts: of `gradus.run`, one arm: blueprint, pass, branch, attempt, verified.

    Returns:
        strategy (`parallel`: first attempts of k branches, averaged over which k; `reflection`: all branches with 1, 2, ... retries), tried
        (k, or retries), value, low, high (95%, bootstrap over tasks), n.
    """
    first = attempts.filter(pl.col("pass") == 0)
    if first.is_empty():
        return pl.DataFrame(
            schema={
                "strategy": pl.String,
                "tried": pl.Int64,
                **dict.fromkeys(("value", "low", "high"), pl.Float64),
                "n": pl.Int64,
            }
        )
    rng = np.random.default_rng(seed)
    initial = (
        first.filter(attempt=0)
        .group_by("blueprint", maintain_order=True)
        .agg(pl.len().alias("n"), pl.col("verified").sum().alias("c"))
    )
    rows: list[tuple] = []
    for k in range(1, int(initial["n"].max() or 0) + 1):
        solved = [_pass_at(n, c, min(k, n)) for n, c in initial.select("n", "c").iter_rows()]
        rows.append(("parallel", k, *_mean(np.array(solved), rng)))
    for retries in range(1, int(first["attempt"].max() or 0) + 1):
        solved = (
            first.filter(pl.col("attempt") <= retries).group_by("blueprint", maintain_order=True).agg(pl.col("verified").any())
        )
        rows.append(("reflection", retries, *_mean(solved["verified"].cast(pl.Float64).to_numpy(), rng)))
    return pl.DataFrame(rows, schema=("strategy", "tried", "value", "low", "high", "n"), orient="row")


def search_figure(table: pl.DataFrame) -> Figure:
    """Figure 3: success as branches and then retries are added."""
    with style.theme():
        drawn, axes = style.figure(height=3.2)
        ax = axes[0, 0]
        labels = [
            f"pass@{row['tried']}"
            if row["strategy"] == "parallel"
            else f"+ {row['tried']} {'retry' if row['tried'] == 1 else 'retries'}"
            for row in table.iter_rows(named=True)
        ]
        colours = [style.SERIES[0] if strategy == "parallel" else style.SERIES[1] for strategy in table["strategy"]]
        _bars(ax, labels, table, colours)
        ax.set_ylabel("tasks solved in the first round")
    return drawn


def by_depth(records: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
    """Figure 4, left: depth, value (success of independent rollouts on accepted tasks, mean), low, high (bootstrap over tasks), n."""
    rng = np.random.default_rng(seed)
    groups = records.filter("accepted").sort("depth", maintain_order=True).group_by("depth", maintain_order=True)
    rows = [(depth, *_mean(1 - part["difficulty"].to_numpy(), rng)) for (depth,), part in groups]
    schema = {"depth": pl.Int64, **dict.fromkeys(("value", "low", "high"), pl.Float64), "n": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def flow(rounds: pl.DataFrame) -> pl.DataFrame:
    """Figure 4, middle, as a table: one row per round of the loop.

    Args:
        rounds: of `gradus.run`, one arm: blueprint, pass (0, 1, ...), accepted, route (task, solution or null).

    Returns:
        round, entered, accepted, to_task (re-initialized next), to_solution (searched on next), dropped (no round was left).
    """
    table = rounds.with_columns(
        last=pl.col("pass").max().over("blueprint") == pl.col("pass"), search=(pl.col("route") == "solution").fill_null(False)
    )
    failed, going = ~pl.col("accepted"), ~pl.col("accepted") & ~pl.col("last")
    return (
        table.group_by(pl.col("pass").alias("round"))
        .agg(
            entered=pl.len(),
            accepted=pl.col("accepted").sum(),
            to_task=(going & ~pl.col("search")).sum(),
            to_solution=(going & pl.col("search")).sum(),
            dropped=(failed & pl.col("last")).sum(),
        )
        .sort("round")
    )


def composition(records: pl.DataFrame) -> pl.DataFrame:
    """Figure 4, right: accepted tasks by round and difficulty: round, then one count per bin, and tasks.

    Bins by the success s of independent rollouts: easy s >= 3/4, medium 1/2 <= s < 3/4, medium-hard 0 < s < 1/2, hard s = 0.
    """
    accepted = records.filter("accepted")
    level = pl.lit(BINS[-1])
    for name, edge in reversed(list(zip(BINS, _EDGES, strict=False))):
        level = pl.when(pl.col("difficulty") <= edge).then(pl.lit(name)).otherwise(level)
    counted = (
        accepted.with_columns(level.alias("level"))
        .group_by("round")
        .agg(*[(pl.col("level") == name).sum().alias(name) for name in BINS], tasks=pl.len())
    )
    return counted.sort("round")


def recovered(records: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
    """Are recovered tasks harder? what, value, low, high (bootstrap over tasks, both groups resampled), n.

    Rows: difficulty and depth of tasks accepted at once, of recovered ones, and the differences.
    """
    rng = np.random.default_rng(seed)
    accepted = records.filter("accepted")
    rows = []
    for name in ("difficulty", "depth"):
        groups = [
            accepted.filter(condition)[name].cast(pl.Float64).to_numpy()
            for condition in (pl.col("passes") == 1, pl.col("passes") > 1)
        ]
        rows += [(f"{name}, accepted at once", *_mean(groups[0], rng)), (f"{name}, recovered", *_mean(groups[1], rng))]
        if all(group.size for group in groups):
            draws = _replicates(groups[1], rng) - _replicates(groups[0], rng)
            value = float(groups[1].mean() - groups[0].mean())
            rows.append(
                (f"{name}, recovered minus at once", value, *map(float, np.percentile(draws, [2.5, 97.5])), min(map(len, groups)))
            )
    schema = {"what": pl.String, **dict.fromkeys(("value", "low", "high"), pl.Float64), "n": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def headline(records: pl.DataFrame, roles: str, rollouts: int) -> dict:
    """One arm in a few numbers, JSON-serialisable: roles (who played them, in words), proposed, accepted, recovered (tasks), and
    harder: value, low, high of `recovered`'s difference of difficulty, null if there is none to compare. `rollouts`: of each task."""
    compared = recovered(records).filter(what="difficulty, recovered minus at once")
    row = compared.row(0, named=True) if compared.height else {}
    return {
        "roles": roles,
        "proposed": records.height,
        "accepted": int(records["accepted"].sum()),
        "recovered": records.filter(pl.col("accepted") & (pl.col("passes") > 1)).height,
        "rollouts": rollouts,
        "harder": {name: None if name not in row else round(row[name], 4) for name in ("value", "low", "high")},
    }


def sentence(table: pl.DataFrame) -> str:
    """What `recovered` says of the question whether recovery keeps the hard lessons."""
    rows = {row["what"]: row for row in table.iter_rows(named=True)}
    found = rows.get("difficulty, recovered minus at once")
    if found is None:
        return "No task was recovered, or none was accepted at once: nothing to compare."
    told = f"difficulty {found['value']:+.2f} [{found['low']:+.2f}, {found['high']:+.2f}]"
    if found["low"] > 0:
        return f"Recovered tasks are harder than those accepted at once: {told}."
    return f"Recovered tasks are {'harder on average, but' if found['value'] > 0 else 'not harder on average, and'} the interval holds 0: {told}."


def figure(records: pl.DataFrame, rounds: pl.DataFrame) -> Figure:
    """Figure 4 of one arm: success by depth, the loop's flow, composition by round."""
    with style.theme():
        drawn, axes = style.figure(1, 3, height=3.8, gridspec_kw={"width_ratios": [1, 1.5, 1]})
        depths = by_depth(records)
        _bars(axes[0, 0], [str(depth) for depth in depths["depth"]], depths, ["#6BAED6"] * depths.height)
        axes[0, 0].set(title="Success by depth", xlabel="depth", ylabel="success of independent rollouts")
        _draw_flow(axes[0, 1], flow(rounds))
        _draw_composition(axes[0, 2], composition(records))
    return drawn


def drops(records: pl.DataFrame) -> pl.DataFrame:
    """Why blueprints were not accepted: reason, blueprints; the most frequent first."""
    return (
        records.filter(~pl.col("accepted"))
        .group_by("reason")
        .agg(blueprints=pl.len())
        .sort("blueprints", "reason", descending=[True, False])
    )


def _bars(ax: Axes, labels: list[str], table: pl.DataFrame, colours: list[str]) -> None:
    values = table["value"].to_numpy()
    errors = np.abs(np.stack([values - table["low"].to_numpy(), table["high"].to_numpy() - values]))
    places = range(len(labels))
    ax.bar(places, values, width=0.7, color=colours)
    ax.errorbar(places, values, yerr=errors, fmt="none", ecolor=style.INK, capsize=3, linewidth=1.2)
    for place, value, high in zip(places, values, table["high"], strict=True):
        ax.annotate(f"{value:.2f}", (place, high), xytext=(0, 3), textcoords="offset points", ha="center", fontsize=8.5)
    ax.set_xticks(list(places), [f"{label}\nn={n}" for label, n in zip(labels, table["n"], strict=True)])
    ax.set_ylim(0, 1.1)
    ax.grid(False, axis="x")


def _draw_flow(ax: Axes, table: pl.DataFrame) -> None:
    """A column per round: what entered, split into accepted, sent on (arrows to the next round) and dropped."""
    inks = {"accepted": "#0072B2", "to_task": "#D55E00", "to_solution": "#E69F00", "dropped": "#BBBBBB"}
    for row in table.iter_rows(named=True):
        base = 0.0
        for name, ink in inks.items():
            ax.bar(row["round"], row[name], bottom=base, width=0.5, color=ink, linewidth=0)
            if row[name] > 0.04 * (table["entered"].max() or 1):
                ax.text(
                    row["round"],
                    base + row[name] / 2,
                    str(row[name]),
                    ha="center",
                    va="center",
                    fontsize=8.5,
                    color=style.ink_on(ink),
                )
            base += row[name]
    for now, then in zip(table.iter_rows(named=True), list(table.iter_rows(named=True))[1:], strict=False):
        start = now["accepted"] + (now["to_task"] + now["to_solution"]) / 2
        arrow = FancyArrowPatch(
            (now["round"] + 0.26, start),
            (then["round"] - 0.26, then["entered"] / 2),
            arrowstyle="-|>",
            mutation_scale=11,
            color="#D55E00",
            linewidth=1.2,
        )
        ax.add_patch(arrow)
    ax.set_xticks(table["round"].to_list(), [str(number) for number in table["round"]])
    ax.set(title="The loop", xlabel="round", ylabel="blueprints")
    ax.grid(False, axis="x")
    handles = [ax.bar(0, 0, color=ink) for ink in inks.values()]
    names = ("accepted", "back to the task", "back to search", "dropped")
    ax.legend(handles, names, loc="upper right", frameon=False, fontsize=8.5)


def _draw_composition(ax: Axes, table: pl.DataFrame) -> None:
    base = np.zeros(table.height)
    total = table["tasks"].to_numpy().astype(float)
    for name, fill in zip(BINS, _FILLS, strict=True):
        share = table[name].to_numpy() / total
        ax.bar(table["round"], share, bottom=base, width=0.6, color=fill, linewidth=0, label=name)
        base = base + share
    ax.set_xticks(table["round"].to_list(), [f"{row['round']}\nn={row['tasks']}" for row in table.iter_rows(named=True)])
    ax.set(title="Accepted, by round", xlabel="round of the task")
    style.percent(ax)
    ax.grid(False, axis="x")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.28), ncols=2, frameon=False, fontsize=8.5)


def _pass_at(n: int, c: int, k: int) -> float:
    """Chance that k of n attempts, c of them right, hold a right one (unbiased pass@k)."""
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def _replicates(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return values[rng.integers(0, len(values), size=(_REPLICATES, len(values)))].mean(axis=1)


def _mean(values: np.ndarray, rng: np.random.Generator) -> Interval:
    if not values.size:
        return Interval(None, None, None, 0)
    low, high = np.percentile(_replicates(values, rng), [2.5, 97.5])
    return Interval(float(values.mean()), float(low), float(high), len(values))
