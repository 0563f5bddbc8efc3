"""``rars identify`` and ``rars inspect``: give items their identifiers, and look at what came out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table

from rars.cli import console

if TYPE_CHECKING:
    from rars.identifiers import Health, Identifiers
    from rars.runs import Run

Data = Annotated[Path, typer.Option("--data", metavar="DIR", help="The dataset folder.")]
Out = Annotated[
    Path, typer.Option("--out", metavar="RUN", help="The run folder to write or go on in.")
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change one setting; repeat."),
]


def identify(
    data: Data,
    out: Out,
    learner: Annotated[
        str | None,
        typer.Option(help="residual-kmeans, rqvae, hierarchical-kmeans or naive."),
    ] = None,
    recipe: Annotated[str, typer.Option(help="Recipe name or .toml file.")] = "rars",
    size: Annotated[str, typer.Option(help="tiny, small or paper.")] = "tiny",
    changes: Changes = None,
    force: Annotated[
        bool, typer.Option(help="Learn again where the run has other identifiers.")
    ] = False,
    as_json: console.Json = False,
) -> None:
    """Give every item of a dataset its identifier.

    Example: rars identify --data datasets/demo --out runs/demo --learner residual-kmeans
    """
    from rars.config import Recipe
    from rars.data import Dataset

    listed = [*(changes or []), *([f"identifiers.learner={learner}"] if learner else [])]
    resolved = Recipe.resolve(recipe, size=size, changes=listed)
    dataset = Dataset.load(data)
    found, run, seconds = ensure_identifiers(out, resolved, dataset, force=force)
    health = found.health()
    payload = {
        "run": str(run.folder),
        "learner": found.settings.learner,
        "seconds": round(seconds, 2),
        "collisions": dict(found.report),
        "health": health.as_dict(),
    }
    console.emit(payload, as_json, lambda: show_health(found, health))


def ensure_identifiers(
    out: Path, recipe: Any, dataset: Any, *, force: bool = False, source: Path | None = None
) -> tuple[Identifiers, Run, float]:
    """The identifiers of a run: opened where the same are there already, else taken over or learned.

    ``source`` is another run of the same dataset and settings whose identifiers are wanted.
    """
    from rars.errors import RarsError
    from rars.identifiers import Identifiers
    from rars.runs import Run

    folder = Run.planned(out, dataset).folder / "identifiers"
    wanted = None if source is None else _identifiers_of(source, recipe, dataset)
    if folder.exists() and not force:
        known = Identifiers.load(folder)
        if known.settings != recipe.identifiers:
            raise RarsError(
                f"{folder} was made with other settings; choose another --out, or --force to learn again."
            )
        if wanted is not None and _digest(folder) != _digest(Path(source or "") / "identifiers"):
            raise RarsError(f"{folder} are not those of {source}; choose another --out.")
        console.say(f"The identifiers of {out} are there already.")
        return known, Run.start(out, recipe, dataset), 0.0
    start = time.perf_counter()
    found = wanted if wanted is not None else _learned(recipe, dataset)
    seconds = time.perf_counter() - start
    run = Run.start(out, recipe, dataset)
    found.save(folder)
    facts: dict[str, Any] = {"seconds": round(seconds, 2), "learner": found.settings.learner}
    if source is not None:
        console.say(f"The identifiers of {source} are taken over.")
        facts["taken_over"] = _digest(folder)
    run.record("identifiers", **facts)
    return found, run, seconds


def _learned(recipe: Any, dataset: Any) -> Identifiers:
    from rars.identifiers import learn_identifiers

    console.say(
        f"Learning identifiers of {dataset.n_items:,} items: {recipe.identifiers.learner}, "
        f"{' x '.join(map(str, recipe.identifiers.sizes)) or 'random digits'}."
    )
    maps = fitted_maps(recipe, dataset) if recipe.identifiers.fit else None
    with console.progress("identifiers") as advance:
        return learn_identifiers(dataset, recipe.identifiers, maps=maps, advance=advance)


def fitted_maps(recipe: Any, dataset: Any) -> Any:
    """Maps of query and item vectors learned on the judgments; None where there are none to learn from."""
    from rars.baselines.maps import fitted
    from rars.cli.baseline import held_out
    from rars.identifiers import open_embedder

    held = held_out(dataset)
    if held is None or not len(dataset.positives("train")[0]):
        console.say(
            "No judged training and validation queries: vectors stay as the embedder made them."
        )
        return None
    console.say(f"Fitting the {recipe.identifiers.embedder} vectors to the training judgments.")
    embedder = open_embedder(recipe.identifiers.embedder)
    with console.progress("fitting") as advance:
        return fitted(
            dataset, embedder, recipe.baseline, held, seed=recipe.identifiers.seed, advance=advance
        )


def _identifiers_of(source: Path, recipe: Any, dataset: Any) -> Identifiers:
    """The identifiers of another run, if they are what this recipe would learn on this dataset."""
    from rars.errors import RarsError
    from rars.identifiers import Identifiers
    from rars.runs import Run

    folder = Run.open(source).folder / "identifiers"
    found = Identifiers.load(folder)
    if found.dataset != dataset.digest:
        raise RarsError(f"--identifiers: {folder} are of another dataset than {dataset.folder}.")
    theirs, ours = (one.model_dump() for one in (found.settings, recipe.identifiers))
    for name, value in ours.items():
        if theirs[name] != value:
            raise RarsError(
                f"--identifiers: {folder} were made with identifiers.{name} = {theirs[name]}, "
                f"but the recipe says {value}."
            )
    return found


def _digest(folder: Path) -> str:
    from rars import artifacts

    return artifacts.opening(folder, kind="identifiers", verify=False).digest


def inspect(
    folder: RunFolder,
    split: Annotated[
        str, typer.Option(help="Queries to measure untrained recall on.")
    ] = "validation",
    plot: Annotated[
        Path | None, typer.Option(help="Where to draw; results/identifiers.png if not given.")
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Show how healthy a run's identifiers are: codes used, collisions, spread, similarity kept.

    Example: rars inspect runs/demo
    """
    from rars.analysis import health as study
    from rars.identifiers import Identifiers
    from rars.runs import Run

    run = Run.open(folder, generative=True)
    found = Identifiers.load(run.folder / "identifiers")
    health = found.health()
    recall = study.untrained(run.dataset(), found, split)
    path = plot or run.results / "identifiers.png"
    study.draw(health, path)
    payload = {
        "run": str(folder),
        "learner": found.settings.learner,
        "collisions": dict(found.report),
        "untrained_recall_at_100": recall,
        "health": health.as_dict(),
        "plot": str(path),
    }

    def show() -> None:
        show_health(found, health)
        if recall is not None:
            console.out.print(
                f"Untrained recall@100 on {split} queries: {100 * recall:.1f} % "
                "(query vector . reconstructed item; what is lost here no model wins back)."
            )
        console.out.print(f"Plot: {path}", markup=False)

    console.emit(payload, as_json, show)


def show_health(found: Identifiers, health: Health) -> None:
    """Print the health table."""
    table = Table(
        title=f"Identifiers: {found.settings.learner}",
        title_justify="left",
        caption="perplexity: codes if all were used alike; mean, max, Gini: items per prefix",
        box=box.SIMPLE_HEAD,
    )
    for name in (
        "depth",
        "codes",
        "used",
        "dead",
        "perplexity",
        "prefixes",
        "mean",
        "max",
        "Gini",
    ):
        table.add_column(name, justify="right")
    for row in health.depths:
        table.add_row(
            f"L{row.depth}",
            f"{row.size:,}",
            f"{row.used:,}",
            f"{row.dead:,}",
            f"{row.perplexity:,.1f}",
            f"{row.prefixes:,}",
            f"{row.items_mean:,.1f}",
            f"{row.items_max:,}",
            f"{row.gini:.3f}",
        )
    console.out.print(table)
    before, after = found.report.get("before", 0), found.report.get("after", 0)
    console.out.print(
        f"{health.items:,} items, {health.distinct:,} identifiers. Items sharing one: {before:,} before, "
        f"{after:,} after the policy {found.settings.collisions!r}."
    )
