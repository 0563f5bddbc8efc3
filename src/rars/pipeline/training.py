"""Train a system to its end, whatever its recipe says it is.

Owns: the order of the steps (identifiers, model phase by phase, index), what is found done already, and that
a refusal comes before anything is written. Ignores the loop (``rars.training``) and how other systems learn
(``rars.baselines``).

Stopped or killed, the same call goes on. Under ``accelerate launch`` or ``torchrun`` every process calls it
and the first one writes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rars import artifacts, locks, places
from rars.arrays import Ints
from rars.baselines import learning, running
from rars.config import Phase, Recipe
from rars.data import Dataset
from rars.errors import RarsError
from rars.identifiers import Identifiers
from rars.model import backbone, saving
from rars.model.identifier_model import IdentifierModel
from rars.pipeline.embedding import settled
from rars.pipeline.identification import check_given, find
from rars.pipeline.indexing import index
from rars.pipeline.outlook import Outlook
from rars.progress import SILENT, Tell
from rars.runs import Run, kept
from rars.scale import threads
from rars.search.engine import Engine, quality
from rars.search.rehearsal import rehearse
from rars.training import checkpoint, journal, loop
from rars.training.candidates import Ranker
from rars.training.checkpoint import Position
from rars.training.mixing import mix
from rars.training.packing import TrainingSet
from rars.training.prepare import Prepared, held_out, prepare

MODEL = "retriever"


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained run.

    ``losses``   each term's last value; ``steps`` and ``pairs_per_second`` of the training
    ``learned``  what a comparison system chose
    ``counts``   how much a prior and the decoder count at each depth
    """

    run: Run
    recipe: Recipe
    seconds: float
    steps: int = 0
    pairs_per_second: float = 0.0
    losses: Mapping[str, float] | None = None
    counts: Mapping[str, Sequence[float]] | None = None
    learned: Mapping[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        found: dict[str, Any] = {
            "run": str(self.run.folder),
            "recipe": self.recipe.name,
            "system": self.recipe.system,
            "seconds": self.seconds,
        }
        if not self.recipe.generative:
            return found | {"learned": dict(self.learned or {})}
        return found | {
            "steps": self.steps,
            "pairs_per_second": self.pairs_per_second,
            "losses": dict(self.losses or {}),
            "counts": dict(self.counts or {}),
        }


def train(
    dataset: Dataset,
    recipe: Recipe,
    out: str | Path,
    *,
    identifiers: str | Path | None = None,
    tell: Tell = SILENT,
) -> Trained:
    """Train one run folder, or find it trained already; ``identifiers``: a run whose own are taken over."""
    check_given(dataset, recipe)
    out = places.target(out)
    with locks.held(out):
        _check_system(recipe, out)
        if not recipe.generative and identifiers is not None:
            raise RarsError(
                f"--identifiers: {recipe.name} is a {recipe.system} system and has none."
            )
        with kept(dataset, out) as stored:
            if recipe.generative:
                return _train_generative(stored, recipe, out, identifiers, tell)
            return _train_other(stored, recipe, out, tell)


def _check_system(recipe: Recipe, out: Path) -> None:
    if not (out / "manifest.json").exists() or not (out / "recipe.toml").exists():
        return
    known = Run.open(out).recipe().system
    if known != recipe.system:
        raise RarsError(f"{out} is the run of a {known} system; choose another --out.")


# -- systems that generate identifiers -------------------------------------------------------------


def _train_generative(
    dataset: Dataset, recipe: Recipe, out: Path, source: str | Path | None, tell: Tell
) -> Trained:
    backbone.check(recipe.model.backbone)
    accelerator = loop.make_accelerator(recipe.training)
    device = str(accelerator.device)
    if accelerator.is_main_process and not (out / "model").exists():
        with tell.stage("reading the catalogue") as advance:
            rehearse(dataset, levels=recipe.model.category_levels, advance=advance)
    # The first process asks all that can be refused, then writes; the others find what it wrote.
    with accelerator.main_process_first():
        recipe = settled(dataset, recipe, out, device=device, tell=tell)
        found = find(dataset, recipe, out, source=source, device=device, tell=tell)
        start = time.perf_counter()
        with tell.stage("reading queries") as advance:
            prepared = prepare(dataset, found.identifiers, recipe, advance, device=device)
        trained = _trained_step(found.run, recipe, prepared)
        if accelerator.is_main_process:
            found.keep(tell, begin=True)
    run = found.run
    if trained is not None:
        tell.say(f"The model of {run.folder} is trained already.")
    else:
        tell.say(_plan(recipe, prepared))
        with threads.working(_threads(run, prepared, accelerator, tell)):
            at = _Training(
                dataset, recipe, found.identifiers, run, prepared, accelerator, tell
            ).go()
        if accelerator.is_main_process:
            _keep(recipe, run, prepared, at)
            run.record("model", seconds=round(time.perf_counter() - start, 1), steps=at.step)
        accelerator.wait_for_everyone()
    if accelerator.is_main_process and "model" not in run.manifest()["steps"]:
        run.record("model", seconds=0.0, steps=trained)  # killed between the model and its record
    if accelerator.is_main_process:
        index(run, tell=tell)
    return _outcome(run, recipe)


def _threads(run: Run, prepared: Prepared, accelerator: Any, tell: Tell) -> threads.Choice:
    """The threads of this training: as chosen when it began, since the last bits of weights follow them."""
    known = run.manifest()["steps"].get("training", {}).get("threads")
    choice = threads.chosen(threads.weights(prepared.ready.model), kept=known)
    if accelerator.is_main_process:
        if choice.why:
            tell.say(f"Training with {choice.sentence}")
        if known != choice.threads:
            run.record("training", threads=choice.threads)
    return choice


def _outcome(run: Run, recipe: Recipe) -> Trained:
    lines = [line for line in journal.read(run.folder / "journal.jsonl") if "loss" in line]
    last = lines[-1]
    names = ["loss", *(one.name for one in recipe.phases[-1].terms)]
    return Trained(
        run=run,
        recipe=recipe,
        seconds=run.manifest()["steps"]["model"]["seconds"],
        steps=last["step"],
        pairs_per_second=last["pairs_per_second"],
        losses={name: last[name] for name in names if name in last},
        counts=artifacts.opening(run.folder / "model", kind=MODEL).meta.get("counts", {}),
    )


def _plan(recipe: Recipe, prepared: Prepared) -> str:
    stretches = {
        "judged queries": prepared.judged,
        "pseudo-queries": prepared.pseudo,
        "item texts": prepared.indexing,
    }
    counts = {kind: part.stop - part.start for kind, part in stretches.items()}
    listed = " and ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)
    phases = recipe.phases
    count = sum(phase.loop.epochs for phase in phases)
    epochs = f"{count} epoch{'' if count == 1 else 's'}"
    if len(phases) > 1:
        epochs += f" in {len(phases)} phases: {', '.join(phase.name for phase in phases)}"
    return f"Training {recipe.name} on {listed}, {epochs}."


def _trained_step(run: Run, recipe: Recipe, prepared: Prepared) -> int | None:
    """The last step of the model, where it is trained already; refuses what another recipe began here."""
    for phase in recipe.phases:
        checkpoint.check_source(run.folder / "checkpoints" / phase.name, prepared.source)
    folder = run.folder / "model"
    if not folder.exists():
        return None
    meta = artifacts.opening(folder, kind=MODEL).meta
    if meta["source"] != prepared.source:
        raise RarsError(checkpoint.OTHER.format(folder))
    return int(meta["step"])


def _keep(recipe: Recipe, run: Run, prepared: Prepared, at: Position) -> None:
    """Write the finished model, without what its terms trained for themselves."""
    with artifacts.writing(run.folder / "model", kind=MODEL) as draft:
        draft.meta.update(source=prepared.source, step=at.step, recipe=recipe.name)
        prior = prepared.ready.model.prior
        if prior is not None:
            counts = {"prior": prior.scales, "decoder beside it": prior.own}
            draft.meta["counts"] = {name: scales.tolist() for name, scales in counts.items()}
        saving.save(prepared.ready, draft.folder)


@dataclass(frozen=True, eq=False)
class _Training:
    """The phases of one training, one after the other."""

    dataset: Dataset
    recipe: Recipe
    identifiers: Identifiers
    run: Run
    prepared: Prepared
    accelerator: Any
    tell: Tell

    def go(self) -> Position:
        at = Position()
        for number, phase in enumerate(self.recipe.phases):
            if number and phase.fresh:
                self._start_again()
            if number:
                # What its terms train for themselves starts alike, whether the phase before ran just now or
                # was found done.
                words = [self.recipe.training.seed, 0, 0, number]
                torch.manual_seed(int(np.random.SeedSequence(words).generate_state(1)[0]))
            at = self._phase(phase, at, several=len(self.recipe.phases) > 1)
        return at

    def _phase(self, phase: Phase, before: Position, *, several: bool) -> Position:
        recipe, prepared = self.recipe, self.prepared
        beside = prepared.ready.model.prior is not None and recipe.objective.prior == "beside"
        model = loop.TrainingModel(
            prepared.ready.model,
            phase.terms,
            tree_depths=prepared.tree_depths,
            normaliser=recipe.model.normaliser,
            alone=beside,
            ground=prepared.ground,
        )
        plan = loop.Plan(
            data=prepared.weighted(phase.loop),
            taken=prepared.taken(phase.loop),
            loop=phase.loop,
            settings=recipe.training,
            folder=self.run.folder,
            source=prepared.source,
            pad_token=prepared.ready.tokenizer.pad,
            name=phase.name,
            first=before.epoch,
            step=before.step,
            mine=prepared.mine,
            rankers=self._rankers if model.asked else None,
            marks={"phase": phase.name} if several else {},
        )
        held = self._held_out() if beside else None
        measures = phase.loop.measured and len(self.dataset.positives("validation")[0]) > 0
        chooses = measures and phase.loop.keep == "best"
        engine = self._engine() if measures else None

        def validate(found: IdentifierModel) -> dict[str, float]:
            assert engine is not None
            if held is not None:
                mix(found, held, recipe.model.normaliser)
            reached = quality(engine, self.dataset, "validation", model=found)
            return {
                "validation": reached.mean("Recall@100"),
                "validation_ndcg": reached.mean("nDCG@10"),
            }

        name = f"{recipe.name} {phase.name}" if several else recipe.name
        at = loop.train(
            model,
            plan,
            report=Outlook(self.tell, name, threads.weights(prepared.ready.model)),
            validate=validate if measures else None,
            resumed=self._say_resumed if self.accelerator.is_main_process else None,
            accelerator=self.accelerator,
        )
        if at.epoch < before.epoch + phase.loop.epochs:
            self.tell.say(
                f"Stopped after {at.epoch - before.epoch} of {phase.loop.epochs} epochs: "
                f"{phase.loop.patience} validations without a better one than step {at.best_step:,}'s."
            )
        if chooses:
            loop.restore_best(model, plan, at)
        elif held is not None:
            mix(model.model, held, recipe.model.normaliser)
        return at

    def _say_resumed(self, at: Position) -> None:
        self.tell.say(f"Going on from step {at.step:,}, in epoch {at.epoch + 1}.")

    def _held_out(self) -> TrainingSet | None:
        return held_out(self.dataset, self.identifiers, self.recipe, self.prepared)

    def _start_again(self) -> None:
        """Weights as they were before the first phase."""
        again = prepare(self.dataset, self.identifiers, self.recipe)
        self.prepared.ready.model.load_state_dict(again.ready.model.state_dict())

    def _engine(self) -> Engine:
        """What searches with the model as it is, by the score that the recipe searches with."""
        return Engine.of(self.prepared.ready, self.identifiers, score=self.recipe.search.score)

    def _rankers(self, model: IdentifierModel) -> Mapping[str, Ranker]:
        """What candidates can be mined with: the model as it is now, and words."""
        from rars.baselines.bm25 import Bm25

        engine = self._engine()

        def beam(texts: Sequence[str], k: int) -> list[Ints]:
            with torch.inference_mode():
                return engine.search(texts, k=k, width=k, model=model)

        def words(texts: Sequence[str], k: int) -> list[Ints]:
            found = Bm25.of(self.dataset).search(texts, k)
            return [found.row(at)[0] for at in range(len(found))]

        return {"beam": beam, "bm25": words}


# -- systems to compare with -----------------------------------------------------------------------


def _train_other(dataset: Dataset, recipe: Recipe, out: Path, tell: Tell) -> Trained:
    """Make a comparison system, or find it made already; a failure leaves the folder as it was."""
    run = Run.planned(out, dataset)
    facts = running.made(run, recipe, dataset)
    start = time.perf_counter()
    if facts is not None:
        tell.say(f"The {recipe.system} system of {out} is made already.")
        Run.start(out, recipe, dataset)
    else:
        held = learning.held_out(recipe, dataset)
        trained = learning.part_of(recipe).trains(recipe.own)
        what = f"Making {recipe.name} for {dataset.n_items:,} items"
        tell.say(f"{what}: fine-tuning {trained}." if trained else f"{what}.")
        with tell.stage(recipe.name) as advance:
            facts = running.make(run, recipe, dataset, held, advance=advance)
        run.record("model", seconds=round(time.perf_counter() - start, 1), system=recipe.system)
    if "model" not in run.manifest()["steps"]:  # killed between the model and its record
        run.record("model", seconds=0.0, system=recipe.system)
    return Trained(
        run=run,
        recipe=recipe,
        seconds=run.manifest()["steps"].get("model", {}).get("seconds", 0.0),
        learned={name: facts[name] for name in ("tuning", "weights", "parts") if name in facts},
    )
