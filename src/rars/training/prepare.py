"""From a dataset and its identifiers to a model and a training set.

Owns: which queries, texts, vectors and categories training sees: judged training queries, pseudo-queries and
item texts. Validation judgments are read by ``held_out`` alone, for choosing checkpoints and for how much a
prior counts; test judgments never are. Ignores losses and the loop.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from rars import disk
from rars.arrays import Ints, Points
from rars.config import LoopSettings, ModelSettings, Recipe
from rars.data import Dataset
from rars.errors import RarsError
from rars.identifiers import Identifiers, item_texts, item_vectors, vectors_by_name
from rars.identifiers.categories import catalogue_categories
from rars.model.backbone import PRESETS
from rars.model.prior import OWN_PART_BESIDE, SemanticPrior
from rars.model.saving import Ready, build
from rars.model.tokenizer import QueryTokenizer, pretrained_tokenizer, train_tokenizer
from rars.objectives import TERMS
from rars.objectives.common import Ground
from rars.progress import Advance
from rars.training import pseudo
from rars.training.candidates import MiningInputs
from rars.training.packing import Entries, TrainingSet, training_set
from rars.training.sampler import QueryRange
from rars.tree import PrefixTree, Relevance, SidVocabulary
from rars.tree.categories import CategoryTree
from rars.tree.kinship import Kin, kinship

_SAMPLE, _CELLS = 1000, 20_000_000
"""Training queries that calibrate the prior: at the most, and times the identifiers of the catalogue."""
_TITLES = 1_000_000
"""Titles that sub-words are learned from, of however many."""
_SCALES = tuple(2.0**power for power in np.arange(-2, 8.5, 0.5))


@dataclass(frozen=True)
class Prepared:
    """A fresh model, and what it is trained on.

    ``judged``, ``pseudo``, ``indexing``  where in ``data`` judged queries, pseudo-queries, item texts are
    ``mine``      what lists of candidates are made from
    ``source``    the digest of everything that the weights depend on
    """

    ready: Ready
    data: TrainingSet
    judged: QueryRange
    pseudo: QueryRange
    indexing: QueryRange
    mine: MiningInputs
    tree: PrefixTree
    categories: CategoryTree | None
    source: str
    tree_depths: int | None
    ground: Ground
    """What is known of the identifiers, for what terms keep for themselves."""

    def taken(self, loop: LoopSettings) -> tuple[QueryRange, ...]:
        """What each epoch of a phase takes: shares of the judged queries; without any, of the part itself."""
        base = (self.judged.stop - self.judged.start) * loop.judged
        judged = (self.judged,) if loop.judged else ()
        further = (
            part._replace(sample=max(1, min(least, size), round(share * (base or size))))
            for part, share, least in (
                (self.pseudo, loop.pseudo.share, loop.pseudo.least),
                (self.indexing, loop.indexing.share, 0),
            )
            if share and (size := part.stop - part.start)
        )
        return (*judged, *further)

    def weighted(self, loop: LoopSettings) -> TrainingSet:
        """The training set with the weights that a phase gives its queries."""
        weight = np.ones(len(self.data))
        weight[self.pseudo.start : self.pseudo.stop] = loop.pseudo.weight
        weight[self.indexing.start : self.indexing.stop] = loop.indexing.weight
        return replace(self.data, weight=weight)


def prepare(
    dataset: Dataset,
    identifiers: Identifiers,
    recipe: Recipe,
    advance: Advance | None = None,
    *,
    device: str = "cpu",
) -> Prepared:
    """Build the model and project every training query's relevance."""
    phases = recipe.phases
    tree = PrefixTree.build(identifiers.codes)
    vocabulary = SidVocabulary.of(tree, identifiers.sizes)
    asked = _Queries.of(dataset, recipe)
    own = identifiers.encoder
    tokenizer: QueryTokenizer = (
        query_tokenizer(dataset, recipe.model, asked.texts[: asked.judged])
        if own is None
        else own.tokenizer
    )
    vectors, projected = query_vectors(asked.texts, identifiers, recipe, advance, device=device)
    categories = category_tree(dataset, identifiers, recipe)
    codewords = _codewords(identifiers)
    if codewords is None and recipe.model.prior != "off":
        _check_codebooks(identifiers)
    ready = build(
        recipe.model,
        vocabulary,
        tokenizer,
        categories=categories,
        vector=0 if vectors is None else vectors.shape[1],
        embedder=identifiers.settings.embedder,
        codewords=codewords if recipe.model.prior != "off" or recipe.model.aligned_codes else None,
        own=own is not None,
        seed=recipe.training.seed,
    )
    if own is not None:
        own.begin(ready.model)
    siblings = any(TERMS[one.term].siblings for phase in phases for one in phase.terms)
    relevance = Relevance.of(asked.row, asked.item, asked.rho)
    data = training_set(
        tree,
        vocabulary,
        relevance,
        tokenizer.encode(asked.texts),
        categories=categories,
        vectors=vectors,
        projected=projected,
        local=recipe.model.normaliser == "children",
        with_siblings=siblings or recipe.model.normaliser == "children",
    )
    prior = ready.model.prior
    if prior is not None:
        calibrate(prior, data, asked.judged or len(asked.texts))
        if recipe.objective.prior == "inside":
            data = replace(data, measure=prior.measure(tree, vocabulary))
        else:
            torch.nn.init.constant_(prior.own, OWN_PART_BESIDE)
    suffixed = identifiers.depth > len(identifiers.quantizer.sizes)
    ends = np.cumsum([asked.judged, asked.pseudo, asked.indexing]).tolist()
    return Prepared(
        ready=ready,
        data=data,
        judged=QueryRange(0, ends[0]),
        pseudo=QueryRange(ends[0], ends[1]),
        indexing=QueryRange(ends[1], ends[2]),
        mine=_mine(dataset, recipe, asked, relevance),
        tree=tree,
        categories=categories,
        source=source_digest(dataset, identifiers, recipe),
        tree_depths=identifiers.depth - 1 if suffixed else None,
        ground=Ground(
            codewords=None if codewords is None else tuple(map(torch.tensor, codewords)),
            kin=_kin(dataset, identifiers, recipe, tree, vocabulary),
        ),
    )


def source_digest(dataset: Dataset, identifiers: Identifiers, recipe: Recipe) -> str:
    """The digest of all that the weights depend on: data, identifiers, recipe.

    Of the recipe neither its name nor how it is searched, but for the score of paths.
    """
    settings = recipe.model_dump(mode="json")
    kept = {key: settings[key] for key in ("identifiers", "model", "objective", "training")}
    if recipe.search.score != "probability":
        kept["score"] = recipe.search.score  # the model's own lists and its validation follow it
    if identifiers.encoder is not None:
        kept["encoder"] = identifiers.encoder.digest
    codes = hashlib.sha256(np.ascontiguousarray(identifiers.codes).tobytes()).hexdigest()
    return disk.digest_json([dataset.digest, kept, codes])


@dataclass(frozen=True, eq=False)
class _Queries:
    """All training queries: judged ones, then pseudo-queries, then item texts.

    ``texts``   of all; ``judged``, ``pseudo``, ``indexing`` how many there are of each kind
    ``queries`` (judged,) their rows in the dataset
    ``row``, ``item``, ``rho``  (pairs,) which query, which item, how relevant
    """

    texts: list[str]
    queries: Ints
    row: Ints
    item: Ints
    rho: Any
    judged: int
    pseudo: int
    indexing: int

    @classmethod
    def of(cls, dataset: Dataset, recipe: Recipe) -> _Queries:
        phases = recipe.phases
        query, item, rho = dataset.positives("train", recipe.objective.relevance)
        made_up = any(phase.loop.pseudo.share or phase.loop.indexing.share for phase in phases)
        if not len(query) and not made_up:
            raise RarsError(
                f"{dataset.where} has no training query with a positive item; a recipe with "
                "pseudo-queries (training.pseudo.share, as in 'practical') can train on the catalogue alone."
            )
        queries, row = np.unique(query, return_inverse=True)
        texts: list[str] = dataset.query_texts.take(pa.array(queries)).to_pylist()
        judged = len(texts)
        loops = [phase.loop for phase in phases]
        count = pseudo.pool_size(loops, judged or dataset.n_items, dataset.n_items)
        if count:
            made = pseudo.pool(dataset, count, recipe.training.seed)
            row = np.concatenate([row, judged + made.query])
            item = np.concatenate([item, made.item])
            rho = np.concatenate([rho, np.ones(len(made.item))])
            texts += made.texts
        indexing = 0
        if any(phase.loop.indexing.share for phase in phases):
            indexing = dataset.n_items
            every = np.arange(indexing)
            row = np.concatenate([row, len(texts) + every])
            item = np.concatenate([item, every])
            rho = np.concatenate([rho, np.ones(indexing)])
            texts += [text or "" for text in item_texts(dataset).to_pylist()]
        return cls(texts, queries, row, item, rho, judged, count, indexing)


def _mine(dataset: Dataset, recipe: Recipe, asked: _Queries, relevance: Relevance) -> MiningInputs:
    judged = dataset.judged("train")
    refused = judged.where(judged.grade <= 0)
    refused = refused.where(np.isin(refused.query, asked.queries))
    return MiningInputs(
        texts=asked.texts[: asked.judged],
        relevance=relevance,
        refused=(np.searchsorted(asked.queries, refused.query), refused.item),
        n_items=dataset.n_items,
        rankers={},
        seed=recipe.training.seed,
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
        local=recipe.model.normaliser == "children",
    )
    prior = prepared.ready.model.prior
    if prior is None:
        return data
    return replace(data, measure=prior.measure(data.tree, data.vocabulary))


def calibrate(prior: SemanticPrior, data: TrainingSet, pool: int) -> None:
    """Scale the prior so that it alone explains the training identifiers best (largest likelihood).

    Similarities of unit vectors are small: taken as they are, the softmax over them is nearly flat, and the
    first steps of training would drown the prior. It is calibrated on a sample of the first ``pool`` queries.
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
    """The factor at which a softmax over similarities (queries, choices) fits the relevance best.

    Row i of ``similar`` is query ``chosen[i]``; ``level`` has its relevance, over nodes or over slots.
    """
    entry = np.concatenate([np.arange(*level.start[q : q + 2]) for q in chosen])
    row = np.repeat(np.arange(len(chosen)), np.diff(level.start)[chosen])
    choice = (level.node if node else level.slot)[entry]
    weight = torch.from_numpy(level.mass[entry].astype(np.float32))
    fits = [
        float((weight * torch.log_softmax(scale * similar, dim=-1)[row, choice]).sum())
        for scale in _SCALES
    ]
    return float(_SCALES[int(np.argmax(fits))])


def query_tokenizer(
    dataset: Dataset, settings: ModelSettings, queries: Sequence[str]
) -> QueryTokenizer:
    """The checkpoint's own tokenizer; offline, one learned on catalogue titles and training queries."""
    kind, _, name = settings.backbone.partition(":")
    if kind in PRESETS:
        words = chain(_titles(dataset), queries)
        return train_tokenizer(words, settings.vocabulary, settings.max_tokens)
    return pretrained_tokenizer(name, settings.max_tokens)


def _titles(dataset: Dataset) -> Iterator[str]:
    """The titles of a catalogue, a block at a time; of a very large one, of items at even distances."""
    count = dataset.n_items
    rows = None if count <= _TITLES else np.arange(_TITLES) * count // _TITLES
    for _, block in dataset.item_blocks(["title"], rows):
        yield from block["title"].to_pylist()


def query_vectors(
    texts: Sequence[str],
    identifiers: Identifiers,
    recipe: Recipe,
    advance: Advance | None = None,
    *,
    device: str = "cpu",
) -> tuple[Points | None, Points | None]:
    """Sentence vectors of queries, and the same in codeword space, where the recipe needs them."""
    if not needs_vectors(recipe.model):
        return None, None
    column = pa.chunked_array([pa.array(texts)])
    found, _ = vectors_by_name(column, identifiers.embedder_name, device=device, advance=advance)
    vectors = identifiers.read_space(found)
    projected = None
    if recipe.model.prior != "off":
        _check_codebooks(identifiers)
        projected = identifiers.quantizer.project(vectors)
    return np.asarray(vectors) if _reads_vectors(recipe.model) else None, projected


def needs_vectors(model: ModelSettings) -> bool:
    """Whether every training query is given a sentence vector: the model reads it, or its prior does."""
    return model.prior != "off" or _reads_vectors(model)


def _reads_vectors(model: ModelSettings) -> bool:
    return model.backbone in PRESETS and model.vector_tokens > 0


def category_tree(
    dataset: Dataset, identifiers: Identifiers, recipe: Recipe
) -> CategoryTree | None:
    """The catalogue's own categories; induced by clustering where it has none; None if switched off."""
    if recipe.model.categories == "off":
        return None
    return catalogue_categories(
        dataset,
        recipe.model.category_levels,
        lambda: item_vectors(dataset, identifiers.embedder_name)[0],
        identifiers.settings.seed,
    )


def _codewords(identifiers: Identifiers) -> list[Points] | None:
    """The codebooks, where all prefixes share them."""
    quantizer = identifiers.quantizer
    if not quantizer.shared_codebooks:
        return None
    found = [quantizer.codewords(depth) for depth in range(len(quantizer.sizes))]
    # A uniqueness suffix says nothing about the item: its codewords are zero.
    extra = identifiers.sizes[len(quantizer.sizes) :]
    return found + [np.zeros((size, found[0].shape[1]), dtype=np.float32) for size in extra]


def _kin(
    dataset: Dataset,
    identifiers: Identifiers,
    recipe: Recipe,
    tree: PrefixTree,
    vocabulary: SidVocabulary,
) -> tuple[Kin, ...] | None:
    """How far apart siblings are, where a term asks for it."""
    if not any(TERMS[one.term].kin for phase in recipe.phases for one in phase.terms):
        return None
    frozen, _ = item_vectors(dataset, identifiers.embedder_name)
    vectors = identifiers.item_space(frozen, lambda: item_texts(dataset).to_pylist())
    return kinship(tree, vocabulary, vectors)


def _check_codebooks(identifiers: Identifiers) -> None:
    if not identifiers.quantizer.shared_codebooks:
        raise RarsError(
            "model.prior needs residual codebooks; use identifiers.learner residual-kmeans or rqvae."
        )
