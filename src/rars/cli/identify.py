"""``rars identify`` and ``rars inspect``: give items their identifiers, and look at what came out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rars.cli import console

if TYPE_CHECKING:
    from rars.identifiers import Health, Identifiers


def identify(
    data: console.Data,
    out: console.Out,
    learner: Annotated[
        str | None,
        typer.Option(help="residual-kmeans, rqvae, hierarchical-kmeans, naive ..."),
    ] = None,
    recipe: Annotated[str, typer.Option(help="Recipe name or .toml file.")] = "rars",
    size: console.Size = "tiny",
    protocol: console.Protocol = None,
    changes: console.Changes = None,
    force: Annotated[
        bool, typer.Option(help="Learn again where the run has other identifiers.")
    ] = False,
    engine: console.Engine = "local",
    workers: console.Workers = None,
    as_json: console.Json = False,
) -> None:
    """Give every item of a dataset its identifier.

    Example: rars identify --data datasets/demo --out runs/demo --learner residual-kmeans
    """
    from rars import Dataset, Recipe, pipeline, scale

    listed = [*(changes or []), *([f"identifiers.learner={learner}"] if learner else [])]
    resolved = Recipe.resolve(recipe, size=size, protocol=protocol, changes=listed)
    made = pipeline.identify(
        Dataset.load(data),
        resolved,
        out,
        force=force,
        engine=scale.choose(engine, workers),
        tell=console.tell,
    )
    found = made.identifiers
    health = found.health()
    payload = {
        "run": str(made.run.folder),
        "learner": found.settings.learner,
        "seconds": round(made.seconds, 2),
        "collisions": dict(found.report),
        "health": health.as_dict(),
        **({} if made.expected is None else {"expected": dict(made.expected)}),
    }

    console.emit(payload, as_json, lambda: show_health(found, health))


def inspect(
    folder: console.RunFolder,
    split: Annotated[
        str, typer.Option(help="Queries to measure untrained recall and torn relevance on.")
    ] = "validation",
    plot: Annotated[
        Path | None, typer.Option(help="Where to draw; results/identifiers.png if not given.")
    ] = None,
    curve: Annotated[
        bool,
        typer.Option(
            "--curve", help="What other sizes would keep of the vectors, and their price."
        ),
    ] = False,
    as_json: console.Json = False,
) -> None:
    """Show how healthy a run's identifiers are: codes used, collisions, spread, similarity kept.

    Also which prefixes mix unrelated items, and which queries' relevance the tree tears apart. With --curve,
    the recall that identifiers of other sizes would keep, and which this catalogue needs.

    Example: rars inspect runs/demo --curve
    """
    from rars import pipeline

    found = pipeline.inspect(folder, split=split, plot=plot, curve=curve, tell=console.tell)

    def show() -> None:
        show_health(found.identifiers, found.health)
        if found.untrained_recall is not None:
            console.prose(
                f"Untrained recall@100 on {split} queries: {100 * found.untrained_recall:.1f} % "
                "(query vector . reconstructed item; what is lost here no model wins back)."
            )
        if found.hit_rate is not None:
            console.prose(
                f"Embedding hit rate@50 on {split} queries: {100 * found.hit_rate:.1f} % (of the items that "
                "are exact for the same query, how many are near by what their identifiers stand for); "
                f"Gini of items per identifier: {found.health.gini:.3f}."
            )
        if found.curve is not None:
            console.report(found.curve.table())
            console.prose(found.curve.sentence())
            proposed = list(found.curve.proposed().sizes)
            console.show(f"  --set 'identifiers.sizes={proposed}'", f"Curve: {found.curve_plot}")
        sizes = list(found.proposed_sizes)
        console.prose(
            f"Branches as wide as the paper's, for so many items: --set 'identifiers.sizes={sizes}'."
        )
        console.report(*found.mixing.tables())
        console.show(f"Plot: {found.plot}")

    console.emit(found.as_dict(), as_json, show)


def show_health(found: Identifiers, health: Health) -> None:
    """Print the health table."""
    console.report(health.table())
    before, after = found.report.get("before", 0), found.report.get("after", 0)
    console.prose(
        f"Learned by {found.settings.learner}. Items sharing an identifier: {before:,} before, "
        f"{after:,} after the policy {found.settings.collisions!r}."
    )
