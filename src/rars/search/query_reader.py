"""Query texts to what the model reads: the one way, in training's validation and in every search.

Owns: a text's tokens, its sentence vector, that vector in codeword space, and what a prior makes of it on a
tree. What the model reads is put on the model's device here. Ignores items, and how a text is cleaned
(``rars.systems.texts``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rars.arrays import Floats, Points, padded
from rars.identifiers import Identifiers, Maps, shared_embedder
from rars.identifiers.quantizer import Quantizer
from rars.model.encoder import Encoded
from rars.model.identifier_model import IdentifierModel
from rars.model.prior import NodeTerms, PriorMeasure
from rars.model.saving import Ready
from rars.tree import PrefixTree


@dataclass(frozen=True, eq=False)
class QueryReader:
    """A model's tokenizer, the embedder of its identifiers, and their codeword space.

    The embedder is opened when it is first needed: some models and rules never do.
    """

    ready: Ready
    quantizer: Quantizer
    name: str
    """The embedder's name; empty where there is none that can read a text."""
    digest: str = ""
    """What the embedder's digest must be; empty if any will do."""
    maps: Maps | None = None
    """What turns its vectors, where the identifiers were fitted to judgments."""
    own: bool = False
    """Whether items have vectors of the model's own encoder, which the embedder's cannot be compared with."""

    @classmethod
    def of(cls, ready: Ready, identifiers: Identifiers) -> QueryReader:
        """The reader of a model's queries."""
        name = identifiers.embedder_name
        usable = bool(identifiers.embedder) and not name.startswith("file:")
        needed = ready.architecture.vector or ready.architecture.prior
        digest = identifiers.embedder if usable else ""
        name = name if usable or needed else ""
        own = identifiers.encoder is not None
        return cls(ready, identifiers.quantizer, name, digest, identifiers.maps, own)

    @property
    def embeds(self) -> bool:
        """Whether a text can be given a sentence vector in the space of the items' vectors."""
        return bool(self.digest) and not self.own

    def vectors(self, texts: Sequence[str]) -> Points:
        """Sentence vectors (n, dim), in the space of the items' vectors."""
        embedder = shared_embedder(self.name, self.digest)
        frozen = np.array(embedder.embed(list(texts)), dtype=np.float32)
        return frozen if self.maps is None else self.maps.queries(frozen)

    def encode(
        self,
        texts: Sequence[str],
        *,
        model: IdentifierModel | None = None,
        seen: Points | None = None,
    ) -> tuple[Encoded, Tensor | None]:
        """Encoded queries, and their vectors in codeword space where the model has a prior.

        ``seen`` are the sentence vectors, where they are there already.
        """
        model = model or self.ready.model
        device = model.start.device
        tokens, mask = padded(self.ready.tokenizer.encode(texts), self.ready.tokenizer.pad)
        architecture = self.ready.architecture
        vectors = projected = None
        if architecture.vector or architecture.prior:
            seen = self.vectors(texts) if seen is None else seen
            if architecture.vector:
                vectors = torch.from_numpy(seen).to(device)
            if architecture.prior:
                assert self.quantizer.shared_codebooks, "a prior needs codebooks"
                points = np.array(self.quantizer.project(seen))
                projected = torch.from_numpy(points).to(device)
        encoded: Encoded = model.encoder(
            torch.from_numpy(tokens).to(device),
            torch.from_numpy(mask.astype(np.int64)).to(device),
            vectors,
        )
        return encoded, projected


def measure_of(ready: Ready, tree: PrefixTree) -> PriorMeasure | None:
    """What the model's prior says of a catalogue, if it has one that is projected onto the tree."""
    prior = ready.model.prior
    return None if prior is None else prior.measure(tree, ready.architecture.vocabulary)


def prior_of_nodes(
    model: IdentifierModel,
    measure: PriorMeasure | None,
    projected: Tensor | None,
    weights: Floats | None = None,
    *,
    reached: bool = False,
) -> NodeTerms | None:
    """The prior's term of every node for encoded queries, (queries, nodes) for each depth.

    ``weights`` (queries,) says how much of it counts; ``reached``, that terms are worked out for the nodes
    that are asked about. None where the model has no prior over identifiers, and so no ``measure``, or where
    none of it counts.
    """
    if measure is None or (weights is not None and not weights.any()):
        return None
    assert model.prior is not None
    assert projected is not None
    if reached:
        given = np.ones(len(projected)) if weights is None else weights
        return model.prior.of_reached(measure, projected, given)
    terms = model.prior.of_nodes(measure, projected)
    if weights is None or (weights == 1).all():
        return terms
    return [weights[:, None].astype(term.dtype) * term for term in terms]
