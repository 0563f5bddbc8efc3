"""The training loop: packed batches, AdamW, cosine schedule, exact resume.

Owns: the order of things in a step and what happens when something goes wrong. Ignores where queries come
from (``prepare``) and what the losses are (``rars.objectives``).

Every random choice of a step follows from (seed, step): a run killed at any moment and started again goes on
from its newest checkpoint to bit-identical weights. Several processes share each batch; a loss is a
sum over the process's queries divided by the whole batch's weight, so they add up to one process.
"""

from __future__ import annotations

import math
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rars.config import ObjectiveSettings, TrainingSettings
from rars.errors import RarsError, Stopped
from rars.model.batch import Batch, moved
from rars.model.retriever import Retriever
from rars.model.tree_head import TreeHead
from rars.objectives import NEEDS_HEAD, Weights, terms
from rars.objectives.common import Context
from rars.training import checkpoint
from rars.training.checkpoint import Position
from rars.training.journal import Journal
from rars.training.packing import TrainingSet, pack
from rars.training.sampler import batches

# Saving may take at most this share of the time: large models are saved less often.
_SAVING_SHARE = 0.05

Report = Callable[[dict[str, float]], None]
Validate = Callable[[Retriever], float]


class TrainingModel(nn.Module):
    """The retriever and, where the objective needs one, the tree head that is dropped afterwards."""

    def __init__(
        self,
        retriever: Retriever,
        settings: ObjectiveSettings,
        tree_depths: int | None = None,
        normaliser: str = "depth",
    ) -> None:
        super().__init__()
        self.normaliser = normaliser
        self.retriever = retriever
        self.settings = settings
        self.tree_depths = tree_depths
        self.alone = settings.prior == "beside"
        if self.alone and retriever.prior is not None:
            retriever.prior.requires_grad_(False)
        structure = None if settings.structure == "none" else settings.structure
        self.weights = Weights(settings.leaf, structure, settings.tree_weight, settings.base_weight)
        self.head = (
            TreeHead(retriever.decoder.width, retriever.slots, settings.rank)
            if structure in NEEDS_HEAD
            else None
        )

    def forward(self, batch: Batch, seed: int) -> tuple[Tensor, dict[str, Tensor]]:
        """The objective and each of its terms, as means over the whole batch."""
        found = self.retriever(batch, alone=self.alone)
        context = Context(
            normaliser=self.normaliser,
            head=self.head,
            generator=torch.Generator().manual_seed(seed),
            per_token=self.settings.per_token,
            tree_depths=self.tree_depths,
            siblings=self.settings.siblings,
            n_siblings=self.settings.n_siblings,
            temperature=self.settings.temperature,
            one_path=self.settings.one_path,
            contrast=self.settings.contrast,
        )
        listed = terms(self.retriever, found, batch, context, self.weights)
        loss = sum((weight * total.mean for weight, total in listed.values()), torch.zeros(()))
        return loss, {name: total.mean.detach() for name, (_, total) in listed.items()}


@dataclass(frozen=True)
class Plan:
    """What to train on and where to keep it.

    ``pool`` is the number of judged queries (the first of ``data``); the others are pseudo-queries.
    ``source`` is the digest of data, identifiers and recipe: a checkpoint of another source is refused.
    """

    data: TrainingSet
    pool: int
    settings: TrainingSettings
    folder: Path
    source: str
    pad_token: int = 0


def make_accelerator(settings: TrainingSettings) -> Any:
    """One process or many, CPU or GPU, as the launcher says."""
    from accelerate import Accelerator, DistributedDataParallelKwargs

    # A pretrained encoder may hold parts that a query never passes through (poolers).
    unused = DistributedDataParallelKwargs(find_unused_parameters=True)
    # Without an accelerator the library sees one process unless told that several share the CPU.
    shared_cpu = "WORLD_SIZE" in os.environ and not torch.accelerator.is_available()
    return Accelerator(mixed_precision=settings.precision, cpu=shared_cpu, kwargs_handlers=[unused])


def restore_best(model: TrainingModel, plan: Plan, at: Position) -> None:
    """Put back the weights that were best on validation queries."""
    checkpoint.load_weights(plan.folder / "best" / f"step-{at.best_step:09d}", model)


def train(
    model: TrainingModel,
    plan: Plan,
    *,
    report: Report | None = None,
    validate: Validate | None = None,
    accelerator: Any = None,
) -> Position:
    """Train to the end, from the newest checkpoint if there is one; the final weights stay in ``model``."""
    if accelerator is None:
        accelerator = make_accelerator(plan.settings)
    optimizer = _optimizer(model, plan.settings)
    found = checkpoint.newest(plan.folder / "checkpoints", plan.source)
    at = Position()
    if found is not None:
        path, at = found
        checkpoint.load(path, model, optimizer)
    wrapped, stepper = accelerator.prepare(model, optimizer)
    run = _Run(plan, model, wrapped, stepper, optimizer, accelerator, report, validate)
    with run.stoppable():
        return run.go(at)


class _Run:
    """One uninterrupted stretch of training."""

    def __init__(
        self,
        plan: Plan,
        model: TrainingModel,
        wrapped: nn.Module,
        stepper: Any,
        optimizer: torch.optim.Optimizer,
        accelerator: Any,
        report: Report | None,
        validate: Validate | None,
    ) -> None:
        self.plan, self.model, self.wrapped = plan, model, wrapped
        self.stepper, self.optimizer, self.accelerator = stepper, optimizer, accelerator
        self.report, self.validate = report, validate
        self.stopped = False
        self.saved_at = time.monotonic()
        self.interval = plan.settings.checkpoint_seconds
        self.rank, self.world = accelerator.process_index, accelerator.num_processes

    def go(self, at: Position) -> Position:
        plan, settings = self.plan, self.plan.settings
        journal = None
        if self.rank == 0:
            path = plan.folder / "journal.jsonl"
            journal = Journal(path, at.step, board=settings.tensorboard)
        started, pairs = time.monotonic(), 0.0
        while at.epoch < settings.epochs:
            listed = self._batches(at.epoch)
            while at.batch < len(listed):
                group = listed[at.batch : at.batch + settings.accumulate]
                middle = at.batch + len(group) / 2
                progress = (at.epoch + middle / len(listed)) / settings.epochs
                values = self._update(group, at.step, progress)
                pairs += values.pop("pairs")
                at = replace(at, step=at.step + 1, batch=at.batch + len(group))
                values |= {
                    "step": at.step,
                    "epoch": round(at.epoch + at.batch / len(listed), 4),
                    "progress": progress,
                    "pairs_per_second": round(pairs / (time.monotonic() - started), 1),
                    "memory_mb": round(_memory(), 1),
                }
                if journal is not None:
                    journal.write(**values)
                if self.report is not None and self.rank == 0:
                    self.report(values)
                self._maybe_save(at)
            at = self._validated(replace(at, epoch=at.epoch + 1, batch=0), journal)
        self._save(at)
        if journal is not None:
            journal.close()
        return at

    def _batches(self, epoch: int) -> list[Any]:
        settings = self.plan.settings
        return batches(
            self.plan.data,
            self.plan.pool,
            pairs=settings.pairs,
            seed=settings.seed,
            epoch=epoch,
            # Without a judged query, an epoch is every pseudo-query once.
            sampled=round(settings.pseudo.share * (self.plan.pool or len(self.plan.data))),
            at_least=self.world,
        )

    def _update(self, group: list[Any], step: int, progress: float) -> dict[str, float]:
        """One optimiser step over one or several batches; returns what the journal keeps."""
        settings = self.plan.settings
        rate = schedule(progress, settings.warmup)
        for part in self.optimizer.param_groups:
            part["lr"] = part["base_lr"] * rate
        self.model.train()
        sums: dict[str, float] = {}
        pairs = 0.0
        for index, whole in enumerate(group):
            # Dropout and drawn targets of this step, whatever happened before it.
            seed = int(np.random.SeedSequence([settings.seed, step, index]).generate_state(1)[0])
            torch.manual_seed(seed + self.rank)
            batch = pack(
                self.plan.data,
                whole[self.rank :: self.world],
                whole=whole,
                pad_token=self.plan.pad_token,
            )
            batch = moved(batch, self.accelerator.device)
            loss, listed = self.wrapped(batch, seed)
            self._check(loss, listed, step)
            # Gradients are averaged over processes, but each already holds its share of the sum.
            self.accelerator.backward(loss * self.world / len(group))
            pairs += batch.n_pairs
            for name, value in listed.items():
                sums[name] = sums.get(name, 0.0) + self._added(value) / len(group)
        norm = self.accelerator.clip_grad_norm_(self.model.parameters(), settings.clip)
        self.stepper.step()
        self.stepper.zero_grad()
        weights = {"leaf": 1.0, "tree": self.model.weights.tree}
        total = sum(weights.get(n, self.model.weights.base) * v for n, v in sums.items())
        return sums | {
            "loss": total,
            "learning_rate": settings.learning_rate * rate,
            "gradient_norm": float(norm),
            "pairs": pairs,
        }

    def _added(self, value: Tensor) -> float:
        return float(self.accelerator.reduce(value, "sum")) if self.world > 1 else float(value)

    def _check(self, loss: Tensor, listed: dict[str, Tensor], step: int) -> None:
        value = float(loss.detach())
        if math.isfinite(value):
            return
        bad = [name for name, value in listed.items() if not math.isfinite(float(value))]
        raise RarsError(
            f"The loss became {value} at step {step + 1} (in {', '.join(bad) or 'the sum'}); the last "
            "checkpoint is kept. Try a lower training.learning_rate."
        )

    def _validated(self, at: Position, journal: Journal | None) -> Position:
        """After an epoch: measure on validation queries when it is time, and keep the best weights."""
        settings = self.plan.settings
        every = max(1, settings.epochs // settings.evaluations)
        due = at.epoch % every == 0 or at.epoch == settings.epochs
        if self.validate is None or not due:
            return at
        self.model.eval()
        value = self.validate(self.model.retriever)
        if journal is not None:
            journal.write(step=at.step, epoch=at.epoch, validation=value)
        if at.best is None or value > at.best:
            at = replace(at, best=value, best_step=at.step)
            if self.rank == 0:
                checkpoint.save(
                    self.plan.folder / "best", self.model, self.optimizer, at, self.plan.source
                )
                checkpoint.prune(self.plan.folder / "best", 1)
        self._save(at)
        return at

    def _maybe_save(self, at: Position) -> None:
        if self.stopped:
            self._save(at)
            raise Stopped(
                f"stopped at step {at.step:,}, which is saved; the same command goes on from there."
            )
        if time.monotonic() - self.saved_at >= self.interval:
            self._save(at)

    def _save(self, at: Position) -> None:
        if self.rank == 0:
            start = time.monotonic()
            folder = self.plan.folder / "checkpoints"
            checkpoint.save(folder, self.model, self.optimizer, at, self.plan.source)
            checkpoint.prune(folder, self.plan.settings.checkpoints_kept)
            taken = time.monotonic() - start
            self.interval = max(self.plan.settings.checkpoint_seconds, taken / _SAVING_SHARE)
        self.saved_at = time.monotonic()

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM finish the step, save, and then stop."""

        def stop(*_: Any) -> None:
            self.stopped = True

        try:
            before = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
        except ValueError:  # not in the main thread
            before = {}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def schedule(progress: float, warmup: float) -> float:
    """Linear warm-up, then a cosine to zero; ``progress`` runs from 0 to 1.

    >>> [round(schedule(p, 0.01), 3) for p in (0.0, 0.005, 0.01, 0.505, 1.0)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if progress < warmup:
        return progress / warmup
    return 0.5 * (1 + math.cos(math.pi * (progress - warmup) / max(1e-12, 1 - warmup)))


def _optimizer(model: TrainingModel, settings: TrainingSettings) -> torch.optim.AdamW:
    """AdamW; norms and biases are not decayed; encoder and tree head may have their own rates."""
    rates = {
        "encoder": settings.encoder_learning_rate or settings.learning_rate,
        "head": settings.learning_rate * settings.head_factor,
        "rest": settings.learning_rate,
    }
    groups: dict[tuple[str, bool], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            part = "encoder" if name.startswith("retriever.encoder.stack") else "rest"
            part = "head" if name.startswith("head.") else part
            groups.setdefault((part, parameter.ndim >= 2), []).append(parameter)
    listed = []
    for (part, decayed), parameters in groups.items():
        decay = settings.weight_decay if decayed else 0.0
        rate = rates[part]
        listed.append({"params": parameters, "weight_decay": decay, "lr": rate, "base_lr": rate})
    return torch.optim.AdamW(listed, fused=True)


def _memory() -> float:
    """Peak memory of this process in megabytes."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
