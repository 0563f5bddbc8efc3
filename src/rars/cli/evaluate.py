"""``rars evaluate``, ``rars compare`` and ``rars verify``: how good, how sure, and is it still true."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rars.cli import console
from rars.cli.search import searched

Rules = Annotated[
    str | None,
    typer.Option(
        "--rule",
        help="ar, all, hybrid, hybrid-PART (without bm25, dense, paper, neighbours, letters or "
        "model) or a pattern such as 0110; several with commas. The recipe's own where none is given; BM25, "
        "dense and fusion have one, plain.",
    ),
]


Searched = Annotated[
    int | None,
    typer.Option(
        "--categories",
        help="How many of the model's categories a query searches; 0 for everything. The recipe's own where "
        "none is given.",
    ),
]


def _listed(rules: str | None) -> list[str] | None:
    return None if rules is None else [name.strip() for name in rules.split(",")]


def evaluate(
    folder: console.RunFolder,
    rule: Rules = None,
    split: console.Split = "test",
    eligible: Annotated[
        bool,
        typer.Option("--eligible", help="Only queries that the dataset calls eligible (ESCI)."),
    ] = False,
    categories: Searched = None,
    as_json: console.Json = False,
) -> None:
    """Measure a run with 95 % intervals, and keep run file, qrels and numbers in its results.

    Example: rars evaluate runs/demo --rule ar,all
    """
    from rars import pipeline

    found = pipeline.evaluate(
        folder,
        rules=_listed(rule),
        split=split,
        eligible=eligible,
        categories=searched(categories),
        tell=console.tell,
    )
    payload = {"run": str(folder), "evaluations": [one.numbers for one in found]}
    console.emit(payload, as_json, lambda: console.report(found.table()))


def compare(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Run folders, and bm25, dense or fusion.")
    ],
    rule: Rules = None,
    split: console.Split = "test",
    reference: Annotated[str | None, typer.Option(help="Compare the others with this one.")] = None,
    measures: Annotated[str, typer.Option(help="Which measures.")] = "Recall@100,nDCG@10",
    categories: Searched = None,
    markdown: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
    as_json: console.Json = False,
) -> None:
    """Compare runs with paired tests, Holm-corrected over the table.

    Example: rars compare runs/base runs/rars bm25 --rule ar --reference runs/base
    """
    from rars import pipeline
    from rars.pipeline.showing import check_file, shown, write_markdown

    if markdown is not None:
        check_file(markdown, ".md", ".markdown", ".txt")
    found = pipeline.compare(
        runs,
        rules=_listed(rule),
        split=split,
        reference=reference,
        measures=measures.split(","),
        categories=searched(categories),
        tell=console.tell,
    )
    if markdown is not None:
        write_markdown(markdown, *shown(found))
    console.emit(found.as_dict(), as_json, lambda: console.report(*shown(found)))


def verify(folder: console.RunFolder, as_json: console.Json = False) -> None:
    """Check every digest of a run, and score its stored run files with an outside tool.

    Example: rars verify runs/demo
    """
    from rars import pipeline

    checked = pipeline.verify(folder)

    def show() -> None:
        for name, values in checked.items():
            listed = ", ".join(f"{key} {100 * value:.2f}" for key, value in values.items())
            console.show(f"{name}: {listed}; files, digests and numbers agree.")

    console.emit({"run": str(folder), "verified": checked}, as_json, show)
