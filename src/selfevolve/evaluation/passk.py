"""Repeated draws of one task: pass@k, pass^k and pass@1 over runs.

Sources: pass@k is the unbiased estimator of Chen et al. 2021 (arXiv 2107.03374, section 2.1); pass^k is that of
tau-bench (Yao et al. 2024, arXiv 2406.12045, section 3). Both are ratios of binomial coefficients and are evaluated
as short products, so that no factorial is ever formed.
"""

import math

import polars as pl


def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that at least one of k draws is right, given c right ones among n: ``1 - C(n-c, k) / C(n, k)``.

    Returns a number in [0, 1]. Raises ValueError unless 0 <= c <= n and 1 <= k <= n.
    """
    _check(n, c, k)
    if n - c < k:
        return 1.0
    return 1.0 - math.prod(1.0 - k / i for i in range(n - c + 1, n + 1))


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Chance that all of k draws are right, given c right ones among n: ``C(c, k) / C(n, k)`` (written pass^k).

    Returns a number in [0, 1]. Raises ValueError unless 0 <= c <= n and 1 <= k <= n.
    """
    _check(n, c, k)
    return math.prod((c - i) / (n - i) for i in range(k)) if c >= k else 0.0


def pass_table(predictions: pl.DataFrame, ks: tuple[int, ...] = (1, 2, 4)) -> pl.DataFrame:
    """Mean pass@k and pass^k of every (system, benchmark, mode).

    ``predictions`` follows artifacts/evaluation/predictions.parquet. A unit is one task answered by one trained model
    (seed, item), since draws of different seeds are not draws of one policy; units are averaged with equal weight.
    Draws with a null ``correct`` (unreadable reference) are left out. A unit with fewer than k draws has no estimate
    for that k: it is left out and ``units`` counts what remains; a k that no unit reaches gives no row.

    Returns system, benchmark, mode, k, pass_at_k, pass_hat_k (both in [0, 1]), units.
    """
    keys = ["system", "benchmark", "mode"]
    units = (
        predictions.drop_nulls("correct")
        .group_by([*keys, "seed", "item"])
        .agg(pl.len().alias("n"), pl.col("correct").cast(pl.Int64).sum().alias("c"))
        .sort([*keys, "seed", "item"])
    )
    rows = [
        {**row, "k": k, "at": pass_at_k(row["n"], row["c"], k), "hat": pass_hat_k(row["n"], row["c"], k)}
        for row in units.iter_rows(named=True)
        for k in ks
        if k <= row["n"]
    ]
    schema = {
        "system": pl.String,
        "benchmark": pl.String,
        "mode": pl.String,
        "k": pl.Int64,
        "at": pl.Float64,
        "hat": pl.Float64,
    }
    return (
        pl.DataFrame([{name: row[name] for name in schema} for row in rows], schema=schema)
        .group_by([*keys, "k"], maintain_order=True)
        .agg(
            pl.col("at").mean().alias("pass_at_k"),
            pl.col("hat").mean().alias("pass_hat_k"),
            pl.len().alias("units").cast(pl.Int64),
        )
        .sort([*keys, "k"])
    )


def pass_at_1_over_runs(predictions: pl.DataFrame) -> pl.DataFrame:
    """pass@1 of every (system, benchmark, mode) as mean and standard deviation over runs.

    A run is one pass over the benchmark: a (seed, draw) pair. Its score is the share of readable tasks answered
    correctly. ``sd`` has n - 1 in the denominator and is null for a single run.

    Returns system, benchmark, mode, mean, sd (both in [0, 1]), runs.
    """
    keys = ["system", "benchmark", "mode"]
    return (
        predictions.drop_nulls("correct")
        .group_by([*keys, "seed", "draw"])
        .agg(pl.col("correct").cast(pl.Float64).mean().alias("score"))
        .sort([*keys, "seed", "draw"])
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col("score").mean().alias("mean"),
            pl.col("score").std().alias("sd"),
            pl.len().cast(pl.Int64).alias("runs"),
        )
    )


def _check(n: int, c: int, k: int) -> None:
    if not 0 <= c <= n:
        raise ValueError(f"c={c} right draws among n={n}: need 0 <= c <= n; count the right draws again")
    if not 1 <= k <= n:
        raise ValueError(f"k={k} with n={n} draws: need 1 <= k <= n; draw more samples or ask for a smaller k")
