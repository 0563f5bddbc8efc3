"""What is true of every item: small integer arrays, made in chunks.

Owns: drawing leaf, brand, product line, field values and features of the items from their position alone,
and finding the items of a leaf. Ignores words and queries. About 14 bytes per item, so that ten million
items fit in 200 MB.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from rars.arrays import Doubles
from rars.data.shop.draws import key, uniforms, zipf
from rars.data.shop.world import (
    BRAND_SKEW,
    LINES_PER_BRAND,
    MAX_FEATURES,
    MAX_FIELDS,
    VALUE_SKEW,
    Leaf,
    World,
    world,
)

Rows = npt.NDArray[np.int32]

NO_LINE = -1


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts of items in catalogue order.

    Shapes: ``leaf``, ``brand``, ``line``, ``features`` are (items,); ``values`` is (items, MAX_FIELDS)
    and holds, for each field of the item's leaf, the position of its value in ``Field.values``. Bit k of
    ``features`` says whether the item has the leaf's feature k.
    """

    leaf: npt.NDArray[np.int16]
    brand: npt.NDArray[np.int16]
    line: npt.NDArray[np.int16]
    values: npt.NDArray[np.int8]
    features: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.leaf)

    @cached_property
    def _by_leaf(self) -> tuple[Rows, npt.NDArray[np.int64]]:
        order = np.argsort(self.leaf, kind="stable").astype(np.int32)
        starts = np.searchsorted(self.leaf[order], np.arange(len(world().leaves) + 1))
        return order, starts

    def rows_of(self, leaf: int) -> Rows:
        """The items of a leaf, in catalogue order."""
        order, starts = self._by_leaf
        return order[starts[leaf] : starts[leaf + 1]]

    @staticmethod
    def joined(parts: list[Facts]) -> Facts:
        """The facts of consecutive chunks as one."""
        return Facts(
            leaf=np.concatenate([part.leaf for part in parts]),
            brand=np.concatenate([part.brand for part in parts]),
            line=np.concatenate([part.line for part in parts]),
            values=np.concatenate([part.values for part in parts]),
            features=np.concatenate([part.features for part in parts]),
        )


def make_facts(seed: int, start: int, stop: int) -> Facts:
    """The facts of items ``start`` to ``stop``; a larger shop of the same seed begins with the same items.

    >>> whole, part = make_facts(0, 0, 50), make_facts(0, 20, 30)
    >>> bool((whole.values[20:30] == part.values).all())
    True
    """
    count, earth = stop - start, world()
    leaf = _leaves(earth, _uniform(seed, "leaf", start, stop))
    brand = np.zeros(count, dtype=np.int16)
    line = np.full(count, NO_LINE, dtype=np.int16)
    values = np.zeros((count, MAX_FIELDS), dtype=np.int8)
    features = np.zeros(count, dtype=np.uint8)
    by_brand = _uniform(seed, "brand", start, stop)
    by_line = _uniform(seed, "line", start, stop)
    by_field = [_uniform(seed, f"field {slot}", start, stop) for slot in range(MAX_FIELDS)]
    by_feature = [_uniform(seed, f"feature {bit}", start, stop) for bit in range(MAX_FEATURES)]
    for spec in earth.leaves:
        rows = np.flatnonzero(leaf == spec.index)
        for slot, field in enumerate(spec.fields):
            shares = zipf(len(field.values), VALUE_SKEW)
            values[rows, slot] = np.searchsorted(shares, by_field[slot][rows], side="right")
        brand[rows] = _brand(earth, spec, values[rows], by_brand[rows])
        if not spec.is_device:
            which = (by_line[rows] * LINES_PER_BRAND).astype(np.int64)
            line[rows] = earth.lines(brand[rows].astype(np.int64), spec.index, which)
        for bit, name in enumerate(spec.features):
            has = by_feature[bit][rows] < feature_share(spec.key, name)
            features[rows] |= has.astype(np.uint8) << np.uint8(bit)
    return Facts(leaf, brand, line, values, features)


@cache
def feature_share(leaf: str, feature: str) -> float:
    """How many items of a leaf have a feature: a fixed share between 30 % and 70 %."""
    return 0.3 + 0.4 * (key("feature share", leaf, feature) % 1000) / 1000


def _uniform(seed: int, what: str, start: int, stop: int) -> Doubles:
    return uniforms(key(seed, "items", what), np.arange(start, stop, dtype=np.int64))


def _leaves(earth: World, draw: Doubles) -> npt.NDArray[np.int16]:
    ranks = np.searchsorted(earth.leaf_shares, draw, side="right")
    return np.array(earth.by_popularity, dtype=np.int16)[ranks]


def _brand(
    earth: World, leaf: Leaf, values: npt.NDArray[np.int8], draw: Doubles
) -> npt.NDArray[np.int16]:
    if leaf.is_device and leaf.device_slot is not None:
        field = leaf.fields[leaf.device_slot]
        owners = np.array([earth.brand_of_device(name) for name in field.values], dtype=np.int16)
        return owners[values[:, leaf.device_slot]]
    ranked = np.array(leaf.brands, dtype=np.int16)
    return ranked[np.searchsorted(zipf(len(ranked), BRAND_SKEW), draw, side="right")]
