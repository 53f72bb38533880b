"""Table 5 of SynCo: which admitted tasks produced a gradient, and what foretells it (sections 4.2, D.2; 7a's columns
too).

Deviations: every share and correlation has an interval; "gradient-bearing" is reported by both definitions (see
curriculum.py): by success rate, 0 < SR < 1, and by rewards, not all identical. The paper finds the two equal on its
data; where some right answers are unboxed (reward 0.9) they need not be. "Alignment" follows fixed thresholds on |r|:
below 0.1 negligible, below 0.3 weak, below 0.7 moderate, else strong; the paper gives the words without thresholds,
and these reproduce them.
"""

import polars as pl

from selfevolve.analysis.curriculum import outcomes
from selfevolve.analysis.statistics import pearson, proportion

POOL = "pool overall"
DIFFICULTIES = ("learnable", "mid-band", "hard / too hard", "other")
_INTERVAL = {"low": pl.Float64, "high": pl.Float64}
_PAIRS = (
    ("teachability", "gradient_bearing", "gradient-bearing indicator"),
    ("novelty", "gradient_bearing", "gradient-bearing indicator"),
    ("teachability", "success_rate", "realized success rate"),
)


def outcome_regimes(memory: pl.DataFrame) -> pl.DataFrame:
    """Table 5 (a): regime, criterion, definition, cards, share, low, high (Wilson).

    The three rows defined by "success rate" partition the cards. The two defined by "rewards" say how many groups had
    unequal rewards in all, and how many of those were all correct (boxed and unboxed answers mixed).
    """
    cards = outcomes(memory)
    regimes = (
        ("all incorrect", "SR = 0", "success rate", "all_incorrect"),
        ("gradient-bearing", "0 < SR < 1", "success rate", "mixed"),
        ("all correct", "SR = 1", "success rate", "all_correct"),
        ("gradient-bearing", "rewards not identical", "rewards", "gradient_bearing"),
        ("format only", "SR = 1, rewards not identical", "rewards", "format_only"),
    )
    rows = []
    for regime, criterion, definition, column in regimes:
        share = proportion(int(cards[column].sum()), cards.height)
        rows.append((regime, criterion, definition, int(cards[column].sum()), share.value, share.low, share.high))
    names = {
        "regime": pl.String,
        "criterion": pl.String,
        "definition": pl.String,
        "cards": pl.Int64,
        "share": pl.Float64,
    }
    return pl.DataFrame(rows, schema={**names, **_INTERVAL}, orient="row")


def signal_correlations(memory: pl.DataFrame) -> pl.DataFrame:
    """Table 5 (b): signal, target, r, low, high (Fisher z), cards, alignment. r is null where a side does not vary."""
    cards = outcomes(memory)
    rows = []
    for signal, column, target in _PAIRS:
        fit = pearson(cards[signal], cards[column])
        rows.append((signal, target, fit.value, fit.low, fit.high, fit.n, alignment(fit.value)))
    names = {"signal": pl.String, "target": pl.String, "r": pl.Float64}
    schema = {**names, **_INTERVAL, "cards": pl.Int64, "alignment": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def difficulty_table(memory: pl.DataFrame) -> pl.DataFrame:
    """Table 5 (c) and 7 (a): what became of the tasks under each intended difficulty, and of all of them.

    Columns: label, cards, gradient_bearing_rate with low and high (Wilson; unequal rewards), zero_gradient_rate,
    mixed_rate (0 < SR < 1), mean_success_rate, all_correct, all_incorrect. Labels "hard" and "too hard" are one
    group, as in the paper; cards without a label count as "other". Rates are null for a label no card carries.
    """
    cards = outcomes(memory).with_columns(difficulty_group().alias("label"))
    groups = [(name, cards.filter(pl.col("label") == name)) for name in DIFFICULTIES] + [(POOL, cards)]
    rows = []
    for name, group in groups:
        rate = proportion(int(group["gradient_bearing"].sum()), group.height)
        means = [group[column].cast(pl.Float64).mean() for column in ("mixed", "success_rate", "all_correct", "all_incorrect")]
        zero = None if rate.value is None else 1.0 - rate.value
        rows.append((name, group.height, rate.value, rate.low, rate.high, zero, *means))
    schema = {
        "label": pl.String,
        "cards": pl.Int64,
        "gradient_bearing_rate": pl.Float64,
        **_INTERVAL,
        "zero_gradient_rate": pl.Float64,
        "mixed_rate": pl.Float64,
        "mean_success_rate": pl.Float64,
        "all_correct": pl.Float64,
        "all_incorrect": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def difficulty_group() -> pl.Expr:
    """The paper's three difficulty groups and "other", from the card's normalised ``difficulty``."""
    raw = pl.col("difficulty")
    return (
        pl.when(raw.is_in(["hard", "too hard"]))
        .then(pl.lit("hard / too hard"))
        .when(raw.is_in(["learnable", "mid-band"]))
        .then(raw)
        .otherwise(pl.lit("other"))
    )


def alignment(r: float | None) -> str:
    """The paper's word for a correlation in [-1, 1], e.g. "Strong positive", "Negligible"; "Undefined" for None."""
    if r is None:
        return "Undefined"
    size = abs(r)
    if size < 0.1:
        return "Negligible"
    word = "Weak" if size < 0.3 else "Moderate" if size < 0.7 else "Strong"
    return f"{word} {'positive' if r > 0 else 'negative'}"
