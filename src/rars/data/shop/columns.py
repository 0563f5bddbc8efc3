"""The structured columns of the items: category path, color, attributes.

Owns: facts as localised words under English attribute names. Ignores titles and descriptions (``items``).
Whole columns at a time; nothing here depends on chance.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rars.data.shop.facts import Facts
from rars.data.shop.gaps import filled
from rars.data.shop.lexicon import Lexicon
from rars.data.shop.numbers import number_of
from rars.data.shop.realism import TIDY, Realism
from rars.data.shop.themes import NO_THEME, themes
from rars.data.shop.world import World, world

LONG_TAIL = ("theme", "number")
"""Attributes that only some products have."""


def category_paths(facts: Facts, words: Lexicon) -> pa.Array:
    """The three category names of each item, from the department down."""
    names = [
        (
            words.departments[leaf.department],
            words.middles[leaf.middle],
            words.leaves[leaf.index].category,
        )
        for leaf in world().leaves
    ]
    flat = pa.array([name for path in names for name in path], pa.string())
    places = (facts.leaf.astype(np.int32)[:, None] * 3 + np.arange(3)).ravel()
    offsets = np.arange(0, 3 * len(facts) + 1, 3, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), flat.take(pa.array(places)))


def colors(facts: Facts, words: Lexicon) -> pa.Array:
    """The color of each item, null where the leaf has none."""
    shown = np.full(len(facts), -1, dtype=np.int64)
    names: list[str] = []
    for leaf in world().leaves:
        slots = [slot for slot, field in enumerate(leaf.fields) if field.name == "color"]
        for slot in slots:
            rows = np.flatnonzero(facts.leaf == leaf.index)
            shown[rows] = facts.values[rows, slot].astype(np.int64) + len(names)
            names += [words.value("color", value) for value in leaf.fields[slot].values]
    return pa.array(names, pa.string()).take(pa.array(shown, mask=shown < 0))


def attributes(
    facts: Facts, words: Lexicon, seed: int = 0, start: int = 0, realism: Realism = TIDY
) -> pa.Array:
    """All facts of each item but brand and color, as a map with English names; gaps are left out."""
    earth = world()
    width = np.array([len(_attribute_names(earth, leaf)) for leaf in range(len(earth.leaves))])
    offsets = np.zeros(len(facts) + 1, dtype=np.int64)
    np.cumsum(width[facts.leaf], out=offsets[1:])
    keys = np.empty(offsets[-1], dtype=object)
    shown = np.empty(offsets[-1], dtype=object)
    for leaf in earth.leaves:
        rows = np.flatnonzero(facts.leaf == leaf.index)
        columns = _attribute_columns(facts, words, leaf.index, rows)
        for place, (name, column) in enumerate(
            zip(_attribute_names(earth, leaf.index), columns, strict=True)
        ):
            keys[offsets[rows] + place] = name
            shown[offsets[rows] + place] = column
    item = np.repeat(np.arange(len(facts)), np.diff(offsets))
    entry = np.arange(offsets[-1]) - offsets[item]
    there = np.array([one is not None for one in shown]) & filled(
        seed, start + item, entry, realism.empty
    )
    keys, shown = keys[there], shown[there]
    offsets[1:] = np.cumsum(np.bincount(item[there], minlength=len(facts)))
    return pa.MapArray.from_arrays(
        pa.array(offsets.astype(np.int32)),
        pa.array(keys, pa.string()),
        pa.array(shown, pa.string()),
    )


def _attribute_names(earth: World, leaf: int) -> list[str]:
    spec = earth.leaves[leaf]
    names = [field.name for field in spec.fields if field.name != "color"]
    return [*names, *([] if spec.is_device else ["model"]), *spec.features, *LONG_TAIL]


def _attribute_columns(
    facts: Facts, words: Lexicon, leaf: int, rows: npt.NDArray[np.int64]
) -> list[npt.NDArray[np.object_]]:
    spec = world().leaves[leaf]
    columns = []
    for slot, field in enumerate(spec.fields):
        if field.name != "color":
            table = np.array(
                [words.value(field.name, value) for value in field.values], dtype=object
            )
            columns.append(table[facts.values[rows, slot]])
    if not spec.is_device:
        columns.append(np.array(world().line_names, dtype=object)[facts.line[rows]])
    yes_no = np.array(words.yes_no[::-1], dtype=object)
    for bit in range(len(spec.features)):
        columns.append(yes_no[facts.features[rows] >> np.uint8(bit) & 1])
    return [*columns, *_long_tail(facts, words, rows)]


def _long_tail(
    facts: Facts, words: Lexicon, rows: npt.NDArray[np.int64]
) -> list[npt.NDArray[np.object_]]:
    """Themes and numbers, None where a product has none."""
    known = range(NO_THEME, len(themes().all))
    names = [None if one == NO_THEME else themes().word(one, words.locale) for one in known]
    theme = np.array(names, dtype=object)[facts.theme[rows].astype(np.int64) - NO_THEME]
    number = np.full(len(rows), None, dtype=object)
    for place in np.flatnonzero(facts.numbered[rows]).tolist():
        number[place] = number_of(int(facts.root[rows[place]]))
    return [theme, number]
