"""What every loss term shares: its definition, its inputs, its result, and sums inside ragged groups.

A term is a file: its settings, what it needs, and ``loss(found, batch, context, settings) -> Total``, put
together as a ``Term``; one line in ``rars.objectives.TERMS`` gives it a name that recipes use.

Owns: these four. Ignores which terms there are (``rars.objectives.TERMS``) and their weighted sum
(``rars.training.loop``).

A loss returns a sum over this process's part of the batch and the weight to divide by, which is that of the
whole batch; so several processes that share a batch add up to what one would compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from rars.config import NoSettings, Section
from rars.model.batch import Batch, Candidates, Refinement
from rars.model.categories import CategoryStates
from rars.model.identifier_model import IdentifierModel, Pass
from rars.tree.kinship import Kin


class Total(NamedTuple):
    """A summed loss and the weight of what it is a mean over."""

    sum: Tensor
    weight: float

    @property
    def mean(self) -> Tensor:
        """The loss as it enters the objective."""
        return self.sum / max(self.weight, 1e-12)


@dataclass(frozen=True)
class Context:
    """What a loss may need beside the pass.

    ``normaliser``   what a code of the decoder competes with: its ``depth``, or its legal ``children``
    ``head``         what this term trains for itself (``Term.head``)
    ``categories``   the model's category heads and prototypes
    ``generator``    this step's random numbers
    ``tree_depths``  how many depths the tree losses cover; a uniqueness suffix is left out
    ``candidates``   the lists this term asked for (``Term.candidates``)
    ``scores``       (m, L) log p(s_l | q, s_<l) of every candidate's codes; 0 after its end
    ``logits``       (m, L) the same before they are normalised: what a search by raw logits adds up
    """

    normaliser: str = "depth"
    head: Any = None
    categories: CategoryStates | None = None
    generator: torch.Generator | None = None
    tree_depths: int | None = None
    candidates: Candidates | None = None
    scores: Tensor | None = None
    logits: Tensor | None = None


class ListRequest(Section):
    """The candidate lists that a term wants scored: from where, how many items, how often made anew."""

    source: str = "beam"
    """A name of ``rars.training.candidates.SOURCES``: beam, bm25, random or judged."""
    count: int = 16
    """Items a query, beside its relevant ones."""
    refresh: int = 1
    """Epochs until lists that follow the model are made again."""


Loss = Callable[[Pass, Batch, Context, Any], Total]
Codewords = Sequence[Tensor]
"""Per depth, (codes, dim) the vectors that identifiers are made of, where all prefixes share them."""


@dataclass(frozen=True, eq=False)
class Ground:
    """What is known of the identifiers, for what terms keep for themselves (``Term.head``).

    ``codewords``  the codebooks, where all prefixes share them
    ``kin``        for each depth, how far apart the items below siblings are; None unless a term asks
    """

    codewords: Codewords | None = None
    kin: Sequence[Kin] | None = None


@dataclass(frozen=True)
class Term:
    """A loss term as recipes list it.

    ``about``       one line of help; ``title`` its name in figures
    ``settings``    its own settings, which stand beside its weight in a recipe
    ``weight``      how much it counts where a recipe does not say
    ``categories``  whether it needs the model's category states
    ``siblings``    whether it needs all catalogue-legal children of relevance-bearing parents
    ``whole``       whether it reads the decoder at every relevance-bearing branch of a query; else, where
                    pairs are drawn (``training.batching``), only the way to those is decoded
    ``head``        makes what the term keeps or trains for itself, which is dropped afterwards (the tree
                    head), from the model, the term's settings and what is known of the identifiers
    ``kin``         whether its head reads how far apart the items below siblings are
    ``candidates``  the lists of further items that it wants the model to score
    """

    about: str
    title: str
    loss: Loss
    settings: type[Section] = NoSettings
    weight: float = 1.0
    categories: bool = False
    siblings: bool = False
    whole: bool = False
    head: Callable[[IdentifierModel, Any, Ground], nn.Module] | None = None
    kin: bool = False
    candidates: Callable[[Any], ListRequest] | None = None


class PerToken(Section):
    """The setting of terms that are likelihoods of whole identifiers."""

    per_token: bool = False
    """Divide by the number of codes, as T5's own loss does; else the likelihood is that of Eq. leaf."""

    def codes(self, batch: Batch) -> int:
        """What a likelihood of whole identifiers is divided by."""
        return len(batch.refinements) if self.per_token else 1


def group_logsumexp(values: Tensor, group: Tensor, n_groups: int) -> Tensor:
    """(n_groups,): log of the summed exponentials of ``values`` (m,) in each ``group`` (m,); -inf if empty.

    >>> group_logsumexp(torch.tensor([0.0, 0.0, 3.0]), torch.tensor([0, 0, 2]), 3)
    tensor([0.6931,   -inf, 3.0000])
    """
    top = values.new_full((n_groups,), float("-inf"))
    top = top.scatter_reduce(0, group, values.detach(), "amax")
    finite = top.masked_fill(top.isinf(), 0.0)
    total = values.new_zeros(n_groups).index_add(0, group, (values - finite[group]).exp())
    return total.log() + finite


def legal_mask(step: Refinement, slots: int) -> Tensor:
    """(parents, slots): which children the catalogue has below each parent."""
    mask = torch.zeros(len(step.mass), slots, dtype=torch.bool, device=step.legal.device)
    mask[step.legal_parent, step.legal] = True
    return mask


def decoder_log_softmax(logits: Tensor, step: Refinement, normaliser: str) -> Tensor:
    """Log p(v|q,u) (n, slots) of every choice below every parent, from the decoder's logits (n, slots)."""
    if normaliser == "children":
        logits = logits.masked_fill(~legal_mask(step, logits.shape[1]), float("-inf"))
    return torch.log_softmax(logits, dim=-1)


def decoder_log_probabilities(logits: Tensor, step: Refinement, normaliser: str) -> Tensor:
    """Log p(v|q,u) (m,) of every relevance-bearing child, from the decoder's logits (n, slots)."""
    return decoder_log_softmax(logits, step, normaliser)[step.parent, step.slot]


def negative_log_likelihood(
    found: Pass, batch: Batch, normaliser: str, weight: Callable[[Refinement], Tensor]
) -> Tensor:
    """Minus the sum of weight x log p of all relevance-bearing children; ``weight`` gives a depth's (m,)."""
    total = found.logits[0].new_zeros(())
    for logits, step in zip(found.logits, batch.refinements, strict=True):
        chosen = decoder_log_probabilities(logits, step, normaliser)
        total = total - (weight(step) * chosen).sum()
    return total


def divergence(step: Refinement, log_probability: Tensor) -> Tensor:
    """Parent-mass-weighted KL(mu(.|u,q) || p) summed over a refinement (Eq. tree-loss)."""
    weight = step.mass[step.parent] * step.share
    return (weight * (step.share.log() - log_probability)).sum()
