"""What is true of every item: small integer arrays, made in chunks.

Owns: drawing leaf, brand, product line, field values and features of the items from their position alone,
and finding the items of a leaf. Copies of a product (``families``) have the facts of its first offer. Ignores
words and queries. 20 bytes per item, so that ten million items fit in 200 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from rars.arrays import Bools, Doubles, Longs
from rars.data.shop.draws import key, uniforms, zipf
from rars.data.shop.families import changed_slot, roots
from rars.data.shop.realism import TIDY, Realism
from rars.data.shop.themes import NO_THEME, SKEW, themes
from rars.data.shop.world import (
    BRAND_SKEW,
    LEAF_SKEW,
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
    ``features`` says whether the item has the leaf's feature k. ``root`` is the position of the product's
    first offer, ``theme`` the product's theme, ``numbered`` whether its offers print a number.
    """

    leaf: npt.NDArray[np.int16]
    brand: npt.NDArray[np.int16]
    line: npt.NDArray[np.int16]
    values: npt.NDArray[np.int8]
    features: npt.NDArray[np.uint8]
    root: Rows
    theme: npt.NDArray[np.int16]
    numbered: Bools

    def __len__(self) -> int:
        return len(self.leaf)

    @cached_property
    def by_leaf(self) -> Rows:
        """All items, leaf by leaf, each in catalogue order."""
        return np.argsort(self.leaf, kind="stable").astype(np.int32)

    @cached_property
    def _starts(self) -> Longs:
        return np.searchsorted(self.leaf[self.by_leaf], np.arange(len(world().leaves) + 1))

    def range_of(self, leaf: int) -> tuple[int, int]:
        """Where the items of a leaf begin and end in ``by_leaf``."""
        return int(self._starts[leaf]), int(self._starts[leaf + 1])

    def rows_of(self, leaf: int) -> Rows:
        """The items of a leaf, in catalogue order."""
        start, stop = self.range_of(leaf)
        return self.by_leaf[start:stop]

    @staticmethod
    def joined(parts: Sequence[Facts]) -> Facts:
        """The facts of consecutive chunks as one."""
        return Facts(
            *(np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(Facts))
        )


def make_facts(seed: int, start: int, stop: int, realism: Realism = TIDY) -> Facts:
    """The facts of items ``start`` to ``stop``; a larger shop of the same seed begins with the same items.

    >>> whole, part = make_facts(0, 0, 50), make_facts(0, 20, 30)
    >>> bool((whole.values[20:30] == part.values).all())
    True
    """
    count, earth = stop - start, world()
    places = np.arange(start, stop, dtype=np.int64)
    root = roots(seed, places, realism.copies)
    copy = root != places
    leaf = _leaves(earth, _uniform(seed, "leaf", root), LEAF_SKEW + realism.skew)
    brand = np.zeros(count, dtype=np.int16)
    line = np.full(count, NO_LINE, dtype=np.int16)
    values = np.zeros((count, MAX_FIELDS), dtype=np.int8)
    features = np.zeros(count, dtype=np.uint8)
    theme = np.full(count, NO_THEME, dtype=np.int16)
    by_brand = _uniform(seed, "brand", root)
    by_line = _uniform(seed, "line", root)
    by_field = [_uniform(seed, f"field {slot}", root) for slot in range(MAX_FIELDS)]
    by_feature = [_uniform(seed, f"feature {bit}", root) for bit in range(MAX_FEATURES)]
    has_theme = _uniform(seed, "themed", root) < realism.themed
    by_theme = _uniform(seed, "theme", root)
    for spec in earth.leaves:
        rows = np.flatnonzero(leaf == spec.index)
        changed = np.where(copy[rows], changed_slot(seed, places[rows], len(spec.fields)), -1)
        for slot, field in enumerate(spec.fields):
            shares = zipf(len(field.values), VALUE_SKEW)
            # What fits a device, or is one, is another product if that changes.
            own = (changed == slot) & (not field.devices)
            draw = np.where(own, _uniform(seed, "other", places[rows]), by_field[slot][rows])
            values[rows, slot] = np.searchsorted(shares, draw, side="right")
        brand[rows] = _brand(earth, spec, values[rows], by_brand[rows], BRAND_SKEW + realism.skew)
        if not spec.is_device:
            which = (by_line[rows] * LINES_PER_BRAND).astype(np.int64)
            line[rows] = earth.lines(brand[rows].astype(np.int64), spec.index, which)
        for bit, name in enumerate(spec.features):
            has = by_feature[bit][rows] < feature_share(spec.key, name)
            features[rows] |= has.astype(np.uint8) << np.uint8(bit)
        themed = rows[has_theme[rows]]
        theme[themed] = _themes(spec.index, by_theme[themed])
    numbered = _uniform(seed, "numbered", root) < realism.numbered
    return Facts(leaf, brand, line, values, features, root.astype(np.int32), theme, numbered)


@cache
def feature_share(leaf: str, feature: str) -> float:
    """How many items of a leaf have a feature: a fixed share between 30 % and 70 %."""
    return 0.3 + 0.4 * (key("feature share", leaf, feature) % 1000) / 1000


def _uniform(seed: int, what: str, positions: Longs) -> Doubles:
    return uniforms(key(seed, "items", what), positions)


def _leaves(earth: World, draw: Doubles, skew: float) -> npt.NDArray[np.int16]:
    ranks = np.searchsorted(zipf(len(earth.leaves), skew), draw, side="right")
    return np.array(earth.by_popularity, dtype=np.int16)[ranks]


def _brand(
    earth: World, leaf: Leaf, values: npt.NDArray[np.int8], draw: Doubles, skew: float
) -> npt.NDArray[np.int16]:
    if leaf.is_device and leaf.device_slot is not None:
        field = leaf.fields[leaf.device_slot]
        owners = np.array([earth.brand_of_device(name) for name in field.values], dtype=np.int16)
        return owners[values[:, leaf.device_slot]]
    ranked = np.array(leaf.brands, dtype=np.int16)
    return ranked[np.searchsorted(zipf(len(ranked), skew), draw, side="right")]


def _themes(leaf: int, draw: Doubles) -> npt.NDArray[np.int16]:
    known = themes().range_of(leaf)
    ranks = np.searchsorted(zipf(len(known), SKEW), draw, side="right")
    # Every leaf has its own commonest themes.
    return (known.start + (ranks * 31 + leaf * 17) % len(known)).astype(np.int16)
