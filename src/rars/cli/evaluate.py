"""``rars evaluate``, ``rars compare`` and ``rars verify``: how good, how sure, and is it still true."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table

from rars.cli import console
from rars.cli.identify import RunFolder

if TYPE_CHECKING:
    from rars.evaluation import PerQuery

Split = Annotated[str, typer.Option(help="train, validation or test queries.")]
Rules = Annotated[
    str,
    typer.Option("--rule", help="ar, all, hybrid or a pattern such as 0110; several with commas."),
]


def evaluate(
    folder: RunFolder,
    rule: Rules = "ar",
    split: Split = "test",
    as_json: console.Json = False,
) -> None:
    """Measure a run with 95 % intervals, and keep run file, qrels and numbers in its results.

    Example: rars evaluate runs/demo --rule ar,all
    """
    payload = {"run": str(folder), "evaluations": []}
    rows: list[tuple[str, dict[str, Any]]] = []
    for name in rule.split(","):
        _, numbers = evaluated(folder, name.strip(), split)
        rows.append((name.strip(), numbers))
        payload["evaluations"].append(numbers)  # type: ignore[attr-defined]

    def show() -> None:
        first = rows[0][1]
        table = Table(
            title=f"{folder}: {first['queries']:,} {split} queries, % with 95 % intervals",
            title_justify="left",
            box=box.SIMPLE_HEAD,
        )
        table.add_column("rule")
        for name in first["measures"]:
            short = name.replace("Recall", "R").replace("nDCG", "N")
            table.add_column(short, justify="right", no_wrap=True)
        for name, numbers in rows:
            cells = [
                f"{100 * one['mean']:.1f}\n[dim]{100 * one['low']:.1f}-{100 * one['high']:.1f}[/dim]"
                for one in numbers["measures"].values()
            ]
            table.add_row(name, *cells)
        console.out.print(table)

    console.emit(payload, as_json, show)


def evaluated(folder: Path, rule: str, split: str) -> tuple[PerQuery, dict[str, Any]]:
    """One evaluation of a run, from its results where it is still that of the same index."""
    from rars import artifacts
    from rars.evaluation import stored as keeping
    from rars.runs import Run
    from rars.search.index import digests
    from rars.search.retriever import Retriever

    run = Run.open(folder)
    dataset = run.dataset()
    retriever = Retriever.load(folder)
    facts = {"rule": rule, "version": retriever.index.name, **digests(run)}
    files = keeping.Files.of(run.results, split, rule)
    known = keeping.stored(files, dataset, split, **facts)
    if known is not None:
        return known, artifacts.read_json(files.numbers)
    with console.progress(f"{folder} {rule}") as advance:
        ranking, found = keeping.evaluate(
            retriever, retriever.index.items.ids, dataset, split, rule, advance=advance
        )
    return found, keeping.store(files, ranking, found, dataset, split, **facts)


def compare(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Run folders, and bm25, dense or fusion.")
    ],
    rule: Rules = "ar",
    split: Split = "test",
    reference: Annotated[str | None, typer.Option(help="Compare the others with this one.")] = None,
    measures: Annotated[str, typer.Option(help="Which measures.")] = "Recall@100,nDCG@10",
    markdown: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
    as_json: console.Json = False,
) -> None:
    """Compare runs with paired tests, Holm-corrected over the table.

    Example: rars compare runs/base runs/rars bm25 --rule ar --reference runs/base
    """
    from rars import artifacts
    from rars.evaluation import compare as paired
    from rars.evaluation import report

    systems = {
        f"{name} {one}" if name not in BASELINES and "," in rule else name: found
        for name in runs
        for one, found in _systems(name, rule, split, runs)
    }
    found = paired(systems, measures=measures.split(","), reference=reference)
    if markdown is not None:
        artifacts.write_text(markdown, report.markdown(found) + "\n")
    console.emit(found.as_dict(), as_json, lambda: console.out.print(report.terminal(found)))


BASELINES = ("bm25", "dense", "fusion")


def _systems(name: str, rule: str, split: str, runs: list[str]) -> list[tuple[str, PerQuery]]:
    if name not in BASELINES:
        return [(one, evaluated(Path(name), one, split)[0]) for one in rule.split(",")]
    from rars.errors import RarsError
    from rars.runs import Run

    folders = [Path(other) for other in runs if other not in BASELINES]
    if not folders:
        raise RarsError("Name at least one run folder: it says which dataset to compare on.")
    return [(name, _baseline(name, Run.open(folders[0]), split))]


def _baseline(name: str, run: Any, split: str) -> PerQuery:
    from rars.baselines import Bm25, Dense, Fusion
    from rars.evaluation import Measure, Truth, measure, quality, rank_split
    from rars.evaluation.ranking import texts_of

    dataset = run.dataset()
    searcher: Any = None
    if name == "bm25":
        searcher = Bm25.of(dataset)
    elif name == "dense":
        searcher = Dense.of(dataset, run.recipe().identifiers.embedder)
    else:
        held = Truth.of(dataset, "validation")
        parts: list[Any] = [Bm25.of(dataset), Dense.of(dataset, run.recipe().identifiers.embedder)]
        wanted = quality(held, held.queries, Measure("nDCG", 100))
        searcher = Fusion.tuned(parts, texts_of(dataset, held.queries), wanted)
    return measure(rank_split(searcher, dataset, split, 100), Truth.of(dataset, split))


def verify(folder: RunFolder, as_json: console.Json = False) -> None:
    """Check every digest of a run, and score its stored run files with an outside tool.

    Example: rars verify runs/demo
    """
    from rars.errors import RarsError
    from rars.evaluation import stored as keeping
    from rars.identifiers import Identifiers
    from rars.runs import Run
    from rars.search.retriever import Retriever

    run = Run.open(folder)
    run.dataset()
    Identifiers.load(run.folder / "identifiers")
    Retriever.load(folder)
    checked = {}
    for numbers in sorted(run.results.glob("*-*.json")):
        split, _, rule = numbers.stem.partition("-")
        checked[numbers.stem] = keeping.verify(keeping.Files.of(run.results, split, rule))
    if not checked:
        raise RarsError(f"{folder} has no stored evaluation; run rars evaluate first.")

    def show() -> None:
        for name, values in checked.items():
            listed = ", ".join(f"{key} {100 * value:.2f}" for key, value in values.items())
            console.out.print(f"{name}: {listed}; files, digests and numbers agree.")

    console.emit({"run": str(folder), "verified": checked}, as_json, show)
