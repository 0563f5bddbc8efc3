"""MERGE's alignment: items lie in the direction of their queries, the more the better they fit.

    L = 1 - mean over items of w(grade) cos(z_item, z_query)

A query's vector is the mean of its best items' vectors, passed through the same encoder. w is 1 for the
highest grade, 1/2 for the next, 1/3 for the one after; an item without a query counts as fitting itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rars.arrays import Longs, Points
from rars.config import NoSettings
from rars.identifiers.learner import Scene
from rars.identifiers.mates import NONE, Mates
from rars.identifiers.query_mates import QUERY
from rars.identifiers.step import QuantisationTerm, Step

if TYPE_CHECKING:
    from torch import Tensor


def query_means(mates: Mates, vectors: Points) -> tuple[Points, Longs]:
    """The mean vector of each query's best items, (queries, dim), and (pairs,) the query of each pair."""
    best = mates.of_grade[:, 0] == mates.of_query[:, 0]  # grades fall: the first group is the best
    queries, number = np.unique(mates.query, return_inverse=True)
    means = np.zeros((len(queries), vectors.shape[1]), dtype=np.float32)
    rows, items = number[best], mates.item[best]
    for start in range(0, len(rows), 65536):
        part = slice(start, start + 65536)
        np.add.at(means, rows[part], np.asarray(vectors[items[part]], dtype=np.float32))
    count = np.maximum(np.bincount(rows, minlength=len(queries)), 1)
    return (means / count[:, None]).astype(np.float32), number.astype(np.int64)


def _start(scene: Scene, settings: NoSettings) -> Callable[[Step], Tensor]:
    mates = Mates.of(scene.dataset)
    means, number = query_means(mates, scene.points)
    rank = np.unique(-mates.grade, return_inverse=True)[1]
    share = (1 / (1 + rank)).astype(np.float32)

    def loss(step: Step) -> Tensor:
        import torch
        from torch.nn import functional

        place = mates.drawn(step.rows, step.random(QUERY))
        known = np.flatnonzero(place != NONE)
        asked = torch.from_numpy(means[number[place[known]]]).to(step.latent.device, torch.float32)
        weight = torch.from_numpy(share[place[known]]).to(step.latent.device)
        near = functional.cosine_similarity(step.latent[known], step.encode(asked))
        return 1 - ((weight * near).sum() + len(place) - len(known)) / len(place)

    return loss


TERM = QuantisationTerm(
    about="items lie in the direction of their queries' best items (MERGE)",
    settings=NoSettings,
    weight=0.01,
    start=_start,
    adds=0.35,
)
