"""The shop's world in one language-neutral object.

Owns: reading ``words/leaves.toml`` and ``words/makers.toml`` into typed tuples and checking that they agree
with each other; the kind of every field (a word, a quantity, a device), which leaves complement which, the
popularity of leaves and the brands of each leaf. Ignores languages (``lexicon``) and items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from rars.arrays import Longs
from rars.data.shop.draws import key
from rars.data.wordfile import WordTable, read_words

WORDS = Path(__file__).parent / "words"
EVERYWHERE = "everywhere"
"""The key of the brands that are found in every department."""

MAX_FIELDS, MAX_FEATURES = 5, 5


LEAF_SKEW = 0.6
VALUE_SKEW = 0.7
BRAND_SKEW = 0.9
LINES_PER_BRAND = 3


@dataclass(frozen=True)
class Field:
    """A fact that every item of a leaf has: its name and the values it can take, commonest first.

    ``devices`` names the family if the values are devices, ``is_quantity`` tells numbers with a unit, and
    ``is_bounded`` those of them that people bound from one side.
    """

    name: str
    values: tuple[str, ...]
    devices: str = ""
    is_quantity: bool = False
    is_bounded: bool = False


@dataclass(frozen=True)
class Leaf:
    """A leaf category; ``complements`` and ``brands`` are indices into the world's tuples.

    ``used_up`` goods are eaten or used up; the others last.
    """

    index: int
    key: str
    department: str
    middle: str
    fields: tuple[Field, ...]
    features: tuple[str, ...]
    complements: tuple[int, ...]
    brands: tuple[int, ...]
    used_up: bool

    @cached_property
    def device_slot(self) -> int | None:
        """The position of the field that names a device, if there is one."""
        slots = (i for i, field in enumerate(self.fields) if field.devices)
        return next(slots, None)

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
class FieldNames:
    """The fields that exist, by what fills them; people bound ``bounded`` quantities from one side."""

    words: tuple[str, ...]
    quantities: tuple[str, ...]
    devices: tuple[str, ...]
    bounded: tuple[str, ...]


@dataclass(frozen=True)
class World:
    """Everything that is true of the shop before any item exists.

    ``by_popularity`` holds leaf indices, the most popular first; ``line_names`` the product lines ("Terra
    Mini"); ``devices`` the devices of each family, commonest first. ``contents`` are features inside a
    product rather than a part of it; a title mentions ``unwanted`` ones only if they are absent. ``readable``
    holds the smallest and largest number of a quantity that a shop would print.
    """

    leaves: tuple[Leaf, ...]
    brands: tuple[Brand, ...]
    by_popularity: tuple[int, ...]
    line_names: tuple[str, ...]
    devices: Mapping[str, tuple[str, ...]]
    contents: frozenset[str]
    unwanted: frozenset[str]
    fields: FieldNames
    readable: Mapping[str, tuple[float, float]]

    @cached_property
    def departments(self) -> tuple[str, ...]:
        """Top-level categories in the order of the table."""
        return tuple(dict.fromkeys(leaf.department for leaf in self.leaves))

    def values_of(self, field: str) -> tuple[str, ...]:
        """All values that a field takes in any leaf, in the order of the table."""
        fields = (one for leaf in self.leaves for one in leaf.fields if one.name == field)
        return tuple(dict.fromkeys(value for one in fields for value in one.values))

    @cached_property
    def features(self) -> tuple[str, ...]:
        """All features that an item of any leaf may have, in the order of the table."""
        return tuple(dict.fromkeys(name for leaf in self.leaves for name in leaf.features))

    def brand_of_device(self, device: str) -> int:
        """The index of the brand that a device's name begins with."""
        names = [brand.name for brand in self.brands]
        return names.index(device.split()[0])

    def lines(self, brand: Longs, leaf: int, which: Longs) -> Longs:
        """The product lines, as indices into ``line_names``, of brands in a leaf category."""
        return (brand * 37 + leaf * 53 + which * 97) % len(self.line_names)


@cache
def world() -> World:
    """The one world; it is the same for every seed, size and language.

    >>> leaf = world().leaves[0]
    >>> leaf.department, leaf.middle, leaf.key, leaf.fields[1].name
    ('electronics', 'phones', 'smartphone', 'storage')
    """
    return read_world(WORDS)


def read_world(folder: Path) -> World:
    """Read and check ``leaves.toml`` and ``makers.toml`` of a folder."""
    file, makers = read_words(folder / "leaves.toml"), read_words(folder / "makers.toml")
    file.expect(("fields", "features", "readable", "sets", "goods", "tree"))
    makers.expect(("lines", "devices", "brands"))
    fields = _field_names(file.table("fields"))
    found = list(_leaf_tables(file.table("tree")))
    index = _numbered(found)
    brands, homes = _brands(makers.table("brands"), {department for department, *_ in found})
    devices = _devices(makers.table("devices"), {brand.name for brand in brands})
    sets = file.table("sets")
    goods = file.table("goods")
    goods.expect(("used_up", "by_popularity"))
    used_up = _known(goods, "used_up", index)
    leaves = tuple(
        Leaf(
            index=i,
            key=name,
            department=department,
            middle=middle,
            fields=_fields(table, fields, sets, devices),
            features=table.texts("has"),
            complements=tuple(index[other] for other in _known(table, "goes_with", index)),
            brands=_ranked_brands(name, homes[EVERYWHERE] + homes[department]),
            used_up=name in used_up,
        )
        for i, (department, middle, name, table) in enumerate(found)
    )
    contents = file.table("features")
    contents.expect(("contents", "unwanted"))
    inside = _known(contents, "contents", {name for leaf in leaves for name in leaf.features})
    popular = _known(goods, "by_popularity", index)
    if len(popular) < len(index):
        missing = next(name for name in index if name not in popular)
        raise goods.wrong("by_popularity", f"the leaf {missing!r} is missing")
    return World(
        leaves=leaves,
        brands=brands,
        by_popularity=tuple(index[name] for name in popular),
        line_names=_line_names(makers.table("lines")),
        devices=devices,
        contents=frozenset(inside),
        unwanted=frozenset(_known(contents, "unwanted", inside)),
        fields=fields,
        readable=_readable(file.table("readable"), fields),
    )


def _known(table: WordTable, key: str, names: Iterable[str]) -> tuple[str, ...]:
    """A list of texts that must all be among some names."""
    known = frozenset(names)
    found = table.texts(key)
    for name in found:
        if name not in known:
            raise table.wrong(key, f"{name!r} does not exist")
    return found


def _field_names(table: WordTable) -> FieldNames:
    table.expect(("words", "quantities", "devices", "bounded"))
    words, quantities, devices = (table.texts(key) for key in ("words", "quantities", "devices"))
    for name in quantities + devices:
        if name in words or (name in quantities and name in devices):
            raise table.wrong("words", f"the field {name!r} is of two kinds")
    return FieldNames(words, quantities, devices, _known(table, "bounded", quantities))


def _leaf_tables(tree: WordTable) -> Iterable[tuple[str, str, str, WordTable]]:
    for department in tree:
        middles = tree.table(department)
        for middle in middles:
            leaves = middles.table(middle)
            yield from ((department, middle, name, leaves.table(name)) for name in leaves)


def _numbered(found: Iterable[tuple[str, str, str, WordTable]]) -> dict[str, int]:
    index: dict[str, int] = {}
    for _, _, name, table in found:
        if name in index:
            raise table.wrong("", "the leaf is in another category too")
        index[name] = len(index)
    return index


def _fields(
    table: WordTable,
    known: FieldNames,
    sets: WordTable,
    devices: Mapping[str, tuple[str, ...]],
) -> tuple[Field, ...]:
    table.expect(("has", "goes_with"), optional=(*known.words, *known.quantities, *known.devices))
    names = [name for name in table if name not in ("has", "goes_with")]
    if len(names) > MAX_FIELDS:
        raise table.wrong("", f"has {len(names)} fields, at most {MAX_FIELDS} are possible")
    if len(table.texts("has")) > MAX_FEATURES:
        raise table.wrong("has", f"holds more than {MAX_FEATURES} features")
    return tuple(_field(table, name, known, sets, devices) for name in names)


def _field(
    table: WordTable,
    name: str,
    known: FieldNames,
    sets: WordTable,
    devices: Mapping[str, tuple[str, ...]],
) -> Field:
    family = table.text(name).removeprefix("@") if table.is_text(name) else ""
    if name in known.devices:
        if family not in devices:
            raise table.wrong(name, f"names no family of devices: {', '.join(devices)}")
        return Field(name, devices[family], devices=family)
    if family and family not in sets:
        raise table.wrong(name, f"there is no set {family!r}")
    source, key = (sets, family) if family else (table, name)
    if name not in known.quantities:
        return Field(name, source.texts(key))
    values = tuple(str(number) for number in source.numbers(key))
    return Field(name, values, is_quantity=True, is_bounded=name in known.bounded)


def _readable(table: WordTable, fields: FieldNames) -> dict[str, tuple[float, float]]:
    table.expect((), optional=fields.quantities)
    found = {}
    for name in table:
        low, high, *more = (*table.numbers(name), 0.0, 0.0)
        if len(more) != 2 or low >= high:
            raise table.wrong(name, "must be a smaller and a larger number")
        found[name] = (low, high)
    return found


def _line_names(table: WordTable) -> tuple[str, ...]:
    table.expect(("names", "marks"))
    names, marks = table.texts("names"), table.texts("marks")
    return tuple(f"{name} {mark}".strip() for mark in ("", *marks) for name in names)


def _devices(table: WordTable, brands: set[str]) -> dict[str, tuple[str, ...]]:
    found = {family: table.texts(family) for family in table}
    for family, names in found.items():
        for name in names:
            if name.split()[0] not in brands or " " not in name:
                raise table.wrong(family, f"{name!r} is not a brand and a model")
    return found


def _brands(
    tables: WordTable, departments: set[str]
) -> tuple[tuple[Brand, ...], dict[str, list[int]]]:
    tables.expect((EVERYWHERE, *sorted(departments)))
    brands: dict[str, Brand] = {}
    homes: dict[str, list[int]] = {}
    for department in tables:
        table = tables.table(department)
        homes[department] = []
        for name in table:
            if name in brands:
                raise table.wrong(name, "the brand is there twice")
            homes[department].append(len(brands))
            brands[name] = Brand(name, table.text(name))
    return tuple(brands.values()), homes


def _ranked_brands(leaf: str, candidates: list[int]) -> tuple[int, ...]:
    # Every leaf has its own leading brands; which ones is a fixed property of the world.
    return tuple(sorted(candidates, key=lambda brand: key("brand rank", leaf, brand)))
