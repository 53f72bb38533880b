"""Table 2 and Figure 7 of SynCo: does the advantage lie in problems the initial model could not solve? (sections 4.3, D.3)

Problems are divided by what the initial Reasoner (``vanilla``) answered: *retain* are those it had right, *learn* those it had wrong.
Within each part, two trained systems are compared on the same problems; *net* is both parts together.

Deviations: the paper has one run per system and counts solved problems; with several training seeds "solved" here is the mean number
over the seeds. Differences have paired intervals (statistics.py). The division hangs on one greedy answer per problem, so a problem that
vanilla solves half of the time falls on either side by chance: part of what is gained on *learn* and lost on *retain* is regression to
the mean, for both systems alike, which is why they are compared with each other and not with vanilla.
"""

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from selfevolve.analysis import style
from selfevolve.analysis.statistics import REPLICATES, matrix, paired_difference
from selfevolve.analysis.variants import label

POOLED = "pooled"
SUBSETS = {"retain": "initially correct", "learn": "initially incorrect", "net": "all"}
_SCHEMA = {
    "benchmark": pl.String,
    "subset": pl.String,
    "system": pl.String,
    "reference": pl.String,
    "n": pl.Int64,
    "reference_solved": pl.Float64,
    "reference_rate": pl.Float64,
    "system_solved": pl.Float64,
    "system_rate": pl.Float64,
    "additional": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}


def attribution_table(
    predictions: pl.DataFrame,
    system: str = "synco",
    reference: str = "frozen",
    initial: str = "vanilla",
    mode: str = "greedy",
    replicates: int = REPLICATES,
    seed: int = 0,
) -> pl.DataFrame:
    """Table 2: one row per (benchmark, subset), subset "retain", "learn" or "net"; "pooled" over benchmarks where there are several.

    ``predictions`` follows artifacts/evaluation/predictions.parquet. ``n`` problems; ``*_solved`` of them, mean over seeds (and draws, for
    another mode); ``*_rate`` in [0, 1]; ``additional`` problems that ``system`` solves beyond ``reference``, with its interval. Problems one
    of the three did not answer, or whose reference the checker cannot read, are left out. No rows if one of the three is absent.
    """
    rows = predictions.filter(mode=mode).with_columns(pl.concat_str("benchmark", "item", separator="/").alias("item"))
    benchmarks = sorted(rows["benchmark"].unique().to_list())
    parts = [(name, rows.filter(benchmark=name)) for name in benchmarks]
    parts += [(POOLED, rows)] if len(benchmarks) > 1 else []
    out = [
        {"benchmark": name, "system": system, "reference": reference, **row}
        for name, part in parts
        for row in _subsets(*(part.filter(system=who) for who in (system, reference, initial)), replicates, seed)
    ]
    return pl.DataFrame([{key: row[key] for key in _SCHEMA} for row in out], schema=_SCHEMA)


def learn_share(table: pl.DataFrame) -> float | None:
    """Share of the net advantage that comes from the "learn" subset (0.804 in the paper); None where the net is not above 0."""
    last = table.filter(benchmark=table["benchmark"][-1]) if table.height else table
    learn, net = (last.filter(subset=name)["additional"].sum() for name in ("learn", "net"))
    return learn / net if net > 0 else None


def attribution_figure(table: pl.DataFrame) -> Figure:
    """Figure 7: additional problems solved per benchmark, on those initially right and on those initially wrong, with intervals.

    Raises ValueError if ``table`` (``attribution_table``'s) is empty.
    """
    if table.is_empty():
        raise ValueError("attribution_figure: nothing to compare; both systems and vanilla must have been evaluated")
    benchmarks = table["benchmark"].unique(maintain_order=True).to_list()
    inks = {"retain": style.SERIES[5], "learn": style.SERIES[1], "net": style.SERIES[8]}
    with style.theme():
        figure, axes = style.figure(height=0.75 * len(benchmarks) + 1.6)
        ax = axes[0, 0]
        for k, (subset, ink) in enumerate(inks.items()):
            part = table.filter(subset=subset).drop_nulls("additional")
            for row in part.iter_rows(named=True):
                y = benchmarks.index(row["benchmark"]) + 0.26 * (k - 1)
                ax.barh(y, row["additional"], height=0.24, color=ink, linewidth=0, label=f"{subset} ({SUBSETS[subset]})")
                ax.plot([row["low"], row["high"]], [y, y], color=style.INK, linewidth=1.2)
                ax.annotate(
                    f"{row['additional']:+.1f} of {row['n']}",
                    (max(row["high"], 0), y),
                    xytext=(5, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=9,
                )
        ax.axvline(0, color=style.INK, linewidth=1)
        ax.set_yticks(range(len(benchmarks)), benchmarks)
        ax.set_ylim(len(benchmarks) - 0.5, -0.5)
        ax.margins(x=0.14)
        ax.grid(False, axis="y")
        first = table.row(0, named=True)
        ax.set_xlabel(f"problems {label(first['system'])} solves beyond {label(first['reference'])} (line: 95% interval)")
        handles, labels = ax.get_legend_handles_labels()
        unique = dict(zip(labels, handles, strict=True))
        figure.legend(unique.values(), unique.keys(), loc="outside upper left", ncols=3, frameon=False)
    return figure


def _subsets(
    system: pl.DataFrame, reference: pl.DataFrame, initial: pl.DataFrame, replicates: int, seed: int
) -> list[dict[str, object]]:
    """The rows of one benchmark, without its name."""
    start = initial.drop_nulls("correct").group_by("item").agg(pl.col("correct").cast(pl.Float64).mean())
    answered = set(system.drop_nulls("correct")["item"]) & set(reference.drop_nulls("correct")["item"])
    start = start.filter(pl.col("item").is_in(sorted(answered))).sort("item")
    chosen = {
        "retain": start.filter(pl.col("correct") >= 0.5)["item"].to_list(),
        "learn": start.filter(pl.col("correct") < 0.5)["item"].to_list(),
        "net": start["item"].to_list(),
    }
    if start.is_empty():
        return []
    rows = []
    for subset, items in chosen.items():
        sides = [matrix(side, items=items) for side in (system, reference)]
        found = paired_difference(*sides, replicates, seed)
        own, other = (float(np.nanmean(side)) if found.n else None for side in sides)
        bounds = [None if value is None else value * found.n for value in found[:3]]
        rows.append(
            {
                "subset": subset,
                "n": found.n,
                "reference_solved": other and other * found.n,
                "reference_rate": other,
                "system_solved": own and own * found.n,
                "system_rate": own,
                **dict(zip(("additional", "low", "high"), bounds, strict=True)),
            }
        )
    return rows
