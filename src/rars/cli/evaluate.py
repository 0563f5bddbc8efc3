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
    str | None,
    typer.Option(
        "--rule",
        help="ar (where none is given), all, hybrid or a pattern such as 0110; several with commas. "
        "BM25, dense and fusion have one of their own, plain.",
    ),
]


def evaluate(
    folder: RunFolder,
    rule: Rules = None,
    split: Split = "test",
    as_json: console.Json = False,
) -> None:
    """Measure a run with 95 % intervals, and keep run file, qrels and numbers in its results.

    Example: rars evaluate runs/demo --rule ar,all
    """
    payload = {"run": str(folder), "evaluations": []}
    rows: list[tuple[str, dict[str, Any]]] = []
    listed = rules_of(folder, rule)
    if rule is not None and listed != [name.strip() for name in rule.split(",")]:
        console.say(f"{folder} has one rule, {listed[0]}; --rule {rule} does not concern it.")
    for name in listed:
        _, numbers = evaluated(folder, name, split)
        rows.append((name, numbers))
        payload["evaluations"].append(numbers)  # type: ignore[attr-defined]

    def show() -> None:
        first = rows[0][1]
        table = Table(
            title=f"{folder}: {first['queries']:,} {split} queries, % with 95 % intervals",
            title_justify="left",
            box=box.SIMPLE_HEAD,
        )
        table.add_column("rule", no_wrap=True)
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


def rules_of(folder: Path, asked: str | None) -> list[str]:
    """The rules to evaluate a run under: those asked for, or the only one it has, whatever is asked."""
    from rars.baselines.running import PLAIN, is_baseline

    if is_baseline(folder):
        return [PLAIN]
    return [name.strip() for name in (asked or "ar").split(",")]


def evaluated(folder: Path, rule: str, split: str) -> tuple[PerQuery, dict[str, Any]]:
    """One evaluation of a run, from its results where it is still that of the same system."""
    from rars import artifacts
    from rars.baselines.running import Baseline, open_system
    from rars.evaluation import stored as keeping
    from rars.runs import Run
    from rars.search.index import digests

    run = Run.open(folder)
    dataset = run.dataset()
    system = open_system(folder)
    facts: dict[str, Any] = {"rule": rule}
    if isinstance(system, Baseline):
        facts |= {"system": system.system, "model": system.digest}
    else:
        facts |= {"version": system.index.name, **digests(run)}
        if rule == "hybrid":  # its weights may have been tuned since
            facts["hybrid"] = system.hybrid.as_dict()
    files = keeping.Files.of(run.results, split, rule)
    known = keeping.stored(files, dataset, split, **facts)
    if known is not None:
        return known, artifacts.read_json(files.numbers)
    with console.progress(f"{folder} {rule}") as advance:
        ranking, found = keeping.evaluate(
            system, system.index.items.ids, dataset, split, rule, advance=advance
        )
    return found, keeping.store(files, ranking, found, dataset, split, **facts)


def compare(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Run folders, and bm25, dense or fusion.")
    ],
    rule: Rules = None,
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

    systems: dict[str, PerQuery] = {}
    for name in runs:
        if _is_short(name):
            systems[name] = _made(name, _first_run(runs), split)
            continue
        listed = rules_of(Path(name), rule)
        for one in listed:
            label = f"{name} {one}" if len(listed) > 1 else name
            systems[label] = evaluated(Path(name), one, split)[0]
    found = paired(systems, measures=measures.split(","), reference=reference)
    if markdown is not None:
        artifacts.write_text(markdown, report.markdown(found) + "\n")
    console.emit(found.as_dict(), as_json, lambda: console.out.print(report.terminal(found)))


BASELINES = ("bm25", "dense", "fusion")
"""Names that stand for a system made on the spot, unless a run folder is called so."""


def _is_short(name: str) -> bool:
    return name in BASELINES and not (Path(name) / "manifest.json").exists()


def _first_run(runs: list[str]) -> Path:
    from rars.errors import RarsError

    for name in runs:
        if not _is_short(name):
            return Path(name)
    raise RarsError("Name at least one run folder: it says which dataset to compare on.")


def _made(name: str, beside: Path, split: str) -> PerQuery:
    """A comparison system with its usual settings, for the dataset and the embedder of a run."""
    from tempfile import TemporaryDirectory

    from rars.baselines.learning import learn
    from rars.cli.baseline import held_out
    from rars.config import Recipe
    from rars.evaluation import Truth, measure, rank_split
    from rars.runs import Run

    run = Run.open(beside)
    known = run.recipe()
    dataset = run.dataset()
    section = known.identifiers if known.system == "generative" else known.baseline
    recipe = Recipe.resolve(name, changes=[f"baseline.embedder={section.embedder}"])
    with TemporaryDirectory() as folder:  # nothing is tuned, so nothing stays in it
        searcher, _ = learn(recipe, dataset, Path(folder), held_out(dataset))
    return measure(rank_split(searcher, dataset, split, 100), Truth.of(dataset, split))


def verify(folder: RunFolder, as_json: console.Json = False) -> None:
    """Check every digest of a run, and score its stored run files with an outside tool.

    Example: rars verify runs/demo
    """
    from rars.baselines.running import open_system
    from rars.errors import RarsError
    from rars.evaluation import stored as keeping
    from rars.runs import Run

    run = Run.open(folder)
    run.dataset()
    open_system(folder)  # checks every part that it reads
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
