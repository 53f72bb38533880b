"""The SynCo paper's own numbers, to be shown beside ours and never mixed into our tables.

Copied from the text of the paper (Tables 1, 3, 5, 8; Figures 2 and 6 as quoted in sections 4.2 and 4.8). Percentages
are given as shares in [0, 1], as in our tables. They come from Qwen3-8B agents, other tasks, one run and no
intervals. Every frame has a ``source`` column. Systems that this repository also trains carry our names (vanilla,
static_pool, frozen, synco).
"""

import polars as pl

BENCHMARKS = ("GSM8K", "SVAMP", "ASDiv", "GSM-Hard", "MATH-500", "AIME24", "AIME25", "Minerva", "average")
_TABLE_1 = {
    "vanilla": (92.42, 84.00, 95.98, 51.78, 81.20, 73.33, 66.67, 33.46, 72.36),
    "EnvScaler": (93.10, 82.67, 96.47, 51.18, 82.40, 73.33, 60.00, 35.66, 71.85),
    "AgenticQwen": (95.00, 89.33, 97.29, 55.04, 88.00, 60.00, 60.00, 30.88, 71.94),
    "AgentSkiller": (83.17, 71.00, 92.45, 39.88, 73.60, 66.67, 56.67, 31.62, 64.38),
    "Klear-AgentForge": (91.21, 89.67, 97.70, 55.42, 75.20, 26.67, 13.33, 27.21, 59.55),
    "MetaMathQA": (94.84, 87.00, 96.72, 55.42, 84.00, 70.00, 66.67, 34.56, 73.65),
    "ScaleQuest-Math": (94.54, 89.67, 97.62, 57.39, 84.00, 76.67, 66.67, 33.09, 74.96),
    "OpenMathInstruct-2": (94.54, 89.00, 97.45, 57.62, 86.40, 70.00, 56.67, 33.46, 73.14),
    "Reject-Sample SFT": (92.49, 83.67, 96.14, 51.48, 82.40, 73.33, 66.67, 31.62, 72.23),
    "static_pool": (92.95, 85.00, 96.06, 52.46, 82.20, 70.00, 63.33, 31.99, 71.75),
    "Off-Augment GRPO": (92.42, 81.33, 96.06, 51.71, 80.40, 83.33, 66.67, 33.09, 73.13),
    "R-Zero": (92.80, 84.67, 96.31, 51.55, 83.20, 80.00, 66.67, 33.46, 73.58),
    "frozen": (94.77, 91.33, 97.78, 61.26, 85.60, 76.67, 66.67, 32.72, 75.85),
    "synco": (95.75, 93.00, 97.95, 63.31, 87.80, 83.33, 73.33, 35.29, 78.72),
}


def table_1() -> pl.DataFrame:
    """Accuracy of Qwen3-8B systems on eight benchmarks and their unweighted average: system, benchmark, value."""
    rows = [
        (system, benchmark, round(value / 100, 4))
        for system, values in _TABLE_1.items()
        for benchmark, value in zip(BENCHMARKS, values, strict=True)
    ]
    return _frame(rows, ("system", "benchmark", "value"), "SynCo, Table 1")


def table_3() -> pl.DataFrame:
    """Cost and gradient use: variant, mean_update_s, median_wall_s, gradient_rate, tasks_per_batch."""
    rows = [("frozen", 45.8, 341.6, 0.137, 4.38), ("synco", 45.1, 343.5, 0.145, 4.64)]
    names = ("variant", "mean_update_s", "median_wall_s", "gradient_rate", "tasks_per_batch")
    return _frame(rows, names, "SynCo, Table 3")


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


def table_8_cost() -> pl.DataFrame:
    """Marginal training cost: variant, steps, mean_update_s, median_update_s, median_wall_s."""
    rows = [("frozen", 100, 45.8, 45.0, 341.6), ("synco", 100, 45.1, 44.6, 343.5)]
    return _frame(rows, ("variant", "steps", "mean_update_s", "median_update_s", "median_wall_s"), "SynCo, Table 8 (a)")


def table_8_differences() -> pl.DataFrame:
    """Relative difference of SynCo to Frozen: quantity, difference."""
    rows = [("mean update time", -0.015), ("median update time", -0.009), ("median wall time", 0.006)]
    return _frame(rows, ("quantity", "difference"), "SynCo, Table 8 (a)")


def table_8_yield() -> pl.DataFrame:
    """Productive tasks over steps 13-70: variant, learnable, mid_band, rate, tasks_per_batch."""
    rows = [("frozen", 0.034, 0.103, 0.137, 4.38), ("synco", 0.039, 0.106, 0.145, 4.64)]
    return _frame(rows, ("variant", "learnable", "mid_band", "rate", "tasks_per_batch"), "SynCo, Table 8 (b)")


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


def figure_6() -> pl.DataFrame:
    """Reasoner reward at the end of training, 10-step moving average: variant, last. They part after about 35 steps."""
    return _frame([("frozen", 0.783), ("synco", 0.890)], ("variant", "last"), "SynCo, Figure 6 (section 4.8)")


def _frame(rows: list[tuple], names: tuple[str, ...], source: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=list(names), orient="row").with_columns(pl.lit(source).alias("source"))
