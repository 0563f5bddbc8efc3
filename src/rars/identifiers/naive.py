"""Identifiers without meaning: every item gets its own random number, written in decimal digits.

Owns: a random permutation of all numbers of D digits, computed, not stored. The i-th item gets the i-th
number of the permutation, so numbers never repeat and a new item needs no search for a free one. Ignores
vectors.

The permutation is a small Feistel network on number = left * width + right: each round adds a hash of one
half to the other half, modulo that half's range, which can always be undone; so no two inputs meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rars.arrays import Codes, Floats, Longs, Points
from rars.config import NoSettings
from rars.errors import RarsError
from rars.identifiers.keys import row_keys
from rars.identifiers.learner import Learner, Scene
from rars.identifiers.quantizer import Distances, Tensors

_ROUNDS = 8
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class RandomDigits:
    """All numbers of ``digits`` decimal digits in a random order fixed by ``seed``.

    >>> len({tuple(code) for code in RandomDigits(2, seed=0).number(np.arange(100)).tolist()})
    100
    """

    kind: ClassVar[str] = "random digits"
    shared_codebooks: ClassVar[bool] = False
    additive: ClassVar[bool] = False
    takes_vectors: ClassVar[bool] = False
    variable_length: ClassVar[bool] = False

    digits: int
    seed: int

    @staticmethod
    def for_items(count: int, seed: int) -> RandomDigits:
        """Enough digits for the catalogue and as many new items again."""
        return RandomDigits(max(1, len(str(2 * count - 1))), seed)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Ten codes per depth."""
        return (10,) * self.digits

    @property
    def inputs(self) -> int:
        """It takes no vectors."""
        return 0

    def number(self, positions: Longs) -> Codes:
        """The digits of the numbers at these positions of the permutation, (n, digits)."""
        if len(positions) and int(positions.max()) >= 10**self.digits:
            raise RarsError(
                f"Identifiers of {self.digits} random digits are used up; learn them again."
            )
        values = self._permuted(positions.astype(np.uint64))
        places = 10 ** np.arange(self.digits - 1, -1, -1, dtype=np.uint64)
        return (values[:, None] // places % np.uint64(10)).astype(np.int32)

    def place_new(self, count: int, taken: Codes) -> Codes:
        """The first numbers of the permutation, from the number of taken ones on, that are free."""
        found = np.zeros(0, dtype=np.int64)
        start = len(taken)
        while len(found) < count:
            tried = np.arange(start, start + count - len(found), dtype=np.int64)
            keys = row_keys(np.concatenate([taken, self.number(tried)]))
            free = ~np.isin(keys[len(taken) :], keys[: len(taken)])
            found = np.concatenate([found, tried[free]])
            start += len(tried)
        return self.number(found)

    def encode(self, vectors: Floats) -> Codes:
        """Not possible: a random number does not follow from a vector."""
        raise RarsError(
            "Random digits cannot encode vectors; use Identifiers.assign for new items."
        )

    def last_distances(self, vectors: Floats, codes: Codes) -> Distances:
        """Not possible, as ``encode``."""
        raise RarsError("Random digits have no distances; the only collision policy is 'share'.")

    def codewords(self, depth: int) -> Points:
        """Not possible: a digit stands for nothing."""
        raise RarsError("Random digits have no codewords.")

    def project(self, vectors: Floats) -> Points:
        """Not possible, as ``encode``."""
        raise RarsError("Random digits have no codewords to compare a vector with.")

    def reconstruct(self, codes: Codes) -> Points:
        """Not possible, as ``encode``."""
        raise RarsError("Random digits have no codewords to rebuild a vector from.")

    def decode(self, codes: Codes) -> Points:
        """Not possible: digits stand for nothing."""
        return self.reconstruct(codes)

    def similarities(self, vectors: Floats, codes: Codes) -> Points:
        """Not possible, as ``encode``."""
        raise RarsError("Random digits have no codewords to compare a vector with.")

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """The two numbers that make the permutation."""
        return {"digits": np.array([self.digits]), "seed": np.array([self.seed])}

    @classmethod
    def restore(cls, tensors: Tensors) -> RandomDigits:
        """Build it again from ``tensors``."""
        return cls(int(tensors["digits"][0]), int(tensors["seed"][0]))

    def _permuted(self, values: Words) -> Words:
        width = np.uint64(10 ** ((self.digits + 1) // 2))
        height = np.uint64(10 ** (self.digits // 2))
        left, right = values // width, values % width
        keys = np.random.default_rng(self.seed).integers(0, 2**63, 2 * _ROUNDS, dtype=np.uint64)
        for key_left, key_right in keys.reshape(-1, 2):
            left = (left + _mixed(right ^ key_left) % height) % height
            right = (right + _mixed(left ^ key_right) % width) % width
        return left * width + right


def _mixed(words: Words) -> Words:
    """Scatter the bits of each word: xor-shifts and odd multiplications, modulo 2^64."""
    words = (words ^ (words >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(29))) * np.uint64(0xD6E8FEB86659FD93)
    return words ^ (words >> np.uint64(32))


def _fit(scene: Scene, settings: NoSettings) -> RandomDigits:
    return RandomDigits.for_items(scene.dataset.n_items, scene.seed)


LEARNER = Learner(
    about="random decimal digits, every number once: identifiers without meaning, as a control",
    settings=NoSettings,
    fit=_fit,
    defaults={"collisions": "share"},
    takes_sizes=False,
    needs_vectors=False,
)
