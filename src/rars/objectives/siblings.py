"""Which children of a parent the tree head's softmax runs over (Eq. tree-posterior).

Owns: the candidate set C_q(u), all relevance-bearing children plus chosen legal siblings, the log-probability
of the relevance-bearing children in it, and the settings of whatever trains a tree head. Ignores targets.

``high``    the best-scoring siblings by the head's own current scores; no gradient through the choice
``random``  siblings drawn uniformly
``none``    relevance-bearing children alone
``all``     every legal child

Shapes: n parents, m relevance-bearing children, k legal children in all, S slots of the depth
(``rars.model.batch.Refinement``). Two ways to the same (m,) result. ``_dense``: shallow parents have hundreds
of legal children each; one matrix product gives (n, S) scores of all slots, the illegal ones are masked.
``_ragged``: deep parents have a few; only the k legal children are scored, as one flat list.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from pydantic import Field, PositiveInt
from torch import Tensor

from rars.config import Section
from rars.errors import RarsError
from rars.model.batch import Refinement
from rars.model.identifier_model import IdentifierModel
from rars.model.tree_head import TreeHead
from rars.objectives.common import Codewords, Context, Ground, group_logsumexp, legal_mask

# Below this share of legal children the flat list is faster than the full matrix.
_DENSE_FROM = 0.1


class HeadSettings(Section):
    """The tree head, and what a branch competes with."""

    siblings: Literal["high", "random", "none", "all"] = "high"
    n_siblings: PositiveInt = 32
    """Siblings beside the relevance-bearing children, at the most (``high`` and ``random``)."""
    rank: PositiveInt = 64
    """r, the dimension of the head."""
    temperature: float = Field(1.0, gt=0)
    start: Literal["small", "unit", "codebooks", "tied"] = "small"
    """How its tables start: N(0, 0.02), N(0, 1), or its child embeddings from the identifiers' codebooks;
    ``tied``: it has none of its own and reads the decoder's code tables through a learned map."""


def tree_head(model: IdentifierModel, settings: HeadSettings, ground: Ground) -> TreeHead:
    """A fresh head over the model's query representation."""
    tables = list(model.code_outputs)
    return head_of(model.decoder.width, model.slots, settings, ground.codewords, tables)


def head_of(
    width: int,
    slots: tuple[int, ...],
    settings: HeadSettings,
    codewords: Codewords | None = None,
    tables: Sequence[Any] | None = None,
) -> TreeHead:
    """A fresh head over query representations of a width; ``tables`` are the decoder's, one a depth."""
    if settings.start == "tied":
        return TreeHead(width, slots, settings.rank, tables=tables)
    if settings.start != "codebooks":
        return TreeHead(
            width, slots, settings.rank, scale=1.0 if settings.start == "unit" else 0.02
        )
    if codewords is None:
        raise RarsError(
            'start = "codebooks" needs identifiers with codebooks shared by all prefixes; '
            "use identifiers.learner residual-kmeans or rqvae."
        )
    return TreeHead(width, slots, settings.rank, codewords=codewords)


def log_probabilities(
    depth: int, step: Refinement, pooled: Tensor, context: Context, settings: HeadSettings
) -> Tensor:
    """Log p_l(v|u,q) (m,) of every relevance-bearing child, normalised over its parent's candidates."""
    head: TreeHead = context.head
    contexts = head.contexts(depth, pooled, step.query, step.codes)
    slots = len(head.biases[depth])
    way = _dense if len(step.legal) >= _DENSE_FROM * len(step.mass) * slots else _ragged
    return way(head, depth, step, contexts, context.generator, settings)


def _dense(
    head: TreeHead,
    depth: int,
    step: Refinement,
    contexts: Tensor,
    generator: torch.Generator | None,
    settings: HeadSettings,
) -> Tensor:
    """Log-probabilities (m,) by the whole matrix: scores and masks are (n, S)."""
    scores = head.scores(depth, contexts) / settings.temperature
    relevant = torch.zeros_like(scores, dtype=torch.bool)
    relevant[step.parent, step.slot] = True
    if settings.siblings == "none":
        candidates = relevant
    else:
        candidates = legal_mask(step, scores.shape[1])
        if settings.siblings != "all" and settings.n_siblings < scores.shape[1]:
            rivals = candidates & ~relevant
            key = _preference(scores, generator, settings).masked_fill(~rivals, float("-inf"))
            best = key.topk(settings.n_siblings, dim=1)
            kept = torch.zeros_like(relevant).scatter(1, best.indices, best.values > float("-inf"))
            candidates = relevant | kept
    log_p = torch.log_softmax(scores.masked_fill(~candidates, float("-inf")), dim=1)
    return log_p[step.parent, step.slot]


def _ragged(
    head: TreeHead,
    depth: int,
    step: Refinement,
    contexts: Tensor,
    generator: torch.Generator | None,
    settings: HeadSettings,
) -> Tensor:
    """Log-probabilities (m,) by flat lists.

    ``own`` (m,) are scores of relevance-bearing children, ``scores`` (k - m,) those of their rivals,
    ``owner`` (k - m,) the rivals' parents.
    """
    slots, parents = len(head.biases[depth]), len(step.mass)
    own = head.scores_at(depth, contexts, step.parent, step.slot) / settings.temperature
    normaliser = group_logsumexp(own, step.parent, parents)
    if settings.siblings != "none":
        owner = step.legal_parent
        # Legal children that are not relevance-bearing; (parent, slot) as one number names a child.
        edge = owner * slots + step.legal
        rival = ~torch.isin(edge, step.parent * slots + step.slot, assume_unique=True)
        owner, slot = owner[rival], step.legal[rival]
        scores = head.scores_at(depth, contexts, owner, slot) / settings.temperature
        if settings.siblings != "all":
            kept = _top_of_groups(
                _preference(scores, generator, settings), owner, parents, settings.n_siblings
            )
            scores, owner = scores[kept], owner[kept]
        others = group_logsumexp(scores, owner, parents)
        normaliser = torch.logaddexp(normaliser, others)
    return own - normaliser[step.parent]


def _preference(
    scores: Tensor, generator: torch.Generator | None, settings: HeadSettings
) -> Tensor:
    """Keys, in the shape of ``scores``, whose largest siblings are chosen: the scores, or random numbers."""
    if settings.siblings == "high":
        return scores.detach()
    return torch.rand(scores.shape, generator=generator, dtype=scores.dtype).to(scores.device)


def _top_of_groups(key: Tensor, group: Tensor, n_groups: int, most: int) -> Tensor:
    """Indices into ``key`` (r,) of the ``most`` largest of every group; ``group`` (r,) is sorted."""
    counts = torch.bincount(group, minlength=n_groups)
    if not len(counts) or int(counts.max()) <= most:
        return torch.arange(len(key), device=key.device)
    order = torch.argsort(key, descending=True)
    order = order[torch.argsort(group[order], stable=True)]
    rank = torch.arange(len(key), device=key.device) - (counts.cumsum(0) - counts)[group]
    return order[rank < most]
