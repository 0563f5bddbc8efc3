"""``rars train`` and ``rars plot``: identifiers, model and checkpoints; loss curves.

A recipe's system decides what training is: ``train_any`` leads to a generative model here, or to one of the
systems it is compared with (``rars.cli.baseline``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from rars.cli import console
from rars.cli.baseline import show_baseline, train_baseline
from rars.cli.identify import Changes, Data, Out, RunFolder, ensure_identifiers
from rars.cli.search import ensure_index

if TYPE_CHECKING:
    from rars.config import Recipe
    from rars.data import Dataset
    from rars.identifiers import Identifiers
    from rars.model.retriever import Retriever
    from rars.runs import Run
    from rars.training.checkpoint import Position
    from rars.training.loop import Report
    from rars.training.prepare import Prepared

MODEL = "retriever"


def train(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="Recipe name or .toml file.")],
    data: Data,
    out: Out,
    size: Annotated[str, typer.Option(help="tiny, small or paper.")] = "tiny",
    seed: Annotated[
        int | None, typer.Option(help="Seed of the model and the order of training.")
    ] = None,
    changes: Changes = None,
    identifiers: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Take over the identifiers of another run of this data."),
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Train a retriever: identifiers, the model, its index. Killed or stopped, the same command goes on.

    RECIPE may be the recipe.toml of a run, and bm25, dense, dense-tuned or fusion: systems to compare with.

    Example: rars train rars --data datasets/demo --out runs/rars --size tiny
    """
    from rars.config import Recipe
    from rars.data import Dataset

    listed = [*(changes or []), *([f"training.seed={seed}"] if seed is not None else [])]
    resolved = Recipe.resolve(recipe, size=size, changes=listed)
    payload = train_any(resolved, Dataset.load(data), out, identifiers=identifiers)

    def show() -> None:
        if resolved.system != "generative":
            show_baseline(payload)
            return
        console.out.print(
            f"Trained {payload['recipe']} in {payload['seconds']:.0f} s: {payload['steps']:,} steps, "
            f"{payload['pairs_per_second']:,.0f} pairs a second."
        )
        for name, value in payload["losses"].items():
            console.out.print(f"  {name:6} {value:.4f}")
        for name, values in payload["counts"].items():
            listed = ", ".join(f"{value:.2f}" for value in values)
            console.out.print(f"How much the {name} counts at each depth: {listed}")
        console.out.print(f'Next: rars search {out} "..."   rars plot {out}', markup=False)

    console.emit(payload, as_json, show)


def train_any(
    recipe: Recipe, dataset: Dataset, out: Path, *, identifiers: Path | None = None
) -> dict[str, Any]:
    """Train one run folder, whatever its recipe's system is; a folder of another system is refused."""
    from rars.errors import RarsError

    _check_system(recipe, out)
    if recipe.system == "generative":
        return train_run(recipe, dataset, out, source=identifiers)
    if identifiers is not None:
        raise RarsError(f"--identifiers: {recipe.name} is a {recipe.system} system and has none.")
    return train_baseline(recipe, dataset, out)


def _check_system(recipe: Recipe, out: Path) -> None:
    from rars.errors import RarsError
    from rars.runs import Run

    if not (out / "manifest.json").exists() or not (out / "recipe.toml").exists():
        return
    known = Run.open(out).recipe().system
    if known != recipe.system:
        raise RarsError(f"{out} is the run of a {known} system; choose another --out.")


def train_run(
    recipe: Recipe, dataset: Dataset, out: Path, *, source: Path | None = None
) -> dict[str, Any]:
    """Train one generative run folder to its end, or find it trained already.

    ``source`` is a run whose identifiers are taken over.

    Under ``accelerate launch`` or ``torchrun`` every process calls this; the first one writes.
    """
    from rars import artifacts
    from rars.model import backbone
    from rars.training import journal, loop
    from rars.training.prepare import prepare

    backbone.check(recipe.model.backbone)
    accelerator = loop.make_accelerator(recipe.training)
    with accelerator.main_process_first():
        identifiers, run, _ = ensure_identifiers(out, recipe, dataset, source=source)
    start = time.perf_counter()
    with accelerator.main_process_first(), console.progress("reading queries") as advance:
        prepared = prepare(dataset, identifiers, recipe, advance)
    if not _trained(run, prepared):
        made_up = len(prepared.data) - prepared.pool
        kinds = {"judged queries": prepared.pool, "pseudo-queries": made_up}
        listed = " and ".join(f"{count:,} {kind}" for kind, count in kinds.items() if count)
        console.say(f"Training {recipe.name} on {listed}, {recipe.training.epochs} epochs.")
        at = _train(recipe, dataset, identifiers, run, prepared, accelerator)
        if accelerator.is_main_process:
            _keep(recipe, run, prepared, at)
            run.record("model", seconds=round(time.perf_counter() - start, 1), steps=at.step)
        accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        ensure_index(run)
    lines = [line for line in journal.read(run.folder / "journal.jsonl") if "loss" in line]
    last = lines[-1]
    return {
        "run": str(out),
        "recipe": recipe.name,
        "system": recipe.system,
        "seconds": run.manifest()["steps"]["model"]["seconds"],
        "steps": last["step"],
        "pairs_per_second": last["pairs_per_second"],
        "losses": {k: last[k] for k in ("loss", "leaf", "tree", "cls", "con") if k in last},
        "counts": artifacts.opening(run.folder / "model", kind=MODEL).meta.get("counts", {}),
    }


def _trained(run: Run, prepared: Prepared) -> bool:
    from rars import artifacts

    folder = run.folder / "model"
    if (
        not folder.exists()
        or artifacts.opening(folder, kind=MODEL).meta["source"] != prepared.source
    ):
        return False
    console.say(f"The model of {run.folder} is trained already.")
    return True


def _train(
    recipe: Recipe,
    dataset: Dataset,
    identifiers: Identifiers,
    run: Run,
    prepared: Prepared,
    accelerator: Any,
) -> Position:
    from rars.search.engine import Engine, recall
    from rars.training import loop
    from rars.training.mixing import mix
    from rars.training.prepare import held_out

    model = loop.TrainingModel(
        prepared.ready.model, recipe.objective, prepared.tree_depths, recipe.model.normaliser
    )
    plan = loop.Plan(
        data=prepared.data,
        pool=prepared.pool,
        settings=recipe.training,
        folder=run.folder,
        source=prepared.source,
        pad_token=prepared.ready.tokenizer.pad,
    )
    mixes = prepared.ready.model.prior is not None and recipe.objective.prior == "beside"
    held = held_out(dataset, identifiers, recipe, prepared) if mixes else None
    validate = None
    chooses = recipe.training.keep == "best" and len(dataset.positives("validation")[0]) > 0
    if chooses:
        engine = Engine.of(prepared.ready, identifiers)

        def validate(retriever: Retriever) -> float:
            if held is not None:
                mix(retriever, held, recipe.model.normaliser)
            return float(recall(engine, dataset, "validation", model=retriever).mean())

    with _watched(recipe.name) as report:
        at = loop.train(model, plan, report=report, validate=validate, accelerator=accelerator)
    if chooses:
        loop.restore_best(model, plan, at)
    elif held is not None:
        mix(model.retriever, held, recipe.model.normaliser)
    return at


def _keep(recipe: Recipe, run: Run, prepared: Prepared, at: Position) -> None:
    """Write the finished retriever, without the tree head."""
    from rars import artifacts
    from rars.model import saving

    with artifacts.writing(run.folder / "model", kind=MODEL) as draft:
        draft.meta.update(source=prepared.source, step=at.step, recipe=recipe.name)
        prior = prepared.ready.model.prior
        if prior is not None:
            counts = {"prior": prior.scales, "decoder beside it": prior.own}
            draft.meta["counts"] = {name: scales.tolist() for name, scales in counts.items()}
        saving.save(prepared.ready, draft.folder)


@contextmanager
def _watched(name: str) -> Iterator[Report]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[terms]}"),
    )
    quiet = not console.err.is_terminal
    with Progress(*columns, console=console.err, transient=True, disable=quiet) as bar:
        task = bar.add_task(name, total=1.0, terms="")

        def report(values: dict[str, float]) -> None:
            shown = [f"{k} {values[k]:.3f}" for k in ("leaf", "tree", "cls", "con") if k in values]
            speed = f"{values['pairs_per_second']:,.0f} pairs/s"
            bar.update(task, completed=values["progress"], terms=" ".join([*shown, speed]))

        yield report


def plot(
    folder: RunFolder,
    out: Annotated[Path | None, typer.Option(help="Where to draw; results/training.png.")] = None,
    as_json: console.Json = False,
) -> None:
    """Draw the loss curves of a run.

    Example: rars plot runs/rars
    """
    from rars.analysis import curves
    from rars.runs import Run

    run = Run.open(folder, generative=True)
    path = out or run.results / "training.png"
    payload = curves.draw(run.folder / "journal.jsonl", path)
    console.emit(payload, as_json, lambda: console.out.print(f"Plot: {path}", markup=False))
