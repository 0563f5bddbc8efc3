"""Uncertainty: bootstrap intervals over queries, sign randomisation tests, Holm's correction, seeds.

Owns: the paper's "Query uncertainty" and "Significance". Works on plain arrays with queries as rows; all
columns are resampled together, so they stay paired by query. Ignores what the values measure.

Intervals say how the mean would vary over other queries with the models as they are; seed summaries say how
it varies over training runs. Neither covers the other.

Everything is drawn in blocks of a few megabytes from a fixed seed: the same input gives the same output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rars.arrays import Doubles
from rars.errors import RarsError

DRAWS = 10_000
LEVEL = 0.95
_CELLS = 1 << 20


@dataclass(frozen=True)
class Estimate:
    """A mean and its interval."""

    mean: float
    low: float
    high: float

    def as_dict(self) -> dict[str, float]:
        """The same as plain JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Seeds:
    """One number per training run: how many, their mean, and their sample standard deviation."""

    n: int
    mean: float
    sd: float | None
    """Divides by n - 1; None for a single run, which says nothing about spread."""

    def as_dict(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return asdict(self)


def estimates(
    values: npt.ArrayLike, *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0
) -> list[Estimate]:
    """Mean and percentile bootstrap interval of every column of (queries, columns).

    For a paired interval give the differences of two systems, query by query.

    >>> one = estimates(np.arange(100.0), seed=1)[0]
    >>> one.mean, round(one.low), round(one.high)
    (49.5, 44, 55)
    """
    matrix = _matrix(values)
    means = resampled_means(matrix, draws=draws, seed=seed)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    columns = zip(matrix.mean(axis=0), low, high, strict=True)
    return [Estimate(float(mean), float(a), float(b)) for mean, a, b in columns]


def resampled_means(values: npt.ArrayLike, *, draws: int = DRAWS, seed: int = 0) -> Doubles:
    """(draws, columns): means over queries drawn with replacement, the same ones for every column."""
    matrix = _matrix(values)
    n = len(matrix)
    random = np.random.default_rng(seed)
    means = np.empty((draws, matrix.shape[1]))
    for block in _blocks(draws, n):
        rows = block.stop - block.start
        # How often each query was drawn: then a mean of every column is one matrix product.
        means[block] = _times(random, rows, n) @ matrix / n
    return means


def crossed_estimates(
    values: npt.ArrayLike, *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0
) -> list[Estimate]:
    """Mean and interval of every column of (replicates, queries, columns).

    Queries and replicates are drawn with replacement, independently of each other: the interval covers the
    choice of both.

    >>> one = crossed_estimates(np.arange(100.0).reshape(1, 100, 1), seed=1)[0]
    >>> one.mean, round(one.low), round(one.high)
    (49.5, 44, 55)
    """
    cube = np.asarray(values, dtype=np.float64)
    if cube.ndim != 3 or not cube.size or not np.isfinite(cube).all():
        raise RarsError("A crossed bootstrap needs a finite value for every replicate and query.")
    n_replicates, n, width = cube.shape
    random = np.random.default_rng(seed)
    means = np.empty((draws, width))
    flat = cube.transpose(1, 0, 2).reshape(n, -1)
    for block in _blocks(draws, max(n, n_replicates)):
        rows = block.stop - block.start
        over = (_times(random, rows, n) @ flat / n).reshape(rows, n_replicates, width)
        means[block] = (
            np.einsum("br,brc->bc", _times(random, rows, n_replicates), over) / n_replicates
        )
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    columns = zip(cube.mean(axis=(0, 1)), low, high, strict=True)
    return [Estimate(float(mean), float(a), float(b)) for mean, a, b in columns]


def sign_test(differences: npt.ArrayLike, *, draws: int = DRAWS, seed: int = 0) -> Doubles:
    """Two-sided p of every column of (queries, columns): is the mean difference zero?

    If two systems were the same, each query's difference could as well have had the other sign. The p-value
    is the share of sign patterns whose mean is at least as far from zero: of all patterns where there are
    at most ``draws`` of them (queries without a difference do not count), else of ``draws`` random ones
    together with the observed one, (1 + as far) / (1 + draws).

    >>> sign_test([1.0, 1.0, 1.0, 1.0]).tolist()
    [0.125]
    """
    matrix = _matrix(differences)
    _check_draws(draws)
    p = np.ones(matrix.shape[1])
    few = np.count_nonzero(matrix, axis=0) <= np.log2(draws)
    for index in np.flatnonzero(few):
        p[index] = _every_pattern(matrix[:, index])
    if not few.all():
        p[~few] = _random_patterns(matrix[:, ~few], draws, seed)
    return p


def holm(p: npt.ArrayLike) -> Doubles:
    """Holm's adjusted p-values for one declared family of tests.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise RarsError("Holm's correction needs a list of p-values between 0 and 1.")
    order = np.argsort(values, kind="stable")
    raised = values[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return adjusted


def seed_summary(values: Sequence[float]) -> Seeds:
    """Mean and sample standard deviation over training runs.

    >>> seed_summary([1.0, 2.0, 3.0])
    Seeds(n=3, mean=2.0, sd=1.0)
    """
    runs = np.asarray(values, dtype=np.float64)
    if runs.ndim != 1 or not len(runs) or not np.isfinite(runs).all():
        raise RarsError("A seed summary needs one finite number per run.")
    spread = float(runs.std(ddof=1)) if len(runs) > 1 else None
    return Seeds(len(runs), float(runs.mean()), spread)


def seed_differences(system: Sequence[float], reference: Sequence[float]) -> Seeds:
    """Differences within each seed: both lists hold the same seeds in the same order.

    >>> seed_differences([3.0, 5.0], [2.0, 3.0]).mean
    1.5
    """
    if len(system) != len(reference):
        raise RarsError(
            f"Within-seed differences need the same seeds, not {len(system)} against {len(reference)}."
        )
    return seed_summary((np.asarray(system, float) - np.asarray(reference, float)).tolist())


def _times(random: np.random.Generator, rows: int, n: int) -> Doubles:
    """(rows, n) how often each of n is drawn when n are drawn with replacement."""
    drawn = random.integers(n, size=(rows, n))
    drawn += np.arange(0, rows * n, n)[:, None]
    times = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
    return times.astype(np.float64)


def _every_pattern(differences: Doubles) -> float:
    kept = differences[differences != 0]
    patterns = np.arange(2 ** len(kept))[:, None] >> np.arange(len(kept)) & 1
    return float(_as_far(patterns.astype(np.float64), kept[:, None]).mean())


def _random_patterns(matrix: Doubles, draws: int, seed: int) -> Doubles:
    random = np.random.default_rng(seed)
    n = len(matrix)
    reached = np.zeros(matrix.shape[1])
    for block in _blocks(draws, n):
        rows = block.stop - block.start
        packed = random.integers(256, size=(rows, (n + 7) // 8), dtype=np.uint8)
        flipped = np.unpackbits(packed, axis=1, count=n).astype(np.float64)
        reached += _as_far(flipped, matrix).sum(axis=0)
    return np.asarray((1 + reached) / (1 + draws))


def _as_far(flipped: Doubles, matrix: Doubles) -> npt.NDArray[np.bool_]:
    """Whether each pattern (patterns, n) of flipped signs puts the sum at least as far from zero."""
    observed = matrix.sum(axis=0)
    # Patterns with the same sum must count as equal, whatever order their terms were added in.
    slack = 1e-10 * np.abs(matrix).sum(axis=0)
    return np.asarray(np.abs(observed - 2 * (flipped @ matrix)) >= np.abs(observed) - slack)


def _blocks(draws: int, n: int) -> Iterator[slice]:
    _check_draws(draws)
    step = max(1, _CELLS // n)
    for start in range(0, draws, step):
        yield slice(start, min(start + step, draws))


def _check_draws(draws: int) -> None:
    if draws < 1:
        raise RarsError(f"At least one draw is needed, not {draws}.")


def _matrix(values: npt.ArrayLike) -> Doubles:
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2 or not len(matrix):
        raise RarsError("Statistics need at least one query.")
    if not np.isfinite(matrix).all():
        raise RarsError("Statistics need a finite value for every query.")
    return matrix
