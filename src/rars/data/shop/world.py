"""The shop's world in one language-neutral object.

Owns: parsing ``leaves`` and ``makers`` into typed tuples, the kind of every field (a word, a quantity, a
device), which leaves complement which, the popularity of leaves and the brands of each leaf. Ignores
languages and items.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from rars.data.shop import leaves as tables
from rars.data.shop import makers
from rars.data.shop.draws import Floats, key, zipf

QUANTITIES = frozenset(tables.QUANTITIES.split())
ORDERED = frozenset(tables.ORDERED.split())
CONTENTS = frozenset(tables.CONTENTS.split())
UNWANTED = frozenset(tables.UNWANTED.split())
USED_UP = frozenset(tables.USED_UP.split())
DEVICE_FIELDS = frozenset({"model", "fits"})

Ints = npt.NDArray[np.int64]

LEAF_SKEW = 0.6
VALUE_SKEW = 0.7
BRAND_SKEW = 0.9
LINES_PER_BRAND = 3


@dataclass(frozen=True)
class Field:
    """A fact that every item of a leaf has: its name and the values it can take, commonest first.

    ``devices`` names the family if the values are devices.
    """

    name: str
    values: tuple[str, ...]
    devices: str = ""

    @property
    def is_quantity(self) -> bool:
        """Whether the values are numbers with a unit."""
        return self.name in QUANTITIES


@dataclass(frozen=True)
class Leaf:
    """A leaf category; ``complements`` and ``brands`` are indices into the world's tuples."""

    index: int
    key: str
    department: str
    middle: str
    fields: tuple[Field, ...]
    features: tuple[str, ...]
    complements: tuple[int, ...]
    brands: tuple[int, ...]

    @cached_property
    def device_slot(self) -> int | None:
        """The position of the field that names a device, if there is one."""
        slots = (i for i, field in enumerate(self.fields) if field.devices)
        return next(slots, None)

    @property
    def used_up(self) -> bool:
        """Whether the items are eaten or used up; the others last."""
        return self.key in USED_UP

    @property
    def is_device(self) -> bool:
        """Whether the items are devices themselves, so that the model decides the brand."""
        return self.device_slot is not None and self.fields[self.device_slot].name == "model"


@dataclass(frozen=True)
class Brand:
    """A maker; ``reading`` is its name in Japanese script."""

    name: str
    reading: str


@dataclass(frozen=True)
class World:
    """Everything that is true of the shop before any item exists."""

    leaves: tuple[Leaf, ...]
    brands: tuple[Brand, ...]

    @cached_property
    def leaf_shares(self) -> Floats:
        """Cumulative share of the catalogue, in the order of ``by_popularity``."""
        return zipf(len(self.leaves), LEAF_SKEW)

    @cached_property
    def by_popularity(self) -> tuple[int, ...]:
        """Leaf indices, the most popular first."""
        index = {leaf.key: leaf.index for leaf in self.leaves}
        return tuple(index[name] for name in tables.POPULAR.split())

    @cached_property
    def departments(self) -> tuple[str, ...]:
        """Top-level categories in the order of the table."""
        return tuple(dict.fromkeys(leaf.department for leaf in self.leaves))

    def brand_of_device(self, device: str) -> int:
        """The index of the brand that a device's name begins with."""
        names = [brand.name for brand in self.brands]
        return names.index(device.split()[0])

    def lines(self, brand: Ints, leaf: int, which: Ints) -> Ints:
        """The product lines, as indices into ``makers.LINES``, of brands in a leaf category."""
        return (brand * 37 + leaf * 53 + which * 97) % len(makers.LINES)


@cache
def world() -> World:
    """The one world; it is the same for every seed, size and language.

    >>> leaf = world().leaves[0]
    >>> leaf.department, leaf.middle, leaf.key, leaf.fields[1].name
    ('electronics', 'phones', 'smartphone', 'storage')
    """
    blocks = list(_leaf_blocks(tables.TREE))
    index = {block[2]: i for i, block in enumerate(blocks)}
    brands, homes = _brands()
    leaves = []
    for i, (department, middle, name, fields, features, complements) in enumerate(blocks):
        leaves.append(
            Leaf(
                index=i,
                key=name,
                department=department,
                middle=middle,
                fields=tuple(_field(text) for text in fields),
                features=tuple(features),
                complements=tuple(index[other] for other in complements),
                brands=_ranked_brands(name, homes[""] + homes[department]),
            )
        )
    return World(tuple(leaves), brands)


def devices(family: str) -> tuple[str, ...]:
    """The devices of a family, commonest first."""
    return tuple(" ".join(name.split()) for name in makers.DEVICES[family].split(","))


def _leaf_blocks(
    table: str,
) -> list[tuple[str, str, str, list[str], list[str], list[str]]]:
    blocks = []
    department = middle = ""
    lines = iter(line for line in table.splitlines() if line.strip())
    for line in lines:
        if line.startswith("="):
            department, middle = (part.strip() for part in line[1:].split("/"))
            continue
        name, fields = line.split(":")
        features, complements = next(lines).split(";")
        blocks.append(
            (
                department,
                middle,
                name,
                fields.split(),
                features.split()[1:],
                complements.split()[1:],
            )
        )
    return blocks


def _field(text: str) -> Field:
    name, values = text.split("=")
    if not values.startswith("@"):
        return Field(name, tuple(values.split(",")))
    if name in DEVICE_FIELDS:
        return Field(name, devices(values[1:]), devices=values[1:])
    return Field(name, tuple(tables.VALUE_SETS[values[1:]].split()))


def _brands() -> tuple[tuple[Brand, ...], dict[str, list[int]]]:
    brands: list[Brand] = []
    homes: dict[str, list[int]] = {}
    for department, table in {"": makers.GENERAL_BRANDS, **makers.BRANDS}.items():
        pairs = [entry.split() for entry in table.split(",")]
        homes[department] = list(range(len(brands), len(brands) + len(pairs)))
        brands += [Brand(name, reading) for name, reading in pairs]
    return tuple(brands), homes


def _ranked_brands(leaf: str, candidates: list[int]) -> tuple[int, ...]:
    # Every leaf has its own leading brands; which ones is a fixed property of the world.
    return tuple(sorted(candidates, key=lambda brand: key("brand rank", leaf, brand)))
