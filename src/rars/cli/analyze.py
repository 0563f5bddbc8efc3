"""``rars analyze``: the paper's studies of a run, each a table and a figure."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from rars.cli import console
from rars.cli.identify import RunFolder

if TYPE_CHECKING:
    from rars.analysis.ambiguity import Profile
    from rars.runs import Run

STUDIES = {
    "ambiguity": "where relevance branches on the way down the identifiers",
    "representation": "how well a fresh tree head reads the branching off the finished encoder",
}


def analyze(
    folder: RunFolder,
    study: Annotated[str, typer.Argument(metavar="STUDY", help="; ".join(STUDIES))],
    split: Annotated[str, typer.Option(help="train, validation or test queries.")] = "test",
    relevance: Annotated[
        str, typer.Option(help="linear, binary, exponential, exact or exact+substitute.")
    ] = "linear",
    plot: Annotated[Path | None, typer.Option(help="Where to draw; results/ if not given.")] = None,
    as_json: console.Json = False,
) -> None:
    """Study a run: where relevance branches (ambiguity); what the encoder knows of it (representation).

    Example: rars analyze runs/demo ambiguity --split train
    """
    from rars.errors import RarsError
    from rars.runs import Run

    if study not in STUDIES:
        raise RarsError(f"There is no study {study!r}; choose one of {', '.join(STUDIES)}.")
    run = Run.open(folder, generative=True)
    if study == "representation":
        _representation(run, as_json)
    else:
        _ambiguity(run, split, relevance, plot, as_json)


def _representation(run: Run, as_json: bool) -> None:
    from rars.analysis import representation

    with console.progress("fresh tree head") as advance:
        found = representation.probe(run, advance)

    def show() -> None:
        console.out.print(
            f"A fresh tree head on the finished encoder: {found.train:.3f} nats a query in training"
            + (
                ""
                if found.validation is None
                else f", {found.validation:.3f} on validation queries"
            )
            + "."
        )
        if found.own is not None:
            console.out.print(f"The run's own tree head, last epoch: {found.own:.3f}.")

    console.emit(found.as_dict(), as_json, show)


def _ambiguity(run: Run, split: str, relevance: str, plot: Path | None, as_json: bool) -> None:
    from rars.analysis import ambiguity
    from rars.identifiers import Identifiers
    from rars.tree import PrefixTree

    tree = PrefixTree.build(Identifiers.load(run.folder / "identifiers").codes)
    found = ambiguity.profile(run.dataset(), tree, split, relevance)
    path = plot or run.results / f"ambiguity-{split}.png"
    ambiguity.draw(found, path)
    payload = {
        "run": str(run.folder),
        "split": split,
        "relevance": relevance,
        "queries": found.n_queries,
        "queries_with_several_positives": found.n_multi_positive,
        "mean_depth": found.mean_depth,
        "depths": [asdict(row) for row in found.rows],
        "plot": str(path),
    }
    console.emit(payload, as_json, lambda: show_ambiguity(found, path))


def show_ambiguity(found: Profile, path: Path) -> None:
    """Print the paper's table of relevance ambiguity."""
    table = Table(
        title=f"Relevance ambiguity by depth: {found.n_queries:,} {found.split} queries",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        caption="Delta: entropy in nats; Q: queries that branch; M: relevance mass there; V: sampling "
        "variance; r: share of the entropy",
    )
    for name in ("depth", "Delta", "Q %", "M %", "of capacity", "V", "r %"):
        table.add_column(name, justify="right")
    for row in found.rows:
        table.add_row(
            f"L{row.depth}",
            f"{row.entropy:.3f}",
            f"{100 * row.ambiguous_queries:.1f}",
            f"{100 * row.ambiguous_mass:.1f}",
            f"{row.normalised_entropy:.3f}",
            f"{row.sampling_variance:.3f}",
            f"{100 * row.allocation:.1f}",
        )
    console.out.print(table)
    console.out.print(f"Relevance branches at depth {found.mean_depth:.2f} on average (tau).")
    console.out.print(f"Plot: {path}", markup=False)
