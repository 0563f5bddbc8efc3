"""``rars analyze``: the paper's studies of a run, each a table and a figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rars.cli import console
from rars.errors import RarsError

if TYPE_CHECKING:
    from rars.analysis.ambiguity import Profile

STUDIES = {
    "ambiguity": "where relevance branches on the way down the identifiers",
    "representation": "how well a fresh tree head reads the branching off the finished encoder",
}


def analyze(
    folder: console.RunFolder,
    study: Annotated[str, typer.Argument(metavar="STUDY", help="; ".join(STUDIES))],
    split: Annotated[
        str | None, typer.Option(help="train, validation or test queries (ambiguity).")
    ] = None,
    relevance: Annotated[
        str | None,
        typer.Option(help="linear, binary, exponential, exact or exact+substitute (ambiguity)."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Where to draw (ambiguity); results/ if not given.")
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Study a run: where relevance branches (ambiguity); what the encoder knows of it (representation).

    Example: rars analyze runs/demo ambiguity --split train
    """
    if study not in STUDIES:
        raise RarsError(f"There is no study {study!r}; choose one of {', '.join(STUDIES)}.")
    if study == "representation":
        for option, given in (("--split", split), ("--relevance", relevance), ("--plot", plot)):
            if given is not None:
                raise RarsError(f"{option} does not concern the study representation.")
        _representation(folder, as_json)
    else:
        _ambiguity(folder, split or "test", relevance or "linear", plot, as_json)


def _representation(folder: Path, as_json: bool) -> None:
    from rars import pipeline

    found = pipeline.representation(folder, tell=console.tell)

    def show() -> None:
        held = "" if found.validation is None else f", {found.validation:.3f} on validation queries"
        console.prose(
            f"A fresh tree head on the finished encoder: {found.train:.3f} nats a query in training{held}."
        )
        if found.own is not None:
            console.show(f"The run's own tree head, last epoch: {found.own:.3f}.")

    console.emit(found.as_dict(), as_json, show)


def _ambiguity(folder: Path, split: str, relevance: str, plot: Path | None, as_json: bool) -> None:
    from rars import pipeline

    found = pipeline.ambiguity(folder, split=split, relevance=relevance, plot=plot)
    console.emit(found.as_dict(), as_json, lambda: show_ambiguity(found.profile, found.plot))


def show_ambiguity(found: Profile, path: Path) -> None:
    """Print the paper's table of relevance ambiguity."""
    columns = ("depth", "Delta", "Q %", "M %", "of capacity", "V", "r %")
    rows = (
        (
            f"L{row.depth}",
            f"{row.entropy:.3f}",
            f"{100 * row.ambiguous_queries:.1f}",
            f"{100 * row.ambiguous_mass:.1f}",
            f"{row.normalised_entropy:.3f}",
            f"{row.sampling_variance:.3f}",
            f"{100 * row.allocation:.1f}",
        )
        for row in found.rows
    )
    console.table(
        columns,
        rows,
        title=f"Relevance ambiguity by depth: {found.n_queries:,} {found.split} queries",
        caption="Delta: entropy in nats; Q: queries that branch; M: relevance mass there; V: sampling "
        "variance; r: share of the entropy.",
        right=columns,
    )
    console.show(f"Relevance branches at depth {found.mean_depth:.2f} on average (tau).")
    console.show(f"Plot: {path}")
