"""Tables 3 and 8 of SynCo: what co-training costs and what the cost buys (sections 4.6, D.6).

Deviations:
* Times pool the iterations of all seeds. The relative difference of two variants is the ratio of their statistics
  minus one, with a bootstrap interval over iterations. Iterations of one run are correlated and each variant ran on a
  machine with other work, so the interval covers only the spread inside these runs; like the paper's, the times are
  secondary.
* Yield (8 b) covers the whole run; the paper's covers steps 13-70, where both of its logs were valid.
* 8 (b) splits "productive" into "learnable" and "mid-band" without defining them. Read here as the card's intended
  difficulty, which fits the paper's numbers (27:73 there, 26:74 in Table 5 c). Hard and unlabelled cards get columns
  of their own, so that the split sums to the productive rate. The denominator is all proposed cards (13.7% of a batch
  of 32 is 4.38).
"""

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from selfevolve.analysis import style
from selfevolve.analysis.curriculum import outcomes
from selfevolve.analysis.learnability import DIFFICULTIES, difficulty_group
from selfevolve.analysis.statistics import REPLICATES, proportion, ratio, statistic_interval
from selfevolve.analysis.variants import label, ordered

PHASES = {
    "synthesis_s": "synthesis",
    "verification_s": "verification",
    "rollout_s": "rollouts",
    "checking_s": "checking",
    "update_reasoner_s": "Reasoner update",
    "update_synthesizer_s": "Synthesizer update",
    "checkpoint_s": "checkpoint",
    "other_s": "other",
}
_QUANTITIES = (
    ("mean update time", "update_s", np.mean),
    ("median update time", "update_s", np.median),
    ("median wall time", "total_s", np.median),
)
_SPLIT = dict(zip(DIFFICULTIES, ("learnable", "mid_band", "hard", "other"), strict=True))


def timing_table(timings: Mapping[str, pl.DataFrame], replicates: int = REPLICATES, seed: int = 0) -> pl.DataFrame:
    """Table 8 (a): variant, quantity, seconds, low, high, n (iterations, all seeds), for mean and median update and median wall time.

    ``timings`` maps a variant to its artifacts/timings/cotraining-<variant>.csv.
    """
    rows = []
    for variant in ordered(timings):
        frame = _timings(timings[variant], variant)
        for quantity, column, statistic in _QUANTITIES:
            rows.append((variant, quantity, *statistic_interval(frame[column].to_numpy(), statistic, replicates, seed)))
    names = {"variant": pl.String, "quantity": pl.String}
    floats = dict.fromkeys(("seconds", "low", "high"), pl.Float64)
    return pl.DataFrame(rows, schema={**names, **floats, "n": pl.Int64}, orient="row")


def timing_differences(
    timings: Mapping[str, pl.DataFrame],
    variant: str = "synco",
    reference: str = "frozen",
    replicates: int = REPLICATES,
    seed: int = 0,
) -> pl.DataFrame:
    """Relative difference of ``variant`` to ``reference``: quantity, difference (+0.1 = 10% slower), low, high, n.

    No rows if either variant is missing; nulls if the reference took no measurable time.
    """
    rows = []
    if variant in timings and reference in timings:
        sides = [_timings(timings[name], name) for name in (variant, reference)]
        for quantity, column, statistic in _QUANTITIES:
            found = ratio(*(side[column].drop_nulls().to_numpy() for side in sides), statistic, replicates, seed)
            shifted = [None if value is None else value - 1.0 for value in found[:3]]
            rows.append((quantity, variant, reference, *shifted, found.n))
    names = {"quantity": pl.String, "variant": pl.String, "reference": pl.String}
    floats = dict.fromkeys(("difference", "low", "high"), pl.Float64)
    return pl.DataFrame(rows, schema={**names, **floats, "n": pl.Int64}, orient="row")


def phase_table(timings: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Mean seconds per iteration of each phase: variant, phase, seconds, share (of the phases' sum, in [0, 1])."""
    rows = []
    for variant in ordered(timings):
        frame = _timings(timings[variant], variant)
        means = {phase: float(frame[column].mean() or 0.0) for column, phase in PHASES.items() if column in frame.columns}
        total = sum(means.values())
        rows += [(variant, phase, s, s / total if total > 0 else None) for phase, s in means.items()]
    schema = {"variant": pl.String, "phase": pl.String, "seconds": pl.Float64, "share": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def yield_table(memory: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Table 8 (b): gradient-bearing cards per proposed card, split by intended difficulty, and per batch.

    Columns: variant, batches, batch_size (proposed per batch), proposed and productive (cards), rate, low, high (Wilson), learnable,
    mid_band, hard, other (these four sum to rate), mixed_rate (0 < SR < 1 only), tasks_per_batch (rate times batch size).
    """
    rows = []
    for variant in ordered(memory):
        proposed = memory[variant].height
        batches = memory[variant].select("seed", "iteration").n_unique() if proposed else 0
        cards = outcomes(memory[variant]).with_columns(difficulty_group().alias("group"))
        productive = cards.filter("gradient_bearing")
        rate = proportion(productive.height, proposed)
        split = {
            name: productive.filter(pl.col("group") == group).height / proposed if proposed else None
            for group, name in _SPLIT.items()
        }
        rows.append(
            {
                "variant": variant,
                "batches": batches,
                "batch_size": proposed / batches if batches else None,
                "proposed": proposed,
                "productive": productive.height,
                "rate": rate.value,
                "low": rate.low,
                "high": rate.high,
                **split,
                "mixed_rate": int(cards["mixed"].sum()) / proposed if proposed else None,
                "tasks_per_batch": productive.height / batches if batches else None,
            }
        )
    floats = ("rate", "low", "high", *_SPLIT.values(), "mixed_rate", "tasks_per_batch")
    schema = {"variant": pl.String, "batches": pl.Int64, "batch_size": pl.Float64, "proposed": pl.Int64, "productive": pl.Int64}
    return pl.DataFrame(rows, schema={**schema, **dict.fromkeys(floats, pl.Float64)})


def yield_changes(
    memory: Mapping[str, pl.DataFrame],
    variant: str = "synco",
    reference: str = "frozen",
    replicates: int = REPLICATES,
    seed: int = 0,
) -> pl.DataFrame:
    """Relative change row of Table 8 (b): quantity, variant, reference, change, low, high, n (batches of the smaller run).

    ``change`` of productive cards per batch: of all, and of the intended difficulties the paper names, as a ratio (1.06: 6% more), with a
    bootstrap interval over batches; null against zero. No rows if either variant is missing.
    """
    rows = []
    if variant in memory and reference in memory:
        sides = [_per_batch(memory[name]) for name in (variant, reference)]
        for quantity in ("learnable", "mid_band", "all"):
            found = ratio(*(side[quantity].to_numpy() for side in sides), np.mean, replicates, seed)
            rows.append((quantity, variant, reference, *found))
    names = dict.fromkeys(("quantity", "variant", "reference"), pl.String)
    floats = dict.fromkeys(("change", "low", "high"), pl.Float64)
    return pl.DataFrame(rows, schema={**names, **floats, "n": pl.Int64}, orient="row")


def cost_summary(
    timings: Mapping[str, pl.DataFrame], memory: Mapping[str, pl.DataFrame], replicates: int = REPLICATES, seed: int = 0
) -> pl.DataFrame:
    """Table 3: variant, quantity, value, low, high, n, for variants with both inputs.

    Quantities: mean update time and median wall time (s, n iterations), gradient rate (share of n proposed cards), and productive tasks per
    batch (n batches).
    """
    times = timing_table(timings, replicates, seed).filter(pl.col("quantity").is_in(["mean update time", "median wall time"]))
    rows = [row for row in times.iter_rows() if row[0] in memory]
    for row in yield_table(memory).iter_rows(named=True):
        if row["variant"] in timings:
            rate = [row[name] for name in ("rate", "low", "high")]
            counts = _per_batch(memory[row["variant"]])["all"].to_numpy()
            rows.append((row["variant"], "gradient rate", *rate, row["proposed"]))
            rows.append((row["variant"], "productive tasks per batch", *statistic_interval(counts, np.mean, replicates, seed)))
    names = {"variant": pl.String, "quantity": pl.String}
    floats = dict.fromkeys(("value", "low", "high"), pl.Float64)
    table = pl.DataFrame(rows, schema={**names, **floats, "n": pl.Int64}, orient="row")
    rank = {name: i for i, name in enumerate(ordered(timings))}
    return table.sort(pl.col("variant").replace_strict(rank, return_dtype=pl.Int64), maintain_order=True)


def production_table(memory: pl.DataFrame) -> pl.DataFrame:
    """Table 8 (c): quantity, value, low, high, unit. The two zeros hold by construction: the loop is closed."""
    admitted = int(memory["admitted"].sum())
    rate = proportion(admitted, memory.height)
    rows = [
        ("generated task candidates", float(memory.height), None, None, "cards"),
        ("verified tasks", float(admitted), None, None, "cards"),
        ("acceptance rate", rate.value, rate.low, rate.high, "share"),
        ("human annotations", 0.0, None, None, "cards"),
        ("external LLM API calls", 0.0, None, None, "calls"),
    ]
    schema = {"quantity": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "unit": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def phase_figure(timings: Mapping[str, pl.DataFrame]) -> Figure:
    """Where an iteration's time goes: one stacked horizontal bar of mean seconds per variant."""
    table = phase_table(timings)
    variants = ordered(table["variant"])
    if not variants:
        raise ValueError("phase_figure: no timings given; run the cotraining stage for at least one variant first")
    colours = dict(zip(PHASES.values(), (*style.SERIES[: len(PHASES) - 1], "#BBBBBB"), strict=True))
    totals = table.group_by("variant").agg(pl.col("seconds").sum())
    longest = totals["seconds"].max() or 1.0
    with style.theme():
        figure, axes = style.figure(height=0.6 * len(variants) + 1.5)
        ax = axes[0, 0]
        for y, variant in enumerate(variants):
            left = 0.0
            for _, phase, seconds, share in table.filter(pl.col("variant") == variant).iter_rows():
                ax.barh(
                    y,
                    seconds,
                    left=left,
                    height=0.62,
                    color=colours[phase],
                    linewidth=0,
                    label=phase if y == 0 else None,
                )
                if share and seconds / longest > 0.06:
                    ink = style.ink_on(colours[phase])
                    ax.text(left + seconds / 2, y, f"{share:.0%}", ha="center", va="center", color=ink, fontsize=9)
                left += seconds
            ax.text(left + 0.01 * longest, y, f"{left:.3g} s", va="center", fontsize=9.5)
        ax.set_yticks(range(len(variants)), [label(name) for name in variants])
        ax.set_ylim(len(variants) - 0.5, -0.5)
        ax.set_xlim(0, longest * 1.1)
        ax.grid(False, axis="y")
        ax.set_xlabel("mean seconds per iteration")
        figure.legend(loc="outside upper left", ncols=4, frameon=False)
    return figure


def _per_batch(memory: pl.DataFrame) -> pl.DataFrame:
    """Productive cards of every (seed, iteration): all, and by the name of ``_SPLIT``."""
    bearing = pl.col("admitted") & pl.col("success_rate").is_not_null() & pl.col("gradient_bearing").fill_null(False)
    counts = {"all": bearing.sum()} | {name: (bearing & (difficulty_group() == group)).sum() for group, name in _SPLIT.items()}
    return memory.group_by("seed", "iteration", maintain_order=True).agg(**counts).cast(dict.fromkeys(counts, pl.Int64))


def _timings(frame: pl.DataFrame, variant: str) -> pl.DataFrame:
    """Timings with ``update_s``, the sum of both agents' update phases (an agent that is not updated counts 0)."""
    parts = ("update_reasoner_s", "update_synthesizer_s")
    for name in ("seed", "iteration", "total_s", *parts):
        if name not in frame.columns:
            raise ValueError(f"timings of {variant!r} have no column {name!r}; they have {frame.columns}")
    numbers = frame.with_columns(pl.col(n).cast(pl.Float64, strict=False) for n in (*PHASES, "total_s") if n in frame.columns)
    return numbers.with_columns(pl.sum_horizontal(*(pl.col(name).fill_null(0.0) for name in parts)).alias("update_s"))
