"""Choosing the settings of the rule ``hybrid`` on validation queries.

Owns: the small grid and what counts as better. Test queries are never looked at.

First the weights of the parts: what orders items best by evidence alone, without the model; then, beside
these, how much it counts what was relevant to similar training queries. Then, with all of them, how much
evidence counts beside the model, how much of a prior over identifiers is left beside dense evidence, and
whether prefixes are scored by bounds or by sums. Better is a higher mean of nDCG@10 and Recall@100.

A catalogue without judged validation queries is asked pseudo-queries, each made of one item's own words: an
easy known-item search, which tells evidence that works from a model that knows little.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from rars.arrays import Ints, Points
from rars.data import Dataset, Judgments
from rars.errors import RarsError
from rars.evaluation.measures import Measure, measure
from rars.evaluation.ranking import Ranking, queries_of
from rars.evaluation.truth import Truth
from rars.progress import Advance
from rars.search.evidence.languages import language_of
from rars.search.evidence.parts import AskedOf, weigh
from rars.search.retriever import Retriever, store_hybrid
from rars.search.rules import HybridSettings, plan
from rars.systems import Categories, Query, Ranked, rank
from rars.training import pseudo

MEASURES = (Measure("nDCG", 10), Measure("Recall", 100))

SHARES = (
    (1.0, 0.0),
    (0.9, 0.1),
    (0.8, 0.2),
    (0.7, 0.3),
    (0.6, 0.4),
    (0.5, 0.5),
    (0.4, 0.6),
    (0.3, 0.7),
)
"""BM25 and dense."""
PAPER = (0.0, 0.1, 0.2, 0.4)
NEIGHBOURS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8)
"""Where there are judged training queries."""
WEIGHTS = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0)
PRIORS = (1.0, 0.5)
"""Where the model has a prior over identifiers."""

_K = 100
_STREAM = 1_000_000
_EXACT = 3.0


@dataclass(frozen=True, eq=False)
class _Asked:
    """Queries to choose on, their row numbers, and what should be found."""

    truth: Truth
    rows: Ints
    queries: list[Query]

    def quality(self, ranked: Ranked) -> float:
        """The mean of the measures over all queries."""
        per_query = measure(Ranking.of(self.rows, ranked), self.truth, MEASURES)
        return float(np.mean([per_query.mean(one.name) for one in MEASURES]))


def choose_hybrid(
    retriever: Retriever,
    dataset: Dataset,
    split: str = "validation",
    *,
    most: int = 300,
    categories: Categories = "auto",
    seed: int = 0,
    advance: Advance | None = None,
) -> HybridSettings:
    """Choose on at most ``most`` queries of a split, and keep the choice in the run."""
    _check_catalogue(retriever, dataset)
    judged = len(Truth.of(dataset, split)) > 0
    made = (
        _judged(retriever, dataset, split, most, seed) if judged else _made_up(dataset, most, seed)
    )
    asked = replace(made, queries=[replace(one, categories=categories) for one in made.queries])
    # Made-up queries repeat an item's attributes word for word, and the model has met their items: they can
    # tell neither what a match is worth nor how far to trust the model's order, so evidence keeps its own.
    usual = HybridSettings()
    paper = PAPER if judged else (usual.paper,)
    bounds = (True, False) if judged else (True,)
    priors = PRIORS if judged and retriever.measure is not None else (usual.prior,)
    remembered = judged and retriever.index.judged is not None and retriever.reader.embeds
    neighbours = NEIGHBOURS if remembered else ()
    total = len(SHARES) * len(paper) + len(neighbours) + len(priors) * len(bounds) * len(WEIGHTS)
    tried: list[tuple[float, HybridSettings]] = []

    def best(candidates: Iterator[tuple[HybridSettings, Ranked]]) -> HybridSettings:
        found: list[tuple[float, HybridSettings]] = []
        for hybrid, ranked in candidates:
            found.append((asked.quality(ranked), hybrid))
            tried.append(found[-1])
            if advance:
                advance(len(tried), total)
        return max(found, key=lambda pair: pair[0])[1]

    parts = _parts(retriever, asked.queries)
    weights = best(_by_evidence(retriever, parts, _mixes(retriever, paper)))
    if neighbours:
        further = [weights.model_copy(update={"neighbours": one}) for one in neighbours]
        weights = best(_by_evidence(retriever, parts, further))
    beams = [
        weights.model_copy(update={"prior": p, "bound": b}) for p, b in product(priors, bounds)
    ]
    chosen = best(_by_beam(retriever, asked.queries, beams))
    facts = {"split": split if judged else "pseudo-queries", "queries": len(asked.queries)}
    facts |= {"quality": max(q for q, hybrid in tried if hybrid == chosen)}
    store_hybrid(retriever, chosen, chosen_on=facts)
    return chosen


def _judged(retriever: Retriever, dataset: Dataset, split: str, most: int, seed: int) -> _Asked:
    """A sample of the queries that have something to find, and their truth in the index's own rows."""
    truth = Truth.of(dataset, split)
    chosen = np.sort(np.random.default_rng(seed).permutation(len(truth))[:most])
    rows = truth.queries[chosen]
    judged = dataset.judged(split)
    truth = Truth.of_judgments(judged.where(np.isin(judged.query, rows)), rows, dataset.n_items)
    return _Asked(truth, rows, queries_of(retriever, dataset, rows, _K))


def _made_up(dataset: Dataset, most: int, seed: int) -> _Asked:
    """Pseudo-queries that no training has seen, each with the item it was made from as the one to find."""
    # Training draws from its own seed; this stream is another.
    made = pseudo.pool(dataset, min(most, dataset.n_items), _STREAM + seed)
    rows = np.arange(len(made.texts), dtype=np.int32)
    # Not all items that hold its words: lexical search would be right by definition.
    best = np.full(len(rows), _EXACT, dtype=np.float32)
    judged = Judgments(rows, made.source.astype(np.int32), best)
    truth = Truth.of_judgments(judged, rows, dataset.n_items)
    return _Asked(truth, rows, [Query(text, _K) for text in made.texts])


def _check_catalogue(retriever: Retriever, dataset: Dataset) -> None:
    if not dataset.item_ids.equals(retriever.catalogue.ids):
        raise RarsError(
            f"The catalogue of {retriever.run.folder} has changed since it was trained; choose "
            "the settings on its first version."
        )


def _mixes(retriever: Retriever, paper: Sequence[float]) -> list[HybridSettings]:
    """Every mix of BM25, dense vectors and f."""
    shares: Sequence[tuple[float, float]] = SHARES
    if retriever.index.vectors is None or not retriever.reader.embeds:
        shares = [(1.0, 0.0)]
    return [
        HybridSettings(bm25=bm25, dense=dense, paper=f)
        for (bm25, dense), f in product(shares, paper)
    ]


def _by_evidence(
    retriever: Retriever,
    parts: Sequence[dict[str, Points]],
    mixes: Sequence[HybridSettings],
) -> Iterator[tuple[HybridSettings, Ranked]]:
    """Each mix, and the items in the order of its evidence."""
    order = retriever.tree.order
    for mix in mixes:
        weights = plan("hybrid", retriever.tree.depth, {"hybrid": mix}).evidence
        lists, scores = [], []
        for row in parts:
            known = [weight * row[name] for name, weight in weights.items() if name in row]
            total = np.sum(known, axis=0)
            best = np.argpartition(-total, min(_K, len(total) - 1))[:_K]
            best = best[np.argsort(-total[best], kind="stable")]
            lists.append(order[best])
            scores.append(total[best])
        yield mix, Ranked.of_lists(lists, scores)


def _parts(retriever: Retriever, queries: Sequence[Query]) -> list[dict[str, Points]]:
    """What each kind of evidence says of every item, in SID order, for each query."""
    texts = [query.text for query in queries]
    asked = AskedOf(
        retriever.index.evidence,
        retriever.index.vectors,
        texts,
        [None if query.locale is None else language_of(query.locale) for query in queries],
        (lambda: retriever.reader.vectors(texts)) if retriever.reader.embeds else None,
        retriever.index.judged,
    )
    every = plan("hybrid", retriever.tree.depth, {"hybrid": HybridSettings(neighbours=1.0)})
    return [
        {name: part.dense().astype(np.float32) for name, _, part in one.parts}
        for one in weigh(asked, dict.fromkeys(every.evidence, 1.0))
    ]


def _by_beam(
    retriever: Retriever, queries: Sequence[Query], settings: Sequence[HybridSettings]
) -> Iterator[tuple[HybridSettings, Ranked]]:
    asked = [replace(query, rule="hybrid") for query in queries]
    for setting, weight in product(settings, WEIGHTS):
        hybrid = setting.model_copy(update={"weight": weight})
        yield hybrid, rank(replace(retriever, hybrid=hybrid), asked)
