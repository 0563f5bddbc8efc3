"""From a dataset and its identifiers to a model and a training set.

Owns: which queries, texts, vectors and categories training sees. Only training queries and the catalogue are
read here; validation and test judgments never are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from rars import artifacts
from rars.config import Recipe
from rars.data import Dataset
from rars.errors import RarsError
from rars.identifiers import (
    Identifiers,
    cached_vectors,
    induce_categories,
    item_vectors,
    open_embedder,
)
from rars.identifiers.residual import ResidualQuantizer
from rars.model.backbone import PRESETS
from rars.model.prior import OWN_PART_BESIDE, SemanticPrior
from rars.model.saving import Ready, build
from rars.model.tokenizer import QueryTokenizer, pretrained_tokenizer, train_tokenizer
from rars.training import pseudo
from rars.training.packing import Entries, TrainingSet, training_set
from rars.tree import PrefixTree, Relevance, SidVocabulary
from rars.tree.categories import CategoryTree

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.integer[Any]]

_SAMPLE, _CELLS = 1000, 20_000_000
"""Training queries that calibrate the prior: at the most, and times the identifiers of the catalogue."""
_SCALES = tuple(2.0**power for power in np.arange(-2, 8.5, 0.5))
Advance = Callable[[int, int], None]


@dataclass(frozen=True)
class Prepared:
    """A fresh model, what it is trained on, and the number of judged queries in it."""

    ready: Ready
    data: TrainingSet
    pool: int
    tree: PrefixTree
    categories: CategoryTree | None
    source: str
    tree_depths: int | None


def prepare(
    dataset: Dataset, identifiers: Identifiers, recipe: Recipe, advance: Advance | None = None
) -> Prepared:
    """Build the model and project every training query's relevance."""
    settings = recipe.training
    tree = PrefixTree.build(identifiers.codes)
    vocabulary = SidVocabulary.of(tree, identifiers.sizes)
    query, item, rho = dataset.positives("train", recipe.objective.relevance)
    if not len(query) and not settings.pseudo.share:
        raise RarsError(
            f"{dataset.folder} has no training query with a positive item; a recipe with pseudo-queries "
            "(training.pseudo.share, as in 'practical') can train on the catalogue alone."
        )
    asked, row = np.unique(query, return_inverse=True)
    texts: list[str] = dataset.query_texts.take(pa.array(asked)).to_pylist()
    weight = np.ones(len(asked))
    if settings.pseudo.share:
        count = round(settings.pseudo.share * (len(asked) or dataset.n_items) * settings.epochs)
        made = pseudo.pool(dataset, min(count, 2 * dataset.n_items), settings.seed)
        row = np.concatenate([row, len(asked) + made.query])
        item = np.concatenate([item, made.item])
        rho = np.concatenate([rho, np.ones(len(made.item))])
        texts += made.texts
        weight = np.concatenate([weight, np.full(len(made.texts), settings.pseudo.weight)])
    tokenizer = query_tokenizer(dataset, recipe, texts[: len(asked)])
    vectors, projected = query_vectors(texts, identifiers, recipe, advance)
    categories = category_tree(dataset, identifiers, recipe)
    ready = build(
        recipe.model,
        vocabulary,
        tokenizer,
        categories=categories,
        vector=0 if vectors is None else vectors.shape[1],
        embedder=identifiers.settings.embedder,
        codewords=_codewords(identifiers, recipe),
        seed=settings.seed,
    )
    data = training_set(
        tree,
        vocabulary,
        Relevance.of(row, item, rho),
        tokenizer.encode(texts),
        categories=categories,
        weight=weight,
        vectors=vectors,
        projected=projected,
        skip_decided=recipe.model.normaliser == "children",
        with_siblings=recipe.objective.structure != "none" or recipe.model.normaliser == "children",
    )
    prior = ready.model.prior
    if prior is not None:
        calibrate(prior, data, len(asked) or len(texts))
        if recipe.objective.prior == "inside":
            data = replace(data, measure=prior.measure(tree, vocabulary))
        else:
            torch.nn.init.constant_(prior.own, OWN_PART_BESIDE)
    sources = [dataset.digest, recipe.model_dump(mode="json"), _digest(identifiers)]
    suffixed = identifiers.depth > len(identifiers.quantizer.sizes)
    return Prepared(
        ready=ready,
        data=data,
        pool=len(asked),
        tree=tree,
        categories=categories,
        source=artifacts.digest_json(sources),
        tree_depths=identifiers.depth - 1 if suffixed else None,
    )


def held_out(
    dataset: Dataset, identifiers: Identifiers, recipe: Recipe, prepared: Prepared
) -> TrainingSet | None:
    """Validation queries in the shape of a training set; None where there are none."""
    query, item, rho = dataset.positives("validation", recipe.objective.relevance)
    if not len(query):
        return None
    asked, row = np.unique(query, return_inverse=True)
    texts = dataset.query_texts.take(pa.array(asked)).to_pylist()
    vectors, projected = query_vectors(texts, identifiers, recipe)
    data = training_set(
        prepared.tree,
        prepared.data.vocabulary,
        Relevance.of(row, item, rho),
        prepared.ready.tokenizer.encode(texts),
        categories=prepared.categories,
        vectors=vectors,
        projected=projected,
        skip_decided=recipe.model.normaliser == "children",
    )
    prior = prepared.ready.model.prior
    return (
        data if prior is None else replace(data, measure=prior.measure(data.tree, data.vocabulary))
    )


def calibrate(prior: SemanticPrior, data: TrainingSet, pool: int) -> None:
    """Start the prior as sharp as it alone explains training identifiers best.

    Similarities of unit vectors are small: taken as they are, the softmax over them is nearly flat, and the
    first steps of training would drown the prior.
    """
    leaves = data.tree.n_leaves
    sample = max(1, min(_SAMPLE, _CELLS // leaves)) if prior.projected else _SAMPLE
    chosen = np.random.default_rng(0).permutation(pool)[:sample]
    assert data.projected is not None
    vectors = np.array(data.projected[chosen], dtype=np.float32)
    measure = prior.measure(data.tree, data.vocabulary)
    with torch.no_grad():
        if measure is not None:
            similar = torch.from_numpy(measure.similarities(vectors))
            prior.sharpness.fill_(_sharpest(similar, data.levels[-1], chosen, node=True))
            return
        for depth, level in enumerate(data.levels[1:]):
            similar = torch.from_numpy(vectors) @ prior.codewords(depth).T
            prior.scales[depth] = _sharpest(similar, level, chosen, node=False)


def _sharpest(similar: Tensor, level: Entries, chosen: Ints, *, node: bool) -> float:
    """The factor at which a softmax over similarities (queries, choices) fits the relevance best."""
    entry = np.concatenate([np.arange(*level.start[q : q + 2]) for q in chosen])
    row = np.repeat(np.arange(len(chosen)), np.diff(level.start)[chosen])
    choice = (level.node if node else level.slot)[entry]
    weight = torch.from_numpy(level.mass[entry].astype(np.float32))
    fits = [
        float((weight * torch.log_softmax(scale * similar, dim=-1)[row, choice]).sum())
        for scale in _SCALES
    ]
    return float(_SCALES[int(np.argmax(fits))])


def query_tokenizer(dataset: Dataset, recipe: Recipe, queries: Sequence[str]) -> QueryTokenizer:
    """The checkpoint's own tokenizer; offline, one learned on catalogue titles and training queries."""
    kind, _, name = recipe.model.backbone.partition(":")
    if kind in PRESETS:
        titles = (text for text in dataset.items(["title"])["title"].to_pylist())
        words = chain(titles, queries)
        return train_tokenizer(words, recipe.model.vocabulary, recipe.model.max_tokens)
    return pretrained_tokenizer(name, recipe.model.max_tokens)


def query_vectors(
    texts: Sequence[str], identifiers: Identifiers, recipe: Recipe, advance: Advance | None = None
) -> tuple[Floats | None, Floats | None]:
    """Sentence vectors of queries, and the same in codeword space, where the recipe needs them."""
    reads = recipe.model.backbone in PRESETS and recipe.model.vector_tokens > 0
    if not reads and recipe.model.prior == "off":
        return None, None
    embedder = open_embedder(identifiers.settings.embedder)
    vectors = cached_vectors(pa.chunked_array([pa.array(texts)]), embedder, advance=advance)
    vectors = identifiers.query_space(vectors)
    projected = None
    if recipe.model.prior != "off":
        projected = _residual(identifiers).project(vectors)
    return np.asarray(vectors) if reads else None, projected


def category_tree(
    dataset: Dataset, identifiers: Identifiers, recipe: Recipe
) -> CategoryTree | None:
    """The catalogue's own categories; induced by clustering where it has none; None if switched off."""
    if recipe.model.categories == "off":
        return None
    paths: list[Any] = dataset.items(["category"])["category"].to_pylist()
    if any(paths):
        return CategoryTree.of_paths(paths, recipe.model.category_levels)
    vectors, _ = item_vectors(dataset, identifiers.settings.embedder)
    branching = (20,) * recipe.model.category_levels
    codes = induce_categories(vectors, branching, seed=identifiers.settings.seed)
    return CategoryTree.of_codes(np.asarray(codes))


def _codewords(identifiers: Identifiers, recipe: Recipe) -> list[Floats] | None:
    """The codebooks, where the recipe starts anything from them."""
    residual = isinstance(identifiers.quantizer, ResidualQuantizer)
    if recipe.model.prior == "off" and not (recipe.model.aligned_codes and residual):
        return None
    quantizer = _residual(identifiers)
    found = [quantizer.codewords(depth) for depth in range(len(quantizer.sizes))]
    # A uniqueness suffix says nothing about the item: its codewords are zero.
    extra = identifiers.sizes[len(quantizer.sizes) :]
    return found + [np.zeros((size, found[0].shape[1]), dtype=np.float32) for size in extra]


def _residual(identifiers: Identifiers) -> ResidualQuantizer:
    if not isinstance(identifiers.quantizer, ResidualQuantizer):
        raise RarsError(
            "model.prior needs residual codebooks; use identifiers.learner residual-kmeans or rqvae."
        )
    return identifiers.quantizer


def _digest(identifiers: Identifiers) -> str:
    return hashlib.sha256(np.ascontiguousarray(identifiers.codes).tobytes()).hexdigest()
