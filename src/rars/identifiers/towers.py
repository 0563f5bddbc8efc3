"""Fine-tuning a query side and an item side on judged pairs, with the other items of a batch as negatives.

Owns: the loss, the batches, the loop and which epoch is kept. Ignores what turns texts into vectors: anything
with the two sides is a ``TwoTowers`` (``fitting`` has linear maps, ``encoder_tuning`` a whole model).

For a pair (q, d) of a batch B with s = cos(q, d) / temperature (or q . d / temperature),

    loss(q, d) = -log [ exp s(q, d) / (exp s(q, d) + sum over d' in B, rho(q, d') = 0, of exp s(q, d')) ]

weighted by mu(d|q), the pair's share of its query's relevance. Other relevant items of the query are never
its negatives. ``Lessons`` says which pairs an epoch has and which further negatives a batch gets; towers with
another loss than this one bring it themselves. After every epoch, and before the first, validation queries
say how good it is; the best epoch is kept, so that tuning cannot end below where it began (on those queries).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from rars.arrays import Bools, Ints, Points
from rars.data import Dataset
from rars.errors import RarsError
from rars.identifiers.nearest import nearest
from rars.progress import Advance
from rars.scale import threads
from rars.systems.ranked import Ranked

_HIDDEN = -1e4
"""Instead of minus infinity, which has no gradient where a query has no negatives at all."""
_WARMUP = 0.1
_DECAY = 0.01
_BLOCK = 256
_POOL = 10_000
"""Items that validation queries are ranked among, of a larger catalogue."""
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
    advance: Advance | None = None,
) -> dict[str, Any]:
    """Train, and leave the towers at their best epoch; returns which that was and every epoch's quality.

    ``pool``  items that validation queries are ranked among: those judged for them, others up to so many
    """
    with threads.working(threads.chosen(threads.weights(towers))):
        ranked = _pool(dataset, seed, pool)
        return _tuned(towers, dataset, settings, held, lessons or Lessons(), ranked, seed, advance)


def _tuned(
    towers: TwoTowers,
    dataset: Dataset,
    settings: TuningSettings,
    held: Held,
    taught: Lessons,
    pool: Ints,
    seed: int,
    advance: Advance | None,
) -> dict[str, Any]:
    pairs = Pairs.of(dataset)
    rng = np.random.default_rng([seed, 11])
    torch.manual_seed(seed)  # dropout of a pre-trained encoder
    per_epoch = -(-taught.count(pairs) // settings.batch)
    total = settings.epochs * per_epoch
    optimizer, schedule = _optimizer(towers, settings, total)
    reached = [_quality(towers, held, pool)]
    best, kept = 0, _copied(towers)
    for epoch in range(settings.epochs):
        towers.train()
        for step, batch in enumerate(taught.epoch(pairs, settings.batch, rng), 1):
            _step(towers, batch, settings.temperature, optimizer)
            schedule.step()
            if advance:
                advance(epoch * per_epoch + step, total)
        reached.append(_quality(towers, held, pool))
        if reached[-1] > reached[best]:
            best, kept = epoch + 1, _copied(towers)
    towers.load_state_dict(kept)
    towers.eval()
    return {"epoch": best, "quality": [round(value, 6) for value in reached]}


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


def _optimizer(
    towers: TwoTowers, settings: TuningSettings, total: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LambdaLR]:
    """AdamW with a short warm-up and a straight way down to 0."""
    optimizer = torch.optim.AdamW(
        towers.parameters(), lr=settings.learning_rate, weight_decay=_DECAY
    )
    warm = max(1, round(_WARMUP * total))

    def rate(step: int) -> float:
        return min((step + 1) / warm, (total - step) / max(1, total - warm))

    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, rate)


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


def _copied(towers: TwoTowers) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in towers.state_dict().items()}
