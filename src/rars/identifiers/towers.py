"""Fine-tuning a query side and an item side on judged pairs, with the other items of a batch as negatives.

Owns: the loss, the batches, the loop and which epoch is kept. Ignores what turns texts into vectors: anything
with the two sides is a ``TwoTowers`` (``fitting`` has linear maps, ``encoder_tuning`` a whole model).

For a pair (q, d) of a batch B with s = cos(q, d) / temperature (or q . d / temperature),

    loss(q, d) = -log [ exp s(q, d) / (exp s(q, d) + sum over d' in B, rho(q, d') = 0, of exp s(q, d')) ]

weighted by mu(d|q), the pair's share of its query's relevance. Other relevant items of the query are never
its negatives. ``Lessons`` says which pairs an epoch has and which further negatives a batch gets; towers with
another loss than this one bring it themselves. After every epoch, and before the first, validation queries
say how good it is; the best epoch is kept, so that tuning cannot end below where it began (on those queries).

A killed tuning goes on from the state it kept last (``rars.unfinished``), to the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from rars import tensors
from rars.arrays import Bools, Ints, Points
from rars.data import Dataset
from rars.errors import RarsError
from rars.identifiers.nearest import nearest
from rars.progress import Advance
from rars.scale import threads
from rars.systems.ranked import Ranked
from rars.unfinished import Unfinished

_HIDDEN = -1e4
"""Instead of minus infinity, which has no gradient where a query has no negatives at all."""
_WARMUP = 0.1
_DECAY = 0.01
_BLOCK = 256
_POOL = 10_000
"""Items that validation queries are ranked among, of a larger catalogue."""
READ = 3_000
"""The same where a model reads them each time: ten thousand twice would take longer than learning."""
_DEPTH = 100


class TuningSettings(Protocol):
    """The settings of tuning: ``rars.config.FitSettings``, or any section with these keys."""

    @property
    def epochs(self) -> int:
        """Passes over the pairs."""

    @property
    def learning_rate(self) -> float:
        """At its highest, after the warm-up."""

    @property
    def batch(self) -> int:
        """Judged pairs in a batch; the items of the others are a pair's negatives."""

    @property
    def temperature(self) -> float:
        """What cosines are divided by."""


class TwoTowers(nn.Module):
    """Row numbers of a dataset's queries and items to vectors (n, dim), with gradients.

    ``cosine``     items are ranked by the cosine, not by the inner product
    ``precision``  of what turns texts into vectors: None as the weights are, or ``bf16``; vectors, losses
                   and weights stay as they are
    """

    cosine = True
    precision: str | None = None

    def reading(self) -> AbstractContextManager[Any]:
        """Where texts are turned into vectors."""
        kind = next(self.parameters()).device.type
        return torch.autocast(kind, dtype=torch.bfloat16, enabled=self.precision == "bf16")

    def queries(self, rows: Ints) -> Tensor:
        """Vectors of queries."""
        raise NotImplementedError

    def items(self, rows: Ints) -> Tensor:
        """Vectors of items."""
        raise NotImplementedError

    def loss(self, batch: PairBatch, temperature: float) -> Tensor:
        """What a step lowers."""
        vectors = self.queries(batch.queries), self.items(batch.items)
        return loss(*vectors, batch, temperature, cosine=self.cosine)


@dataclass(frozen=True, eq=False)
class Lessons:
    """What an epoch is made of.

    ``drawn``  one pair of every query, drawn by mu(d|q) anew each epoch, instead of all pairs by their share
    ``hard``   further negatives (queries of the dataset, n): row numbers of items, -1 for none
    """

    drawn: bool = False
    hard: Ints | None = None

    def count(self, pairs: Pairs) -> int:
        """Pairs in an epoch."""
        return len(np.unique(pairs.query)) if self.drawn else len(pairs)

    def epoch(self, pairs: Pairs, size: int, rng: np.random.Generator) -> Iterator[PairBatch]:
        """The batches of one epoch."""
        places = _draw(pairs, rng) if self.drawn else np.arange(len(pairs))
        for chosen in _batches(places, size, rng):
            extra = None
            if self.hard is not None:
                listed = self.hard[pairs.query[chosen]]
                extra = listed[listed >= 0]
            yield PairBatch.of(pairs, chosen, extra=extra, equal=self.drawn)


@dataclass(frozen=True, eq=False)
class Held:
    """Validation queries (n,) (row numbers), and the quality of results for them in that order."""

    queries: Ints
    quality: Callable[[Ranked], float]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Training pairs sorted by query: (pairs,) query, item and mu(d|q)."""

    query: Ints
    item: Ints
    share: Points

    @classmethod
    def of(cls, dataset: Dataset) -> Pairs:
        """The pairs with positive mass of the training queries."""
        query, item, rho = dataset.positives("train")
        if not len(query):
            raise RarsError(
                f"{dataset.where} has no training query with a positive item to fine-tune on."
            )
        total = np.bincount(query, weights=rho)
        return cls(query, item, (rho / total[query]).astype(np.float32))

    def __len__(self) -> int:
        return len(self.query)

    def relevant(self, queries: Ints, items: Ints) -> Bools:
        """Which of ``items`` (increasing) are relevant to which of ``queries``: (queries, items)."""
        start, stop = (np.searchsorted(self.query, queries, side) for side in ("left", "right"))
        count = stop - start
        row = np.repeat(np.arange(len(queries)), count)
        first = np.repeat(start - (np.cumsum(count) - count), count)
        wanted = self.item[first + np.arange(len(row))]
        at = np.minimum(np.searchsorted(items, wanted), len(items) - 1)
        found = items[at] == wanted
        marks = np.zeros((len(queries), len(items)), dtype=bool)
        marks[row[found], at[found]] = True
        return marks


@dataclass(frozen=True, eq=False)
class PairBatch:
    """Some pairs over the distinct queries and items among them.

    ``query``, ``item`` (n,) index into ``queries`` and ``items``; ``relevant`` (queries, items).
    ``items`` may hold further ones, that are in no pair.
    """

    queries: Ints
    items: Ints
    query: Tensor
    item: Tensor
    share: Tensor
    relevant: Tensor

    @classmethod
    def of(
        cls, pairs: Pairs, chosen: Ints, *, extra: Ints | None = None, equal: bool = False
    ) -> PairBatch:
        """The pairs at these places, with ``extra`` items; ``equal``: each counts the same."""
        queries, query = np.unique(pairs.query[chosen], return_inverse=True)
        own = pairs.item[chosen]
        items = np.unique(own if extra is None else np.concatenate([own, extra]))
        share = pairs.share[chosen]
        return cls(
            queries,
            items,
            torch.from_numpy(query),
            torch.from_numpy(np.searchsorted(items, own)),
            torch.from_numpy(np.ones_like(share) if equal else share),
            torch.from_numpy(pairs.relevant(queries, items)),
        )


def loss(
    queries: Tensor, items: Tensor, batch: PairBatch, temperature: float, *, cosine: bool = True
) -> Tensor:
    """The weighted mean over the pairs of a batch, of vectors (queries, dim) and (items, dim)."""
    if cosine:
        queries, items = (nn.functional.normalize(side, dim=-1) for side in (queries, items))
    return contrast(queries @ items.T / temperature, batch)


def contrast(scores: Tensor, batch: PairBatch) -> Tensor:
    """The same of scores (queries, items)."""
    device = scores.device
    others = scores.masked_fill(batch.relevant.to(device), _HIDDEN).logsumexp(dim=-1)
    own = scores[batch.query.to(device), batch.item.to(device)]
    share = batch.share.to(device)
    each = nn.functional.softplus(others[batch.query.to(device)] - own)
    return (share * each).sum() / share.sum()


def tune(
    towers: TwoTowers,
    dataset: Dataset,
    settings: TuningSettings,
    held: Held,
    *,
    lessons: Lessons | None = None,
    pool: int = _POOL,
    seed: int = 0,
    kept: Unfinished | None = None,
    advance: Advance | None = None,
) -> dict[str, Any]:
    """Train, and leave the towers at their best epoch; returns which that was and every epoch's quality.

    ``pool``  items that validation queries are ranked among: those judged for them, others up to so many
    ``kept``  where its state is kept, for the same call to go on after a kill
    """
    with threads.working(threads.best_for(towers)):
        ranked = _pool(dataset, seed, pool)
        loop = _Loop(towers, Pairs.of(dataset), settings, lessons or Lessons(), seed)
        return loop.go(lambda: _quality(towers, held, ranked), kept or Unfinished(), advance)


@dataclass
class _Loop:
    """Epochs of steps, and where they stand: ``step`` of ``epoch``, qualities so far, the best epoch."""

    towers: TwoTowers
    pairs: Pairs
    settings: TuningSettings
    lessons: Lessons
    seed: int
    epoch: int = 0
    step: int = 0
    reached: list[float] = field(default_factory=list)
    best: int = 0
    weights: tensors.Named = field(default_factory=dict)
    """Those of the best epoch."""

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.seed, 11])
        self.began = self.rng.bit_generator.state
        self.optimizer = torch.optim.AdamW(
            self.towers.parameters(), lr=self.settings.learning_rate, weight_decay=_DECAY
        )

    def go(
        self, quality: Callable[[], float], kept: Unfinished, advance: Advance | None
    ) -> dict[str, Any]:
        """All epochs, or those that are left."""
        settings, towers = self.settings, self.towers
        torch.manual_seed(self.seed)  # dropout of a pre-trained encoder
        per_epoch = -(-self.lessons.count(self.pairs) // settings.batch)
        total = settings.epochs * per_epoch
        resume = self._restored(kept)
        if not self.reached:
            self._measured(quality())
        for epoch in range(self.epoch, settings.epochs):
            towers.train()
            self.began = self.rng.bit_generator.state
            batches = islice(
                self.lessons.epoch(self.pairs, settings.batch, self.rng), self.step, None
            )
            for batch in batches:
                if resume is not None:  # drawing what was done already moves no generator of torch
                    tensors.restore_random(resume)
                    resume = None
                self._keep(kept)
                done = epoch * per_epoch + self.step
                _set_rate(self.optimizer, settings.learning_rate * _rate(done, total))
                _step(towers, batch, settings.temperature, self.optimizer)
                self.step += 1
                if advance:
                    advance(done + 1, total)
            self._keep(kept)
            self._measured(quality())
            self.epoch, self.step = epoch + 1, 0
        towers.load_state_dict(self.weights)
        towers.eval()
        return {"epoch": self.best, "quality": [round(value, 6) for value in self.reached]}

    def _measured(self, value: float) -> None:
        """Note the quality of the weights as they are, and the weights if it is the best."""
        self.reached.append(value)
        if value > self.reached[self.best] or len(self.reached) == 1:
            self.best = len(self.reached) - 1
            self.weights = tensors.copied(self.towers.state_dict())

    def _keep(self, kept: Unfinished) -> None:
        """Where it stands before a step."""
        if not kept.due:
            return
        kept.keep(
            {
                "epoch": self.epoch,
                "step": self.step,
                "reached": self.reached,
                "best": self.best,
                "began": self.began,
            },
            now=self.towers.state_dict(),
            best=self.weights,
            optimizer=tensors.of_optimizer(self.optimizer),
            random=tensors.of_random(),
        )

    def _restored(self, kept: Unfinished) -> tensors.Named | None:
        """Put back what was kept; torch's generators are put back before the next step, and returned."""
        state = kept.found()
        if state is None:
            return None
        facts = state.facts
        self.epoch, self.step = int(facts["epoch"]), int(facts["step"])
        self.reached, self.best = [float(one) for one in facts["reached"]], int(facts["best"])
        self.rng.bit_generator.state = facts["began"]
        self.weights = state.parts["best"]
        self.towers.load_state_dict(state.parts["now"])
        tensors.restore_optimizer(self.optimizer, state.parts["optimizer"])
        return state.parts["random"]


def embedded(encode: Callable[[Ints], Tensor], rows: Ints) -> Points:
    """Vectors without gradients, block by block."""
    with torch.no_grad():
        blocks = [encode(rows[at : at + _BLOCK]) for at in range(0, len(rows), _BLOCK)]
        return np.asarray(torch.cat(blocks).float().cpu().numpy())


def _step(
    towers: TwoTowers, batch: PairBatch, temperature: float, optimizer: torch.optim.Optimizer
) -> None:
    value = towers.loss(batch, temperature)
    if not torch.isfinite(value):
        raise RarsError("Fine-tuning diverged; lower its learning_rate.")
    optimizer.zero_grad(set_to_none=True)
    value.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(towers.parameters(), 1.0)
    optimizer.step()


def _rate(step: int, total: int) -> float:
    """A short warm-up and a straight way down to 0."""
    warm = max(1, round(_WARMUP * total))
    return min((step + 1) / warm, (total - step) / max(1, total - warm))


def _set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate


def _batches(places: Ints, size: int, rng: np.random.Generator) -> Iterator[Ints]:
    order = places[rng.permutation(len(places))]
    for start in range(0, len(order), size):
        yield order[start : start + size]


def _draw(pairs: Pairs, rng: np.random.Generator) -> Ints:
    """The place of one pair of every query, drawn by its share."""
    first = np.flatnonzero(np.r_[True, np.diff(pairs.query) > 0])
    up_to = np.cumsum(pairs.share, dtype=np.float64)
    before = np.r_[0.0, up_to][first]
    last = np.r_[first[1:], len(pairs)] - 1
    wanted = before + rng.random(len(first)) * (up_to[last] - before)
    drawn: Ints = np.clip(np.searchsorted(up_to, wanted, side="right"), first, last)
    return drawn


def _pool(dataset: Dataset, seed: int, most: int) -> Ints:
    """The items of validation's rankings, increasing: a large catalogue need not be embedded each epoch."""
    judged = np.unique(dataset.judged("validation").item)
    others = np.setdiff1d(np.arange(dataset.n_items), judged)
    room = max(0, most - len(judged))
    drawn = np.random.default_rng([seed, 12]).permutation(others)[:room]
    return np.sort(np.concatenate([judged, drawn]))


def _quality(towers: TwoTowers, held: Held, pool: Ints) -> float:
    towers.eval()
    queries, items = embedded(towers.queries, held.queries), embedded(towers.items, pool)
    found = nearest(queries, items, _DEPTH, cosine=towers.cosine)
    return held.quality(Ranked(found.pointers, pool[found.items].astype(np.int32), found.scores))
