"""``rars search`` and ``rars index``: ask a trained run, and make or tune what it is asked through."""

from __future__ import annotations

import gc
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table
from rich.tree import Tree

from rars.cli import console
from rars.cli.identify import RunFolder
from rars.errors import RarsError

if TYPE_CHECKING:
    from rars.baselines.running import Baseline
    from rars.runs import Run
    from rars.search.explaining import Explanation, Step
    from rars.search.retriever import Categories, Hit, Retriever


def search(
    folder: RunFolder,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="The query.")] = None,
    k: Annotated[int, typer.Option("-k", help="How many items to show.")] = 10,
    rule: Annotated[
        str, typer.Option(help="hybrid, ar, all, or a 0 or 1 for each code, such as 0110.")
    ] = "hybrid",
    categories: Annotated[
        int | None,
        typer.Option(help="How many of the model's categories to search; 0 for everything."),
    ] = None,
    category: Annotated[
        str | None, typer.Option(metavar="PATH", help='Search here alone: "Home > Mugs".')
    ] = None,
    locale: Annotated[
        str | None,
        typer.Option(help="Read the query as en, es or ja; find items of that locale."),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Score every identifier, not a beam; for small catalogues."),
    ] = False,
    int8: Annotated[
        bool,
        typer.Option("--int8", help="Approximate, faster on large models: 8-bit linear layers."),
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show every branch decision, and why.")
    ] = False,
    queries: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Many queries: one a line, or a table with columns id and text."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --queries: results as .run, .trec or .jsonl."),
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Search a trained run: one text, or a file of them.

    Example: rars search runs/demo "qi compatible power bank" -k 5 --explain
    """
    if (text is None) == (queries is None):
        raise RarsError('Give one query, as in rars search RUN "text", or a file with --queries.')
    _check_out(queries, out)
    options: dict[str, Any] = {"rule": rule, "categories": _categories(categories)}
    options |= {"category": category, "explain": explain, "locale": locale, "exact": exact}
    asked = None if queries is None else _read_queries(queries)
    retriever = _opened(folder, options, int8)
    if asked is not None and out is not None:
        payload = _search_file(retriever, asked, out, k, options)
        console.emit(
            payload,
            as_json,
            lambda: console.out.print(
                f"{payload['queries']:,} queries in {payload['seconds']:.1f} s: {out}", markup=False
            ),
        )
        return
    assert text is not None
    start = time.perf_counter()
    hits = retriever.search(text, k, **options)
    seconds = time.perf_counter() - start
    payload = {
        "query": text,
        "rule": options["rule"],
        "seconds": round(seconds, 4),
        "hits": [{"rank": rank, **hit.as_dict()} for rank, hit in enumerate(hits, 1)],
    }
    console.emit(payload, as_json, lambda: show_hits(text, hits, explained=explain))


def _opened(folder: Path, options: dict[str, Any], int8: bool) -> Retriever | Baseline:
    """Import what search needs and open a run; options that its system has no use for are refused.

    Both make very many objects that stay. The collector, which would look through them again and again, waits
    meanwhile and leaves them alone afterwards: the first answer comes a fifth sooner.
    """
    gc.disable()
    try:
        from rars.baselines.running import Baseline, is_baseline
        from rars.search.retriever import Retriever

        if not is_baseline(folder):
            return Retriever.load(folder, precision="int8" if int8 else "float32")
        for name, given in (
            ("--locale", options.pop("locale")),
            ("--exact", options.pop("exact")),
            ("--int8", int8),
        ):
            if given:
                raise RarsError(
                    f"{name}: {folder} is no generative retriever and has no use for it."
                )
        if options["rule"] == "hybrid":
            options["rule"] = "plain"
        return Baseline.load(folder)
    finally:
        gc.freeze()
        gc.enable()


def _categories(given: int | None) -> Categories:
    if given is None:
        return "auto"
    if given < 0:
        raise RarsError(f"--categories must be 0 (everything) or more, not {given}.")
    return given or None


# -- files of queries ----------------------------------------------------------------------------


def _check_out(queries: Path | None, out: Path | None) -> None:
    if queries is None and out is not None:
        raise RarsError("--out goes with --queries; one query is answered on the screen.")
    if queries is not None and out is None:
        raise RarsError("--queries needs --out FILE: .run or .trec (TREC), or .jsonl.")
    if out is not None and out.suffix not in (".run", ".trec", ".jsonl"):
        raise RarsError(f"--out {out} is of no known type; choose .run, .trec or .jsonl.")


def _read_queries(path: Path) -> tuple[list[str], list[str]]:
    """Ids and texts: of a table, or of lines, which are numbered from 1."""
    from rars.data.importing import read_queries
    from rars.search.reading import cleaned

    if path.suffix.lower() in (".txt", ""):
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
    table = read_queries(path, consequence="nothing was searched")
    return table["id"].to_pylist(), table["text"].to_pylist()


def _search_file(
    retriever: Retriever | Baseline,
    asked: tuple[list[str], list[str]],
    out: Path,
    k: int,
    options: dict[str, Any],
) -> dict[str, Any]:
    ids, texts = asked
    start = time.perf_counter()
    with console.progress("searching") as advance:
        found = retriever.search_many(texts, k, **options, advance=advance)
    if out.suffix == ".jsonl":
        _write_jsonl(out, ids, texts, found)
    else:
        _write_trec(retriever, out, ids, found, options["rule"])
    return {
        "queries": len(ids),
        "hits": sum(map(len, found)),
        "seconds": round(time.perf_counter() - start, 3),
        "out": str(out),
    }


def _write_jsonl(out: Path, ids: list[str], texts: list[str], found: list[list[Hit]]) -> None:
    from rars import artifacts

    lines = (
        json.dumps(
            {"id": name, "text": text, "hits": [hit.as_dict() for hit in hits]}, ensure_ascii=False
        )
        for name, text, hits in zip(ids, texts, found, strict=True)
    )
    artifacts.write_text(out, "".join(f"{line}\n" for line in lines))


def _write_trec(
    retriever: Retriever | Baseline,
    out: Path,
    ids: list[str],
    found: list[list[Hit]],
    rule: str,
) -> None:
    import numpy as np
    import pyarrow as pa

    from rars.baselines.ranked import Ranked
    from rars.evaluation import Ranking, write_run
    from rars.search.index import as_dataset

    store = retriever.index.items
    rows = [store.rows_of([hit.item_id for hit in hits]) for hits in found]
    ranked = Ranked.of_lists(rows, [[hit.score for hit in hits] for hits in found])
    names = as_dataset(retriever.index.folder, store.ids, pa.array(ids, pa.string()))
    write_run(out, Ranking.of(np.arange(len(ids)), ranked), names, tag=f"rars-{rule}")


# -- one query -----------------------------------------------------------------------------------


def show_hits(text: str, hits: list[Hit], *, explained: bool) -> None:
    """Print the hits of a query, and with ``explained`` how each was reached."""
    if not hits:
        console.out.print("Nothing was found.")
        return
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("", "score"):
        table.add_column(name, justify="right")
    for name in ("item", "title", "brand", "category"):
        table.add_column(name, overflow="fold")
    for rank, hit in enumerate(hits, 1):
        leaf = hit.category[-1] if hit.category else ""
        cells = (hit.item_id, hit.title, hit.brand or "", leaf)
        table.add_row(str(rank), f"{hit.score:.3f}", *map(escape, cells))
    console.out.print(table)
    if explained:
        for rank, hit in enumerate(hits, 1):
            if hit.explanation is not None:
                console.out.print(_tree(text, rank, hit, hit.explanation), "")


def _tree(text: str, rank: int, hit: Hit, why: Explanation) -> Tree:
    """The path of one hit, from the query down to the item."""
    root = Tree(f"[bold]{rank}. {escape(hit.title)}[/bold]  {escape(hit.item_id)}")
    admitted = ", ".join(f"{escape(path)} {100 * p:.0f} %" for path, p in why.categories)
    at = root.add(f"{escape(repr(text))}  [dim]searched: {admitted or 'the whole catalogue'}[/dim]")
    best = ""
    for depth, step in enumerate(why.steps):
        at = at.add(_branch(depth, step))
        if step.evidence and step.best_id not in (best, hit.item_id):
            reasons = _reasons(step.reasons, step.parts)
            at.add(f"[dim]best below: {escape(step.best_title)}[/dim]  {reasons}")
        best = step.best_id
    at.add(f"[bold]score {hit.score:.2f}[/bold]  {_reasons(why.reasons, why.parts)}")
    return root


def _branch(depth: int, step: Step) -> str:
    from rars.search.explaining import named

    return (
        f"[cyan]{named(depth, step.code)}[/cyan]  model {100 * step.probability:.1f} %  "
        f"evidence {step.evidence:+.2f}  [dim]= {step.term:+.2f}[/dim]"
    )


def _reasons(reasons: tuple[Any, ...], parts: dict[str, float]) -> str:
    """Such as: +black (color) -acme (brand) bm25 0.81; a word is named once."""
    shown: dict[str, str] = {}
    for match in reasons:
        kind = "" if match.kind in ("bm25", "word") else f" ({match.kind})"
        mark = "[green]+[/green]" if match.matched else "[red]-[/red]"
        shown.setdefault(match.text, f"{mark}{escape(match.text)}{kind}")
    values = " ".join(f"{name} {value:.2f}" for name, value in parts.items())
    return f"{' '.join(shown.values())}  [dim]{values}[/dim]"


# -- the index -----------------------------------------------------------------------------------


def index(
    folder: RunFolder,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose the settings of hybrid on validation queries.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Index the training catalogue again.")
    ] = False,
    as_json: console.Json = False,
) -> None:
    """Make the index of a trained run, where training did not; choose how evidence counts.

    Example: rars index runs/demo --tune
    """
    from rars.runs import Run
    from rars.search.index import current

    run = Run.open(folder, generative=True)
    ensure_index(run, force=force)
    payload: dict[str, Any] = {"run": str(folder), "version": current(run)}
    if tune:
        payload["hybrid"] = _tuned(run)

    def show() -> None:
        console.out.print(f"The index of {folder}: {payload['version']}.", markup=False)
        if tune:
            chosen = ", ".join(f"{name} {value}" for name, value in payload["hybrid"].items())
            console.out.print(f"Settings of hybrid: {chosen}.")

    console.emit(payload, as_json, show)


def _tuned(run: Run) -> dict[str, Any]:
    from rars.evaluation.hybrid import choose_hybrid
    from rars.search.retriever import Retriever

    dataset = run.dataset()
    if not len(dataset.positives("validation")[0]):
        console.say(
            "No judged validation queries: weights are chosen on queries made of item titles."
        )
    with console.progress("choosing weights") as advance:
        return choose_hybrid(Retriever.load(run.folder), dataset, advance=advance).as_dict()


def ensure_index(run: Run, *, force: bool = False) -> None:
    """Make a run's index, unless it has one of its model."""
    from rars.search.index import build_index, is_current

    if not force and is_current(run):
        return
    console.say(f"Indexing the catalogue of {run.folder}.")
    start = time.perf_counter()
    with console.progress("index") as advance:
        version = build_index(run, advance=advance)
    run.record("index", seconds=round(time.perf_counter() - start, 1), version=version)
