"""What must hold for the three tables, wherever they come from.

Owns: each rule once, for tables being imported and for folders already stored: columns present, ids unique,
texts not empty, judgments that refer to known queries and items, grades that can be used. Ignores where the
tables were read and what is done with them. Every rule looks at whole columns and notes all offenders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rars.data import columns
from rars.data.guesses import likely
from rars.data.problems import Problems, quoted, some
from rars.data.tables import Source


@dataclass(frozen=True)
class Named:
    """A source whose columns are asked for by our names and reported by the file's own.

    ``option`` says how the user can give another name for a column of ours, and which.
    """

    source: Source
    problems: Problems
    names: Mapping[str, str]
    option: Callable[[str, str], str] | None = None

    def name(self, ours: str) -> str:
        """What the file calls our column."""
        return self.names.get(ours, ours)

    def has(self, ours: str) -> bool:
        """Whether the file has our column."""
        return self.name(ours) in self.source.table.column_names

    def column(self, ours: str) -> pa.ChunkedArray:
        """Our column as it was read."""
        return self.source.table[self.name(ours)]

    def wrong(
        self,
        ours: str,
        records: npt.NDArray[np.bool_],
        message: str | Callable[[int], str],
    ) -> None:
        """Note the records that break a rule."""
        self.problems.add_records(self.source, self.name(ours), records, message)

    def missing(self, ours: str, *others: str) -> None:
        """Note that the file lacks our column (``others`` would have done instead), and what may be meant."""
        present = self.source.table.column_names
        also = f" (or {', '.join(others)})" if others else ""
        hint = ""
        if self.option:
            hint = f"; name another with {self.option(ours, 'NAME')}"
            for name in (ours, *others):
                if meant := likely(name, self.name(name), present):
                    hint = f"; if {quoted(meant)} is meant: {self.option(name, meant)}"
                    break
        self.problems.add(
            self.source.path,
            f"missing column{also}; the {self.source.what} has {some(present)}{hint}",
            row=self.source.header_row,
            column=self.name(ours),
        )

    def texts(self, ours: str, *, single: bool = True) -> pa.ChunkedArray | None:
        """A column that must be there, as text; None if it is missing or cannot be text.

        ``single``: a list of values is no value.
        """
        if not self.has(ours):
            self.missing(ours)
            return None
        return self.readable(ours, columns.single_text if single else columns.text)

    def optional_texts(self, ours: str) -> pa.ChunkedArray | None:
        """A column that may be there, as text with empty values null."""
        return self.readable(ours, columns.optional_text) if self.has(ours) else None

    def readable(
        self, ours: str, convert: Callable[[pa.ChunkedArray], pa.ChunkedArray | None]
    ) -> pa.ChunkedArray | None:
        """The column converted; a type that does not allow it is a problem of the column."""
        column = self.column(ours)
        converted = convert(column)
        if converted is None:
            kind = str(column.type)
            self.problems.add(
                self.source.path, f"values of type {kind} are not text", column=self.name(ours)
            )
        return converted


def not_empty(named: Named, ours: str) -> pa.ChunkedArray | None:
    """A text column without empty texts."""
    texts = named.texts(ours, single=False)
    if texts is not None:
        named.wrong(ours, columns.mask(columns.is_empty(texts)), "empty text")
    return texts


def unique_ids(named: Named, ours: str = "id") -> pa.StringArray | None:
    """An id column: none empty, none twice."""
    texts = named.texts(ours)
    if texts is None:
        return None
    empty = columns.mask(columns.is_empty(texts))
    named.wrong(ours, empty, "empty id")
    ids = one(texts)
    codes = ids.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
    # Codes count up in order of first appearance: one that is not a new maximum was there before.
    again = np.zeros(len(codes), dtype=bool)
    again[1:] = codes[1:] <= np.maximum.accumulate(codes)[:-1]
    firsts = np.flatnonzero(~again)

    def message(record: int) -> str:
        [row] = named.source.rows([int(firsts[codes[record]])])
        return f"duplicate id {quoted(ids[record].as_py())} (first in row {row})"

    named.wrong(ours, again & ~empty, message)
    return ids


def references(named: Named, ours: str, known: pa.StringArray | None, what: str) -> pa.Array | None:
    """Positions of the ids a column refers to, null where unknown; None if the column is missing.

    ``known`` is None when the table referred to could not be read in full: then nothing is unknown.
    """
    texts = named.texts(ours)
    if texts is None:
        return None
    if known is None:
        return pa.nulls(len(texts), pa.int32())
    found = one(pc.index_in(texts, known))
    values = one(texts)
    named.wrong(
        ours,
        columns.mask(pc.is_null(found)),
        lambda record: f"unknown {what} {quoted(values[record].as_py())}",
    )
    return found


def label_grades(named: Named, ours: str = "label") -> npt.NDArray[np.float64] | None:
    """Grades of a column of labels."""
    texts = named.texts(ours)
    if texts is None:
        return None
    grades, unknown = columns.grades_of_labels(texts)
    values = one(texts)
    named.wrong(
        ours,
        unknown,
        lambda record: f"unknown label {quoted(values[record].as_py())}; expected E, S, C or I",
    )
    return grades


def number_grades(named: Named, ours: str = "grade") -> npt.NDArray[np.float64] | None:
    """Grades of a column of numbers: finite and not negative."""
    if not named.has(ours):
        named.missing(ours)
        return None
    column = named.column(ours)
    grades, unreadable = columns.grades_of_numbers(column)

    def value(record: int) -> str:
        return quoted(column[record].as_py())

    named.wrong(ours, unreadable, lambda record: f"grade {value(record)} is not a number")
    named.wrong(ours, np.isnan(grades) & ~unreadable, "grade is NaN")
    # Grades are stored as float32: what overflows there is infinite for every reader.
    with np.errstate(over="ignore"):
        infinite = np.isinf(grades.astype(np.float32))
    named.wrong(ours, infinite, lambda record: f"grade {value(record)} is not finite")
    named.wrong(ours, (grades < 0) & ~infinite, lambda record: f"negative grade {value(record)}")
    return grades


def split_names(named: Named, ours: str = "split") -> pa.Array | None:
    """Split names in our spelling."""
    texts = named.texts(ours)
    if texts is None:
        return None
    names = columns.splits(texts)
    values = one(texts)
    named.wrong(
        ours,
        columns.mask(pc.is_null(names)),
        lambda record: (
            f"unknown split {quoted(values[record].as_py())}; expected train, validation or test"
        ),
    )
    return names


def one(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column in one piece."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
