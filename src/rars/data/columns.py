"""From columns as people write them to columns as the dataset folder stores them.

Owns: text, category paths, attributes, labels, grades and split names, each turned into the type of
``rars.data.schema`` a whole column at a time. Ignores files; a converter says by a mask which values it
could not use, and the caller names their rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rars.arrays import Bools
from rars.data.jsonlines import LIST, MAP, SURROGATE, map_array, object_text, parsed
from rars.data.schema import LABEL_GRADES

LABEL_NAMES = {"exact": "E", "substitute": "S", "complement": "C", "irrelevant": "I"}
SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
}

_NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"
_NOT_FINITE = r"^[+-]?(?i:nan|inf|infinity)$"


def text(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Any column of single values, or lists of them, as text; None if its type has no text form."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    try:
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            return pc.binary_join(column.cast(LIST), " ")
        return column.cast(pa.string())
    except pa.ArrowException:
        return None


def single_text(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """As ``text``, of single values alone: a list is no id, no label and no split."""
    return None if pa.types.is_nested(column.type) else text(column)


def optional_text(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """As ``text``, with nothing but white space made null."""
    texts = text(column)
    if texts is None:
        return None
    empty = pc.and_(is_empty(texts), pc.is_valid(texts))
    if not pc.any(empty).as_py():
        return texts  # a catalogue's texts are large: no copy without need
    return pc.if_else(empty, pa.scalar(None, pa.string()), texts)


def is_empty(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether each text is missing or nothing but white space."""
    return pc.fill_null(pc.or_(pc.equal(pc.binary_length(texts), 0), pc.utf8_is_space(texts)), True)


def is_storable(kind: pa.DataType) -> bool:
    """Whether a dataset folder, which is Parquet, has a form for values of a type."""
    if "_view" in str(kind):
        return False  # no kernel takes rows of one
    if not pa.types.is_nested(kind) and not pa.types.is_interval(kind):
        return True
    try:
        pq.write_table(pa.schema([("column", kind)]).empty_table(), pa.BufferOutputStream())
    except pa.ArrowException:
        return False
    return True


def mask(column: pa.ChunkedArray) -> Bools:
    """An Arrow column of truth values as a NumPy array, null as False."""
    return np.asarray(pc.fill_null(column, False).to_numpy(zero_copy_only=False), dtype=bool)


def grades_of_labels(texts: pa.ChunkedArray) -> tuple[npt.NDArray[np.float64], Bools]:
    """Grades of labels (E, S, C, I or the whole words, in any case), and which labels are unknown.

    >>> grades_of_labels(pa.chunked_array([["S", "complement", " e ", "X"]]))[0].tolist()
    [2.0, 1.0, 3.0, nan]
    """
    grades = {label.lower(): grade for label, grade in LABEL_GRADES.items()}
    grades |= {word: LABEL_GRADES[label] for word, label in LABEL_NAMES.items()}
    names = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    found = pc.take(pa.array(list(grades.values())), pc.index_in(names, pa.array(list(grades))))
    values = np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.float64)
    return values, np.isnan(values)


def grades_of_numbers(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.float64], Bools]:
    """Grades as numbers, and which values are not numbers at all (those become NaN)."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        values = pc.cast(column, pa.float64(), safe=False)
        return _floats(values), mask(pc.is_null(column))
    texts = single_text(column)
    if texts is None:
        return np.full(len(column), np.nan), np.ones(len(column), dtype=bool)
    trimmed = pc.utf8_trim_whitespace(texts)
    numeric = pc.fill_null(pc.match_substring_regex(trimmed, _NUMBER), False)
    written = pc.fill_null(pc.match_substring_regex(trimmed, _NOT_FINITE), False)
    values = pc.if_else(numeric, pc.utf8_ltrim(trimmed, "+"), None).cast(pa.float64())
    infinite = mask(written) & mask(pc.match_substring(trimmed, "inf", ignore_case=True))
    numbers = np.where(infinite, np.inf, _floats(values))
    return numbers, ~mask(pc.or_(numeric, written))


def splits(texts: pa.ChunkedArray) -> pa.Array:
    """Split names in our spelling; null where unknown."""
    names = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    position = pc.index_in(names, pa.array(list(SPLIT_NAMES)))
    return pc.take(pa.array(list(SPLIT_NAMES.values())), position).combine_chunks()


def categories(column: pa.ChunkedArray, separator: str) -> pa.ChunkedArray | None:
    """Category paths as lists from top to leaf; empty levels are dropped, an empty path is null.

    >>> categories(pa.chunked_array([["Home > Lamps", '["A > B", "C"]', ""]]), " > ").to_pylist()
    [['Home', 'Lamps'], ['A > B', 'C'], None]
    """
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        texts = text(column)
        if texts is None:
            return None
        column = _split_paths(texts, separator)
    try:
        paths = column.cast(LIST)
    except pa.ArrowException:
        return None
    return pa.chunked_array([_without_empty_levels(chunk) for chunk in paths.chunks], LIST)


def attributes(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, Bools]:
    """Attributes as maps of text to text, and which values are not a set of named values."""
    sound = np.zeros(len(column), dtype=bool)
    if pa.types.is_null(column.type):
        return column.cast(MAP), sound
    convert: Callable[[Any], tuple[pa.MapArray, Bools]] = _map_of_json
    if pa.types.is_map(column.type):
        convert = _map_of_map
    elif pa.types.is_struct(column.type):
        convert = _map_of_struct
    else:
        texts = single_text(column)
        if texts is None:
            return pa.chunked_array([pa.nulls(len(column), MAP)]), ~sound
        column = texts
    parts = [convert(chunk) for chunk in column.chunks]
    maps = pa.chunked_array([part for part, _ in parts], MAP)
    return maps, np.concatenate([sound[:0], *(wrong for _, wrong in parts)])


def _floats(values: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    filled = pc.fill_null(values, float("nan"))
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.float64)


def _split_paths(texts: pa.ChunkedArray, separator: str) -> pa.ChunkedArray:
    """Paths as lists; a text that is a JSON list is read as one, whatever its levels contain."""
    listed = pc.fill_null(pc.starts_with(texts, "["), False)
    if not pc.any(listed).as_py():
        return pc.split_pattern(texts, separator)
    paths = [_path(value, separator) for value in texts.to_pylist()]
    return pa.chunked_array([pa.array(paths, LIST)])


def _path(value: str | None, separator: str) -> list[str | None] | None:
    if value is None:
        return None
    try:
        levels = parsed(value) if value.startswith("[") else None
    except ValueError:
        levels = None
    if levels is not None and _is_broken(value, levels):
        levels = None
    return [*value.split(separator)] if levels is None else [object_text(one) for one in levels]


def _without_empty_levels(paths: pa.ListArray) -> pa.ListArray:
    levels = pc.utf8_trim_whitespace(paths.flatten())
    full = ~mask(is_empty(levels))
    counts = np.bincount(pc.list_parent_indices(paths).to_numpy()[full], minlength=len(paths))
    return _lists(LIST, counts, levels.filter(pa.array(full)))


def _lists(kind: pa.DataType, counts: npt.NDArray[Any], values: pa.Array) -> pa.ListArray:
    """Lists of given lengths over flat values; a list without values is null."""
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    missing = np.append(counts == 0, False)
    return pa.ListArray.from_arrays(pa.array(ends, mask=missing), values).cast(kind)


def _map_of_json(texts: pa.StringArray) -> tuple[pa.MapArray, Bools]:
    objects = [_object(value) for value in texts.to_pylist()]
    wrong = np.fromiter((one is False for one in objects), bool, len(objects))
    return map_array(one if isinstance(one, dict) else None for one in objects), wrong


def _object(value: str | None) -> dict[str, Any] | bool:
    """The object a text holds; True for an empty text, False for anything else."""
    if value is None or not value.strip():
        return True
    try:
        found = parsed(value)
    except ValueError:
        return False
    if not isinstance(found, dict):
        return found is None
    return False if _is_broken(value, found) else found


def _is_broken(text: str, value: Any) -> bool:
    r"""Whether escapes such as ``\ud800`` made of a text what no text can hold."""
    return "\\u" in text and SURROGATE.search(json.dumps(value, ensure_ascii=False)) is not None


def _map_of_map(maps: pa.MapArray) -> tuple[pa.MapArray, Bools]:
    entries = pc.list_flatten(maps.cast(pa.list_(pa.struct([*_pair(maps.type)]))))
    rows = pc.list_parent_indices(maps.cast(pa.list_(pa.struct([*_pair(maps.type)]))))
    keys, odd = _value_texts(entries.field(0))
    values, broken = _value_texts(entries.field(1))
    full = ~mask(pc.is_null(values)) & ~odd
    owner = rows.to_numpy()
    counts = np.bincount(owner[full], minlength=len(maps))
    kept = pa.array(full)
    wrong = np.bincount(owner[odd | broken], minlength=len(maps)) > 0
    return _maps(counts, keys.filter(kept), values.filter(kept)), wrong


def _pair(kind: pa.MapType) -> tuple[pa.Field, pa.Field]:
    return pa.field("key", kind.key_type, nullable=False), pa.field("value", kind.item_type)


def _map_of_struct(structs: pa.StructArray) -> tuple[pa.MapArray, Bools]:
    """One column per name becomes one entry per value: rows in order, names in order within a row."""
    n_rows, names = len(structs), [field.name for field in structs.type]
    found = [_value_texts(column) for column in structs.flatten()]
    columns = [texts for texts, _ in found]
    wrong = np.any([broken for _, broken in found], axis=0) if found else np.zeros(n_rows, bool)
    values = pa.concat_arrays(columns) if columns else pa.array([], pa.string())
    order = np.arange(n_rows)[:, None] + n_rows * np.arange(len(names))[None, :]
    full = ~mask(pc.is_null(values))[order]
    picked = order[full]
    keys = pa.array(names, pa.string()).take(pa.array(picked // max(n_rows, 1)))
    return _maps(full.sum(axis=1), keys, values.take(pa.array(picked))), wrong


def _maps(counts: npt.NDArray[Any], keys: pa.Array, values: pa.Array) -> pa.MapArray:
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    missing = np.append(counts == 0, False)
    return pa.MapArray.from_arrays(pa.array(ends, mask=missing), keys, values)


def _value_texts(values: pa.Array) -> tuple[pa.Array, Bools]:
    """Attribute values as text, and which have none; nested ones as JSON, which no kernel does."""
    try:
        if not pa.types.is_nested(values.type):
            return values.cast(pa.string()), np.zeros(len(values), dtype=bool)
    except pa.ArrowException:  # bytes that are no text, a type without a text form
        pass
    texts = [_text_of(value) for value in values]
    wrong = np.fromiter((one is False for one in texts), bool, len(texts))
    return pa.array([one if isinstance(one, str) else None for one in texts], pa.string()), wrong


def _text_of(value: pa.Scalar) -> str | bool | None:
    """One value as text; False for what has none."""
    try:
        return object_text(value.as_py())
    except (ValueError, TypeError, OverflowError, RecursionError):
        return False
