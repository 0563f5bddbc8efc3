"""Choosing the settings of the rule ``hybrid`` on validation queries.

Owns: which settings a fit gives, and what is tried in the beam itself. Candidates are gathered by
``rars.search.gathering``, their weights fitted by ``rars.search.fitting``. Test queries are never looked at.

The scores of a candidate d with the identifier s are what each part of the evidence says, e_i(q, d), and the
model's log-probability, without a prior over identifiers, which dense evidence stands for. One fit of

    a log p(s|q) + sum of w_i e_i(q, d)

gives all weights: lambda = sum of w_i / a, and the shares of the w_i in their sum.
But a beam is no re-ranker: whether prefixes are scored by bounds or by sums, and how much more or less of
lambda serves it, is found by searching, and so is whether letters serve it at all. Better is a higher mean of
nDCG@10 and Recall@100.

A catalogue without judged validation queries is asked pseudo-queries, each made of one item's own words: an
easy known-item search, which tells evidence that works from a model that knows little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from rars.arrays import Floats, Ints
from rars.data import Dataset, Judgments
from rars.errors import RarsError
from rars.evaluation.measures import Measure, measure
from rars.evaluation.ranking import Ranking, queries_of
from rars.evaluation.truth import Truth
from rars.progress import Advance
from rars.search import weights
from rars.search.fitting import STRENGTHS, Fitted, fit
from rars.search.gathering import MODEL, Gathered, gather
from rars.search.retriever import Retriever
from rars.search.rules import HybridSettings
from rars.systems import Categories, Query, Ranked, rank
from rars.training import pseudo

MEASURES = (Measure("nDCG", 10), Measure("Recall", 100))

PARTS = {
    "bm25": "bm25",
    "dense": "dense",
    "f": "paper",
    "neighbours": "neighbours",
    "letters": "letters",
}
"""Kinds of evidence, and the setting of each."""
DOUBTED = "letters"
"""The kind that is left out unless the search is better with it by more than a standard error."""
TIMES = (0.5, 1.0, 2.0)
"""Of the fitted lambda (over the depth, where maxima of all depths are added up): what is tried."""
LEAST, MOST = 0.01, 1000.0
"""lambda never leaves them: there evidence, or the model, does no more than tell equals apart."""

_K = 100
_STREAM = 1_000_000
_EXACT = 3.0


@dataclass(frozen=True, eq=False)
class _Asked:
    """Queries to choose on, their row numbers, and what should be found."""

    truth: Truth
    rows: Ints
    queries: list[Query]

    def quality(self, ranked: Ranked) -> Floats:
        """The mean of the measures for each query."""
        found = measure(Ranking.of(self.rows, ranked), self.truth, MEASURES)
        return np.asarray(found.matrix().mean(axis=1))


@dataclass(frozen=True, eq=False)
class _Tried:
    """Settings, the fit they came from, and how good a search with them is for each query."""

    hybrid: HybridSettings
    fitted: Fitted
    quality: Floats

    def beats(self, other: _Tried) -> bool:
        """Whether it is better by more than the standard error of the difference."""
        gain = self.quality - other.quality
        return len(gain) > 1 and float(gain.mean()) > float(gain.std(ddof=1)) / len(gain) ** 0.5


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
    queries, depth = len(asked.queries), retriever.tree.depth
    forms = list(product((True, False) if judged else (True,), TIMES))
    # A kind that few validation queries cannot be trusted with has to prove itself in the search.
    doubted = ((), (DOUBTED,)) if judged and retriever.catalogue.letters is not None else ((),)
    total = queries * (1 + len(forms) * len(doubted))

    def told(before: int) -> Advance | None:
        return None if advance is None else lambda done, _: advance(before + done, total)

    # Made-up queries repeat an item's attributes word for word, and the model has met their items: they can
    # tell neither what a match is worth nor how far to trust the model's order, so evidence keeps its own.
    taught = tuple(PARTS) if judged else ("bm25", "dense")
    found = gather(retriever, asked.queries, asked.truth, advance=told(0))
    best: list[_Tried] = []
    done = queries
    for without in doubted:
        kinds = [name for name in taught if name not in without]
        # Nor can they say how far they may be believed beside the usual weights: little.
        strength = None if judged else STRENGTHS[-1]
        settings, fitted = fitted_hybrid(found, depth, kinds, strength=strength)
        left = {PARTS[name]: 0.0 for name in without}
        tried = []
        for bound, times in forms:
            weight = settings.weight * times / (1 if bound else depth)
            update = {"bound": bound, "weight": weight, **left}
            hybrid = _rounded(settings.model_copy(update=update))
            searched = replace(retriever, hybrid=hybrid)
            rule = [replace(query, rule="hybrid") for query in asked.queries]
            quality = asked.quality(rank(searched, rule, advance=told(done)))
            tried.append(_Tried(hybrid, fitted, quality))
            done += queries
        best.append(max(tried, key=lambda one: float(one.quality.mean())))
    chosen = best[0] if len(best) == 1 or best[0].beats(best[1]) else best[1]
    weights.keep(
        retriever.run,
        retriever.index.meta["model"],
        chosen.hybrid,
        chosen_on={
            "split": split if judged else "pseudo-queries",
            "queries": queries,
            "told": chosen.fitted.queries,
            "strength": chosen.fitted.strength,
            "quality": float(chosen.quality.mean()),
        },
    )
    return chosen.hybrid


def fitted_hybrid(
    found: Gathered,
    depth: int,
    taught: Sequence[str] = tuple(PARTS),
    *,
    strength: float | None = None,
) -> tuple[HybridSettings, Fitted]:
    """The settings that candidates speak for, and the fit; kinds of evidence that are not ``taught`` stay.

    The weights of fitted kinds sum to what they usually do, so those that stay keep their part in the sum.
    lambda is that of bounds, where evidence counts once; a sum over ``depth`` maxima needs as much less.
    """
    usual = HybridSettings()
    usually = usual.weight * (1 if usual.bound else depth)
    kinds = [name for name in found.names if name in taught]
    settings = {PARTS[name]: float(getattr(usual, PARTS[name])) for name in kinds}
    known = replace(found.candidates, scores=found.of((MODEL, *kinds)))
    start = [1.0] + [usually * one for one in settings.values()]
    fitted = fit(known, start, strength=strength)
    model, evidence = float(fitted.weights[0]), fitted.weights[1:]
    told, whole = float(evidence.sum()), sum(settings.values())
    if told > 0:
        settings = dict(zip(settings, (evidence * (whole / told)).tolist(), strict=True))
    weight = told / whole / model if model > 0 else MOST
    settings["weight"] = min(max(weight, LEAST), MOST)
    return _rounded(usual.model_copy(update=settings)), fitted


def _rounded(settings: HybridSettings) -> HybridSettings:
    """Numbers as people read them; no fit knows more than four digits."""
    numbers = {name: getattr(settings, name) for name in (*PARTS.values(), "weight")}
    return settings.model_copy(update={name: float(f"{x:.4g}") for name, x in numbers.items()})


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
