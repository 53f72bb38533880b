"""Figure 2 of SynCo: how the synthesized curriculum changes during co-training (sections 4.2, D.2).

Admitted cards are put in generation order (iteration, then slot) and divided into ten equally sized buckets.
Deviations: iterations are recorded here, so the order is exact; with several seeds each seed is bucketed on its own
and buckets are averaged.

The paper equates "gradient-bearing" with 0 < SR < 1. With rewards 1.0 (boxed) and 0.9 (right but unboxed) a group can
be all correct and still have unequal rewards, so both are kept apart: ``mixed`` is 0 < SR < 1, which makes three
regimes that sum to one, and ``gradient_bearing`` is "rewards not all identical", which also counts ``format_only``
groups (SR = 1, unequal rewards).
"""

from collections.abc import Mapping

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from selfevolve.analysis import style
from selfevolve.analysis.variants import by_variant, label, ordered

BUCKETS = 10
SHARES = ("all_correct", "mixed", "all_incorrect", "gradient_bearing", "format_only")
SIGNALS = ("quality", "novelty", "teachability")
REST = ("other", "all others", "none")  # drawn last, in grey


def outcomes(memory: pl.DataFrame) -> pl.DataFrame:
    """Admitted cards with a success rate, in generation order, with one boolean column per name in ``SHARES``.

    ``memory`` follows artifacts/cotraining/<variant>/memory.parquet.
    """
    rate = pl.col("success_rate")
    unequal = pl.col("gradient_bearing").fill_null(False)
    return (
        memory.filter(pl.col("admitted") & rate.is_not_null())
        .sort("seed", "iteration", "slot")
        .with_columns(
            (rate == 1).alias("all_correct"),
            ((rate > 0) & (rate < 1)).alias("mixed"),
            (rate == 0).alias("all_incorrect"),
            unequal.alias("gradient_bearing"),
            (unequal & (rate == 1)).alias("format_only"),
        )
    )


def curriculum_buckets(memory: pl.DataFrame, count: int = BUCKETS) -> pl.DataFrame:
    """Figure 2's data: bucket (1-based), seeds, cards, the five shares in [0, 1] and the mean signals, averaged over
    seeds.

    ``<name>_low`` and ``<name>_high`` are the lowest and highest seed. A seed with fewer cards than buckets leaves
    some empty.
    """
    names = [*SHARES, *SIGNALS]
    per_seed = (
        _bucketed(outcomes(memory), count)
        .group_by("seed", "bucket", maintain_order=True)
        .agg(*[pl.col(name).cast(pl.Float64).mean() for name in names], pl.len().alias("cards"))
    )
    return (
        per_seed.group_by("bucket", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("seeds"),
            pl.col("cards").sum().cast(pl.Int64),
            *[pl.col(name).mean() for name in names],
            *[pl.col(name).min().alias(f"{name}_low") for name in names],
            *[pl.col(name).max().alias(f"{name}_high") for name in names],
        )
        .sort("bucket")
    )


def share_over_time(memory: pl.DataFrame, by: str, count: int = BUCKETS) -> pl.DataFrame:
    """What admitted cards are about, in ten buckets of generation order: bucket, ``by``, share in [0, 1], cards.

    ``by`` is "skill" or "difficulty". Shares are averaged over seeds and sum to one in each bucket; cards without a
    value count as "none".
    """
    if by not in ("skill", "difficulty"):
        raise ValueError(f"share_over_time: by={by!r}; choose 'skill' or 'difficulty'")
    cards = memory.filter("admitted").sort("seed", "iteration", "slot").with_columns(pl.col(by).fill_null("none"))
    cells = (
        _bucketed(cards, count).group_by("seed", "bucket", by, maintain_order=True).agg(pl.len().cast(pl.Int64).alias("cards"))
    )
    cells = cells.with_columns((pl.col("cards") / pl.col("cards").sum().over("seed", "bucket")).alias("share"))
    seeds = cells.group_by("bucket").agg(pl.col("seed").n_unique().alias("seeds"))
    return (
        cells.group_by("bucket", by, maintain_order=True)
        .agg(pl.col("share").sum(), pl.col("cards").sum())
        .join(seeds, on="bucket")  # a label absent from a seed's bucket is a share of 0 there: divide by all seeds
        .select("bucket", by, pl.col("share") / pl.col("seeds"), "cards")
        .sort("bucket", by)
    )


def curriculum_figure(memory: Mapping[str, pl.DataFrame]) -> Figure:
    """Figure 2: a row per variant; (a) outcome shares as stacked bars, (b) mean quality, novelty and teachability."""
    tables = _tables(memory, curriculum_buckets)
    with style.theme():
        figure, axes = style.figure(len(tables), 2, 2.7 * len(tables) + 0.5, sharex=True)
        for row, (name, table) in zip(axes, tables.items(), strict=True):
            _draw_outcomes(row[0], table)
            _draw_signals(row[1], table)
            row[0].set_title(f"{label(name)}: outcomes")
            row[1].set_title(f"{label(name)}: signals")
        for ax in axes[-1]:
            ax.set_xlabel("bucket of admitted cards, in generation order")
            ax.set_xticks(range(1, BUCKETS + 1))
        style.footnote(figure, "SR: success rate of a card; mixed: 0 < SR < 1; dashed: rewards differ, even if all correct")
    return figure


def share_figure(memory: Mapping[str, pl.DataFrame], by: str) -> Figure:
    """Stacked shares of skills or intended difficulties over generation order, one panel per variant.

    Beyond the eight most frequent names (free-text skills are many) the rest is drawn as one, "all others".
    """
    tables = _tables(memory, lambda frame: share_over_time(_frequent(memory, frame, by), by))
    found = set(pl.concat(tables.values())[by])
    ladder = [name for name in ("learnable", "mid-band", "hard", "too hard") if name in found]
    names = ladder + sorted(found - {*ladder, *REST}) + [name for name in REST if name in found]
    colours = dict(zip(names, style.SERIES, strict=False)) | style.LADDER
    columns = min(3, len(tables))
    lines = -(-len(tables) // columns)
    with style.theme():
        figure, axes = style.figure(lines, columns, 2.8 * lines + 0.7, sharey=True)
        for ax in axes.flat[len(tables) :]:
            ax.set_visible(False)
        for ax, (variant, table) in zip(axes.flat, tables.items(), strict=False):
            base = dict.fromkeys(range(1, BUCKETS + 1), 0.0)
            for name in names:
                rows = table.filter(pl.col(by) == name)
                heights = dict(zip(rows["bucket"], rows["share"], strict=True))
                x = sorted(base)
                y = [heights.get(bucket, 0.0) for bucket in x]
                ax.bar(x, y, bottom=[base[b] for b in x], width=0.94, color=colours[name], linewidth=0, label=name)
                base = {bucket: base[bucket] + height for bucket, height in zip(x, y, strict=True)}
            ax.set_title(label(variant))
            ax.set_xlabel("bucket, in generation order")
            ax.set_xticks([1, 4, 7, 10])
            ax.set_ylim(0, 1)
            ax.grid(False)
            style.percent(ax)
        for line in axes:
            line[0].set_ylabel(f"share of cards by {by}")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(6, len(names)), frameon=False)
    return figure


def _frequent(memory: Mapping[str, pl.DataFrame], frame: pl.DataFrame, by: str, most: int = 8) -> pl.DataFrame:
    """``frame`` with every name but the ``most`` frequent ones over all variants called "all others"."""
    named = pl.concat([cards.filter("admitted").select(by) for cards in memory.values()]).drop_nulls()
    counts = named.group_by(by).agg(pl.len().alias("cards")).sort("cards", by, descending=[True, False])
    if counts.height <= most:
        return frame
    kept = pl.col(by).is_null() | pl.col(by).is_in(counts[by].head(most).to_list())
    return frame.with_columns(pl.when(kept).then(by).otherwise(pl.lit("all others")).alias(by))


def _tables(memory: Mapping[str, pl.DataFrame], table) -> dict[str, pl.DataFrame]:
    stacked = by_variant(table, memory)
    tables = {name: stacked.filter(variant=name).drop("variant") for name in ordered(stacked["variant"])}
    if not tables:
        raise ValueError("curriculum: no variant has an admitted card; check the acceptance rate in metrics.csv")
    return tables


def _bucketed(cards: pl.DataFrame, count: int) -> pl.DataFrame:
    """Adds ``bucket``, 1..count: the card's rank within its seed, so sizes within a seed differ by one card at most."""
    rank = pl.int_range(pl.len()).over("seed")
    return cards.with_columns((rank * count // pl.len().over("seed") + 1).cast(pl.Int64).alias("bucket"))


def _draw_outcomes(ax: Axes, table: pl.DataFrame) -> None:
    base = [0.0] * table.height
    for name, ink in style.OUTCOMES.items():
        heights = table[name].to_list()
        ax.bar(table["bucket"], heights, bottom=base, width=0.92, color=ink, linewidth=0)
        base = [low + height for low, height in zip(base, heights, strict=True)]
    for row in (0, table.height - 1):
        share = table["mixed"][row]
        inside = share > 0.12  # below the bar's top if the number fits there, else above it
        y, va = (share - 0.02, "top") if inside else (share + 0.02, "bottom")
        ax.text(table["bucket"][row], y, f"{share:.0%}", ha="center", va=va, fontsize=9)
    last, low, labels = table.row(-1, named=True), 0.0, []
    for name in style.OUTCOMES:
        labels.append((last["bucket"] + 0.5, low + last[name] / 2, name.replace("_", " "), style.INK))
        low += last[name]
    if (table["gradient_bearing"] - table["mixed"]).max() > 0.005:
        for bucket, share in zip(table["bucket"], table["gradient_bearing"], strict=True):
            ax.hlines(share, bucket - 0.46, bucket + 0.46, color=style.INK, linewidth=1.4, linestyle=(0, (3, 1.5)))
        labels.append((last["bucket"] + 0.5, last["gradient_bearing"], "rewards differ", style.INK))
    ax.set_ylim(0, 1)
    ax.grid(False, axis="x")
    ax.set_ylabel("share of admitted cards")
    style.percent(ax)
    style.label_ends(ax, labels, gap=0.1)


def _draw_signals(ax: Axes, table: pl.DataFrame) -> None:
    ends = []
    for name, ink in zip(SIGNALS, style.SERIES, strict=False):
        rows = table.drop_nulls(name)
        if rows.is_empty():
            continue
        ax.fill_between(rows["bucket"], rows[f"{name}_low"], rows[f"{name}_high"], color=ink, alpha=0.15, linewidth=0)
        ax.plot(rows["bucket"], rows[name], color=ink, marker="o", markersize=4)
        ends.append((rows["bucket"][-1], rows[name][-1], f"{name} {rows[name][-1]:.2f}", ink))
    ax.set_ylim(0, 1.03)
    ax.set_ylabel("mean (0 to 1)")
    style.label_ends(ax, ends, gap=0.1)
