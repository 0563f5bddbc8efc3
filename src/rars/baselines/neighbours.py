"""Search by memory alone: the items that were relevant to the nearest training queries.

Owns: the system ``neighbours``, and what a fusion adds of it. It finds nothing that nobody judged, so it is a
part of a system more than one. Ignores how likeness is weighed (``rars.search.evidence.neighbours``), and how
queries are embedded: as ``[dense]`` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rars.arrays import Bools
from rars.baselines.dense import DENSE, Dense
from rars.baselines.parts import Own, SystemPart
from rars.config import NoSettings
from rars.data import Dataset
from rars.errors import RarsError
from rars.identifiers.embedder import Embedder
from rars.progress import Advance
from rars.search.evidence.neighbours import JudgedQueries
from rars.systems import Ranked


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Judged training queries, and what embeds a new one."""

    judged: JudgedQueries
    embedder: Embedder

    @classmethod
    def of(cls, dataset: Dataset, embedder: Embedder) -> Neighbours:
        """Remember the training judgments of a dataset."""
        judged = JudgedQueries.of(dataset, embedder.embed)
        if judged is None:
            raise RarsError(f"{dataset.where} has no judged training query to remember.")
        return cls(judged, embedder)

    def search(
        self,
        texts: Sequence[str],
        k: int = 100,
        *,
        among: Bools | None = None,
        advance: Advance | None = None,
    ) -> Ranked:
        """The ``k`` items that count most for the neighbours of every text; fewer where fewer were judged."""
        lists, scores = [], []
        for one in self.judged.estimates(self.embedder.embed(list(texts))):
            kept = one.scores > 0 if among is None else (one.scores > 0) & among[one.rows]
            best = np.flatnonzero(kept)
            best = best[np.argsort(-one.scores[best], kind="stable")[:k]]
            lists.append(one.rows[best])
            scores.append(one.scores[best])
        if advance:
            advance(len(lists), len(lists))
        return Ranked.of_lists(lists, scores)


def _open(
    own: Own,
    dataset: Dataset,
    folder: Path,
    facts: Mapping[str, Any],
    *,
    advance: Advance | None = None,
) -> Neighbours:
    dense = DENSE.open(own, dataset, folder, facts, advance=advance)
    assert isinstance(dense, Dense)
    return Neighbours.of(dataset, dense.embedder)


NEIGHBOURS = SystemPart(
    "items that were relevant to similar training queries",
    NoSettings,
    ("neighbours", "dense"),
    DENSE.learn,  # what embeds a query is all that is learned; the rest is remembered
    _open,
    chooses=DENSE.chooses,
    trains=DENSE.trains,
)
