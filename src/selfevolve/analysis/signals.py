"""Table 6 and Figure 3 of SynCo: which synthesis signal goes with a gradient (sections 4.4, D.4).

Counterfactual enrichment: the admitted cards are ranked again by one signal at a time, and the share of gradient-bearing cards is taken in
the top quarter. Like the paper's, this reranks a pool that was already collected: it diagnoses signals and is no ablation of training.

Deviations: "gradient-bearing" is "rewards not all identical" (see curriculum.py). Signals such as quality are nearly constant, so a
quarter often ends inside a tie; tied cards count in proportion, which is what ranking them at random gives on average. Intervals
take the cards of the quarter as drawn independently. The gated reward is computed from the card's quality, reliability and success rate (Eq. 23), also for
sources whose cards are paid for by nobody; the bonus for a non-empty output, a constant, is left out.
"""

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from selfevolve.analysis import style
from selfevolve.analysis.curriculum import outcomes
from selfevolve.analysis.learnability import alignment
from selfevolve.analysis.statistics import Interval, pearson, proportion
from selfevolve.analysis.variants import label, ordered
from selfevolve.synco.rewards import GATE_FLOOR, GATE_WIDTH

TOP = 0.25
POOL = "pool (no ranking)"
ROLES = {  # the paper's order
    "quality": "reward gate",
    "reliability": "reward gate",
    "alignment": "diagnostic",
    "novelty": "diagnostic",
    "teachability": "outcome utility",
}
RANKED = ("gated_reward", "teachability", "reliability", "quality", "alignment", "novelty")
_FLOATS = dict.fromkeys(("low", "high"), pl.Float64)


def signal_table(memory: pl.DataFrame) -> pl.DataFrame:
    """Table 6: signal, role, cards, mean, sd, r, low, high, strength.

    ``memory`` follows artifacts/cotraining/<variant>/memory.parquet. Mean and standard deviation (n - 1) over the ``cards`` that have the
    signal; ``r`` with the gradient-bearing indicator and its Fisher interval, null where a side does not vary; ``strength`` is its word.
    """
    cards = outcomes(memory)
    rows = []
    for signal, role in ROLES.items():
        values, fit = cards[signal].drop_nulls(), pearson(cards[signal], cards["gradient_bearing"])
        rows.append((signal, role, values.len(), values.mean(), values.std(), fit.value, fit.low, fit.high, alignment(fit.value)))
    schema = {"signal": pl.String, "role": pl.String, "cards": pl.Int64, "mean": pl.Float64, "sd": pl.Float64, "r": pl.Float64}
    return pl.DataFrame(rows, schema={**schema, **_FLOATS, "strength": pl.String}, orient="row")


def enrichment_table(memory: pl.DataFrame, top: float = TOP) -> pl.DataFrame:
    """Figure 3's data: signal, cards, share, low, high, enrichment. Shares in [0, 1] with Wilson intervals.

    The first row is the pool itself. In the others, ``cards`` are the best ``top`` of the cards by the signal, ``share`` is their gradient-
    bearing share and ``enrichment`` that share over the pool's. Signals no card has are absent; without cards there are no rows.
    """
    cards = _with_gated_reward(outcomes(memory))
    pool = proportion(int(cards["gradient_bearing"].sum()), cards.height)
    found = {POOL: pool} if cards.height else {}
    for signal in RANKED:
        known = cards.drop_nulls(signal)
        if known.height:
            found[signal] = _top_share(known[signal].to_numpy(), known["gradient_bearing"].to_numpy(), top)
    rows = [
        (name, own.n, own.value, own.low, own.high, own.value / pool.value if pool.value else None) for name, own in found.items()
    ]
    schema = {"signal": pl.String, "cards": pl.Int64, "share": pl.Float64, **_FLOATS, "enrichment": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def enrichment_figure(table: pl.DataFrame) -> Figure:
    """Figure 3: gradient-bearing share of the top quarter by each signal, a panel per variant; the line is the pool's share.

    ``table`` is ``by_variant(enrichment_table, ...)``. Raises ValueError if no variant has an admitted card.
    """
    tables = {name: table.filter(variant=name) for name in ordered(table["variant"])}
    if not tables:
        raise ValueError("enrichment_figure: no variant has an admitted card; check the acceptance rate in metrics.csv")
    columns = min(3, len(tables))
    lines = -(-len(tables) // columns)
    with style.theme():
        figure, axes = style.figure(lines, columns, 2.6 * lines + 0.6, sharex=True, sharey=True)
        for ax in axes.flat[len(tables) :]:
            ax.set_visible(False)
        for ax, (name, table) in zip(axes.flat, tables.items(), strict=False):
            pool, ranked = table.row(0, named=True), table.slice(1)
            ax.axvline(pool["share"], color=style.INK, linewidth=1, linestyle=(0, (3, 2)))
            for row in ranked.iter_rows(named=True):
                y, ink = RANKED.index(row["signal"]), style.SERIES[1 if row["signal"] in RANKED[:2] else 0]
                ax.barh(y, row["share"], height=0.62, color=ink, alpha=0.8, linewidth=0)
                ax.plot([row["low"], row["high"]], [y, y], color=style.INK, linewidth=1.2)
                ax.annotate(
                    f"{row['share']:.0%}", (row["high"], y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=9
                )
            ax.set_title(f"{label(name)} ({pool['cards']} cards)")
            ax.set_yticks(range(len(RANKED)), [signal.replace("_", " ") for signal in RANKED])
            ax.set_ylim(len(RANKED) - 0.5, -0.5)
            ax.set_xlim(0, 1.12)
            ax.grid(False, axis="y")
            style.percent(ax, "x")
        style.footnote(
            figure, "gradient-bearing share of the top quarter by each signal; dashed: of all cards; line: 95% interval"
        )
    return figure


def _with_gated_reward(cards: pl.DataFrame) -> pl.DataFrame:
    gates = [((pl.col(name) - GATE_FLOOR) / GATE_WIDTH).clip(0.0, 1.0) for name in ("quality", "reliability")]
    return cards.with_columns((gates[0] * gates[1] * pl.col("teachability")).alias("gated_reward"))


def _top_share(scores: np.ndarray, bearing: np.ndarray, top: float) -> Interval:
    """Gradient-bearing share of the best ``top`` of the cards (at least one), the last group of ties counted in proportion."""
    wanted = max(1, round(top * scores.size))
    cut = np.sort(scores)[-wanted]
    above, tied = scores > cut, scores == cut
    return proportion(bearing[above].sum() + (wanted - above.sum()) * bearing[tied].mean(), wanted)
