"""Ask a trained run: one text, or a file of them answered into a file; and ask how an answer came about.

Owns: opening a system fast, reading files of queries, writing results as TREC runs or JSON lines, and what a
dataset's judgments say of a text. Ignores how a system answers.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rars import disk
from rars.errors import RarsError
from rars.pipeline.opening import open_system
from rars.progress import SILENT, Tell
from rars.runs import Run
from rars.systems import Hits, Query, Ranked, System, cleaned, rank, search, search_many

if TYPE_CHECKING:
    from rars.data import Dataset
    from rars.search.facets import Facet
    from rars.search.walk import Branches
    from rars.search.why_not import WhyNot

__all__ = [
    "Hits",
    "Query",
    "System",
    "facets",
    "judged",
    "open_run",
    "read_texts",
    "search",
    "search_file",
    "walk",
    "why_not",
]

TYPES = (".run", ".trec", ".jsonl")


def open_run(folder: str | Path, **options: Any) -> System:
    """Any trained run, opened for search.

    Opening makes very many objects that stay. The collector, which would look through them again and again,
    waits meanwhile and leaves them alone afterwards: the first answer comes a fifth sooner.
    """
    gc.disable()
    try:
        return open_system(folder, **options)
    finally:
        gc.freeze()
        gc.enable()


def read_texts(path: Path) -> tuple[list[str], list[str]]:
    """Ids and texts of queries: of a table, or of lines, which are numbered from 1."""
    if path.suffix.lower() not in (".txt", ""):
        from rars.data.importing import read_queries

        table = read_queries(path, consequence="nothing was searched")
        return table["id"].to_pylist(), table["text"].to_pylist()
    if not path.is_file():
        raise RarsError(f"{path} does not exist.")
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise RarsError(f"{path} cannot be read as UTF-8 text: {error}.") from error
    asked = [(str(n), line) for n, line in enumerate(lines, 1) if cleaned(line)]
    if not asked:
        raise RarsError(f"{path} has no queries.")
    return [name for name, _ in asked], [line for _, line in asked]


def search_file(
    system: System,
    asked: tuple[Sequence[str], Sequence[str]],
    out: Path,
    k: int,
    *,
    tell: Tell = SILENT,
    **options: Any,
) -> dict[str, Any]:
    """Answer many queries into a file; its type says how: .run and .trec (TREC), .jsonl."""
    ids, texts = asked
    start = time.perf_counter()
    with tell.stage("searching") as advance:
        if out.suffix == ".jsonl":
            found = search_many(system, texts, k, **options, advance=advance)
            _write_jsonl(out, ids, texts, found)
            hits = sum(map(len, found))
        else:
            queries = [Query(text, k, **options) for text in texts]
            ranked = rank(system, queries, advance=advance)
            _write_run(out, system, ids, ranked, options.get("rule") or system.rules[0])
            hits = len(ranked.items)
    seconds = round(time.perf_counter() - start, 3)
    return {"queries": len(ids), "hits": hits, "seconds": seconds, "out": str(out)}


def _write_run(out: Path, system: System, ids: Sequence[str], ranked: Ranked, rule: str) -> None:
    import pyarrow as pa

    from rars.evaluation import Ranking, write_run_of

    ranking = Ranking.of(range(len(ids)), ranked)
    names = pa.array(ids, pa.string())
    write_run_of(out, ranking, names, system.catalogue.ids, tag=f"rars-{rule}")


def _write_jsonl(
    out: Path, ids: Sequence[str], texts: Sequence[str], found: Sequence[Hits]
) -> None:
    lines = (
        json.dumps(
            {"id": name, "text": text, "hits": [hit.as_dict() for hit in hits]}, ensure_ascii=False
        )
        for name, text, hits in zip(ids, texts, found, strict=True)
    )
    disk.write_text(out, "".join(f"{line}\n" for line in lines))


# -- how an answer came about ----------------------------------------------------------------------


def why_not(system: System, text: str, item_id: str, k: int = 10, **options: Any) -> WhyNot:
    """Why an item is not among the first ``k`` of a text; ``options`` are those of ``Query``."""
    from rars.search import why_not as room

    return room.why_not(system, Query(text, k, **options), item_id)


def walk(
    system: System,
    text: str,
    prefix: str = "",
    *,
    grades: dict[str, float] | None = None,
    limit: int = 50,
    **options: Any,
) -> Branches:
    """The branches below a prefix (``a12 b7``; the root if empty) as a query sees them.

    ``grades`` of item ids, as ``judged`` gives them.
    """
    from rars.search import walk as room
    from rars.search.retriever import Retriever

    if not isinstance(system, Retriever):
        raise RarsError("--walk: this system has no tree of identifiers to walk.")
    query = Query(text, **options)
    return room.walk(system, query, room.read_prefix(prefix), judged=grades, limit=limit)


def facets(
    system: System, names: Sequence[str], query: Query, hits: Hits | None = None
) -> list[Facet]:
    """Counts of the values of named columns: over hits, or over all items that the query may find."""
    from rars.search.facets import count
    from rars.search.restrictions import matching
    from rars.search.store import ItemStore

    store = system.catalogue
    if not isinstance(store, ItemStore):
        raise RarsError("--facet: the catalogue of this system has no columns to count.")
    if hits is None:
        return count(store, names, matching(system, query))
    return count(store, names, store.rows_of([hit.item_id for hit in hits]))


def judged(source: Run | Dataset | str | Path, text: str) -> dict[str, float] | None:
    """The grades of a query of a run's dataset, by item id; None where no judged query has this text."""
    import numpy as np
    import pyarrow as pa

    from rars.data import Dataset

    dataset = source if isinstance(source, Dataset) else Run.of(source).dataset()
    wanted = cleaned(text)
    rows = [at for at, one in enumerate(dataset.query_texts.to_pylist()) if cleaned(one) == wanted]
    found = dataset.judgments.where(np.isin(dataset.judgments.query, rows))
    if not len(found):
        return None
    grades: dict[str, float] = {}
    ids = dataset.item_ids.take(pa.array(found.item)).to_pylist()
    for item, grade in zip(ids, found.grade.tolist(), strict=True):
        grades[item] = max(grade, grades.get(item, 0.0))
    return grades
