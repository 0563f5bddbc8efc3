"""The columns of a catalogue as filters and facets read them: every value as a small number or as itself.

Owns: which names a filter may use, what each column's values are, and the marks (items,) of the items that a
filter takes. Ignores the language (``rars.search.filters``), identifiers and scores.

A text column is a table of its distinct values and one small number an item. A test of it looks at the
distinct values alone; its marks are one comparison, or one look into a table, an item. Columns of numbers are
compared as they are. A column is read when it is first named, and kept; an item of several values (a list)
passes if one of them does.

Texts are compared without regard to case, width and surplus blanks. ``category`` is a path: ``=`` takes a
category and what is below it. An attribute is named as it is, or as ``attributes.NAME`` where a column has
that name.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rars.arrays import Bools, Ints
from rars.data.store import Columns
from rars.data.words import fold
from rars.errors import FilterError, RarsError
from rars.search.filters import All, Comparison, Expression, Not, Value, parse

Kind = Literal["text", "number", "truth", "time", "path", "other"]

SEPARATOR = " > "
ATTRIBUTES = "attributes"
KEPT = 16
"""Marks of filters that are kept, the latest ones."""

_WORDS: dict[Kind, str] = {
    "text": "texts",
    "number": "numbers",
    "truth": "true and false",
    "time": "times",
    "path": "category paths",
    "other": "what cannot be compared",
}


@dataclass(frozen=True)
class Named:
    """A column that a filter or a facet may name."""

    name: str
    kind: Kind
    attribute: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"name": self.name, "kind": self.kind, "attribute": self.attribute}


@dataclass(frozen=True, eq=False)
class Column:
    """The values of one column.

    ``codes``   (values,) for texts and paths: 0 for none, else one more than the place in ``folded``
    ``folded``  distinct texts as they are compared; ``labels`` as they were first written
    ``numbers`` (values,) of all other kinds; ``there`` (values,) which of them are there, None for all
    ``owner``   (values,) whose each value is, where an item may have several; None for one an item
    """

    kind: Kind
    items: int
    codes: Ints
    folded: pa.Array
    labels: pa.Array
    numbers: npt.NDArray[Any]
    there: Bools | None = None
    owner: Ints | None = None
    type: pa.DataType = field(default_factory=pa.null)

    @property
    def textual(self) -> bool:
        """Whether values are numbered texts."""
        return self.kind in ("text", "path")

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each distinct text stands in ``folded``."""
        return {text: place for place, text in enumerate(self.folded.to_pylist())}

    @cached_property
    def read_as_numbers(self) -> npt.NDArray[np.float64]:
        """The distinct texts as numbers, NaN for one that is none."""
        return np.array([_number(text) for text in self.folded.to_pylist()], dtype=np.float64)

    def written(self, numbers: npt.NDArray[Any]) -> list[Any]:
        """Numbers, truths or times of the column as plain JSON values."""
        if self.kind == "time":
            times = pa.array(numbers, _whole(self.type)).cast(self.type).to_pylist()
            return [one.isoformat() for one in times]
        return [] if self.kind == "other" else list(numbers.tolist())

    def spread(self, hits: Bools) -> Bools:
        """Marks of values as marks of the items that have them."""
        if self.owner is None:
            return hits
        marks = np.zeros(self.items, dtype=bool)
        marks[self.owner[hits]] = True
        return marks

    def filled(self) -> Bools:
        """Which items have a value (items,)."""
        if self.textual:
            return self.spread(self.codes != 0)
        hits = np.ones(len(self.numbers), dtype=bool) if self.there is None else self.there
        return self.spread(hits)

    def coded(self, accepted: Bools) -> Bools:
        """The items whose text is accepted; ``accepted`` is one mark a distinct text."""
        found = np.flatnonzero(accepted) + 1
        if len(found) <= 3:  # comparing a few times is quicker than looking each item up
            hits = np.zeros(len(self.codes), dtype=bool)
            for code in found.tolist():
                hits |= self.codes == code
            return self.spread(hits)
        table = np.append(False, accepted)
        return self.spread(np.take(table, self.codes))


@dataclass(frozen=True, eq=False)
class ItemColumns:
    """All columns of a catalogue; read when named.

    >>> mugs = pa.table({"id": ["a", "b", "c"], "price": [5.0, None, 30.0], "color": ["Red", "blue", "RED"]})
    >>> columns = ItemColumns(Columns(mugs, mugs.schema))
    >>> columns.marks("price < 20 OR color = blue").tolist()
    [True, True, False]
    >>> columns.marks("colour = red")
    Traceback (most recent call last):
    ...
    rars.errors.FilterError: Filter, character 1: there is no column 'colour'; did you mean 'color'?
    """

    source: Columns
    _read: dict[str, Column] = field(default_factory=dict)
    _kept: dict[str, Bools] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def __len__(self) -> int:
        return len(self.source)

    # -- names -----------------------------------------------------------------------------------

    def describe(self) -> list[Named]:
        """Every column and attribute, columns first, attributes by how many items have them."""
        columns = [
            Named(name, _kind(self._types.field(name)))
            for name in self.source.names
            if name != ATTRIBUTES
        ]
        return columns + [Named(name, "text", attribute=True) for name in self._attributes.names]

    def warm(self, names: Sequence[str] | None = None) -> None:
        """Read columns now, all but long texts if none is named, so that no filter waits for it."""
        for name in names or [one for one in self.source.names if one not in ("id", "text")]:
            if name != ATTRIBUTES:
                self.column(name)
        if names is None:
            for name in self._attributes.names:
                self.column(name)

    def column(self, name: str) -> Column:
        """A column or attribute by its name; KeyError where there is none."""
        known = self._known(name)
        if known not in self._read:
            self._read[known] = self._made(known)
        return self._read[known]

    def named(self, name: str) -> Column:
        """The same, where a wrong name is one sentence."""
        try:
            return self.column(name)
        except KeyError:
            raise RarsError(f"There is no column {name!r}{self._meant(name)}") from None

    def values_of(self, name: str, row: int) -> list[Any]:
        """What one item has in a column, as it was written."""
        column = self.column(name)
        at = np.array([row]) if column.owner is None else np.flatnonzero(column.owner == row)
        if column.textual:
            return [column.labels[code - 1].as_py() for code in column.codes[at].tolist() if code]
        there = np.ones(len(at), dtype=bool) if column.there is None else column.there[at]
        return column.written(column.numbers[at[there]])

    def _known(self, name: str) -> str:
        """The full name: a column's own, or ``attributes.NAME``."""
        columns = [one for one in self.source.names if one != ATTRIBUTES]
        if name in columns:
            return name
        bare = name.removeprefix(f"{ATTRIBUTES}.")
        if bare in self._attributes.places:
            return f"{ATTRIBUTES}.{bare}"
        for one in columns:
            if one.casefold() == name.casefold():
                return one
        for one in self._attributes.names:
            if one.casefold() == bare.casefold():
                return f"{ATTRIBUTES}.{one}"
        raise KeyError(name)

    def _meant(self, name: str) -> str:
        known = [one.name for one in self.describe()]
        near = difflib.get_close_matches(name.casefold(), [one.casefold() for one in known], 1, 0.5)
        if near:
            meant = next(one for one in known if one.casefold() == near[0])
            return f"; did you mean {meant!r}?"
        listed = ", ".join(known[:12]) + (" ..." if len(known) > 12 else "")
        return f"; there is {listed}."

    # -- filters ---------------------------------------------------------------------------------

    def marks(self, text: str) -> Bools:
        """The items that a filter takes (items,), in catalogue order; not to be written to."""
        found = self._kept.get(text)
        if found is None:
            found = self.passed(parse(text), text)
            found.setflags(write=False)
            with self._lock:
                while len(self._kept) >= KEPT:
                    del self._kept[next(iter(self._kept))]
                self._kept[text] = found
        return found

    def passed(self, expression: Expression, text: str) -> Bools:
        """The items (items,) that an expression of the filter ``text`` takes."""
        if isinstance(expression, Comparison):
            return self._compared(expression, text)
        if isinstance(expression, Not):
            return ~self.passed(expression.part, text)
        join = np.logical_and if isinstance(expression, All) else np.logical_or
        found = self.passed(expression.parts[0], text).copy()
        for part in expression.parts[1:]:
            join(found, self.passed(part, text), out=found)
        return found

    def _compared(self, test: Comparison, text: str) -> Bools:
        try:
            column = self.column(test.name)
        except KeyError:
            message = f"there is no column {test.name!r}{self._meant(test.name)}"
            raise FilterError(text, test.start, message.removesuffix(".")) from None
        if test.operation == "null":
            return ~column.filled()
        if column.textual:
            return _texts(column, test)
        if test.operation == "contains":
            first = test.values[0].start
            raise FilterError(text, first, f"{test.name!r} holds {_WORDS[column.kind]}, not texts")
        wanted = [_wanted(column, test, value, text) for value in test.values]
        return _numbers(column, test, wanted)

    # -- reading ---------------------------------------------------------------------------------

    @cached_property
    def _types(self) -> pa.Schema:
        return self.source.types

    @cached_property
    def _attributes(self) -> _Attributes:
        if ATTRIBUTES not in self.source.names:
            return _Attributes.none()
        kind = self._types.field(ATTRIBUTES).type
        if not pa.types.is_map(kind):
            return _Attributes.none()
        return _Attributes.of(_one(self.source.read([ATTRIBUTES])[ATTRIBUTES]))

    def _made(self, name: str) -> Column:
        if name not in self.source.names:
            owner, values = self._attributes.of_name(name.removeprefix(f"{ATTRIBUTES}."))
            return _only(_text_column(values, len(self), owner))
        return _column(self._types.field(name), _one(self.source.read([name])[name]))


# -- comparing -------------------------------------------------------------------------------------


def _texts(column: Column, test: Comparison) -> Bools:
    """A test of a column of texts, or of category paths."""
    wanted = [folded(value.text) for value in test.values]
    if column.kind == "path":
        wanted = [_path(one) for one in wanted]
    texts = column.folded
    if test.operation == "contains":
        found = pc.match_substring(texts, wanted[0])
    elif test.operation in ("=", "in"):
        accepted = np.zeros(len(texts), dtype=bool)
        accepted[[column.places[one] for one in wanted if one in column.places]] = True
        if column.kind == "path":
            for one in wanted:
                accepted |= pc.starts_with(texts, one + SEPARATOR).to_numpy(zero_copy_only=False)
        return column.coded(accepted)
    elif test.values[0].kind == "number":
        return column.coded(
            _ORDERS[test.operation](column.read_as_numbers, float(test.values[0].text))
        )
    else:
        found = _TEXT_ORDERS[test.operation](texts, pa.scalar(wanted[0], texts.type))
    return column.coded(found.to_numpy(zero_copy_only=False))


def _numbers(column: Column, test: Comparison, wanted: Sequence[Any]) -> Bools:
    """A test of a column of numbers, truths or times."""
    if test.operation in ("=", "in"):
        hits = column.numbers == wanted[0]
        for one in wanted[1:]:
            hits |= column.numbers == one
    else:
        hits = _ORDERS[test.operation](column.numbers, wanted[0])
    if column.there is not None:
        hits &= column.there
    return column.spread(hits)


_ORDERS: dict[str, Callable[[Any, Any], Bools]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_TEXT_ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def _wanted(column: Column, test: Comparison, value: Value, text: str) -> Any:
    """A value as the column's numbers are; one that is none of them is pointed at."""
    found: Any = None
    if column.kind == "number" and value.kind in ("number", "quoted"):
        found = _exact(value.text)
    elif column.kind == "truth" and test.operation in ("=", "in"):
        found = {"true": True, "false": False}.get(folded(value.text))
    elif column.kind == "time":
        found = _instant(value.text, column.type)
    if found is None:
        message = f"{test.name!r} holds {_WORDS[column.kind]}"
        if column.kind == "truth" and test.operation not in ("=", "in"):
            raise FilterError(text, test.start, f"{message}, which have no order")
        raise FilterError(text, value.start, f"{message}, and {value.text!r} is none of them")
    return found


def folded(text: str) -> str:
    """A text as it is compared.

    >>> folded("  Dark   BLUE ")
    'dark blue'
    """
    [found] = _folded([text.encode("utf-8", "replace").decode()])
    return found


def _folded(texts: Sequence[str]) -> list[str]:
    """Many texts as they are compared: folded as one long one, which takes a fraction of the time."""
    if not texts:
        return []
    # No character joins across a NUL, so the parts fold as they would alone; a NUL inside counts as blank.
    whole = fold("\0".join(text.replace("\0", " ") for text in texts))
    for blank in _BLANKS:
        whole = whole.replace(blank, " ")
    while "  " in whole:
        whole = whole.replace("  ", " ")
    return f"\0{whole}\0".replace(" \0", "\0").replace("\0 ", "\0")[1:-1].split("\0")


_BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u1680\u2028\u2029"
"""What folding leaves of blanks beside the space."""


def _path(text: str) -> str:
    return SEPARATOR.join(part.strip() for part in text.split(SEPARATOR.strip()))


def _exact(text: str) -> int | float | None:
    """A number as it was written: a whole one stays exact."""
    try:
        return int(text)
    except ValueError:
        found = _number(text)
        return None if np.isnan(found) else found


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _instant(text: str, kind: pa.DataType) -> int | None:
    try:
        if pa.types.is_date(kind) and len(text) > 10:
            text = text[:10]
        return int(pa.scalar(text).cast(kind).cast(_whole(kind)).as_py())
    except (pa.ArrowException, ValueError):
        return None


# -- making columns --------------------------------------------------------------------------------


def _kind(entry: pa.Field) -> Kind:
    """What the values of a stored column are."""
    kind = entry.type
    if entry.name == "category":
        return "path"
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if _is_list(kind):
        kind = kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "text"
    if pa.types.is_boolean(kind):
        return "truth"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return "time"
    return "other"


def _is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _column(entry: pa.Field, values: pa.Array) -> Column:
    kind, items = _kind(entry), len(values)
    owner: Ints | None = None
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if kind == "path" and _is_list(values.type):
        values = pc.binary_join(values, SEPARATOR)
    elif _is_list(values.type) and kind != "other":
        owner = pc.list_parent_indices(values).to_numpy(zero_copy_only=False)
        values = pc.list_flatten(values)
    if kind in ("text", "path"):
        return _text_column(values, items, owner, kind)
    there = None
    if values.null_count:
        there = values.is_valid().to_numpy(zero_copy_only=False)
    return Column(
        kind=kind,
        items=items,
        codes=np.zeros(0, dtype=np.uint8),
        folded=pa.array([], pa.string()),
        labels=pa.array([], pa.string()),
        numbers=_numeric(values, kind),
        there=there,
        owner=owner,
        type=values.type,
    )


def _numeric(values: pa.Array, kind: Kind) -> npt.NDArray[Any]:
    """Values as NumPy numbers, anything where there is none."""
    if kind == "other":
        return np.zeros(len(values), dtype=np.uint8)
    if pa.types.is_decimal(values.type):
        values = values.cast(pa.float64())
    elif kind == "time":
        values = values.cast(_whole(values.type))
    if values.null_count:
        values = pc.fill_null(values, pa.scalar(0).cast(values.type))
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _whole(kind: pa.DataType) -> pa.DataType:
    """The whole numbers that a type of times is stored as."""
    return pa.int32() if pa.types.is_date32(kind) or pa.types.is_time32(kind) else pa.int64()


def _text_column(
    values: pa.Array, items: int, owner: Ints | None = None, kind: Kind = "text"
) -> Column:
    encoded = values.cast(pa.large_string()).dictionary_encode()
    first = encoded.dictionary
    said = pa.array(_folded(first.to_pylist()), pa.large_string())
    again = said.dictionary_encode()  # texts that differ in case alone become one
    merged = again.indices.to_numpy(zero_copy_only=False)
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    table = np.append(merged + 1, 0)  # -1, no value, is the last
    _, earliest = np.unique(merged, return_index=True)
    size = len(again.dictionary) + 1
    kept = np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.int32
    return Column(
        kind=kind,
        items=items,
        codes=table[codes].astype(kept),
        folded=again.dictionary,
        labels=first.take(pa.array(earliest, pa.int64())),
        numbers=np.zeros(0),
        owner=owner,
    )


def _only(column: Column) -> Column:
    """The same, as one value an item, where no item has two."""
    owner = column.owner
    if owner is None or (len(owner) > 1 and (owner[1:] == owner[:-1]).any()):
        return column
    codes = np.zeros(column.items, dtype=column.codes.dtype)
    codes[owner] = column.codes
    return replace(column, codes=codes, owner=None)


@dataclass(frozen=True, eq=False)
class _Attributes:
    """All attributes of a catalogue, sorted by name.

    ``names``   the most common first; ``places`` where each one's entries begin and end
    ``owner``   (entries,) whose each is, in catalogue order within a name; ``values`` their texts
    """

    names: tuple[str, ...]
    places: dict[str, tuple[int, int]]
    owner: Ints
    values: pa.Array

    @classmethod
    def none(cls) -> _Attributes:
        return cls((), {}, np.zeros(0, dtype=np.int64), pa.array([], pa.string()))

    @classmethod
    def of(cls, column: pa.MapArray) -> _Attributes:
        offsets = column.offsets.to_numpy()
        owner = np.repeat(np.arange(len(column)), np.diff(offsets))
        span = slice(int(offsets[0]), int(offsets[-1]))
        keys = column.keys[span].dictionary_encode()
        code = keys.indices.to_numpy(zero_copy_only=False)
        stays = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)[owner])
        order = stays[np.argsort(code[stays], kind="stable")]
        counts = np.bincount(code[stays], minlength=len(keys.dictionary))
        ends = np.cumsum(counts)
        texts = keys.dictionary.to_pylist()
        places = {
            name: (int(end - count), int(end))
            for name, count, end in zip(texts, counts, ends, strict=True)
            if count
        }
        common = sorted(places, key=lambda name: (places[name][0] - places[name][1], name))
        return cls(
            tuple(common),
            places,
            owner[order],
            column.items[span].take(pa.array(order, pa.int64())),
        )

    def of_name(self, name: str) -> tuple[Ints, pa.Array]:
        """The entries of one attribute: whose, and what."""
        low, high = self.places[name]
        return self.owner[low:high], self.values[low:high]


def _one(column: pa.ChunkedArray) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
