"""How well a query representation predicts how relevance divides: a fresh tree head on a frozen encoder.

Owns: the probe. The encoder of a finished run stays as it is; a tree head (Eq. tree-score) is trained on its
output with the run's own schedule, batches and candidate sets, and its divergence (Eq. tree-loss) says how
much of the branching can be read off the representation. Where the run had a tree head, its own loss is read
from the journal. Ignores the decoder.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rars import replacing
from rars.config import Recipe
from rars.errors import RarsError
from rars.identifiers import Identifiers
from rars.model import saving
from rars.model.identifier_model import IdentifierModel
from rars.model.tree_head import TreeHead
from rars.objectives import TERMS
from rars.objectives import tree as tree_loss
from rars.objectives.common import Context
from rars.objectives.siblings import HeadSettings, head_of
from rars.progress import Advance
from rars.runs import Run
from rars.training import journal
from rars.training.loop import schedule
from rars.training.packing import TrainingSet, pack
from rars.training.prepare import Prepared, held_out, prepare
from rars.training.sampler import batches

_BATCH = 64


@dataclass(frozen=True)
class Probe:
    """Divergences in nats per query, lower is better.

    ``train``       of the fresh head over its last epoch; ``own`` of the run's own head over its last epoch
    ``validation``  of the fresh head, over all legal children; None without validation queries
    """

    run: str
    train: float
    own: float | None
    validation: float | None

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def probe(run: Run, advance: Advance | None = None) -> Probe:
    """Fit a fresh tree head to the frozen encoder of a run."""
    dataset, recipe = run.dataset(), run.recipe()
    identifiers = Identifiers.load(run.folder / "identifiers")
    prepared = prepare(dataset, identifiers, recipe)
    model = saving.load(replacing.current(run.folder / "model")).model.eval()
    if not prepared.judged.stop:
        raise RarsError(f"{dataset.where} has no judged training query to fit a tree head to.")
    data = replace(prepared.data, with_siblings=True)
    settings = _head_settings(recipe)
    head, last = _fit(model, data, prepared, recipe, settings, advance)
    held = held_out(dataset, identifiers, recipe, prepared)
    return Probe(
        run=str(run.folder),
        train=last,
        own=_own(run, recipe),
        validation=None if held is None else _measure(head, model, held, prepared),
    )


def _fit(
    model: IdentifierModel,
    data: TrainingSet,
    prepared: Prepared,
    recipe: Recipe,
    head_settings: HeadSettings,
    advance: Advance | None,
) -> tuple[TreeHead, float]:
    """The head, and its mean loss over the last epoch."""
    settings = recipe.training
    pooled = _pooled(model, data)
    torch.manual_seed(settings.seed)
    head = head_of(
        pooled.shape[1],
        data.vocabulary.slots,
        head_settings,
        prepared.ground.codewords,
        list(model.code_outputs),
    )
    optimizer = torch.optim.AdamW(head.parameters(), weight_decay=settings.weight_decay)
    losses: list[float] = []
    for epoch in range(settings.epochs):
        listed = batches(
            data, [prepared.judged], pairs=settings.pairs, seed=settings.seed, epoch=epoch
        )
        losses = []
        for at, queries in enumerate(one.queries for one in listed):
            rate = schedule((epoch + (at + 0.5) / len(listed)) / settings.epochs, settings.warmup)
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * rate
            context = Context(
                head=head,
                generator=torch.Generator().manual_seed(epoch * len(listed) + at),
                tree_depths=prepared.tree_depths,
            )
            batch = pack(data, queries)
            loss = tree_loss.loss_of(pooled[queries], batch, context, head_settings).mean
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(head.parameters(), settings.clip)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(float(loss.detach()))
        if advance:
            advance(epoch + 1, settings.epochs)
    return head, float(np.mean(losses))


@torch.inference_mode()
def _pooled(model: IdentifierModel, data: TrainingSet) -> Tensor:
    """h-bar(q) of every query of a training set."""
    found = []
    for start in range(0, len(data), _BATCH):
        batch = pack(data, np.arange(start, min(start + _BATCH, len(data))))
        found.append(model.encoder(batch.tokens, batch.mask, batch.vectors).pooled)
    return torch.cat(found).clone()


@torch.inference_mode()
def _measure(
    head: TreeHead, model: IdentifierModel, data: TrainingSet, prepared: Prepared
) -> float:
    context = Context(head=head, tree_depths=prepared.tree_depths)
    batch = pack(data, np.arange(len(data)))
    everyone = HeadSettings(siblings="all")
    return float(tree_loss.loss_of(_pooled(model, data), batch, context, everyone).mean)


def _head_settings(recipe: Recipe) -> HeadSettings:
    """Those of the recipe's own tree head, so that both are fitted alike; the defaults where it has none."""
    own = (one.own for phase in recipe.phases for one in phase.terms)
    return next((one for one in own if isinstance(one, HeadSettings)), HeadSettings())


def _own(run: Run, recipe: Recipe) -> float | None:
    """The mean loss of the run's own tree head over the last epoch, as the journal has it."""
    named = [one.name for one in recipe.phases[-1].terms if TERMS[one.term].head is not None]
    if not named:
        return None
    lines = [line for line in journal.read(run.folder / "journal.jsonl") if named[0] in line]
    ended = max(line["epoch"] for line in lines)
    return float(np.mean([line[named[0]] for line in lines if line["epoch"] > ended - 1]))
