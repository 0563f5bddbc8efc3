"""Query texts to what the model reads: the one way, in training's validation and in every search.

Owns: cleaning a text, its tokens, its sentence vector, that vector in codeword space, and what a prior makes
of it on a tree. Ignores items.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from rars.errors import RarsError
from rars.identifiers import Identifiers, Maps, open_embedder
from rars.identifiers.embed import Embedder
from rars.identifiers.quantizer import Quantizer
from rars.identifiers.residual import ResidualQuantizer
from rars.model.encoder import Encoded
from rars.model.prior import Measure
from rars.model.retriever import Retriever
from rars.model.saving import Ready
from rars.tree import PrefixTree

Points = npt.NDArray[np.float32]
Floats = npt.NDArray[np.floating[Any]]

LONGEST = 10_000
"""Characters of a query that are read; models read far fewer."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")

_opened: dict[str, Embedder] = {}
_opening = threading.Lock()


def embedder_of(name: str, digest: str) -> Embedder:
    """The embedder of this name, opened once a process: a run opened again need not wait for it.

    One whose digest is not the one given (if any is) is refused.
    """
    with _opening:
        if name not in _opened:
            _opened[name] = open_embedder(name)
    found = _opened[name]
    if digest and found.digest != digest:
        raise RarsError(
            f"The embedder {name!r} is not the one that the identifiers were made with; its digest "
            "does not match."
        )
    return found


def cleaned(text: str) -> str:
    """A query as every part reads it: control characters are spaces, lone surrogates are ``?``.

    >>> cleaned(" red" + chr(9) + "mug" + chr(0))
    'red mug'
    """
    whole = text[:LONGEST].encode("utf-8", "replace").decode()
    return _CONTROL.sub(" ", whole).strip()


def checked(texts: Sequence[str]) -> list[str]:
    """All texts cleaned; one that says nothing is an error."""
    found = []
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise RarsError(f"A query must be text, not {type(text).__name__}.")
        found.append(cleaned(text))
        if not found[-1]:
            which = f"Query {number} of {len(texts)}" if len(texts) > 1 else "The query"
            raise RarsError(f"{which} is empty.")
    return found


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

    @classmethod
    def of(cls, ready: Ready, identifiers: Identifiers) -> QueryReader:
        """The reader of a model's queries."""
        name = ready.architecture.embedder or identifiers.settings.embedder
        usable = bool(identifiers.embedder) and not name.startswith("file:")
        needed = ready.architecture.vector or ready.architecture.prior
        digest = identifiers.embedder if usable else ""
        name = name if usable or needed else ""
        return cls(ready, identifiers.quantizer, name, digest, identifiers.maps)

    @property
    def embeds(self) -> bool:
        """Whether a text can be given a sentence vector in the space of the items' vectors."""
        return bool(self.digest)

    def vectors(self, texts: Sequence[str]) -> Points:
        """Sentence vectors (n, dim), in the space of the items' vectors."""
        embedder = embedder_of(self.name, self.digest)
        frozen = np.array(embedder.embed(list(texts)), dtype=np.float32)
        return frozen if self.maps is None else self.maps.queries(frozen)

    def encode(
        self, texts: Sequence[str], *, model: Retriever | None = None, seen: Points | None = None
    ) -> tuple[Encoded, Tensor | None]:
        """Encoded queries, and their vectors in codeword space where the model has a prior.

        ``seen`` are the sentence vectors, where they are there already.
        """
        tokens, mask = self._tokens(texts)
        architecture = self.ready.architecture
        vectors = projected = None
        if architecture.vector or architecture.prior:
            seen = self.vectors(texts) if seen is None else seen
            vectors = torch.from_numpy(seen) if architecture.vector else None
            if architecture.prior:
                assert isinstance(self.quantizer, ResidualQuantizer)
                projected = torch.from_numpy(np.array(self.quantizer.project(seen)))
        return (model or self.ready.model).encoder(tokens, mask, vectors), projected

    def _tokens(self, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        rows = self.ready.tokenizer.encode(texts)
        tokens = torch.full((len(rows), max(map(len, rows))), self.ready.tokenizer.pad)
        mask = torch.zeros_like(tokens)
        for index, ids in enumerate(rows):
            tokens[index, : len(ids)] = torch.from_numpy(ids)
            mask[index, : len(ids)] = 1
        return tokens, mask


def measure_of(ready: Ready, tree: PrefixTree) -> Measure | None:
    """What the model's prior says of a catalogue, if it has one that is projected onto the tree."""
    prior = ready.model.prior
    return None if prior is None else prior.measure(tree, ready.architecture.vocabulary)


def prior_of_nodes(
    model: Retriever, measure: Measure | None, projected: Tensor | None, weight: float = 1.0
) -> list[Floats] | None:
    """The prior's term of every node for encoded queries, (queries, nodes) for each depth.

    None where the model has no prior over identifiers, and so no ``measure``.
    """
    if measure is None:
        return None
    assert model.prior is not None
    assert projected is not None
    return model.prior.of_nodes(measure, projected, weight)
