"""``rars analyze``: the paper's studies of a run, each a table and a figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rars.cli import console
from rars.errors import RarsError

if TYPE_CHECKING:
    from rars.analysis.ambiguity import Profile
    from rars.analysis.writing import Analysed

OWN = {
    "ambiguity": "where relevance branches on the way down the identifiers",
    "representation": "how well a fresh tree head reads the branching off the finished encoder",
}
"""Studies of one run with a way of their own to be shown."""


def analyze(
    folder: console.RunFolder,
    study: Annotated[
        str | None, typer.Argument(metavar="STUDY", help="Which one; left out, they are listed.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="train, validation or test queries.")] = None,
    relevance: Annotated[
        str | None,
        typer.Option(help="linear, binary, exponential, exact or exact+substitute (ambiguity)."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Where to draw (ambiguity); results/ if not given.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the study; repeat."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of everything that is drawn.")] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="A second run, for studies that compare two."),
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Study a run: where relevance branches, what sparse judgments hide, how predictions fit.

    Tables, figures and numbers go to the run's results/STUDY.

    Example: rars analyze runs/demo hierarchy --set assignments=99
    """
    if study is None:
        _list(as_json)
        return
    given: dict[str, object] = {"--split": split, "--relevance": relevance, "--plot": plot}
    given |= {"--set": changes, "--seed": seed, "--against": against}
    taken = {"ambiguity": ("--split", "--relevance", "--plot"), "representation": ()}
    for option, value in given.items():
        if value and option not in taken.get(study, ("--split", "--set", "--seed", "--against")):
            raise RarsError(f"{option} does not concern the study {study}.")
    if study == "representation":
        _representation(folder, as_json)
    elif study == "ambiguity":
        _ambiguity(folder, split or "test", relevance or "linear", plot, as_json)
    else:
        _study(folder, study, split, changes or [], seed, against, as_json)


def _list(as_json: bool) -> None:
    from rars import pipeline

    titles = {**pipeline.studies_by_title(), **OWN}

    def show() -> None:
        columns = ("study", "what it asks", "settings")
        rows = (
            (name, title, ", ".join(pipeline.settings_of(name)) if name not in OWN else "")
            for name, title in titles.items()
        )
        console.table(columns, rows, bold=("study",), whole=("study",))
        console.show("Next: rars analyze RUN STUDY --set KEY=VALUE")

    console.emit({"studies": titles}, as_json, show)


def _study(
    folder: Path,
    study: str,
    split: str | None,
    changes: list[str],
    seed: int | None,
    against: Path | None,
    as_json: bool,
) -> None:
    from rars import pipeline

    made = pipeline.analyze(
        folder, study, changes=changes, split=split, seed=seed, against=against, tell=console.tell
    )
    console.emit(made.as_dict(), as_json, lambda: show_study(made))


def show_study(made: Analysed) -> None:
    """Print the tables of a study, what was found, and where all of it is."""
    console.report(*made.result.tables())
    for sentence in made.result.findings():
        console.prose(sentence)
    for name in ("report.html", "table.md", "table.tex", "results.json"):
        console.show(made.folder / name)


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
