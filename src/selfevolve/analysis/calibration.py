"""Table 7 and Figure 4 of SynCo: does the Synthesizer know beforehand how a card will turn out? (sections 4.5, D.5)

What a card claims about its difficulty is compared with what the Reasoner's rollouts on it did. A label can be calibrated for
difficulty, harder ones being solved less often, and still say nothing about the gradient, which needs mixed outcomes.

Deviations: every share has an interval (Wilson; mean success rate: bootstrap over cards). "Gradient-bearing" is "rewards not all
identical" and stands beside "mixed" (0 < SR < 1), see curriculum.py. Labels are the paper's three groups, from the card's own
estimate (synco/labels.py), and "other" for estimates that are none of these.
"""

import polars as pl
from matplotlib.figure import Figure

from selfevolve.analysis import style
from selfevolve.analysis.curriculum import outcomes
from selfevolve.analysis.learnability import DIFFICULTIES, POOL, difficulty_group
from selfevolve.analysis.statistics import REPLICATES, mean_interval, pearson, proportion
from selfevolve.analysis.variants import label, ordered

REGIMES = ("gradient_bearing", "mixed", "all_correct", "all_incorrect")
PREDICTED = "learnable"


def calibration_table(memory: pl.DataFrame, replicates: int = REPLICATES, seed: int = 0) -> pl.DataFrame:
    """Table 7 (a) and Figure 4's data: label, outcome, value, low, high, cards.

    ``memory`` follows artifacts/cotraining/<variant>/memory.parquet. ``outcome`` is "success_rate" (mean of the cards' own) or the share of
    cards that are gradient-bearing, mixed, all correct or all incorrect; all in [0, 1]. ``cards`` under the label; labels without cards
    are absent, "pool overall" comes last.
    """
    cards = outcomes(memory).with_columns(difficulty_group().alias("label"))
    groups = [(name, cards.filter(pl.col("label") == name)) for name in DIFFICULTIES] + [(POOL, cards)]
    rows = []
    for name, group in groups:
        if group.is_empty():
            continue
        mean = mean_interval(group["success_rate"].to_numpy()[None, :], replicates, seed)
        rows.append((name, "success_rate", *mean))
        rows += [(name, regime, *proportion(int(group[regime].sum()), group.height)) for regime in REGIMES]
    schema = {"label": pl.String, "outcome": pl.String, **dict.fromkeys(("value", "low", "high"), pl.Float64), "cards": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def prediction_table(memory: pl.DataFrame) -> pl.DataFrame:
    """Table 7 (b): signal, availability, measure, value, low, high, cards.

    The label "learnable", read as a prediction that the card will be gradient-bearing: ``measure`` is its correlation with the outcome,
    its precision (among the cards that carry it) and its recall (among the gradient-bearing cards), each over ``cards``. Teachability,
    known only after the rollouts, has a correlation alone. Values are null where nothing can be said.
    """
    cards = outcomes(memory)
    said, bears = (cards["difficulty"] == PREDICTED).fill_null(False), cards["gradient_bearing"]
    both = int((said & bears).sum())
    before, after = ("self-rated learnable", "before rollout"), ("teachability", "after rollout")
    rows = [
        (*before, "correlation", *pearson(said, bears)),
        (*before, "precision", *proportion(both, int(said.sum()))),
        (*before, "recall", *proportion(both, int(bears.sum()))),
        (*after, "correlation", *pearson(cards["teachability"], bears)),
    ]
    names = dict.fromkeys(("signal", "availability", "measure"), pl.String)
    schema = {**names, **dict.fromkeys(("value", "low", "high"), pl.Float64), "cards": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def calibration_figure(table: pl.DataFrame) -> Figure:
    """Figure 4: outcomes of the rollouts under each claimed difficulty, stacked shares, a panel per variant.

    Above each bar: the gradient-bearing share. ``table`` is ``by_variant(calibration_table, ...)``. Raises ValueError if no variant has an
    admitted card.
    """
    tables = {name: table.filter(variant=name) for name in ordered(table["variant"])}
    if not tables:
        raise ValueError("calibration_figure: no variant has an admitted card; check the acceptance rate in metrics.csv")
    columns = min(3, len(tables))
    lines = -(-len(tables) // columns)
    with style.theme():
        figure, axes = style.figure(lines, columns, 3.2 * lines, sharey=True)
        for ax in axes.flat[len(tables) :]:
            ax.set_visible(False)
        for ax, (name, table) in zip(axes.flat, tables.items(), strict=False):
            groups = table["label"].unique(maintain_order=True).to_list()
            base = [0.0] * len(groups)
            for regime, ink in style.OUTCOMES.items():
                heights = table.filter(outcome=regime)["value"].to_list()
                ax.bar(
                    range(len(groups)), heights, bottom=base, width=0.72, color=ink, linewidth=0, label=regime.replace("_", " ")
                )
                base = [low + height for low, height in zip(base, heights, strict=True)]
            for x, row in enumerate(table.filter(outcome="gradient_bearing").iter_rows(named=True)):
                ax.text(x, 1.02, f"{row['value']:.0%}", ha="center", fontsize=9)
            counts = table.filter(outcome="mixed")["cards"].to_list()
            names = ["pool" if group == POOL else group.replace(" / ", "/\n") for group in groups]
            ax.set_xticks(range(len(groups)), [f"{group}\n{n}" for group, n in zip(names, counts, strict=True)], fontsize=7.2)
            ax.set_title(label(name), pad=14)
            ax.set_ylim(0, 1.08)
            ax.grid(False, axis="x")
            style.percent(ax)
        axes[0, 0].set_ylabel("share of admitted cards")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=3, frameon=False)
        style.footnote(figure, "claimed difficulty, and cards that claim it; above each bar: gradient-bearing share")
    return figure
