"""Ask a trained run: one text, or a file of them answered into a file.

Owns: opening a system fast, reading files of queries, and writing results as TREC runs or JSON lines.
Ignores how a system answers.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rars import artifacts
from rars.errors import RarsError
from rars.pipeline.opening import open_system
from rars.progress import SILENT, Tell
from rars.systems import Hits, Query, Ranked, System, cleaned, rank, search, search_many

__all__ = ["Hits", "System", "open_run", "read_texts", "search", "search_file"]

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
    artifacts.write_text(out, "".join(f"{line}\n" for line in lines))
