"""``rars demo``: the main job, end to end, on the bundled shop."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rars.cli import console
from rars.cli.analyze import show_ambiguity
from rars.cli.console import Styled
from rars.cli.experiment import watched
from rars.cli.identify import show_health
from rars.cli.search import show_hits
from rars.errors import RarsError

if TYPE_CHECKING:
    from rars.analysis.relevance_tree import Branch, RelevanceTree
    from rars.data import Dataset
    from rars.experiments.order import Outcome
    from rars.systems import Hits

SHOWN = 3
"""Explained searches, and hits of each."""


def demo(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where to write it all.")
    ] = Path("runs/demo"),
    size: Annotated[str, typer.Option(help="tiny, small, demo or a number of items.")] = "demo",
    locale: Annotated[str, typer.Option(help="en, es or ja.")] = "en",
    seed: Annotated[int, typer.Option(help="Seed of the shop.")] = 0,
    epochs: Annotated[
        int | None, typer.Option(help="Epochs of training; those of the size tiny if not given.")
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Open the page of the server when all is done.")
    ] = False,
    port: Annotated[int, typer.Option(help="With --serve: the port.")] = 8080,
    as_json: console.Json = False,
) -> None:
    """Make a shop, train Base, RARS and the practical recipe, compare them with BM25, explain three searches.

    Stopped or killed, the same command goes on.

    Example: rars demo --out runs/demo
    """
    from rars import Recipe, pipeline
    from rars.pipeline import datasets

    start = time.perf_counter()
    changes = [] if epochs is None else [f"training.epochs={epochs}"]
    recipe = Recipe.resolve("rars", size="tiny", changes=changes)
    _title("1  The shop", "a generated catalogue with queries and graded judgments", as_json)
    dataset = datasets.demo(out, size=size, locale=locale, seed=seed, tell=console.tell)
    if not as_json:
        console.show(
            f"{dataset.n_items:,} items, {dataset.n_queries:,} queries, "
            f"{len(dataset.judgments):,} judgments."
        )
    _title("2  Identifiers", "residual k-means on sentence vectors: four codes an item", as_json)
    run = pipeline.identify(dataset, recipe, out / "run", tell=console.tell).run
    looked = pipeline.inspect(run)
    if not as_json:
        show_health(looked.identifiers, looked.health)
    _title("3  The tree", "how the relevance of one query divides on the way down", as_json)
    found = pipeline.ambiguity(run, split="train")
    if not as_json:
        console.draw(_drawn(pipeline.walk(run)))
        show_ambiguity(found.profile, found.plot)
    _title("4  Training", "Base and RARS, one loss apart; and what to use on your own", as_json)
    outcome = _trained(dataset, out, changes)
    if not as_json:
        _show_results(outcome)
    _title(
        "5  Searching", "what the practical recipe finds under the rule hybrid, and why", as_json
    )
    folder, searches = _searches(dataset, out, outcome)
    seconds = time.perf_counter() - start
    payload = {
        "shop": str(out / "shop"),
        "run": str(folder),
        "report": str(outcome.folder / "report.html"),
        "items": dataset.n_items,
        "queries": dataset.n_queries,
        "distinct_identifiers": looked.health.distinct,
        "ambiguous_at_depth_1": found.profile.rows[0].ambiguous_queries,
        "results": outcome.payload["points"],
        "differences": outcome.payload["differences"],
        "searches": {text: [hit.as_dict() for hit in hits] for text, hits in searches.items()},
        "seconds": round(seconds, 1),
    }

    def show() -> None:
        for text, hits in searches.items():
            console.show("", Styled((text, "bold")))
            show_hits(text, hits, explained=True)
        _next(out, folder, outcome.folder / "report.html", seconds)

    console.emit(payload, as_json, show)
    if serve:
        _serve(folder, port)


def _serve(folder: Path, port: int) -> None:
    """The page of the demo's run beside BM25, in a browser if there is one."""
    import webbrowser

    from rars.cli.serve import opened
    from rars.serving.server import serve as start
    from rars.serving.settings import Settings

    def ready(address: str) -> None:
        opened(address)
        webbrowser.open(address)

    start(
        [f"demo={folder}", "bm25"], Settings(port=port, log=False), ready=ready, tell=console.tell
    )


def _trained(dataset: Dataset, out: Path, changes: list[str]) -> Outcome:
    """Train and measure what is missing, a core for each run."""
    from rars import experiments

    console.say("Three small models from scratch: a few minutes.")
    with watched() as watch:
        outcome = experiments.experiment(
            "demo", dataset, out=out / "experiments", seeds=1, changes=changes, watch=watch
        )
    if outcome.failures:
        raise RarsError(f"The demo could not train everything: {outcome.failures[0]}.")
    return outcome


def _show_results(outcome: Outcome) -> None:
    console.report(*outcome.tables)
    console.prose(
        Styled(
            "One seed, one learning rate: a look, not a result. ",
            ("rars experiment main", "bold"),
            " is the controlled comparison. Practical is trained for three of its eight epochs here, and ",
            ("rars index RUN --tune", "bold"),
            " would choose its weights.",
        )
    )


def _searches(dataset: Dataset, out: Path, outcome: Outcome) -> tuple[Path, dict[str, Hits]]:
    """The first test queries that name several things, answered and explained."""
    from rars import Retriever

    name = next(run["run"] for run in outcome.payload["runs"] if run["recipe"] == "practical")
    folder = out / "experiments" / "runs" / name
    texts = dataset.query_texts.take(dataset.queries_in("test")).to_pylist()
    # Queries of four or more words say enough to see what each word did.
    telling = sorted(texts, key=lambda text: len(text.split()) < 4)[:SHOWN]
    found = Retriever.load(folder).search_many(telling, SHOWN, rule="hybrid", explain=True)
    return folder, dict(zip(telling, found, strict=True))


def _next(out: Path, folder: Path, report: Path, seconds: float) -> None:
    console.title("Next", f"all of it took {seconds:.0f} s")
    console.show(
        f"The report, for a browser: {report}",
        "",
        f"rars serve {folder} bm25     the page: search, walk the tree, ask why not",
        f'rars search {folder} "led lamp" -k 5 --explain',
        f"rars plot {folder}",
        f"rars train practical --data {out / 'shop'} --out {out / 'practical'}     at its full length",
        f"rars experiment main --data {out / 'shop'} --seeds 3",
        "rars data import DIR --items F --queries F --judgments F     your own catalogue",
    )


def _title(name: str, what: str, quiet: bool) -> None:
    if not quiet:
        console.title(name, what)


def _drawn(found: RelevanceTree) -> console.Node:
    """One query's relevant items, drawn as the tree of their identifiers with its shares."""
    root = console.node(Styled((found.query, "bold")))

    def hang(at: console.Node, branches: tuple[Branch, ...]) -> None:
        for one in branches:
            titles = "; ".join(leaf.title for leaf in one.items)
            said = f"  {100 * one.share:.0f} %  {titles}".rstrip()
            hang(at.add(Styled((one.name, "cyan"), said)), one.below)

    hang(root, found.branches)
    return root
