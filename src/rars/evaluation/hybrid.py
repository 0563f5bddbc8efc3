"""Choosing the settings of the rule ``hybrid`` on validation queries.

Owns: the small grid and what counts as better. Test queries are never looked at.

First the weights of the parts: what orders items best by evidence alone, without the model. Then, with these,
how much evidence counts beside the model, how much of a prior over identifiers is left beside dense evidence,
and whether prefixes are scored by bounds or by sums. Better is a higher mean of nDCG@10 and Recall@100.

A catalogue without judged validation queries is asked pseudo-queries, each made of one item's own words: an
easy known-item search, which tells evidence that works from a model that knows little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from rars.baselines.ranked import Ranked
from rars.data import Dataset, Judgments
from rars.errors import RarsError
from rars.evaluation.measures import Measure, measure
from rars.evaluation.ranking import Ranking, texts_of
from rars.evaluation.truth import Truth
from rars.search.retriever import Categories, Retriever, store_hybrid
from rars.search.rules import Hybrid, Rule, weigh
from rars.training import pseudo

Ints = npt.NDArray[np.integer[Any]]
Advance = Callable[[int, int], None]

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
WEIGHTS = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0)
PRIORS = (1.0, 0.5)
"""Where the model has a prior over identifiers."""

_K = 100
_STREAM = 1_000_000
_EXACT = 3.0


def choose_hybrid(
    retriever: Retriever,
    dataset: Dataset,
    split: str = "validation",
    *,
    most: int = 300,
    categories: Categories = "auto",
    seed: int = 0,
    advance: Advance | None = None,
) -> Hybrid:
    """Choose on at most ``most`` queries of a split, and keep the choice in the run."""
    judged = len(Truth.of(dataset, split)) > 0
    asked = _asked if judged else _made_up
    truth, queries, texts = asked(retriever, dataset, split, most, seed)
    # Made-up queries repeat an item's attributes word for word, and the model has met their items: they can
    # tell neither what a match is worth nor how far to trust the model's order, so evidence keeps its own.
    paper = PAPER if judged else (Hybrid().paper,)
    bounds = (True, False) if judged else (True,)
    priors = PRIORS if judged and retriever.measure is not None else (Hybrid().prior,)
    total = len(SHARES) * len(paper) + len(priors) * len(bounds) * len(WEIGHTS)
    tried: list[tuple[float, Hybrid]] = []

    def best(candidates: Iterator[tuple[Hybrid, Ranked]]) -> Hybrid:
        found: list[tuple[float, Hybrid]] = []
        for hybrid, ranked in candidates:
            found.append((_quality(queries, ranked, truth), hybrid))
            tried.append(found[-1])
            if advance:
                advance(len(tried), total)
        return max(found, key=lambda pair: pair[0])[1]

    weights = best(_by_evidence(retriever, texts, paper))
    beams = [replace(weights, prior=p, bound=b) for p, b in product(priors, bounds)]
    chosen = best(_by_beam(retriever, texts, beams, categories))
    facts = {"split": split if judged else "pseudo-queries", "queries": len(queries)}
    facts |= {"quality": max(q for q, hybrid in tried if hybrid == chosen)}
    store_hybrid(retriever, chosen, chosen_on=facts)
    return chosen


def _asked(
    retriever: Retriever, dataset: Dataset, split: str, most: int, seed: int
) -> tuple[Truth, Ints, list[str]]:
    """A sample of the queries that have something to find, and their truth in the index's own rows."""
    truth = Truth.of(dataset, split)
    _check_catalogue(retriever, dataset)
    chosen = np.sort(np.random.default_rng(seed).permutation(len(truth))[:most])
    queries = truth.queries[chosen]
    judged = dataset.judged(split)
    truth = Truth.of_judgments(
        judged.where(np.isin(judged.query, queries)), queries, dataset.n_items
    )
    return truth, queries, texts_of(dataset, queries)


def _made_up(
    retriever: Retriever, dataset: Dataset, split: str, most: int, seed: int
) -> tuple[Truth, Ints, list[str]]:
    """Pseudo-queries that no training has seen, each with the item it was made from as the one to find."""
    _check_catalogue(retriever, dataset)
    # Training draws from its own seed; this stream is another.
    made = pseudo.pool(dataset, min(most, dataset.n_items), _STREAM + seed)
    queries = np.arange(len(made.texts), dtype=np.int32)
    # Not all items that hold its words: lexical search would be right by definition.
    best = np.full(len(queries), _EXACT, dtype=np.float32)
    judged = Judgments(queries, made.source.astype(np.int32), best)
    return Truth.of_judgments(judged, queries, dataset.n_items), queries, made.texts


def _check_catalogue(retriever: Retriever, dataset: Dataset) -> None:
    if not dataset.item_ids.equals(retriever.index.items.ids):
        raise RarsError(
            f"The catalogue of {retriever.run.folder} has changed since it was trained; choose "
            "the settings on its first version."
        )


def _by_evidence(
    retriever: Retriever, texts: Sequence[str], paper: Sequence[float]
) -> Iterator[tuple[Hybrid, Ranked]]:
    """Every mix of parts, and the items in the order of that evidence."""
    grid = [Hybrid(b, d, f, bound=False) for (b, d), f in product(SHARES, paper)]
    if retriever.index.vectors is None or not retriever.reader.embeds:
        grid = [Hybrid(1.0, 0.0, f, bound=False) for f in paper]
    parts = _parts(retriever, texts)
    order = retriever.tree.order
    for hybrid in grid:
        by_name = {"bm25": hybrid.bm25, "dense": hybrid.dense, "f": hybrid.paper}
        lists, scores = [], []
        for row in parts:
            total = np.sum([by_name[name] * values for name, values in row.items()], axis=0)
            best = np.argpartition(-total, min(_K, len(total) - 1))[:_K]
            best = best[np.argsort(-total[best], kind="stable")]
            lists.append(order[best])
            scores.append(total[best])
        yield hybrid, Ranked.of_lists(lists, scores)


def _parts(retriever: Retriever, texts: Sequence[str]) -> list[dict[str, npt.NDArray[np.float32]]]:
    dense = None
    if retriever.index.vectors is not None and retriever.reader.embeds:
        seen = retriever.reader.vectors(texts)
        dense = retriever.index.vectors.scores(seen, retriever.tree.order)
    rule = Rule.parse("hybrid", retriever.tree.depth, Hybrid(bound=False))
    return [
        {name: part.dense().astype(np.float32) for name, _, part in one.parts}
        for one in weigh(rule, retriever.index.evidence, texts, dense)
    ]


def _by_beam(
    retriever: Retriever,
    texts: Sequence[str],
    settings: Sequence[Hybrid],
    categories: Categories,
) -> Iterator[tuple[Hybrid, Ranked]]:
    for setting, weight in product(settings, WEIGHTS):
        hybrid = replace(setting, weight=weight)
        rule = Rule.parse("hybrid", retriever.tree.depth, hybrid)
        found = retriever.rank_many(texts, _K, rule=rule, categories=categories)
        yield hybrid, Ranked.of_lists([items for items, _ in found], [s for _, s in found])


def _quality(queries: Ints, ranked: Ranked, truth: Truth) -> float:
    per_query = measure(Ranking.of(queries, ranked), truth, MEASURES)
    return float(np.mean([per_query.mean(one.name) for one in MEASURES]))
