"""``rars train`` and ``rars plot``: identifiers, model and index; loss curves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rars.cli import console

if TYPE_CHECKING:
    from rars.pipeline import Trained


def train(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="Recipe name or .toml file.")],
    data: console.Data,
    out: console.Out,
    size: console.Size = "tiny",
    protocol: console.Protocol = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the model and the order of training.")
    ] = None,
    changes: console.Changes = None,
    identifiers: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Take over the identifiers of another run of this data."),
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Train a system: identifiers, the model, its index. Killed or stopped, the same command goes on.

    RECIPE may be the recipe.toml of a run; rars recipes lists those that come with the package.

    Example: rars train rars --data datasets/demo --out runs/rars --size tiny
    """
    from rars import Dataset, Recipe, pipeline

    listed = [*(changes or []), *([f"training.seed={seed}"] if seed is not None else [])]
    resolved = Recipe.resolve(recipe, size=size, protocol=protocol, changes=listed)
    with console.training() as tell:
        done = pipeline.train(Dataset.load(data), resolved, out, identifiers=identifiers, tell=tell)
    payload = done.as_dict()
    console.emit(payload, as_json, lambda: _show(done, payload))


def _show(done: Trained, payload: dict[str, Any]) -> None:
    out = payload["run"]
    if not done.recipe.generative:
        _show_learned(payload)
        console.show(f'Next: rars search {out} "..."   rars evaluate {out}')
        return
    console.show(
        f"Trained {payload['recipe']} in {payload['seconds']:.0f} s: {payload['steps']:,} steps, "
        f"{payload['pairs_per_second']:,.0f} pairs a second."
    )
    for name, value in payload["losses"].items():
        console.show(f"  {name:18} {value:.4f}")
    for name, values in payload["counts"].items():
        listed = ", ".join(f"{value:.2f}" for value in values)
        console.show(f"How much the {name} counts at each depth: {listed}")
    console.show(f'Next: rars search {out} "..."   rars plot {out}')


def _show_learned(payload: dict[str, Any]) -> None:
    console.show(f"Made {payload['recipe']} in {payload['seconds']:.0f} s.")
    tuning, weights = (payload["learned"].get(name) for name in ("tuning", "weights"))
    if tuning:
        before, after = tuning["quality"][0], tuning["quality"][tuning["epoch"]]
        console.show(
            f"  epoch {tuning['epoch']} of {len(tuning['quality']) - 1} kept: "
            f"nDCG@100 on validation queries {100 * before:.1f} before, {100 * after:.1f} after."
        )
    if weights:
        named = zip(payload["learned"]["parts"], weights, strict=True)
        console.show(f"  weights: {', '.join(f'{name} {one:.2f}' for name, one in named)}.")


def plot(
    folder: console.RunFolder,
    out: Annotated[Path | None, typer.Option(help="Where to draw; results/training.png.")] = None,
    as_json: console.Json = False,
) -> None:
    """Draw the loss curves of a run.

    Example: rars plot runs/rars
    """
    from rars import pipeline

    payload = pipeline.plot(folder, out=out)
    console.emit(payload, as_json, lambda: console.show(f"Plot: {payload['plot']}"))
