"""Figure 2 and Table 2 of Gradus: what accepted tasks cover, against how many there are (sections 3.3 and 3.4).

A branch is an (action, policy, outcome) that a task exercised when it was executed; an action set is the set of state-changing actions it
performed. The paper counts both over generated examples in the order of generation, once; here only accepted tasks count, and the curve is
the mean over random orders of them, with the band in which 95% of the orders lie. So two methods can be compared at the same number of
tasks, whatever their acceptance. The paper's Table 2 trains a student per ablation; here an ablation shows in the curriculum itself.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from selfevolve.analysis import style
from selfevolve.analysis.statistics import Interval, proportion

MEASURES = {"branches": "distinct (policy, outcome) branches", "action_sets": "distinct sets of state-changing actions"}
BASELINES = ("model_prior", "graph_based", "trajectory_first")
FULL = "full"
MATCHED = "matched"
_ORDERS = 200
_LAST = 0.2  # share of the examples over which growth at the end is measured
_COLOURS = {FULL: "#D55E00", "model_prior": "#767676", "graph_based": "#009E73", "trajectory_first": "#0072B2"}


def curves(
    records: pl.DataFrame, arms: tuple[str, ...] = (FULL, *BASELINES), orders: int = _ORDERS, seed: int = 0
) -> pl.DataFrame:
    """Coverage after 1, 2, ... accepted tasks, per arm and measure.

    Args:
        records: of `gradus.run`: columns arm, accepted, realised (list of branches), actions (list of the actions performed).
        orders: random orders of the accepted tasks.

    Returns:
        arm, measure, examples, mean, low, high (2.5% and 97.5% of the orders). An arm without an accepted task has no rows.
    """
    parts = []
    for arm in arms:
        accepted = records.filter(pl.col("arm") == arm, "accepted")
        for measure in MEASURES:
            grown = _grown(_keys(accepted, measure), orders, seed)
            if grown.size:
                low, high = np.percentile(grown, [2.5, 97.5], axis=0)
                parts.append(
                    pl.DataFrame(
                        {"examples": np.arange(1, grown.shape[1] + 1), "mean": grown.mean(axis=0), "low": low, "high": high}
                    ).select(pl.lit(arm).alias("arm"), pl.lit(measure).alias("measure"), pl.all())
                )
    schema = {
        "arm": pl.String,
        "measure": pl.String,
        "examples": pl.Int64,
        "mean": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
    }
    return pl.concat(parts) if parts else pl.DataFrame(schema=schema)


def growth(curve: pl.DataFrame) -> pl.DataFrame:
    """How a curve ends: arm, measure, examples, covered, new_per_10 (in the last fifth of the examples), levels_off.

    `levels_off`: fewer new ones per example at the end than a tenth of what the first fifth brought. The end of every arm is taken at the
    number of examples that all arms have.
    """
    rows = []
    for measure in MEASURES:
        lines = {
            arm: part.sort("examples")["mean"].to_numpy()
            for (arm,), part in curve.filter(measure=measure).group_by("arm", maintain_order=True)
        }
        shortest = min((len(line) for line in lines.values()), default=0)
        part = max(1, int(_LAST * shortest))
        for arm, line in lines.items():
            if shortest < 2:
                continue
            end = (line[shortest - 1] - line[shortest - 1 - part]) / part
            start = line[part - 1] / part
            rows.append((arm, measure, shortest, float(line[shortest - 1]), 10 * float(end), bool(end < 0.1 * start)))
    names = ("arm", "measure", "examples", "covered", "new_per_10", "levels_off")
    return pl.DataFrame(
        rows,
        schema=dict(zip(names, (pl.String, pl.String, pl.Int64, pl.Float64, pl.Float64, pl.Boolean), strict=True)),
        orient="row",
    )


def sentence(table: pl.DataFrame) -> str:
    """What `growth` says of the question whether search goes on where the baselines level off."""
    said = []
    for measure, words in MEASURES.items():
        rows = {row["arm"]: row for row in table.filter(measure=measure).iter_rows(named=True)}
        others = [arm for arm in BASELINES if arm in rows]
        if FULL not in rows or not others:
            continue
        ours, best = rows[FULL], max(others, key=lambda arm: rows[arm]["covered"])
        more = ours["covered"] > rows[best]["covered"]
        flat = [arm for arm in others if rows[arm]["new_per_10"] < ours["new_per_10"]]
        said.append(
            f"{words}: at {ours['examples']} accepted tasks the full method covers {ours['covered']:.0f}, the best baseline "
            f"({best.replace('_', ' ')}) {rows[best]['covered']:.0f}, {'so search covers more' if more else 'so search does not cover more'}; "
            f"new ones per 10 further tasks: {ours['new_per_10']:.1f} against "
            + ", ".join(f"{rows[arm]['new_per_10']:.1f} ({arm.replace('_', ' ')})" for arm in others)
            + (
                f"; it keeps growing faster than {len(flat)} of {len(others)} baselines."
                if flat
                else "; it does not keep growing faster than the baselines."
            )
        )
    return " ".join(text[0].upper() + text[1:] for text in said) or "No baseline has an accepted task: nothing to compare."


def figure(curve: pl.DataFrame) -> Figure:
    """Figure 2: one panel per measure, a line per arm with the band of the orders."""
    with style.theme():
        drawn, axes = style.figure(1, 2, height=3.6)
        for ax, (measure, words) in zip(axes[0], MEASURES.items(), strict=True):
            _lines(ax, curve.filter(measure=measure))
            ax.set_title(words)
            ax.set_xlabel("accepted tasks")
        axes[0, 0].set_ylabel("covered")
    return drawn


def ablations(records: pl.DataFrame, replicates: int = 2000, seed: int = 0) -> pl.DataFrame:
    """Table 2 on the curriculum: one row per arm with the full method's proposals or an ablation of them, in the order of the records.

    Arms are compared with `matched`, the full method with the ablations' budget: a larger corpus covers more with any of its tasks.

    Columns: arm, proposed, accepted, accepted_share, depth (mean of accepted), difficulty (mean of accepted, 1 - success of independent
    rollouts), examples (the number of tasks at which coverage is compared: as many as the arm with the fewest accepted has), branches,
    action_sets, and `*_minus_matched` for accepted_share, depth, difficulty, branches and action_sets. Everything but counts is text
    "value [low, high]": 95% bootstrap intervals over blueprints (Wilson for the share); for coverage, over random subsets of the accepted
    tasks, so it says how much depends on which tasks were drawn.
    """
    rng = np.random.default_rng(seed)
    arms = [arm for arm in records["arm"].unique(maintain_order=True) if arm not in (FULL, *BASELINES)]
    parts = {arm: records.filter(arm=arm) for arm in arms}
    accepted = {arm: part.filter("accepted") for arm, part in parts.items()}
    common = min((part.height for part in accepted.values()), default=0)
    draws = {arm: _draws(parts[arm], accepted[arm], common, replicates, rng) for arm in arms}
    rows = []
    for arm in arms:
        share = proportion(accepted[arm].height, parts[arm].height)
        row = {
            "arm": arm,
            "proposed": parts[arm].height,
            "accepted": accepted[arm].height,
            "accepted_share": _text(share, 100, "%"),
        }
        row |= {name: _text(_interval(draws[arm][name]), 1) for name in ("depth", "difficulty")}
        row |= {"examples": common} | {name: _text(_interval(draws[arm][name]), 1) for name in MEASURES}
        for name in ("share", "depth", "difficulty", *MEASURES):
            other = draws.get(MATCHED)
            difference = None if other is None or arm == MATCHED else draws[arm][name] - other[name]
            row[f"{name}_minus_matched"] = (
                "" if difference is None else _text(_interval(difference), 100 if name == "share" else 1, sign=True)
            )
        rows.append(row)
    return pl.DataFrame(rows)


def _draws(
    part: pl.DataFrame, accepted: pl.DataFrame, common: int, replicates: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Replicates of every statistic of an arm."""
    picks = rng.integers(0, max(1, part.height), size=(replicates, part.height))
    kept = part["accepted"].to_numpy()[picks]
    count = kept.sum(axis=1)
    drawn = {"share": kept.mean(axis=1) if part.height else np.full(replicates, np.nan)}
    for name in ("depth", "difficulty"):
        values = np.nan_to_num(part[name].cast(pl.Float64).to_numpy().astype(float))[picks]
        with np.errstate(invalid="ignore"):
            drawn[name] = (values * kept).sum(axis=1) / count
    for measure in MEASURES:
        keys = _keys(accepted, measure)
        sizes = (
            [
                len(set().union(*(keys[i] for i in rng.choice(len(keys), common, replace=False))))
                for _ in range(min(replicates, 500))
            ]
            if common
            else []
        )
        drawn[measure] = np.resize(np.array(sizes, dtype=float), replicates) if sizes else np.full(replicates, np.nan)
    return drawn


def _keys(accepted: pl.DataFrame, measure: str) -> list[set]:
    """What each accepted task covers."""
    if measure == "branches":
        return [set(branches) for branches in accepted["realised"].to_list()]
    return [{frozenset(actions)} for actions in accepted["actions"].to_list()]


def _grown(keys: list[set], orders: int, seed: int) -> np.ndarray:
    """orders x tasks: distinct keys after each task."""
    if not keys:
        return np.empty((0, 0))
    number = {key: index for index, key in enumerate(sorted(set().union(*keys), key=repr))}
    holds = np.zeros((len(keys), len(number)), dtype=bool)
    for row, found in enumerate(keys):
        holds[row, [number[key] for key in found]] = True
    rng = np.random.default_rng(seed)
    return np.stack([np.logical_or.accumulate(holds[rng.permutation(len(keys))]).sum(axis=1) for _ in range(orders)])


def _lines(ax: Axes, curve: pl.DataFrame) -> None:
    ends = []
    for (arm,), line in curve.group_by("arm", maintain_order=True):
        ink = _COLOURS.get(str(arm), "#5B4B8A")
        ax.fill_between(line["examples"], line["low"], line["high"], color=ink, alpha=0.15, linewidth=0)
        ax.plot(line["examples"], line["mean"], color=ink)
        ends.append((line["examples"][-1], line["mean"][-1], str(arm).replace("_", " "), ink))
    ax.set_ylim(bottom=0)
    for x, y, text, ink in ends:
        ax.annotate(
            text, (x, y), xytext=(4, 0), textcoords="offset points", color=ink, va="center", fontsize=9.5, annotation_clip=False
        )


def _interval(draws: np.ndarray) -> Interval:
    found = draws[~np.isnan(draws)]
    if not found.size:
        return Interval(None, None, None, 0)
    low, high = np.percentile(found, [2.5, 97.5])
    return Interval(float(found.mean()), float(low), float(high), found.size)


def _text(interval: Interval, factor: float, unit: str = "", sign: bool = False) -> str:
    if interval.value is None:
        return "–"
    value, low, high = (factor * part for part in (interval.value, interval.low or 0.0, interval.high or 0.0))
    digits = 1 if factor == 100 or abs(value) >= 10 else 2
    plus = "+" if sign else ""
    return f"{value:{plus}.{digits}f}{unit} [{low:{plus}.{digits}f}, {high:{plus}.{digits}f}]"
