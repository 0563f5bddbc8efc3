"""A batch of queries: texts, and the prefix trees of their relevant identifiers.

Owns: the tensors one training step reads. ``rars.training.packing`` fills them, the model decodes them
in one pass, and every objective reads its targets from them. Ignores where they come from.

Shapes: queries B, encoder tokens S, decoder rows T, codes of a full identifier L. A slot is the number of a
code among the choices of its depth (``rars.tree.SidVocabulary``). ``refinements[l]`` (l = 0..L-1) takes
prefixes of l codes, the parents, to their children of l + 1 codes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

Self = TypeVar("Self")


def _moved(value: Any, device: torch.device) -> Any:
    if isinstance(value, Tensor):
        return value.to(device, non_blocking=True)
    if isinstance(value, tuple):
        return tuple(_moved(part, device) for part in value)
    if isinstance(value, dict):
        return {name: _moved(part, device) for name, part in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return moved(value, device)
    return value


def moved(value: Self, device: torch.device) -> Self:
    """The same dataclass with every tensor in it on ``device``."""
    changed = {f.name: _moved(getattr(value, f.name), device) for f in fields(value)}  # type: ignore[arg-type]
    return replace(value, **changed)  # type: ignore[type-var]


@dataclass(frozen=True)
class Refinement:
    """One depth: n parents, their m relevance-bearing children (the edges), and all k legal children.

    A node is relevance-bearing if it is the prefix of a relevant item's identifier, legal if it is the
    prefix of any item's.

    ``query``       (n,) the parent's query in the batch
    ``row``         (n,) its row in the decoder pass
    ``codes``       (n, depth) the slots on its path
    ``edge``        (n,) which of the edges of the refinement above leads to it (at the root: its query)
    ``mass``        (n,) mu_{l-1}(u|q), times the query's weight
    ``parent``      (m,) which parent a child belongs to; non-decreasing
    ``slot``        (m,) the child's slot; ``node`` (m,) its number among the tree's nodes of its depth
    ``share``       (m,) mu_l(v|u,q)
    ``pairs``       (m,) how many of the batch's (query, item) pairs pass through it, times the weight
    ``legal_start`` (n + 1,) where each parent's legal children begin in ``legal``
    ``legal``       (k,) the slots of all catalogue-legal children, relevant or not, by parent and slot
    ``prior``       (k,) log p0(v|u,q) of each of them, where the model's prior is projected onto the tree
    """

    query: Tensor
    row: Tensor
    codes: Tensor
    edge: Tensor
    mass: Tensor
    parent: Tensor
    slot: Tensor
    node: Tensor
    share: Tensor
    pairs: Tensor
    legal_start: Tensor
    legal: Tensor
    prior: Tensor | None = None

    @property
    def depth(self) -> int:
        """How many codes the parents have."""
        return self.codes.shape[1]

    @property
    def legal_parent(self) -> Tensor:
        """(k,) which parent each legal child belongs to."""
        counts = self.legal_start.diff()
        return torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)


@dataclass(frozen=True)
class CategoryTargets:
    """The positive categories of one level, for all queries of the batch.

    ``query``, ``node``  (m,) a query and one of its positive categories
    ``pairs``            (m,) how many of the batch's pairs are below, times the query's weight
    ``candidates``       (c,) all categories present at this level in the (global) batch, in order
    ``rows``             total weight of the queries that have a category here, in the global batch
    """

    query: Tensor
    node: Tensor
    pairs: Tensor
    candidates: Tensor
    rows: float


@dataclass(frozen=True)
class Candidates:
    """Lists of items that a loss term asked for (negatives, ranked lists), packed to be decoded in one pass.

    Every relevant item of a query is in its list, beside the further ones; m items in all.

    ``query``       (m,) the query's row in the batch; non-decreasing
    ``item``        (m,) the catalogue row
    ``mass``        (m,) mu(d|q); 0 for an item that is not relevant
    ``gain``        (m,) rho(d, q), the relevance that mu is the share of; 0 for one that is not relevant
    ``rank``        (m,) its place in the source's ranking, from 0; -1 where the source did not list it
    ``edge``        (m, L) its code at depth l is edge ``edge[:, l]`` of refinement l; -1 after its end
    ``positions``, ``visible``, ``refinements``  as in a batch
    """

    query: Tensor
    item: Tensor
    mass: Tensor
    gain: Tensor
    rank: Tensor
    edge: Tensor
    positions: Tensor
    visible: Tensor
    refinements: tuple[Refinement, ...]


@dataclass(frozen=True)
class Batch:
    """Everything one step needs.

    ``tokens``, ``mask``  (B, S) the query texts
    ``vectors``           (B, v) frozen sentence vectors, where the encoder reads them
    ``projected``         (B, c) the same in the codebooks' space, where the model's prior has a
                          term for each code
    ``positions``         (B, T) the position of each decoder row; latent category rows come first
    ``visible``           (B, T, T) which rows a row sees: its ancestors, the latent rows and itself
    ``refinements``       the prefix trees that are decoded: all relevant items', or the drawn pairs' alone
    ``trees``             the prefix trees of all relevant items; without any decoder rows of their own where
                          the decoder reads drawn pairs, and empty where no term asks for them
    ``weight``            (B,) the weight of each query (1, less for pseudo-queries)
    ``n_pairs``           total weight of (query, item) pairs, ``n_queries`` of queries: over the global
                          batch, where several processes share it
    ``candidates``        what terms asked for, by the term's name
    """

    tokens: Tensor
    mask: Tensor
    vectors: Tensor | None
    projected: Tensor | None
    positions: Tensor
    visible: Tensor
    refinements: tuple[Refinement, ...]
    trees: tuple[Refinement, ...]
    categories: tuple[CategoryTargets, ...]
    weight: Tensor
    n_pairs: float
    n_queries: float
    candidates: dict[str, Candidates] = field(default_factory=dict)
