"""``rars demo``: the main job, end to end, on the bundled shop."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.panel import Panel
from rich.tree import Tree

from rars.cli import console
from rars.cli.analyze import show_ambiguity
from rars.cli.identify import ensure_identifiers, show_health


def demo(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where to write it all.")
    ] = Path("runs/demo"),
    size: Annotated[str, typer.Option(help="tiny, small, demo or a number of items.")] = "demo",
    locale: Annotated[str, typer.Option(help="en, es or ja.")] = "en",
    seed: Annotated[int, typer.Option(help="Seed of the shop.")] = 0,
    as_json: console.Json = False,
) -> None:
    """Make a shop, give its items identifiers, and see where relevance divides.

    Example: rars demo --out runs/demo
    """
    from rars.analysis import ambiguity, health
    from rars.config import Recipe
    from rars.data import Dataset
    from rars.data.shop import make_shop
    from rars.errors import RarsError
    from rars.tree import PrefixTree

    start = time.perf_counter()
    _title("1  The shop", "a generated catalogue with queries and graded judgments", as_json)
    if (out / "shop").exists():
        # Writing another shop here would pull the data from under the runs made from it.
        known = Dataset.load(out / "shop").facts
        if (str(known["size"]), known["locale"], known["seed"]) != (size, locale, seed):
            raise RarsError(f"{out} holds the demo of another shop; choose another --out.")
    else:
        with console.progress("shop") as advance:
            make_shop(out / "shop", size=size, locale=locale, seed=seed, advance=advance)
    dataset = Dataset.load(out / "shop")
    if not as_json:
        console.out.print(
            f"{dataset.n_items:,} items, {dataset.n_queries:,} queries, "
            f"{len(dataset.judgments):,} judgments.\n"
        )
    _title("2  Identifiers", "residual k-means on sentence vectors: four codes an item", as_json)
    recipe = Recipe.resolve("rars", size="tiny")
    identifiers, run, _ = ensure_identifiers(out / "run", recipe, dataset)
    measured = identifiers.health()
    health.draw(measured, run.results / "identifiers.png")
    if not as_json:
        show_health(identifiers, measured)
    _title("3  The tree", "how the relevance of one query divides on the way down", as_json)
    tree = PrefixTree.build(identifiers.codes)
    if not as_json:
        console.out.print(_walk(dataset, tree), "")
    _title("4  Ambiguity", "where relevance divides, over all training queries", as_json)
    found = ambiguity.profile(dataset, tree, "train")
    plot = run.results / "ambiguity-train.png"
    ambiguity.draw(found, plot)
    seconds = time.perf_counter() - start
    payload = {
        "run": str(run.folder),
        "items": dataset.n_items,
        "queries": dataset.n_queries,
        "distinct_identifiers": measured.distinct,
        "ambiguous_at_depth_1": found.rows[0].ambiguous_queries,
        "seconds": round(seconds, 1),
    }

    def show() -> None:
        show_ambiguity(found, plot)
        console.out.print(
            Panel(
                f"Done in {seconds:.0f} s. Next:\n"
                f"  rars inspect {out / 'run'}                 the identifiers in detail\n"
                f"  rars train rars --data {out / 'shop'} --out {out / 'rars'}\n"
                f"  rars data import DIR --items F --queries F --judgments F   your own catalogue",
                title="rars",
                expand=False,
            )
        )

    console.emit(payload, as_json, show)


def _title(name: str, what: str, quiet: bool) -> None:
    if not quiet:
        console.out.rule(f"[bold]{name}[/bold]  [dim]{what}[/dim]", align="left")


def _walk(dataset: Any, tree: Any) -> Tree:
    """One training query's relevant items, drawn as the tree of their identifiers with its masses."""
    import numpy as np

    from rars.tree import Relevance, ambiguity, project

    relevance = Relevance.of(*dataset.positives("train"))
    projection = project(tree, relevance)
    # A telling example: it divides at several depths, but has few enough items to show.
    spread = ambiguity(tree, projection).branches.sum(axis=1)
    count = np.bincount(relevance.row)
    row = int(np.argmax(spread - 10 * (count > 8)))
    titles = dataset.items(["title"])["title"]
    text = dataset.query_texts[int(relevance.queries[row])].as_py()
    root = Tree(f"[bold]{text}[/bold]")
    at = {int(np.flatnonzero(projection.levels[0].row == row)[0]): root}
    for depth in range(1, tree.depth + 1):
        level = projection.levels[depth]
        share = projection.conditional(depth)
        below = {}
        for entry in np.flatnonzero(level.row == row):
            code = int(tree.codes[depth - 1][level.node[entry]])
            label = f"[cyan]{'abcdefgh'[depth - 1]}{code}[/cyan]  {100 * share[entry]:.0f} %"
            if depth == tree.depth:
                wanted = set(relevance.item[relevance.row == row].tolist())
                items = [i for i in tree.items_below(depth, level.node[entry]) if i in wanted]
                label += "  " + "; ".join(titles[int(i)].as_py() for i in items)
            below[int(entry)] = at[int(level.parent[entry])].add(label)
        at = below
    return root
