"""A catalogue that changes: items added, removed and updated without training again.

Owns: what becomes of identifiers, categories, vectors and evidence when items come and go, and going back to
an earlier version. Ignores how versions are stored (``rars.search.index``) and how files are printed about.

New items get identifiers from the frozen codebooks under the collision policy of the run. An item that is in
none of the model's categories belongs to no category: routing never leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rars import artifacts, disk, locks, replacing
from rars.arrays import Bools, Ints, Points
from rars.data.ids import placed
from rars.data.importing import read_ids, read_items
from rars.data.problems import quoted
from rars.data.rules import Named
from rars.errors import RarsError, expected
from rars.identifiers import Identifiers, shared_embedder
from rars.identifiers.texts import joined
from rars.progress import Advance
from rars.runs import Run
from rars.search.index import (
    KIND,
    Change,
    IndexVersion,
    home,
    point,
    pointer,
    versions,
    write_version,
)
from rars.tree.categories import NONE, CategoryTree

KEPT = 10
"""Versions that pruning keeps beside the one that is searched, unless told otherwise."""

_UNCHANGED = "the catalogue was not changed"


@dataclass(frozen=True)
class Changed:
    """What a change did."""

    action: str
    version: str
    items: int
    added: int
    removed: int


def add_items(run: Run, path: Path, *, advance: Advance | None = None) -> Changed:
    """Add the items of a file; an id that the catalogue has already is a problem of its row."""
    with locks.held(run.folder):
        old = IndexVersion.load(run)
        new = read_items(
            path, _refuse_known(old.items.ids), consequence=_UNCHANGED, advance=advance
        )
        return changed(run, old, "add", None, new, advance)


def remove_items(run: Run, path: Path, *, advance: Advance | None = None) -> Changed:
    """Remove the items whose ids a file names; an unknown id is a problem of its row."""
    with locks.held(run.folder):
        old = IndexVersion.load(run)
        ids = read_ids(path, _refuse_unknown(old.items.ids, "to remove"), consequence=_UNCHANGED)
        return changed(run, old, "remove", ids, None, advance)


def update_items(run: Run, path: Path, *, advance: Advance | None = None) -> Changed:
    """Replace items by those of a file that have the same ids; they move to the end of the catalogue."""
    with locks.held(run.folder):
        old = IndexVersion.load(run)
        check = _refuse_unknown(old.items.ids, "to update; use add")
        new = read_items(path, check, consequence=_UNCHANGED, advance=advance)
        return changed(run, old, "update", new["id"].combine_chunks(), new, advance)


def roll_back(run: Run, version: str | None = None) -> Changed:
    """Search an earlier version again: the one named, or the one before the current one."""
    with locks.held(run.folder):
        known = pointer(run)
        name = kept_version(run, version or before(run, known["current"]))
        target = IndexVersion.load(run, name)  # a damaged one, or one of another model, is refused
        items = target.tree.n_items
        point(run, name, {"action": "rollback", "parent": known["current"], "items": items})
        return Changed("rollback", name, items, 0, 0)


@dataclass(frozen=True)
class Pruned:
    """What pruning did: versions ``kept`` (the one searched now first), ``removed``, and ``held``.

    ``held`` are those that a process has open: they are no longer kept, and go with a later pruning.
    """

    kept: tuple[str, ...]
    removed: tuple[str, ...]
    held: tuple[str, ...] = ()


def prune(run: Run, keep: int = KEPT) -> Pruned:
    """Remove old versions: the one searched now stays, and the ``keep`` searched most lately before it.

    The log stays, and says what went. A version that a process has open is left until nobody has.
    """
    if isinstance(keep, bool) or not isinstance(keep, int) or keep < 0:
        raise expected("keep", "a whole number of 0 or more", keep)
    with locks.held(run.folder):
        every = versions(run)
        kept, gone = every[: keep + 1], every[keep + 1 :]
        if gone:
            # First the log: what a kill leaves of the folders goes with the next pruning.
            items = artifacts.opening(home(run) / kept[0], kind=KIND, verify=False).meta["items"]
            event = {"action": "prune", "parent": kept[0], "items": items, "pruned": gone}
            point(run, kept[0], event)
        disk.sweep(home(run), "v")
        pruned = (name for name in _all_pruned(run) if name not in kept)
        left = [name for name in pruned if (home(run) / name).exists()]
        with ExitStack() as shared:
            for name in kept:
                shared.enter_context(artifacts.unlinking(home(run) / name))
            held = tuple(name for name in left if not replacing.remove(home(run) / name))
        removed = tuple(name for name in left if name not in held)
        return Pruned(tuple(kept), removed, held)


def _all_pruned(run: Run) -> list[str]:
    named = (name for event in pointer(run)["log"] for name in event.get("pruned", ()))
    return list(dict.fromkeys(named))


def kept_version(run: Run, name: str) -> str:
    """The name of a version, if there is such a one."""
    kept = versions(run)
    if name not in kept:
        was = any(event["version"] == name for event in pointer(run)["log"])
        said = f"The version {name!r} was pruned" if was else f"There is no version {name!r}"
        raise RarsError(f"{said}; there is {', '.join(sorted(kept))}.")
    return name


def before(run: Run, version: str) -> str:
    """The version that another was made from."""
    made = [
        e
        for e in pointer(run)["log"]
        if e["version"] == version and e["action"] not in ("rollback", "prune")
    ]
    if not made or made[-1]["parent"] is None:
        raise RarsError(f"{home(run) / version} is the first version; there is no earlier one.")
    return str(made[-1]["parent"])


def changed(
    run: Run,
    old: IndexVersion,
    action: str,
    gone: pa.Array | None,
    new: pa.Table | None,
    advance: Advance | None,
) -> Changed:
    """Write the version without ``gone`` ids and with ``new`` items."""
    now = old.items.ids, np.asarray(old.codes)
    identifiers = Identifiers.load(run.folder / "identifiers", items=now)
    keep = None
    if gone is not None:
        keep = ~pc.is_in(old.items.ids, gone).to_numpy(zero_copy_only=False)
        if new is None and not keep.any():
            raise RarsError("This would remove every item; a catalogue needs at least one.")
        identifiers = replace(
            identifiers,
            item_ids=old.items.ids.filter(pa.array(keep)),
            codes=identifiers.codes[keep],
        )
    vectors = None
    if new is not None:
        vectors = _embedded(identifiers, new, advance)
        identifiers = identifiers.added(vectors, new["id"].to_pylist())
    stays = slice(None) if keep is None else keep
    change = Change(
        action=action,
        identifiers=identifiers,
        categories=_categorised(old.categories, stays, new),
        vectors=vectors if old.vectors is not None else None,
        keep=keep,
        new=new,
        old=old,
    )
    version = write_version(run, change, advance=advance)
    added = 0 if new is None else new.num_rows
    removed = 0 if gone is None else len(gone)
    return Changed(action, version, len(identifiers.codes), added, removed)


def _embedded(identifiers: Identifiers, new: pa.Table, advance: Advance | None) -> Points | None:
    """Vectors of new items by the embedder of the old ones."""
    quantizer = identifiers.quantizer
    if not getattr(quantizer, "takes_vectors", quantizer.inputs > 0):
        return None
    embedder = shared_embedder(identifiers.embedder_name, identifiers.embedder)
    texts = joined(new).to_pylist()
    blocks = []
    for start in range(0, len(texts), 1024):
        blocks.append(np.array(embedder.embed(texts[start : start + 1024]), dtype=np.float32))
        if advance:
            advance(min(start + 1024, len(texts)), len(texts))
    return identifiers.item_space(np.concatenate(blocks), lambda: texts)


def _categorised(
    old: CategoryTree | None, stays: slice | Bools, new: pa.Table | None
) -> CategoryTree | None:
    """The model's categories with the items' places in them; the categories themselves never change."""
    if old is None:
        return None
    nodes = np.asarray(old.nodes)[stays]
    if new is None:
        return replace(old, nodes=nodes)
    paths: list[list[str] | None] = (
        new["category"].to_pylist() if "category" in new.column_names else [None] * new.num_rows
    )
    ends = {} if old.induced else _ends(old)  # a number that names a cluster is nobody's path
    fresh = np.full((new.num_rows, nodes.shape[1]), NONE, dtype=nodes.dtype)
    for row, path in enumerate(paths):
        found = ends.get(" > ".join((path or [])[: nodes.shape[1]]))
        if found is not None:
            fresh[row] = found
    return replace(old, nodes=np.concatenate([nodes, fresh]))


def _ends(categories: CategoryTree) -> dict[str, Ints]:
    """For each category in which some item's path ends, the node of its path at every level."""
    rows = np.unique(np.asarray(categories.nodes), axis=0)
    found = {}
    for row in rows[rows[:, 0] != NONE]:
        level = int((row != NONE).sum()) - 1
        found[categories.names[level][int(row[level])]] = row
    return found


def _refuse_known(known: pa.Array) -> Callable[[Named, pa.StringArray], None]:
    def check(named: Named, ids: pa.StringArray) -> None:
        again = placed(ids, known) >= 0
        named.wrong(
            "id",
            again,
            lambda record: f"item {quoted(ids[record].as_py())} is in the catalogue; use update",
        )

    return check


def _refuse_unknown(known: pa.Array, end: str) -> Callable[[Named, pa.StringArray], None]:
    def check(named: Named, ids: pa.StringArray) -> None:
        absent = placed(ids, known) < 0
        named.wrong(
            "id", absent, lambda record: f"there is no item {quoted(ids[record].as_py())} {end}"
        )

    return check
