"""``rars search`` and ``rars index``: ask a trained run, and make or tune what it is asked through."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from rars.cli import console
from rars.cli.console import Part, Styled
from rars.errors import RarsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rars.search.explanation import Explanation, Step
    from rars.systems import Hit


def search(
    folder: console.RunFolder,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="The query.")] = None,
    k: Annotated[int, typer.Option("-k", help="How many items to show.")] = 10,
    rule: Annotated[
        str | None,
        typer.Option(
            help="ar, all, hybrid, or a 0 or 1 for each code, such as 0110; the recipe's own if not given."
        ),
    ] = None,
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
    from rars.pipeline import searching

    asked = None if queries is None else searching.read_texts(queries)
    system = searching.open_run(folder, **({"precision": "int8"} if int8 else {}))
    if asked is not None and out is not None:
        payload = searching.search_file(system, asked, out, k, tell=console.tell, **options)
        said = f"{payload['queries']:,} queries in {payload['seconds']:.1f} s: {out}"
        console.emit(payload, as_json, lambda: console.show(said))
        return
    assert text is not None
    start = time.perf_counter()
    hits = searching.search(system, text, k, **options)
    payload = {
        "query": text,
        "rule": rule or system.rules[0],
        "seconds": round(time.perf_counter() - start, 4),
        "hits": [{"rank": rank, **hit.as_dict()} for rank, hit in enumerate(hits, 1)],
    }
    console.emit(payload, as_json, lambda: show_hits(text, hits, explained=explain))


def _categories(given: int | None) -> int | str | None:
    if given is None:
        return None
    if given < 0:
        raise RarsError(f"--categories must be 0 (everything) or more, not {given}.")
    return given or "all"


def _check_out(queries: Path | None, out: Path | None) -> None:
    if queries is None and out is not None:
        raise RarsError("--out goes with --queries; one query is answered on the screen.")
    if queries is not None and out is None:
        raise RarsError("--queries needs --out FILE: .run or .trec (TREC), or .jsonl.")
    if out is not None and out.suffix not in (".run", ".trec", ".jsonl"):
        raise RarsError(f"--out {out} is of no known type; choose .run, .trec or .jsonl.")


# -- one query -----------------------------------------------------------------------------------


def show_hits(text: str, hits: Sequence[Hit], *, explained: bool) -> None:
    """Print the hits of a query, and with ``explained`` how each was reached."""
    if not hits:
        console.show("Nothing was found.")
        return
    rows = (
        (
            str(rank),
            f"{hit.score:.3f}",
            hit.item_id,
            hit.title,
            hit.brand or "",
            hit.category[-1] if hit.category else "",
        )
        for rank, hit in enumerate(hits, 1)
    )
    columns = ("", "score", "item", "title", "brand", "category")
    console.table(columns, rows, right=("", "score"))
    if explained:
        for rank, hit in enumerate(hits, 1):
            if hit.explanation is not None:
                console.draw(_tree(text, rank, hit, cast("Explanation", hit.explanation)))


def _tree(text: str, rank: int, hit: Hit, why: Explanation) -> console.Node:
    """The path of one hit, from the query down to the item."""
    root = console.node(Styled((f"{rank}. {hit.title}", "bold"), f"  {hit.item_id}"))
    admitted = ", ".join(f"{path} {100 * p:.0f} %" for path, p in why.categories)
    at = root.add(Styled(repr(text), (f"  searched: {admitted or 'the whole catalogue'}", "dim")))
    best = ""
    for step in why.steps:
        at = at.add(_branch(step))
        if step.evidence and step.best_id not in (best, hit.item_id):
            reasons = _reasons(step.reasons, step.parts)
            at.add(Styled((f"best below: {step.best_title}", "dim"), "  ", *reasons))
        best = step.best_id
    score = f"score {hit.score:.2f}"
    at.add(Styled((score, "bold"), "  ", *_reasons(why.reasons, why.parts)))
    return root


def _branch(step: Step) -> Styled:
    said, _, term = str(step).partition("  = ")
    return Styled((step.name, "cyan"), f"  {said}", (f"  = {term}", "dim"))


def _reasons(reasons: tuple[Any, ...], parts: dict[str, float]) -> list[Part]:
    """Such as: +black (color) -acme (brand) bm25 0.81; a word is named once."""
    shown: dict[str, list[Part]] = {}
    for match in reasons:
        kind = "" if match.kind in ("bm25", "word") else f" ({match.kind})"
        mark = ("+", "green") if match.matched else ("-", "red")
        shown.setdefault(match.text, [mark, f"{match.text}{kind} "])
    values = " ".join(f"{name} {value:.2f}" for name, value in parts.items())
    words = [part for found in shown.values() for part in found]
    return [*words, (f" {values}" if words else values, "dim")]


# -- the index -----------------------------------------------------------------------------------


def index(
    folder: console.RunFolder,
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
    from rars import pipeline

    version = pipeline.index(folder, force=force, tell=console.tell)
    payload: dict[str, Any] = {"run": str(folder), "version": version}
    if tune:
        payload["hybrid"] = pipeline.tune(folder, tell=console.tell)

    def show() -> None:
        console.show(f"The index of {folder}: {payload['version']}.")
        if tune:
            chosen = ", ".join(f"{name} {value}" for name, value in payload["hybrid"].items())
            console.show(f"Settings of hybrid: {chosen}.")

    console.emit(payload, as_json, show)
