"""The training loop: packed batches, AdamW, cosine schedule, phases, exact resume.

Owns: a step from batch to update, when to save, validate and mine lists, and what happens when the loss is
not finite or the process is stopped. Ignores where queries come from (``prepare``) and what the losses are
(``rars.objectives``). Trained is L = sum of weight x term over the terms of a phase (Eq. objective).

Every random choice of a step follows from (seed, step): a run killed at any moment and started again goes on
from its newest checkpoint to bit-identical weights. Several processes share each batch; a loss is a
sum over the process's queries divided by the whole batch's weight, so they add up to one process.

A phase has its own terms, schedule and optimiser. Steps and epochs are counted through all phases, so no two
steps of a run draw the same random numbers. With ``patience``, a phase ends after so many validations in a
row without a better one; how many there were is part of the position that a checkpoint holds.
"""

from __future__ import annotations

import math
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rars.arrays import Ints
from rars.config import LoopSettings, TermSettings, TrainingSettings
from rars.errors import RarsError, Stopped
from rars.model.batch import Batch, Candidates, moved
from rars.model.identifier_model import IdentifierModel, Pass
from rars.objectives import TERMS
from rars.objectives.common import (
    Context,
    Ground,
    ListRequest,
    Total,
    decoder_log_probabilities,
)
from rars.training import checkpoint
from rars.training.candidates import SOURCES, MiningInputs, Ranker, lists_of
from rars.training.checkpoint import Position
from rars.training.journal import Journal
from rars.training.packing import CandidateLists, Drawn, Reads, TrainingSet, pack, pack_lists
from rars.training.sampler import QueryRange, batches

# Saving may take at most this share of the time: large models are saved less often.
_SAVING_SHARE = 0.05

Report = Callable[[dict[str, float]], None]
Validate = Callable[[IdentifierModel], Mapping[str, float]]
"""What the journal says of a model on validation queries; ``validation`` is what the best is chosen by."""


class TrainingModel(nn.Module):
    """The model with the heads of its loss terms (``Term.head``), which are dropped after training.

    ``alone``   train the decoder without the model's prior
    ``ground``  what is known of the identifiers, for what terms keep for themselves
    """

    def __init__(
        self,
        model: IdentifierModel,
        terms: Sequence[TermSettings],
        *,
        tree_depths: int | None = None,
        normaliser: str = "depth",
        alone: bool = False,
        ground: Ground = Ground(),
    ) -> None:
        super().__init__()
        self.model = model
        self.terms = tuple(terms)
        self.tree_depths = tree_depths
        self.normaliser = normaliser
        self.alone = alone
        if alone and model.prior is not None:
            model.prior.requires_grad_(False)
        made = ((one, TERMS[one.term].head) for one in terms)
        self.heads = nn.ModuleDict(
            {_head(one): make(model, one.own, ground) for one, make in made if make is not None}
        )

    @property
    def reads(self) -> Reads:
        """What the terms read of a batch whose pairs were drawn."""
        listed = [TERMS[one.term] for one in self.terms]
        return Reads(any(one.whole for one in listed), any(one.siblings for one in listed))

    @property
    def asked(self) -> dict[str, ListRequest]:
        """The lists of items that terms want scored, by the term's name."""
        made = ((one, TERMS[one.term].candidates) for one in self.terms)
        return {one.name: wanted(one.own) for one, wanted in made if wanted is not None}

    def forward(
        self, batch: Batch, seed: int, progress: float = 0.0
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The objective at this progress of a phase, and each of its terms, as means over the whole batch."""
        found = self.model(batch, alone=self.alone)
        generator = torch.Generator().manual_seed(seed)
        loss = torch.zeros((), device=found.logits[0].device)
        means: dict[str, Tensor] = {}
        for one in self.terms:
            total = self._total(one, found, batch, generator)
            loss = loss + one.at(progress) * total.mean
            means[one.name] = total.mean.detach()
        return loss, means

    def _total(
        self, one: TermSettings, found: Pass, batch: Batch, generator: torch.Generator
    ) -> Total:
        lists = batch.candidates.get(one.name)
        scores, logits = None, None
        if lists is not None:
            scores, logits = self._scores(found, lists, batch.projected)
        context = Context(
            normaliser=self.normaliser,
            head=dict(self.heads.items()).get(_head(one)),
            categories=self.model.categories,
            generator=generator,
            tree_depths=self.tree_depths,
            candidates=lists,
            scores=scores,
            logits=logits,
        )
        return TERMS[one.term].loss(found, batch, context, one.own)

    def _scores(
        self, found: Pass, lists: Candidates, projected: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """(m, L) log p and (m, L) logits of every listed item's codes; 0 after its end."""
        logits = self.model.candidate_logits(found, lists, projected, alone=self.alone)
        scores, raw = [], []
        for depth, step in enumerate(lists.refinements):
            edge = lists.edge[:, depth]
            scores.append(
                _at(decoder_log_probabilities(logits[depth], step, self.normaliser), edge)
            )
            raw.append(_at(logits[depth][step.parent, step.slot], edge))
        return torch.stack(scores, dim=1), torch.stack(raw, dim=1)


def _at(values: Tensor, edge: Tensor) -> Tensor:
    """(m,) the values of edges; 0 where there is none (-1)."""
    if not len(values):
        return values.new_zeros(len(edge))
    return torch.where(edge >= 0, values[edge.clamp(min=0)], values.new_zeros(()))


def _head(one: TermSettings) -> str:
    """The key of a term's head in ``heads``; the prefix keeps it from meeting a name of ``nn.ModuleDict``."""
    return f"of-{one.name}"


@dataclass(frozen=True)
class Plan:
    """What a phase trains on and where it is kept.

    ``taken``    which queries of ``data`` an epoch takes
    ``first``    the number of its first epoch, ``step`` of its first step, counted through all phases
    ``source``   the digest of data, identifiers and recipe: a checkpoint of another source is refused
    ``mine``     what candidate lists are made from
    ``rankers``  model -> rankers of the catalogue, for sources that follow the model
    """

    data: TrainingSet
    taken: tuple[QueryRange, ...]
    loop: LoopSettings
    settings: TrainingSettings
    folder: Path
    source: str
    pad_token: int = 0
    name: str = "training"
    first: int = 0
    step: int = 0
    mine: MiningInputs | None = None
    rankers: Callable[[IdentifierModel], Mapping[str, Ranker]] | None = None
    marks: dict[str, Any] = field(default_factory=dict)
    """What every line of the journal says beside the numbers: the phase's name, where there are several."""

    def ended(self, at: Position) -> bool:
        """Whether nothing is left to do: all epochs are done, or no validation was better for too long."""
        patience = self.loop.patience
        return at.epoch >= self.first + self.loop.epochs or 0 < patience <= at.since

    @property
    def checkpoints(self) -> Path:
        """Where this phase's checkpoints are."""
        return self.folder / "checkpoints" / self.name

    @property
    def best(self) -> Path:
        """Where the best weights on validation queries are."""
        return self.folder / "best" / self.name


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
    checkpoint.load_weights(plan.best / f"step-{at.best_step:09d}", model)


def train(
    model: TrainingModel,
    plan: Plan,
    *,
    report: Report | None = None,
    validate: Validate | None = None,
    resumed: Callable[[Position], None] | None = None,
    accelerator: Any = None,
) -> Position:
    """Train to the end, from the newest checkpoint if there is one; the final weights stay in ``model``.

    ``resumed``  is told where training goes on, if it does
    """
    if accelerator is None:
        accelerator = make_accelerator(plan.settings)
    optimizer = _optimizer(model, plan.loop)
    found = checkpoint.newest(plan.checkpoints, plan.source)
    at = Position(step=plan.step, epoch=plan.first)
    if found is not None:
        path, at = found
        checkpoint.load(path, model, optimizer)
        if resumed is not None and not plan.ended(at):
            resumed(at)
    wrapped, stepper = accelerator.prepare(model, optimizer)
    run = _Run(plan, model, wrapped, stepper, optimizer, accelerator, report, validate)
    with run.stoppable():
        return run.go(at)


class _Run:
    """Training from a position to the end of the phase, in one process without interruption."""

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
        self.lists: dict[str, CandidateLists] = {}

    def go(self, at: Position) -> Position:
        plan = self.plan
        if plan.ended(at):
            return at  # done before: the journal may tell of later phases already
        if self.rank:
            return self._epochs(at, None)
        path = plan.folder / "journal.jsonl"
        with closing(Journal(path, at.step, board=plan.settings.tensorboard)) as journal:
            return self._epochs(at, journal)

    def _epochs(self, at: Position, journal: Journal | None) -> Position:
        plan, loop = self.plan, self.plan.loop
        started, pairs = time.monotonic(), 0.0
        while not plan.ended(at):
            self._mine(at)
            listed = self._batches(at.epoch)
            while at.batch < len(listed):
                group = listed[at.batch : at.batch + loop.accumulate]
                middle = at.batch + len(group) / 2
                progress = (at.epoch - plan.first + middle / len(listed)) / loop.epochs
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
                    journal.write(**values, **plan.marks)
                if self.report is not None and self.rank == 0:
                    self.report(values)
                self._maybe_save(at)
            at = self._validated(replace(at, epoch=at.epoch + 1, batch=0), journal)
        self._save(at)
        return at

    def _batches(self, epoch: int) -> list[Drawn]:
        loop = self.plan.loop
        return batches(
            self.plan.data,
            self.plan.taken,
            pairs=loop.pairs,
            seed=self.plan.settings.seed,
            epoch=epoch,
            at_least=self.world,
            at_most=None if loop.steps is None else loop.steps * loop.accumulate,
            batching=loop.batching,
        )

    def _mine(self, at: Position) -> None:
        """Make the candidate lists that terms ask for, if there are none yet or they are due to be made anew.

        Lists from the model's beam depend on its weights at the start of an epoch. Those weights are saved
        first, so that a resumed run starts no earlier than its lists.
        """
        plan, mine = self.plan, self.plan.mine
        for name, asked in self.model.asked.items():
            assert mine is not None
            follows = SOURCES[asked.source].follows
            since = (
                (at.epoch - plan.first) % max(1, asked.refresh)
                if follows
                else at.epoch - plan.first
            )
            if name in self.lists and since:
                continue
            if follows and not at.batch and not since:
                self._save(at)
            if plan.rankers is not None:
                self.model.eval()
                mine = replace(mine, rankers=plan.rankers(self.model.model))
            folder = plan.folder / "candidates" / f"{plan.name}-{name}"
            with self.accelerator.main_process_first():
                self.lists[name] = lists_of(
                    plan.data,
                    mine,
                    asked,
                    at.epoch - since,
                    folder,
                    owner=plan.source,
                    write=self.rank == 0,
                )

    def _update(self, group: list[Drawn], step: int, progress: float) -> dict[str, float]:
        """One optimiser step over one or several batches; returns what the journal keeps."""
        loop = self.plan.loop
        rate = schedule(progress, loop.warmup)
        for part in self.optimizer.param_groups:
            part["lr"] = part["base_lr"] * rate
        self.model.train()
        sums: dict[str, float] = {}
        pairs = 0.0
        for index, whole in enumerate(group):
            # Dropout and drawn targets of this step, whatever happened before it.
            words = [self.plan.settings.seed, step, index]
            seed = int(np.random.SeedSequence(words).generate_state(1)[0])
            torch.manual_seed(seed + self.rank)
            parts = whole.parts(self.plan.data, self.rank, self.world)
            whole_means: dict[str, Tensor] = {}
            for number, own in enumerate(parts):
                batch = self._packed(own, whole)
                with self._synchronised(last=number + 1 == len(parts)):
                    loss, listed = self.wrapped(batch, seed + number, progress)
                    self._check(loss, listed, step)
                    # Gradients are averaged over processes, but each already holds its share of the sum.
                    self.accelerator.backward(loss * self.world / len(group))
                for name, value in listed.items():
                    whole_means[name] = whole_means.get(name, 0) + value
            pairs += batch.n_pairs
            for name, value in whole_means.items():
                sums[name] = sums.get(name, 0.0) + self._added(value) / len(group)
        norm = self.accelerator.clip_grad_norm_(self.model.parameters(), loop.clip)
        self.stepper.step()
        self.stepper.zero_grad()
        total = sum(one.at(progress) * sums[one.name] for one in self.model.terms)
        return sums | {
            "loss": total,
            "learning_rate": loop.learning_rate * rate,
            "gradient_norm": float(norm),
            "clipped": float(norm > loop.clip),
            "pairs": pairs,
        }

    def _synchronised(self, *, last: bool) -> AbstractContextManager[Any]:
        """Processes exchange gradients once a batch, after the last of its parts."""
        return nullcontext() if last else self.accelerator.no_sync(self.wrapped)

    def _packed(self, own: Ints, whole: Drawn) -> Batch:
        """Some queries of a batch, with the lists that terms asked for, on this process's device."""
        batch = pack(
            self.plan.data,
            own,
            whole=whole,
            reads=self.model.reads,
            pad_token=self.plan.pad_token,
        )
        if self.lists:
            lists = {name: pack_lists(one, own) for name, one in self.lists.items()}
            batch = replace(batch, candidates=lists)
        return moved(batch, self.accelerator.device)

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
        """After an epoch: measure on validation queries when it is time; keep the best weights if asked."""
        loop, done = self.plan.loop, at.epoch - self.plan.first
        # As often as asked for at even distances, the last time after the last epoch.
        due = done * loop.measured // loop.epochs > (done - 1) * loop.measured // loop.epochs
        if self.validate is None or not due:
            return at
        self.model.eval()
        found = self.validate(self.model.model)
        if journal is not None:
            journal.write(step=at.step, epoch=at.epoch, **found, **self.plan.marks)
        value = self._agreed(found["validation"])
        if at.best is None or value > at.best:
            at = replace(at, best=value, best_step=at.step, since=0)
            if loop.keep == "best" and self.rank == 0:
                checkpoint.save(self.plan.best, self.model, self.optimizer, at, self.plan.source)
                checkpoint.prune(self.plan.best, 1)
        else:
            at = replace(at, since=at.since + 1)
        self._save(at)
        return at

    def _agreed(self, value: float) -> float:
        """The first process's value: all must stop after the same epoch, whatever their last bits say."""
        if self.world == 1:
            return value
        from accelerate.utils import broadcast

        told = torch.tensor(value, dtype=torch.float64, device=self.accelerator.device)
        return float(broadcast(told))

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
            folder = self.plan.checkpoints
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


def _optimizer(model: TrainingModel, settings: LoopSettings) -> torch.optim.AdamW:
    """AdamW; norms and biases are not decayed; the encoder and heads of terms may have their own rates."""
    rates = {
        "encoder": settings.encoder_learning_rate or settings.learning_rate,
        "head": settings.learning_rate * settings.head_factor,
        "rest": settings.learning_rate,
    }
    groups: dict[tuple[str, bool], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            part = "encoder" if name.startswith("model.encoder.stack") else "rest"
            part = "head" if name.startswith("heads.") else part
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
