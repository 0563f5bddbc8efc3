"""Random numbers that depend on a key and a position, never on what was drawn before.

Owns: a 64-bit mixing function (a counter times an odd constant, then xor-shifts and multiplications), for
arrays and for single draws. Because nothing is sequential, item 7,000,000 can be made without the items
before it, and the size of a chunk changes nothing. Ignores what the numbers decide.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from rars.arrays import Doubles

T = TypeVar("T")

_STEP = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB
_MASK = 2**64 - 1


def key(*parts: int | str) -> int:
    """One 64-bit key for a list of names and numbers.

    >>> key(0, "items") == key(0, "items"), key(0, "items") == key(1, "items")
    (True, False)
    """
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def uniforms(stream: int, positions: npt.NDArray[np.integer]) -> Doubles:
    """One number in [0, 1) for each position of a stream.

    >>> whole = uniforms(key("demo"), np.arange(10))
    >>> bool((whole[4:7] == uniforms(key("demo"), np.arange(4, 7))).all())
    True
    """
    return _mixed(positions.astype(np.uint64) * np.uint64(_STEP) + np.uint64(stream))


def _mixed(z: npt.NDArray[np.uint64]) -> Doubles:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_FIRST)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_SECOND)
    z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


def uniform_table(streams: npt.NDArray[np.uint64], positions: npt.NDArray[np.integer]) -> Doubles:
    """The numbers of several streams, (positions, streams).

    >>> table = uniform_table(np.array([key("a"), key("b")], dtype=np.uint64), np.arange(3))
    >>> bool((table[:, 1] == uniforms(key("b"), np.arange(3))).all())
    True
    """
    return _mixed(positions.astype(np.uint64)[:, None] * np.uint64(_STEP) + streams)


def zipf(count: int, exponent: float) -> Doubles:
    """Cumulative shares of ranks 1..count under a power law, ending in exactly 1.

    >>> zipf(2, 1.0).round(3).tolist()
    [0.667, 1.0]
    """
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    shares = np.cumsum(weights / weights.sum())
    shares[-1] = 1.0
    return shares


class Draw:
    """A short sequence of draws for one query; two of the same key give the same sequence."""

    def __init__(self, stream: int) -> None:
        self._stream = stream
        self._count = 0

    def uniform(self) -> float:
        """The next number in [0, 1)."""
        z = (self._count * _STEP + self._stream) & _MASK
        self._count += 1
        z = ((z ^ (z >> 30)) * _FIRST) & _MASK
        z = ((z ^ (z >> 27)) * _SECOND) & _MASK
        return ((z ^ (z >> 31)) >> 11) * 2.0**-53

    def chance(self, share: float) -> bool:
        """True in this share of the cases."""
        return self.uniform() < share

    def below(self, count: int) -> int:
        """A whole number in 0..count-1."""
        return int(self.uniform() * count)

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, all equally likely."""
        return options[self.below(len(options))]

    def weighted(self, options: Sequence[T], weights: Sequence[float]) -> T:
        """One of the options, likely in proportion to its weight."""
        left = self.uniform() * sum(weights)
        for option, weight in zip(options, weights, strict=True):
            left -= weight
            if left < 0:
                return option
        return options[-1]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """The options in a random order."""
        ranks = [self.uniform() for _ in options]
        return [options[i] for i in sorted(range(len(options)), key=ranks.__getitem__)]

    def some(self, rows: npt.NDArray[np.int32], count: int) -> npt.NDArray[np.int32]:
        """At most ``count`` different entries of an array, in random order."""
        if len(rows) == 0 or count <= 0:
            return rows[:0]
        stream = int(self.uniform() * 2**53)
        if len(rows) > 64 * count:
            # Few out of many: draw positions, a short overshoot makes up for repeats.
            places = uniforms(stream, np.arange(2 * count + 8)) * len(rows)
            _, first = np.unique(places.astype(np.int64), return_index=True)
            return rows[places.astype(np.int64)[np.sort(first)[:count]]]
        ranks = uniforms(stream, np.arange(len(rows)))
        chosen = (
            np.argpartition(ranks, count)[:count] if count < len(rows) else np.arange(len(rows))
        )
        return rows[chosen[np.argsort(ranks[chosen])]]
