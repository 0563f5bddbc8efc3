"""What lies between two versions of a catalogue: items, their places in the tree, and what queries find.

Owns: comparing two versions. Ignores how they came about (``rars.search.catalog``) and how the result is
shown. Items are the same if they have the same id. One has changed if a column has, and has moved if its
identifier is another; ``depth`` then is the first code that differs, from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rars.arrays import Bools, Ints
from rars.search.index import IndexVersion
from rars.search.retriever import Retriever
from rars.search.store import ItemStore
from rars.systems import Query, System
from rars.tree import code_name


@dataclass(frozen=True)
class Move:
    """An item that has another identifier now."""

    item_id: str
    title: str
    old: str
    new: str
    depth: int


@dataclass(frozen=True)
class Edit:
    """An item that has other contents now, and the columns in which."""

    item_id: str
    title: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Listed:
    """An item by its id and title."""

    item_id: str
    title: str


@dataclass(frozen=True)
class Shift:
    """An item of a ranking: its rank before and after; None where it is not among the first k."""

    item_id: str
    title: str
    old: int | None
    new: int | None


@dataclass(frozen=True)
class RankingChange:
    """The first k items of a query before and after.

    ``overlap``  the share of the first k that is in both; ``shifts`` the items whose rank is another
    """

    query: str
    overlap: float
    entered: int
    left: int
    shifts: tuple[Shift, ...]


@dataclass(frozen=True)
class Difference:
    """All that differs: counts of everything, and the first few of each in the order of the catalogue.

    ``rankings``  the queries whose first k changed, the largest change first; ``asked`` how many were asked
    """

    old: str
    new: str
    items: tuple[int, int]
    n_added: int
    n_removed: int
    n_changed: int
    n_moved: int
    added: tuple[Listed, ...]
    removed: tuple[Listed, ...]
    changed: tuple[Edit, ...]
    moved: tuple[Move, ...]
    asked: int
    k: int
    n_rankings: int
    rankings: tuple[RankingChange, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def difference(
    old: IndexVersion,
    new: IndexVersion,
    *,
    retriever: Retriever | None = None,
    queries: Sequence[Query] = (),
    limit: int = 100,
) -> Difference:
    """Compare two versions; ``queries`` are asked of both through ``retriever``, whose weights are shared."""
    here = new.items.find(old.items.ids.to_pylist())  # where each old item is now
    stays = np.flatnonzero(here >= 0)
    now = here[stays]
    come = np.ones(len(new.items), dtype=bool)
    come[now] = False
    other, columns = _edited(old.items, new.items, stays, now)
    differ = np.asarray(old.codes)[stays] != np.asarray(new.codes)[now]
    moved = np.flatnonzero(differ.any(axis=1))
    shifts: list[RankingChange] = []
    if queries and retriever is not None:
        systems = retriever.with_index(old), retriever.with_index(new)
        shifts = rankings(*systems, queries)
    added, removed = np.flatnonzero(come), np.flatnonzero(here < 0)
    return Difference(
        old=old.name,
        new=new.name,
        items=(len(old.items), len(new.items)),
        n_added=len(added),
        n_removed=len(removed),
        n_changed=len(other),
        n_moved=len(moved),
        added=_listed(new.items, added[:limit]),
        removed=_listed(old.items, removed[:limit]),
        changed=tuple(
            Edit(one.item_id, one.title, columns[at])
            for at, one in enumerate(_listed(new.items, now[other[:limit]]))
        ),
        moved=_moves(old, new, stays[moved[:limit]], now[moved[:limit]], differ[moved[:limit]]),
        asked=len(queries),
        k=max((query.k for query in queries), default=0),
        n_rankings=len(shifts),
        rankings=tuple(shifts[:limit]),
    )


def rankings(old: System, new: System, queries: Sequence[Query]) -> list[RankingChange]:
    """The queries whose first k items differ between two systems, the largest difference first."""
    answers = zip(queries, old.answer(queries), new.answer(queries), strict=True)
    found = []
    for query, before, after in answers:
        ids = [
            [one["id"] for one in system.catalogue.take(answer.items)]
            for system, answer in ((old, before), (new, after))
        ]
        if ids[0] != ids[1]:
            titles = {
                one["id"]: one["title"]
                for system, answer in ((old, before), (new, after))
                for one in system.catalogue.take(answer.items)
            }
            found.append(_ranking(query, ids[0], ids[1], titles))
    return sorted(found, key=lambda one: (one.overlap, -len(one.shifts)))


def _ranking(
    query: Query, before: list[str], after: list[str], titles: dict[str, str]
) -> RankingChange:
    old = {name: rank for rank, name in enumerate(before, 1)}
    new = {name: rank for rank, name in enumerate(after, 1)}
    shifts = [
        Shift(name, titles[name], old.get(name), new.get(name))
        for name in dict.fromkeys([*after, *before])
        if old.get(name) != new.get(name)
    ]
    entered, left = len(new.keys() - old.keys()), len(old.keys() - new.keys())
    share = len(old.keys() & new.keys()) / max(len(old), len(new), 1)
    return RankingChange(query.text, share, entered, left, tuple(shifts))


def _listed(store: ItemStore, rows: Ints) -> tuple[Listed, ...]:
    return tuple(Listed(one["id"], one["title"]) for one in store.take(rows))


def _moves(
    old: IndexVersion, new: IndexVersion, before: Ints, after: Ints, differ: Bools
) -> tuple[Move, ...]:
    """Items with both of their identifiers."""
    shown = new.items.take(after)
    codes = (np.asarray(old.codes)[before].tolist(), np.asarray(new.codes)[after].tolist())
    first = differ.argmax(axis=1) + 1 if len(differ) else np.zeros(0, dtype=np.int64)
    return tuple(
        Move(one["id"], one["title"], _name(old_codes), _name(new_codes), int(depth))
        for one, old_codes, new_codes, depth in zip(shown, *codes, first, strict=True)
    )


def _name(codes: Sequence[int]) -> str:
    return " ".join(code_name(depth, code) for depth, code in enumerate(codes))


# -- contents --------------------------------------------------------------------------------------


def _edited(
    old: ItemStore, new: ItemStore, before: Ints, after: Ints
) -> tuple[Ints, list[tuple[str, ...]]]:
    """Which of the items that stay have changed, and in which columns; column by column, as whole arrays."""
    sources = old.columns.source, new.columns.source
    names = list(dict.fromkeys([*sources[0].names, *sources[1].names]))
    marks = []
    for name in names:
        columns = [
            _comparable(source.read([name])[name], rows) if name in source.names else None
            for source, rows in zip(sources, (before, after), strict=True)
        ]
        marks.append(_differs(*columns))
    table = np.stack(marks) if marks else np.zeros((0, len(before)), dtype=bool)
    rows = np.flatnonzero(table.any(axis=0))
    said = [tuple(names[at] for at in np.flatnonzero(table[:, row])) for row in rows]
    return rows, said


def _differs(one: pa.Array | None, other: pa.Array | None) -> Bools:
    """Where two columns hold different values; a column that is not there holds none."""
    if one is None or other is None:
        there = one if one is not None else other
        assert there is not None
        return np.asarray(there.is_valid().to_numpy(zero_copy_only=False))
    same = pc.fill_null(pc.equal(one, other.cast(one.type)), False)
    both_null = pc.and_(one.is_null(), other.is_null())
    return np.asarray(~pc.or_(same, both_null).to_numpy(zero_copy_only=False))


def _comparable(column: pa.ChunkedArray, rows: Ints) -> pa.Array:
    """Some rows of a column, as values that can be compared: lists and maps as one text each."""
    values = column.combine_chunks().take(pa.array(rows, pa.int64()))
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_map(values.type):
        flat = [
            pa.ListArray.from_arrays(values.offsets, part.cast(pa.string()), mask=values.is_null())
            for part in (values.keys, pc.fill_null(values.items, "\0"))
        ]
        joined = [pc.binary_join(part, "\x1f") for part in flat]
        return pc.binary_join_element_wise(*joined, "\x1e")
    if pa.types.is_nested(values.type):
        return pa.array([None if one is None else repr(one) for one in values.to_pylist()])
    if pa.types.is_floating(values.type):  # a NaN is the same as another
        return pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    return values
