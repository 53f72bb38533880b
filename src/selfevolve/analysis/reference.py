"""The SynCo paper's own numbers, to be shown beside ours and never mixed into our tables.

Copied from the text of the paper; a test finds every number there. Percentages are given as shares in [0, 1], as in our tables. They come
from Qwen3-8B agents (Table 4: Qwen3-4B), other tasks, one run and no intervals. Every frame has a ``source`` column, which no table of
ours has. Systems that this repository also trains carry our names.
"""

import polars as pl

BENCHMARKS = ("GSM8K", "SVAMP", "ASDiv", "GSM-Hard", "MATH-500", "AIME24", "AIME25", "Minerva", "average")
TABLE_1 = {  # in per cent, as printed
    "vanilla": (92.42, 84.00, 95.98, 51.78, 81.20, 73.33, 66.67, 33.46, 72.36),
    "EnvScaler": (93.10, 82.67, 96.47, 51.18, 82.40, 73.33, 60.00, 35.66, 71.85),
    "AgenticQwen": (95.00, 89.33, 97.29, 55.04, 88.00, 60.00, 60.00, 30.88, 71.94),
    "AgentSkiller": (83.17, 71.00, 92.45, 39.88, 73.60, 66.67, 56.67, 31.62, 64.38),
    "Klear-AgentForge": (91.21, 89.67, 97.70, 55.42, 75.20, 26.67, 13.33, 27.21, 59.55),
    "metamathqa": (94.84, 87.00, 96.72, 55.42, 84.00, 70.00, 66.67, 34.56, 73.65),
    "scalequest": (94.54, 89.67, 97.62, 57.39, 84.00, 76.67, 66.67, 33.09, 74.96),
    "openmathinstruct2": (94.54, 89.00, 97.45, 57.62, 86.40, 70.00, 56.67, 33.46, 73.14),
    "static_pool_sft": (92.49, 83.67, 96.14, 51.48, 82.40, 73.33, 66.67, 31.62, 72.23),
    "static_pool": (92.95, 85.00, 96.06, 52.46, 82.20, 70.00, 63.33, 31.99, 71.75),
    "rewriting": (92.42, 81.33, 96.06, 51.71, 80.40, 83.33, 66.67, 33.09, 73.13),
    "r_zero": (92.80, 84.67, 96.31, 51.55, 83.20, 80.00, 66.67, 33.46, 73.58),
    "frozen": (94.77, 91.33, 97.78, 61.26, 85.60, 76.67, 66.67, 32.72, 75.85),
    "synco": (95.75, 93.00, 97.95, 63.31, 87.80, 83.33, 73.33, 35.29, 78.72),
}
TABLE_4 = {
    "vanilla": (92.34, 86.25, 96.63, 52.01, 82.60, 63.33, 56.67, 31.25, 70.14),
    "EnvScaler": (89.84, 82.00, 95.40, 42.00, 82.00, 73.33, 70.00, 31.62, 70.77),
    "AgentSkiller": (79.45, 72.67, 92.94, 37.38, 71.80, 63.33, 60.00, 29.41, 63.37),
    "frozen": (93.10, 92.00, 97.78, 61.33, 86.20, 66.67, 60.67, 31.99, 73.72),
    "synco": (93.71, 93.00, 98.28, 60.65, 86.60, 70.00, 66.67, 32.72, 75.20),
}
_OUTCOMES = ("label", "cards", "success_rate", "gradient_bearing", "all_correct", "all_incorrect")


def table_1() -> pl.DataFrame:
    """Accuracy of Qwen3-8B systems on eight benchmarks and their unweighted average: system, benchmark, value."""
    return _accuracy(TABLE_1, "SynCo, Table 1")


def table_2() -> pl.DataFrame:
    """SynCo against Frozen by what the initial model solved: benchmark, subset, n, reference_solved, system_solved, additional."""
    rows = [
        ("GSM-Hard", (683, 661, 667), (636, 147, 168)),
        ("MATH-500", (406, 401, 403), (94, 27, 36)),
        ("GSM8K", (1219, 1210, 1212), (100, 40, 51)),
        ("SVAMP", (252, 250, 251), (48, 24, 28)),
        ("pooled", (2560, 2522, 2533), (878, 238, 283)),
    ]
    flat = [
        (name, subset, *part, part[2] - part[1])
        for name, *parts in rows
        for subset, part in zip(("retain", "learn"), parts, strict=True)
    ]
    return _frame(
        flat, ("benchmark", "subset", "n", "reference_solved", "system_solved", "additional"), "SynCo, Table 2 and Figure 7"
    )


def table_3() -> pl.DataFrame:
    """Cost and gradient use: variant, quantity, value."""
    names = ("mean update time", "median wall time", "gradient rate", "productive tasks per batch")
    values = {"frozen": (45.8, 341.6, 0.137, 4.38), "synco": (45.1, 343.5, 0.145, 4.64)}
    return _frame(_long(values, names), ("variant", "quantity", "value"), "SynCo, Table 3")


def table_4() -> pl.DataFrame:
    """Accuracy of Qwen3-4B systems: system, benchmark, value."""
    return _accuracy(TABLE_4, "SynCo, Table 4")


def table_5_outcomes() -> pl.DataFrame:
    """Outcome regimes of 2,940 verified tasks: regime, criterion, cards, share."""
    rows = [
        ("all incorrect", "SR = 0", 994, 0.338),
        ("gradient-bearing", "0 < SR < 1", 475, 0.162),
        ("all correct", "SR = 1", 1471, 0.500),
    ]
    return _frame(rows, ("regime", "criterion", "cards", "share"), "SynCo, Table 5 (a)")


def table_5_signals() -> pl.DataFrame:
    """Correlations of synthesis signals: signal, target, r, alignment."""
    rows = [
        ("teachability", "gradient-bearing indicator", 0.934, "Strong positive"),
        ("novelty", "gradient-bearing indicator", -0.041, "Negligible"),
        ("teachability", "realized success rate", -0.028, "Negligible"),
    ]
    return _frame(rows, ("signal", "target", "r", "alignment"), "SynCo, Table 5 (b)")


def table_5_difficulty() -> pl.DataFrame:
    """Intended difficulty against realized learnability: label, cards, gradient_bearing_rate, zero_gradient_rate."""
    rows = [("learnable", 630, 0.168, 0.832), ("mid-band", 1926, 0.160, 0.840), ("hard / too hard", 363, 0.160, 0.840)]
    return _frame(rows, ("label", "cards", "gradient_bearing_rate", "zero_gradient_rate"), "SynCo, Table 5 (c)")


def table_6() -> pl.DataFrame:
    """Synthesis signals over 2,940 verified tasks: signal, role, mean, sd, r (with the gradient-bearing indicator)."""
    rows = [
        ("quality", "reward gate", 0.962, 0.030, 0.060),
        ("reliability", "reward gate", 0.965, 0.096, 0.105),
        ("alignment", "diagnostic", 0.999, 0.011, -0.021),
        ("novelty", "diagnostic", 0.703, 0.175, -0.041),
        ("teachability", "outcome utility", 0.102, 0.249, 0.934),
    ]
    return _frame(rows, ("signal", "role", "mean", "sd", "r"), "SynCo, Table 6")


def table_7_outcomes() -> pl.DataFrame:
    """Claimed difficulty against outcomes of the rollouts: label, cards, success_rate, gradient_bearing, all_correct, all_incorrect."""
    rows = [
        ("learnable", 630, 0.625, 0.168, 0.530, 0.302),
        ("mid-band", 1926, 0.607, 0.160, 0.511, 0.328),
        ("hard / too hard", 363, 0.484, 0.160, 0.399, 0.441),
        ("pool overall", 2940, 0.594, 0.162, 0.500, 0.338),
    ]
    return _frame(rows, _OUTCOMES, "SynCo, Table 7 (a) and Figure 4")


def table_7_prediction() -> pl.DataFrame:
    """The label "learnable" as a prediction, and teachability: signal, availability, measure, value."""
    rows = [
        ("self-rated learnable", "before rollout", "correlation", 0.009),
        ("self-rated learnable", "before rollout", "precision", 0.168),
        ("self-rated learnable", "before rollout", "recall", 0.223),
        ("teachability", "after rollout", "correlation", 0.934),
    ]
    return _frame(rows, ("signal", "availability", "measure", "value"), "SynCo, Table 7 (b)")


def table_8_cost() -> pl.DataFrame:
    """Marginal training cost over 100 steps: variant, quantity, seconds."""
    names = ("mean update time", "median update time", "median wall time")
    values = {"frozen": (45.8, 45.0, 341.6), "synco": (45.1, 44.6, 343.5)}
    return _frame(_long(values, names), ("variant", "quantity", "seconds"), "SynCo, Table 8 (a)")


def table_8_differences() -> pl.DataFrame:
    """Relative difference of SynCo to Frozen: quantity, difference."""
    rows = [("mean update time", -0.015), ("median update time", -0.009), ("median wall time", 0.006)]
    return _frame(rows, ("quantity", "difference"), "SynCo, Table 8 (a)")


def table_8_yield() -> pl.DataFrame:
    """Productive tasks over steps 13-70: variant, learnable, mid_band, rate, tasks_per_batch."""
    rows = [("frozen", 0.034, 0.103, 0.137, 4.38), ("synco", 0.039, 0.106, 0.145, 4.64)]
    return _frame(rows, ("variant", "learnable", "mid_band", "rate", "tasks_per_batch"), "SynCo, Table 8 (b)")


def table_8_changes() -> pl.DataFrame:
    """Ratio of SynCo's productive tasks to Frozen's: quantity, change."""
    return _frame([("learnable", 1.14), ("mid_band", 1.03), ("all", 1.06)], ("quantity", "change"), "SynCo, Table 8 (b)")


def table_8_production() -> pl.DataFrame:
    """Online data production in 100 steps: quantity, value, unit."""
    rows = [
        ("generated task candidates", 3200.0, "cards"),
        ("verified tasks", 2940.0, "cards"),
        ("acceptance rate", 0.919, "share"),
        ("human annotations", 0.0, "cards"),
        ("external LLM API calls", 0.0, "calls"),
    ]
    return _frame(rows, ("quantity", "value", "unit"), "SynCo, Table 8 (c)")


def figure_2() -> pl.DataFrame:
    """First and last of ten buckets: quantity, first, last. The paper quotes no others."""
    rows = [
        ("gradient_bearing", 0.313, 0.095),
        ("all_correct", 0.344, 0.599),
        ("novelty", 0.659, 0.775),
        ("teachability", 0.206, 0.060),
    ]
    return _frame(rows, ("quantity", "first", "last"), "SynCo, Figure 2 (section 4.2)")


def figure_3() -> pl.DataFrame:
    """Gradient-bearing share of the top quarter by each signal: signal, share. The first row is the pool itself."""
    rows = [
        ("pool (no ranking)", 0.162),
        ("gated_reward", 0.623),
        ("teachability", 0.646),
        ("quality", 0.128),
        ("novelty", 0.120),
    ]
    return _frame(rows, ("signal", "share"), "SynCo, Figure 3 (section 4.4)")


def figure_5() -> pl.DataFrame:
    """Gradient-bearing share of each source's tasks before the untrained Qwen3-8B: variant, value."""
    rows = [("synco", 0.228), ("metamathqa", 0.041), ("scalequest", 0.109), ("openmathinstruct2", 0.094)]
    return _frame(rows, ("variant", "value"), "SynCo, Figure 5 (section 4.7)")


def figure_6() -> pl.DataFrame:
    """Reasoner reward at the end of training, 10-step moving average: variant, last. They part after about 35 steps."""
    return _frame([("frozen", 0.783), ("synco", 0.890)], ("variant", "last"), "SynCo, Figure 6 (section 4.8)")


def _accuracy(table: dict[str, tuple[float, ...]], source: str) -> pl.DataFrame:
    shares = {system: [round(value / 100, 4) for value in values] for system, values in table.items()}
    return _frame(_long(shares, BENCHMARKS), ("system", "benchmark", "value"), source)


def _long(table: dict, names: tuple[str, ...]) -> list[tuple]:
    return [(row, name, value) for row, values in table.items() for name, value in zip(names, values, strict=True)]


def _frame(rows: list[tuple], names: tuple[str, ...], source: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=list(names), orient="row").with_columns(pl.lit(source).alias("source"))
