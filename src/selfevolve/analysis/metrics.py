"""The few numbers a reader compares between commits: the JSON that ``dvc metrics show`` prints.

Every number is a share in [0, 1], a difference of shares, or seconds, rounded to four digits; what does not exist (a
variant of the default pipeline that was not run) is null, so that its keys never change; other systems have a key if they ran.
"""

import math
from collections.abc import Mapping

import polars as pl

from selfevolve.analysis.accuracy import AVERAGE, accuracy_table, gain
from selfevolve.analysis.admission import acceptance_table, key_table
from selfevolve.analysis.cost import timing_table
from selfevolve.analysis.statistics import REPLICATES
from selfevolve.analysis.variants import CORE, ordered

_GAINS = (("synco", "vanilla"), ("synco", "frozen"), ("synco", "static_pool"))
_VARIANTS = CORE[1:]  # vanilla is not trained


def headline(
    predictions: pl.DataFrame,
    metrics: Mapping[str, pl.DataFrame],
    memory: Mapping[str, pl.DataFrame],
    timings: Mapping[str, pl.DataFrame],
    profile: str,
    mode: str = "greedy",
    benchmark: str | None = None,
    models: str = "tiny models trained from scratch on templated arithmetic",
    weights: int | None = None,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> dict:
    """The run's headline as a JSON-serialisable dict without NaN.

    ``metrics``, ``memory`` and ``timings`` map a variant to its frame; a missing variant gives null entries. Accuracy
    is of ``benchmark`` under ``mode``; None is the only benchmark, or the unweighted average of several. ``models``
    and ``weights`` (per agent) go into the statement. Keys: profile, seeds, statement, accuracy, gain,
    iteration_seconds (medians), acceptance_rate and true_key_rate (variant synco), gradient_bearing_rate (mean over
    the first and last tenth of the iterations, seeds pooled).

    Raises ValueError if ``benchmark`` was not evaluated under ``mode``.
    """
    names = sorted(predictions.filter(pl.col("mode") == mode)["benchmark"].unique().to_list())
    if benchmark is not None and benchmark not in names:
        raise ValueError(f"headline: no prediction of benchmark {benchmark!r} under mode {mode!r}; there are {names}")
    chosen = benchmark or (AVERAGE if len(names) > 1 else names[0] if names else None)
    accuracy, gains = _accuracy(predictions, chosen, mode, replicates, seed)
    synco = memory.get("synco")
    walls = timing_table(timings, replicates=1).filter(quantity="median wall time")
    times = dict(walls.select("variant", "seconds").iter_rows())
    seeds = sorted(set().union(*(frame["seed"].unique().to_list() for frame in metrics.values())))
    out = {
        "profile": profile,
        "seeds": seeds,
        "statement": _statement(metrics, memory, chosen, names, mode, accuracy, seeds, models, weights, replicates),
        "accuracy": accuracy,
        "gain": gains,
        "iteration_seconds": {name: times.get(name) for name in ordered({*_VARIANTS, *times})},
        "acceptance_rate": None if synco is None else acceptance_table(synco)["rate"][-1],
        "true_key_rate": None if synco is None else key_table(synco)["rate"][-1],
        "gradient_bearing_rate": {name: _ends(metrics.get(name)) for name in ordered({*_VARIANTS, *metrics})},
    }
    return _plain(out)


def _accuracy(predictions, chosen, mode, replicates, seed) -> tuple[dict, dict]:
    systems = ordered({*CORE, *predictions["system"]})
    accuracy = {name: dict.fromkeys(("value", "low", "high", "n")) for name in systems}
    pairs = [*_GAINS, *(("synco", name) for name in systems if name not in CORE)]
    gains = {f"{a}_minus_{b}": dict.fromkeys(("value", "low", "high")) for a, b in pairs}
    if chosen is None:
        return accuracy, gains
    rows = predictions.filter(pl.col("mode") == mode)
    if chosen != AVERAGE:
        rows = rows.filter(pl.col("benchmark") == chosen)
    table = accuracy_table(rows, replicates, seed).filter(pl.col("benchmark") == chosen)
    for row in table.iter_rows(named=True):
        accuracy[row["system"]] = {key: row[key] for key in ("value", "low", "high", "n")}
    for a, b in pairs:
        interval = gain(rows, a, b, chosen, mode, replicates, seed)
        if interval is not None:
            gains[f"{a}_minus_{b}"] = {"value": interval.value, "low": interval.low, "high": interval.high}
    return accuracy, gains


def _ends(metrics: pl.DataFrame | None) -> dict[str, float | None]:
    if metrics is None or metrics.is_empty():
        return {"first": None, "last": None}
    rate = pl.col("gradient_bearing_rate").cast(pl.Float64, strict=False).fill_nan(None)
    rows = metrics.select("iteration", rate)
    last = rows["iteration"].max()
    tenth = max(1, math.ceil(last / 10))
    return {
        "first": rows.filter(pl.col("iteration") <= tenth)["gradient_bearing_rate"].mean(),
        "last": rows.filter(pl.col("iteration") > last - tenth)["gradient_bearing_rate"].mean(),
    }


def _statement(metrics, memory, chosen, names, mode, accuracy, seeds, models, weights, replicates) -> list[str]:
    size = "" if weights is None else f" ({weights:,} weights each)"
    ran = [
        f"{name}: {frame['iteration'].max() or 0} iterations x {frame['seed'].n_unique()} seed(s)"
        + (f", {memory[name].height} cards proposed, {int(memory[name]['admitted'].sum())} admitted" if name in memory else "")
        for name, frame in ((name, metrics[name]) for name in ordered(metrics))
    ]
    missing = [name for name in _VARIANTS if name not in metrics]
    tasks = max((entry["n"] or 0 for entry in accuracy.values()), default=0)
    what = f"the unweighted average of {', '.join(names)}" if chosen == AVERAGE else f"that on {chosen}"
    lines = [
        f"Both agents are {models}{size}; results at this size are not evidence about large models.",
        f"Co-training ran as {'; '.join(ran)}." if ran else "No co-training variant was run.",
    ]
    if missing:
        lines.append(f"Not run: {', '.join(missing)}; their entries are null.")
    if chosen is not None:
        lines.append(f"Accuracy is {what} under {mode} decoding, {tasks} tasks with a readable reference.")
    lines.append(
        f"Intervals are 95% percentile bootstraps over tasks and seeds ({replicates} replicates); "
        f"gains are paired by task. With {len(seeds)} seed(s) the seed part is coarse, and vanilla has one seed."
    )
    lines.append("Iteration times are medians on a machine that may have had other work; they are not reproducible.")
    return lines


def _plain(value):
    """Plain JSON types, floats at four digits, NaN and infinities as None."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return round(value, 4) + 0.0 if math.isfinite(value) else None
    return value
