"""What the identifiers of a catalogue lose of their vectors: the queries that say so, and the figure.

Owns: which queries a curve is measured with, and how it is drawn. The curve itself is
``rars.identifiers.loss_curve``'s.

Queries are held out: judged validation queries, which no vector was fitted to; where there are none, queries
made of item titles, each looking for the one item it was made from.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from rars.analysis import figures
from rars.arrays import Ints
from rars.data import Dataset
from rars.errors import RarsError
from rars.identifiers import Identifiers, cached_vectors, item_vectors, shared_embedder
from rars.identifiers.embedders import embedder_kind
from rars.identifiers.loss_curve import USUAL, LossCurve, loss_curve
from rars.progress import Advance
from rars.training import pseudo

MOST = 1000
"""Queries at the most; fewer of a large catalogue."""
_CELLS = 200_000_000
"""Scores of a curve's depth, about."""
_STREAM = 2_000_000
"""Pseudo-queries of another seed than those of training and of tuning."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Queries nothing was fitted to; ``row`` (pairs,) of the texts and ``item`` (pairs,) belong together."""

    texts: list[str]
    row: Ints
    item: Ints
    on: str

    @classmethod
    def of(cls, dataset: Dataset, split: str, *, most: int = MOST, seed: int = 0) -> HeldOut:
        """At most so many queries of a split; without judged ones, queries made of items."""
        most = max(50, min(most, _CELLS // max(1, dataset.n_items)))
        query, item, _ = dataset.positives(split)
        if not len(query):
            made = pseudo.pool(dataset, min(most, dataset.n_items), _STREAM + seed)
            rows = np.arange(len(made.texts))
            return cls(made.texts, rows, made.source, "queries made of items")
        asked = np.unique(query)
        chosen = np.sort(np.random.default_rng(seed).permutation(asked)[:most])
        kept = np.isin(query, chosen)
        texts = dataset.query_texts.take(pa.array(chosen)).to_pylist()
        return cls(texts, np.searchsorted(chosen, query[kept]), item[kept], f"{split} queries")


def curve(
    dataset: Dataset,
    identifiers: Identifiers,
    split: str = "validation",
    *,
    advance: Advance | None = None,
) -> LossCurve:
    """The loss curve of the vectors that a run's identifiers are made of."""
    settings = identifiers.settings
    kind, _ = embedder_kind(settings.embedder)
    if not identifiers.embedder or not kind.reads_texts:
        raise RarsError(
            f"--curve compares queries with items by their vectors; identifiers by {settings.learner!r} of "
            f"{settings.embedder!r} have none for a query."
        )
    asked = HeldOut.of(dataset, split)
    embedder = shared_embedder(identifiers.embedder_name, identifiers.embedder)
    found = cached_vectors(pa.chunked_array([pa.array(asked.texts)]), embedder)
    frozen, _ = item_vectors(dataset, identifiers.embedder_name)
    return loss_curve(
        identifiers.query_space(found, asked.texts),
        identifiers.catalogue_space(frozen, dataset),
        (asked.row, asked.item),
        on=asked.on,
        seed=settings.seed,
        advance=advance,
    )


def draw(found: LossCurve, path: Path) -> None:
    """Recall over the number of codes, by codes alone and re-ordered, under the line of the exact vectors."""
    with figures.figure(path, panels=1, width=6.4, height=3.8) as (axis,):
        widths = sorted({one.sizes[0] for one in found.points})
        for width, colour in zip(widths, figures.SERIES, strict=False):
            points = [one for one in found.points if one.sizes[0] == width]
            steps = [one.steps for one in points]
            recall = [100 * one.recall for one in points]
            again = [100 * one.reordered for one in points]
            axis.plot(steps, recall, "o-", color=colour, ms=4, label=f"codes of {width:,}")
            axis.plot(steps, again, "o--", color=colour, ms=3, lw=1, label="re-ordered by vectors")
        axis.axhline(100 * found.exact, color=figures.GREY, ls=":", label="exact vectors")
        best = found.proposed()
        axis.plot(best.steps, 100 * best.recall, "D", color=figures.RED, ms=7, label="proposed")
        axis.axvline(len(USUAL), color=figures.GREY, lw=0.6, alpha=0.5)
        axis.set(xlabel="codes of an identifier = steps of a search")
        axis.set(ylabel=f"recall@{found.k} (%)", ylim=(0, None))
        axis.set_title(f"What identifiers keep ({found.queries:,} {found.on})")
        axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
