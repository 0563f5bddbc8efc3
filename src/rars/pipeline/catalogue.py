"""Items come and go without training again: the changes of ``rars.search.catalog``, told as they happen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rars.progress import SILENT, Tell
from rars.runs import Run
from rars.search import catalog
from rars.search.catalog import (
    KEPT,
    Changed,
    Pruned,
    add_items,
    remove_items,
    roll_back,
    update_items,
)
from rars.search.changes import Applied, Row, apply_rows, read_file
from rars.search.index import IndexVersion, current, pointer, versions

if TYPE_CHECKING:
    from rars.search.difference import Difference
    from rars.search.retriever import Retriever


def add(run: Run | str | Path, file: str | Path, *, tell: Tell = SILENT) -> Changed:
    """Add the items of a table; they are found at once."""
    with tell.stage("adding") as advance:
        return add_items(Run.of(run, generative=True), Path(file), advance=advance)


def remove(run: Run | str | Path, file: str | Path, *, tell: Tell = SILENT) -> Changed:
    """Remove the items whose ids a table names."""
    with tell.stage("removing") as advance:
        return remove_items(Run.of(run, generative=True), Path(file), advance=advance)


def update(run: Run | str | Path, file: str | Path, *, tell: Tell = SILENT) -> Changed:
    """Replace items by those of a table that have the same ids."""
    with tell.stage("updating") as advance:
        return update_items(Run.of(run, generative=True), Path(file), advance=advance)


def rollback(run: Run | str | Path, version: str | None = None) -> Changed:
    """Search an earlier version again: the one named, or the one before; later ones are kept."""
    return roll_back(Run.of(run, generative=True), version)


def apply(
    run: Run | str | Path,
    rows: str | Path | Iterable[Row],
    *,
    whole: bool = False,
    tell: Tell = SILENT,
) -> Applied:
    """Apply many changes at once, as one version: a status for every row.

    ``rows``   a file of JSON lines, or mappings: an item each, or ``{"id": ..., "delete": True}``
    ``whole``  all or nothing: one row that is refused refuses all
    """
    given = read_file(Path(rows)) if isinstance(rows, str | Path) else rows
    with tell.stage("applying") as advance:
        return apply_rows(Run.of(run, generative=True), given, whole=whole, advance=advance)


def difference(
    run: Run | str | Path,
    old: str | None = None,
    new: str | None = None,
    *,
    queries: Sequence[str] = (),
    k: int = 10,
    rule: str | None = None,
    limit: int = 100,
    retriever: Retriever | None = None,
    tell: Tell = SILENT,
) -> Difference:
    """What lies between two versions: the one searched now (``new``) and the one before it (``old``).

    ``queries`` are asked of both, and the first ``k`` items compared; ``retriever`` saves reading the model.
    """
    from rars.search.difference import difference as compared
    from rars.search.retriever import Retriever
    from rars.systems import Query

    run = Run.of(run, generative=True)
    named = new or current(run)
    before = old or catalog.before(run, named)
    with tell.stage("comparing") as advance:
        opened = [IndexVersion.load(run, catalog.kept_version(run, one)) for one in (before, named)]
        if queries and retriever is None:
            retriever = Retriever.load(run.folder, version=named)
        found = compared(
            *opened,
            retriever=retriever,
            queries=[Query(text, k, rule=rule) for text in queries],
            limit=limit,
        )
        advance(1, 1)
    return found


def prune(run: Run | str | Path, *, keep: int = KEPT) -> Pruned:
    """Remove old versions: the one searched now stays, and the ``keep`` searched most lately before it."""
    return catalog.prune(Run.of(run, generative=True), keep)


def kept(run: Run | str | Path) -> list[str]:
    """The versions that can be searched, the one searched now first, then those searched most lately."""
    return versions(Run.of(run, generative=True))


def log(run: Run | str | Path) -> dict[str, Any]:
    """Which version is searched now (``current``), and what happened so far (``log``)."""
    return pointer(Run.of(run, generative=True))
