"""``rars search`` and ``rars index``: ask a trained run, and make or tune what it is asked through."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from rars.cli import console
from rars.cli.console import Part, Styled
from rars.errors import RarsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rars.search.explanation import Explanation, Step
    from rars.search.walk import Branch, Branches
    from rars.search.why_not import WhyNot
    from rars.systems import Hit


class Over(StrEnum):
    """What facets are counted over."""

    hits = "hits"
    matching = "matching"


def search(
    folder: console.RunFolder,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="The query.")] = None,
    k: Annotated[int, typer.Option("-k", help="How many items to show.")] = 10,
    rule: Annotated[
        str | None,
        typer.Option(
            help="ar, all, hybrid, hybrid-PART (without bm25, dense, paper, neighbours, letters or "
            "model), or a 0 or 1 for each code, such as 0110; the recipe's own if not given."
        ),
    ] = None,
    categories: Annotated[
        int | None,
        typer.Option(help="How many of the model's categories to search; 0 for everything."),
    ] = None,
    category: Annotated[
        str | None, typer.Option(metavar="PATH", help='Search here alone: "Home > Mugs".')
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            "--filter",
            metavar="FILTER",
            help="Find only such items: 'brand = Acme AND price < 20'.",
        ),
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
    why_not: Annotated[
        str | None,
        typer.Option(metavar="ITEM", help="Say why this item is not among the hits."),
    ] = None,
    walk: Annotated[
        str | None,
        typer.Option(
            metavar="PREFIX", help="Show the branches below a prefix, such as 'a12 b7'; '' for all."
        ),
    ] = None,
    facet: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Count the values of a column; may be repeated."),
    ] = None,
    facet_over: Annotated[
        Over, typer.Option(help="Count over the hits, or over all items that may be found.")
    ] = Over.hits,
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
    asks = {"--why-not": why_not, "--walk": walk, "--facet": facet or None}
    _check_asks({name for name, given in asks.items() if given is not None}, queries)
    options: dict[str, Any] = {"rule": rule, "categories": searched(categories)}
    options |= {"category": category, "explain": explain, "locale": locale, "exact": exact}
    options |= {"filter": where}
    from rars.pipeline import searching

    asked = None if queries is None else searching.read_texts(queries)
    system = searching.open_run(folder, **({"precision": "int8"} if int8 else {}))
    if asked is not None and out is not None:
        payload = searching.search_file(system, asked, out, k, tell=console.tell, **options)
        said = f"{payload['queries']:,} queries in {payload['seconds']:.1f} s: {out}"
        console.emit(payload, as_json, lambda: console.show(said))
        return
    assert text is not None
    if why_not is not None:
        told = searching.why_not(system, text, why_not, k, **options)
        console.emit(told.as_dict(), as_json, lambda: _show_why_not(told))
        return
    if walk is not None:
        del options["explain"]
        grades = searching.judged(folder, text)
        seen = searching.walk(system, text, walk, grades=grades, **options)
        console.emit(seen.as_dict(), as_json, lambda: _show_branches(seen))
        return
    start = time.perf_counter()
    hits = searching.search(system, text, k, **options)
    payload = {
        "query": text,
        "rule": rule or system.rules[0],
        "seconds": round(time.perf_counter() - start, 4),
        "hits": [{"rank": rank, **hit.as_dict()} for rank, hit in enumerate(hits, 1)],
    }
    if facet:
        over = hits if facet_over == Over.hits else None
        counted = searching.facets(system, facet, searching.Query(text, k, **options), over)
        payload["facets"] = [one.as_dict() for one in counted]

    def show() -> None:
        show_hits(text, hits, explained=explain)
        for one in payload.get("facets", ()):
            _show_facet(one)

    console.emit(payload, as_json, show)


def searched(given: int | None) -> int | Literal["all"] | None:
    """How many categories ``--categories`` asks for."""
    if given is None:
        return None
    if given < 0:
        raise RarsError(f"--categories must be 0 (everything) or more, not {given}.")
    return given or "all"


def _check_asks(given: set[str], queries: Path | None) -> None:
    if given and queries is not None:
        raise RarsError(f"{min(given)} is about one query; leave --queries out.")
    if {"--why-not", "--walk"} <= given or (len(given) > 1 and "--facet" in given):
        raise RarsError(
            f"{' and '.join(sorted(given))} are different questions; ask one at a time."
        )


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


def _show_facet(facet: dict[str, Any]) -> None:
    rows = [(str(one["value"]), f"{one['count']:,}") for one in facet["values"]]
    rows += [(name, f"{facet[name]:,}") for name in ("others", "missing") if facet[name]]
    console.table((facet["name"], "items"), rows, right=("items",))


def _show_why_not(told: WhyNot) -> None:
    """The sentence, then the item's path and what stands before it."""
    console.prose(told.sentence)
    if told.steps:
        columns = ("code", "model", "evidence", "score", "rank", "of", "lowest kept", "")
        rows = (
            (
                step.name,
                f"{step.model:+.2f}",
                f"{step.evidence:+.2f}",
                f"{step.score:.2f}",
                "" if step.rank is None else f"{step.rank:,}",
                "" if step.candidates is None else f"{step.candidates:,}",
                "" if step.cutoff is None else f"{step.cutoff:.2f}",
                "kept" if step.kept else "not kept",
            )
            for step in told.steps
        )
        console.table(columns, rows, right=columns[1:-1])
    if told.beaten_by:
        rivals = [
            (f"{one.rank:,}", f"{one.score:.3f}", one.prefix, one.item_id, one.title)
            for one in told.beaten_by
        ]
        heads = ("rank", "score", "prefix", "item", "title")
        console.table(heads, rivals, caption="what stands before it", right=heads[:2])


def _show_branches(seen: Branches) -> None:
    where = f"below {seen.name}" if seen.name else "at the root"
    found = f"{seen.matching:,} of {seen.items:,} items may be found"
    console.show(Styled((seen.query, "bold"), f"  {where}: {found}"))
    if seen.found:
        console.table(("item", "title"), seen.found)
        return
    columns: dict[str, Callable[[Branch], str]] = {
        "code": lambda one: one.name,
        "model": lambda one: (
            f"{one.model:+.2f}" if one.probability is None else f"{100 * one.probability:.1f} %"
        ),
        "evidence": lambda one: f"{one.evidence:+.2f}",
        "score": lambda one: f"{one.score:.2f}",
        "items": lambda one: f"{one.items:,}",
        "match": lambda one: f"{one.matching:,}",
        "judged": lambda one: f"{100 * (one.mass or 0.0):.0f} %",
        "beam": lambda one: "kept" if one.kept else "" if one.legal else "not legal",
        "such as": lambda one: _short(one.titles[0]) if one.titles else "",
    }
    if seen.mass is None:
        del columns["judged"]
    if seen.matching == seen.items:
        del columns["match"]
    rows = ([told(one) for told in columns.values()] for one in seen.children)
    more = f"{seen.more:,} more branches" if seen.more else ""
    numbers = [name for name in columns if name not in ("code", "beam", "such as")]
    console.table(columns, rows, caption=more, right=numbers)


def _short(title: str, most: int = 28) -> str:
    return title if len(title) <= most else f"{title[: most - 1]}…"


# -- the index -----------------------------------------------------------------------------------


def index(
    folder: console.RunFolder,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose the settings of hybrid on validation queries.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Index the training catalogue again.")
    ] = False,
    engine: console.Engine = "local",
    workers: console.Workers = None,
    as_json: console.Json = False,
) -> None:
    """Make the index of a trained run, where training did not; choose how evidence counts.

    Example: rars index runs/demo --tune
    """
    from rars import pipeline, scale

    chosen = scale.choose(engine, workers)
    version = pipeline.index(folder, force=force, engine=chosen, tell=console.tell)
    payload: dict[str, Any] = {"run": str(folder), "version": version}
    if tune:
        payload["hybrid"] = pipeline.tune(folder, tell=console.tell)

    def show() -> None:
        console.show(f"The index of {folder}: {payload['version']}.")
        if tune:
            chosen = ", ".join(f"{name} {value}" for name, value in payload["hybrid"].items())
            console.show(f"Settings of hybrid: {chosen}.")

    console.emit(payload, as_json, show)
