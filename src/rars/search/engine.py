"""Texts in, items out, by the model alone: what validation during training needs.

Owns: searching in batches over the tree of all identifiers, and what that finds. Ignores the index on disk,
categories and evidence: those are ``rars.search.retriever``'s, for trained runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from rars.arrays import Ints
from rars.data import Dataset
from rars.evaluation.measures import Measure, PerQuery, measure
from rars.evaluation.ranking import Ranking, texts_of
from rars.evaluation.truth import Truth
from rars.identifiers import Identifiers
from rars.model.identifier_model import IdentifierModel
from rars.model.prior import PriorMeasure
from rars.model.saving import Ready
from rars.progress import Advance
from rars.search.beam import Begun, Guide, Paths, beam_search, items_of
from rars.search.query_reader import QueryReader, measure_of, prior_of_nodes
from rars.systems import Ranked
from rars.tree import PrefixTree

MEASURES = (Measure("Recall", 100), Measure("nDCG", 10))

_BATCH = 32


@dataclass(frozen=True, eq=False)
class Engine:
    """A model, what reads its queries, the tree it searches, and what a code adds to a path."""

    ready: Ready
    tree: PrefixTree
    reader: QueryReader
    measure: PriorMeasure | None = None
    score: str = "probability"

    @classmethod
    def of(cls, ready: Ready, identifiers: Identifiers, *, score: str = "probability") -> Engine:
        """Open what the model needs to read a query."""
        tree = PrefixTree.build(identifiers.codes)
        measure = measure_of(ready, tree)
        return cls(ready, tree, QueryReader.of(ready, identifiers), measure, score)

    def search(
        self,
        texts: Sequence[str],
        *,
        k: int = 100,
        width: int = 100,
        model: IdentifierModel | None = None,
        advance: Advance | None = None,
    ) -> list[Ints]:
        """The best ``k`` items of every text, as catalogue row numbers."""
        found: list[Ints] = []
        for start in range(0, len(texts), _BATCH):
            ranked = self.identify(texts[start : start + _BATCH], width=width, model=model)
            found.extend(items_of(self.tree, leaves, k)[0] for leaves in ranked.leaves)
            if advance:
                advance(len(found), len(texts))
        return found

    @torch.inference_mode()
    def identify(
        self, texts: Sequence[str], *, width: int = 100, model: IdentifierModel | None = None
    ) -> Paths:
        """The best identifiers of every text."""
        model = model or self.ready.model
        encoded, projected = self.reader.encode(texts, model=model)
        reached = self.measure is not None and self.measure.large
        return beam_search(
            model,
            self.tree,
            self.ready.architecture.vocabulary,
            Begun.of(model, encoded),
            projected=projected,
            width=width,
            guide=Guide(
                normaliser=self.ready.architecture.normaliser,
                score=self.score,
                prior=prior_of_nodes(model, self.measure, projected, reached=reached),
            ),
        )


def quality(
    engine: Engine, dataset: Dataset, split: str, *, model: IdentifierModel | None = None
) -> PerQuery:
    """Recall@100 and nDCG@10 of every query of a split that has something to find."""
    truth = Truth.of(dataset, split)
    ranked = Ranked.of_lists(engine.search(texts_of(dataset, truth.queries), model=model))
    return measure(Ranking.of(truth.queries, ranked), truth, MEASURES)
