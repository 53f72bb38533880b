"""Estimates with 95% intervals: accuracy, paired differences, proportions, correlations, ratios.

Design: section 7 (bootstrap over tasks, paired for two systems). Choices and their limits:

* Accuracy intervals are percentile bootstraps that resample tasks and seeds, crossed: one replicate draws tasks with
  replacement and training seeds with replacement and averages every drawn seed on every drawn task. With three seeds
  only ten distinct seed samples exist, so the seed part is coarse and tends to be too narrow; with one seed (vanilla)
  only tasks vary. Simulated with three seeds and 200 tasks, intervals covered the truth 95% of the time for seeds
  that differ by 0.2 logits (about 5 points of accuracy) and 87% for 0.4 logits.
* A percentile bootstrap of an all-right or all-wrong system collapses to a point. That is a limit of the method, not
  certainty.
* In a difference both systems see the same resampled tasks; their seeds are resampled independently, since runs of
  two variants that share a seed number are different training runs.
* Cards are counted with Wilson intervals, which take cards as independent. Cards of one run are not quite, so these
  intervals are a lower bound on the uncertainty; spread over seeds is shown wherever there are several.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

REPLICATES = 2000
Z95 = 1.959963984540054
_CELLS = 2_000_000  # resampling weights held at once (16 MB)


class Interval(NamedTuple):
    """An estimate and its 95% interval; all None where nothing can be said. ``n`` is the number of units behind it."""

    value: float | None
    low: float | None
    high: float | None
    n: int


def matrix(frame: pl.DataFrame, value: str = "correct", items: Sequence[str] | None = None) -> np.ndarray:
    """Seeds x tasks float matrix of ``value`` (columns ``seed``, ``item``, ``value``); NaN where null or absent.

    Several draws of one (seed, item) are averaged, nulls left out. Rows are sorted seeds, columns sorted items, or
    ``items``.
    """
    cells = frame.group_by("seed", "item", maintain_order=True).agg(pl.col(value).cast(pl.Float64).mean())
    seeds = sorted(cells["seed"].unique().to_list())
    names = sorted(cells["item"].unique().to_list()) if items is None else list(items)
    row = {seed: i for i, seed in enumerate(seeds)}
    column = {item: j for j, item in enumerate(names)}
    out = np.full((len(seeds), len(names)), np.nan)
    for seed, item, cell in cells.iter_rows():
        if cell is not None and item in column:
            out[row[seed], column[item]] = cell
    return out


def mean_interval(
    data: pl.DataFrame | np.ndarray | Sequence[np.ndarray], replicates: int = REPLICATES, seed: int = 0
) -> Interval:
    """Mean over seeds and tasks with the crossed bootstrap interval.

    ``data``: a frame with columns seed, item, correct; or a seeds x tasks matrix (NaN = not to be counted); or a list
    of such matrices over the same seeds, one per benchmark, whose means are averaged with equal weight (the papers'
    "Avg."). Tasks with no value are left out; ``n`` counts the rest. Nothing left gives an Interval of None.
    """
    strata = [_counted(part) for part in _strata(data)]
    if not strata or any(part.size == 0 for part in strata):
        return Interval(None, None, None, 0)
    (draws,) = _replicates([strata], replicates, np.random.default_rng(seed))
    value = float(np.mean([np.nanmean(part) for part in strata]))
    return Interval(value, *_percentiles(draws), sum(part.shape[1] for part in strata))


def paired_difference(
    left: np.ndarray | Sequence[np.ndarray],
    right: np.ndarray | Sequence[np.ndarray],
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Interval:
    """Mean of ``left`` minus mean of ``right`` on the same tasks, with the paired interval.

    Both are seeds x tasks matrices (or lists of them, one per benchmark) whose columns are the same tasks in the same
    order; the numbers of seeds may differ. Tasks without a value on either side are left out. Raises ValueError if
    the tasks differ.
    """
    lefts, rights = _strata(left), _strata(right)
    if [part.shape[1] for part in lefts] != [part.shape[1] for part in rights]:
        raise ValueError("paired_difference: the two sides have different tasks; build both with matrix(..., items=common)")
    pairs = [_counted(a, b) for a, b in zip(lefts, rights, strict=True)]
    if not pairs or any(a.size == 0 for a, _ in pairs):
        return Interval(None, None, None, 0)
    sides = [[a for a, _ in pairs], [b for _, b in pairs]]
    a, b = _replicates(sides, replicates, np.random.default_rng(seed))
    means = [np.mean([np.nanmean(part) for part in side]) for side in sides]
    return Interval(float(means[0] - means[1]), *_percentiles(a - b), sum(part.shape[1] for part in sides[0]))


def proportion(successes: float, n: int) -> Interval:
    """Share ``successes / n`` with the Wilson score interval; None for n = 0. ``successes`` may be an expected number.

    Raises ValueError unless 0 <= successes <= n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"proportion: {successes} successes among {n}: need 0 <= successes <= n")
    if n == 0:
        return Interval(None, None, None, 0)
    share = successes / n
    centre = (share + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    half = Z95 / (1 + Z95**2 / n) * math.sqrt(share * (1 - share) / n + Z95**2 / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Interval(share, low, high, n)


def pearson(x: pl.Series, y: pl.Series) -> Interval:
    """Pearson correlation of two series (point-biserial when one is boolean) with Fisher's z interval.

    Pairs with a null or NaN are left out; ``n`` counts the rest. A constant side or fewer than three pairs has no
    correlation: value None. The interval needs four pairs and is the point itself at +-1.
    """
    pairs = pl.DataFrame({"x": x.cast(pl.Float64), "y": y.cast(pl.Float64)}).fill_nan(None).drop_nulls().to_numpy()
    n = len(pairs)
    # max == min is exact where a variance of identical floats need not be
    if n < 3 or any(column.max() == column.min() for column in pairs.T):
        return Interval(None, None, None, n)
    centred = pairs - pairs.mean(axis=0)
    r = float(np.clip(centred[:, 0] @ centred[:, 1] / np.sqrt((centred**2).sum(axis=0).prod()), -1.0, 1.0))
    if abs(r) > 1 - 1e-12:
        r = math.copysign(1.0, r)
        return Interval(r, r, r, n)
    if n < 4:
        return Interval(r, None, None, n)
    z, half = math.atanh(r), Z95 / math.sqrt(n - 3)
    return Interval(r, math.tanh(z - half), math.tanh(z + half), n)


def ratio(left: np.ndarray, right: np.ndarray, statistic=np.median, replicates: int = REPLICATES, seed: int = 0) -> Interval:
    """``statistic(left) / statistic(right)`` for two independent 1-d samples, each resampled on its own.

    ``statistic`` is a numpy reduction that takes ``axis`` (np.median, np.mean). None if a side is empty or the
    denominator is 0; replicates with a zero denominator are dropped. ``n`` is the size of the smaller sample.
    """
    left, right = (np.asarray(side, dtype=float) for side in (left, right))
    n = min(left.size, right.size)
    if n == 0 or statistic(right) == 0:
        return Interval(None, None, None, n)
    rng = np.random.default_rng(seed)
    above, below = (_resampled(side, statistic, replicates, rng) for side in (left, right))
    with np.errstate(divide="ignore", invalid="ignore"):
        draws = np.where(below == 0, np.nan, above / below)
    return Interval(float(statistic(left) / statistic(right)), *_percentiles(draws), n)


def statistic_interval(sample: np.ndarray, statistic=np.median, replicates: int = REPLICATES, seed: int = 0) -> Interval:
    """``statistic(sample)`` of a 1-d sample with its bootstrap interval; values that are NaN or null are left out, None if none is left.

    ``statistic`` is a numpy reduction that takes ``axis`` (np.median, np.mean).
    """
    sample = np.asarray(sample, dtype=float)
    sample = sample[~np.isnan(sample)]
    if sample.size == 0:
        return Interval(None, None, None, 0)
    draws = _resampled(sample, statistic, replicates, np.random.default_rng(seed))
    return Interval(float(statistic(sample)), *_percentiles(draws), sample.size)


def _strata(data) -> list[np.ndarray]:
    if isinstance(data, pl.DataFrame):
        return [matrix(data)]
    if isinstance(data, np.ndarray):
        return [np.atleast_2d(data)]
    return [np.atleast_2d(part) for part in data]


def _counted(*sides: np.ndarray):
    """The sides without the tasks that lack a value on any of them."""
    keep = np.logical_and.reduce([~np.isnan(side).all(axis=0) for side in sides])
    kept = tuple(side[:, keep] for side in sides)
    return kept if len(sides) > 1 else kept[0]


def _replicates(systems: list[list[np.ndarray]], replicates: int, rng: np.random.Generator) -> np.ndarray:
    """(systems, replicates) bootstrap means. Tasks are shared by the systems, seeds by the benchmarks of one system."""
    seeds = [rng.multinomial(n, np.full(n, 1 / n), size=replicates) for n in (side[0].shape[0] for side in systems)]
    totals = np.zeros((len(systems), replicates))
    for stratum in zip(*systems, strict=True):
        tasks = stratum[0].shape[1]
        filled = [(np.nan_to_num(part).T, (~np.isnan(part)).T.astype(float)) for part in stratum]
        step = max(1, _CELLS // tasks)
        for start in range(0, replicates, step):
            block = slice(start, min(start + step, replicates))
            # counts of each task in each replicate: drawing indices and counting them is the same, but slower
            weights = rng.multinomial(tasks, np.full(tasks, 1 / tasks), size=block.stop - start).astype(float)
            for s, (values, present) in enumerate(filled):
                weight = (weights @ present * seeds[s][block]).sum(axis=1)
                total = (weights @ values * seeds[s][block]).sum(axis=1)
                totals[s, block] += np.divide(total, weight, out=np.full_like(total, np.nan), where=weight > 0)
    return totals / len(systems[0])


def _resampled(sample: np.ndarray, statistic, replicates: int, rng: np.random.Generator) -> np.ndarray:
    step = max(1, _CELLS // sample.size)
    blocks = [min(step, replicates - start) for start in range(0, replicates, step)]
    return np.concatenate([statistic(sample[rng.integers(sample.size, size=(b, sample.size))], axis=1) for b in blocks])


def _percentiles(draws: np.ndarray) -> tuple[float | None, float | None]:
    draws = draws[~np.isnan(draws)]
    if draws.size == 0:
        return None, None
    low, high = np.percentile(draws, [2.5, 97.5])
    return float(low), float(high)
