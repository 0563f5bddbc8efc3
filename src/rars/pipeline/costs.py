"""What the steps will cost on a dataset.

Owns: how much work each stage has. Ignores what a unit of it costs (``rars.scale.cost``).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from rars.config import Recipe
from rars.data import Dataset
from rars.identifiers.learners import LEARNERS
from rars.identifiers.quantisation import TERMS
from rars.identifiers.rqvae import RqvaeSettings
from rars.identifiers.texts import FIELDS, joined
from rars.progress import Tell
from rars.scale import Engine, cores, cost
from rars.search import cells
from rars.search.candidates import celled_from

if TYPE_CHECKING:
    from rars.identifiers import tuned

INDEXING = ("index", "vectors", "cells")
"""The stages of making an index."""
CURVE = 2.0
"""Seconds of a loss curve for a thousand items, about."""
_PAIRS = 4_000
"""Pairs a second in a training of the size ``tiny``, about."""
_POSITIVES = 6
"""Positives of a pseudo-query, about."""
_WEIGHED, _BEAMS, _SEARCHES = 300, 26, 250
"""Queries and settings that hybrid weights are chosen with, and searches a second, about."""
_CLUSTERED = 65_536
"""Vectors that clustering looks at, of however many: 256 for each of 256 codes."""
_AT_ONCE = {"embed": 16_384, "assign": 100_000, "index": 50_000}
"""Items of a stage that are in memory together, however many there are."""
_KEPT = {"assign": 550, "index": 500}
"""Bytes an item that a stage holds of all of them, beside that, mapped files included; at ten million."""
_WIDTH = 512
"""Of a sentence vector, about."""
_FLOAT = 4
"""Bytes of a number in the cache."""
_SAMPLE = 2_000
"""Items whose texts say how long texts are."""


def amounts(dataset: Dataset, recipe: Recipe, width: int = _WIDTH) -> dict[str, float]:
    """Thousands of characters to embed and to index, of judged pairs to fit on, of vectors to cluster (a
    sample, of many) and to give codes; what a network that learns codes passes through, in millions of
    weights times thousands of vectors; megabytes of vectors to store, and billions of multiplications that
    putting them into cells takes. ``width`` is that of the vectors.
    """
    characters = dataset.n_items * _length(dataset) / 1e3
    fit = recipe.identifiers.fit if recipe.generative else None
    pairs = 0 if fit is None else len(dataset.positives("train")[0]) * fit.epochs
    return {
        "embed": characters,
        "fit": pairs / 1e3,
        "cluster": min(dataset.n_items, _CLUSTERED) / 1e3,
        "network": _weights(recipe) / 1e6 * dataset.n_items / 1e3,
        "assign": dataset.n_items / 1e3,
        "index": characters,
        "vectors": _stored(recipe, dataset.n_items) * width / 1e6,
        "cells": _celled(recipe, dataset.n_items, width) / 1e9,
    }


def epoch(dataset: Dataset, recipe: Recipe) -> float:
    """Seconds of an epoch of training the size ``tiny``, about: how long it takes is best rehearsed."""
    loop = recipe.phases[0].loop
    query, _, _ = dataset.positives("train")
    pairs = len(query) * loop.judged
    base = len(np.unique(query)) or dataset.n_items
    made = max(loop.pseudo.share * base, loop.pseudo.least if loop.pseudo.share else 0)
    pairs += round(min(made, 2 * dataset.n_items) * _POSITIVES + base * loop.indexing.share)
    if loop.steps is not None:
        pairs = min(pairs, loop.steps * loop.accumulate * loop.pairs)
    return pairs / _PAIRS


def made_queries(dataset: Dataset, recipe: Recipe, epochs: int) -> int:
    """Pseudo-queries that a training of so many epochs gives vectors before it begins; 0 if it needs none."""
    from rars.training.prepare import needs_vectors  # it brings torch
    from rars.training.pseudo import pool_size

    if not needs_vectors(recipe.model):
        return 0
    loop = recipe.phases[0].loop.model_copy(update={"epochs": epochs})
    judged = len(np.unique(dataset.positives("train")[0]))
    return pool_size([loop], judged or dataset.n_items, dataset.n_items)


def seconds_a_query(dataset: Dataset, embedder: str, slowness: float) -> float:
    """Seconds that one of them takes: of ``use`` by its characters; of a model some are tried."""
    from rars.identifiers import choosing, open_embedder  # they bring torch
    from rars.identifiers.embedders import embedder_kind
    from rars.training import pseudo

    kind, source = embedder_kind(embedder)
    if not kind.reads_texts:
        return 0.0  # the model learns an encoder of its own, which is quick
    texts = pseudo.some(dataset, choosing.LOOKED)
    if source:
        return choosing.seconds_a_text(texts, open_embedder(embedder)) / cores.free()
    characters = sum(map(len, texts)) / max(len(texts), 1)
    return float(cost.coefficients()["embed"]["seconds_each"]) * characters / 1e3 * slowness


def weights(queries: int) -> float:
    """Seconds of choosing the weights of hybrid search, about, and of the validation after it."""
    return (min(queries or _WEIGHED, _WEIGHED) * _BEAMS + 2 * queries) / _SEARCHES


def say(
    stages: tuple[str, ...],
    dataset: Dataset,
    recipe: Recipe,
    engine: Engine,
    tell: Tell,
    *,
    width: int = _WIDTH,
) -> dict[str, Any]:
    """Say what stages will cost; the same as plain values. ``width`` of the vectors, where it is known."""
    work = amounts(dataset, recipe, width)
    slowness = cost.slowness()
    total = cost.Cost()
    for name in stages:
        if work[name]:
            held = work[name] * _AT_ONCE.get(name, dataset.n_items) / dataset.n_items
            by_one = cost.stage(name, work[name]).seconds * slowness
            stage = cost.stage(name, work[name], workers=engine.share(by_one), at_once=held)
            stage = replace(stage, memory=stage.memory + _KEPT.get(name, 0) * dataset.n_items)
            if name == "embed":
                # A vector is as long of a short text as of a long one.
                stage = replace(stage, disk=dataset.n_items * _WIDTH * _FLOAT)
                if (model := _model_seconds(dataset, recipe)) is not None:
                    # Workers share the texts to embed, as free cores do; a model is tuned by one process.
                    spread = min(1.0, cores.free() / engine.workers)
                    seconds = model.tuning + model.embedding * spread
                    disk = stage.disk if model.embedding else 0.0
                    stage = replace(stage, seconds=seconds / slowness, disk=disk)
            total += stage
    tell.say(total.sentence(slowness))
    return total.as_dict(slowness)


def identifying(recipe: Recipe) -> tuple[str, ...]:
    """The stages of giving items their identifiers."""
    if not LEARNERS[recipe.identifiers.learner].needs_vectors:
        return ("assign",)
    ready = recipe.identifiers.embedder.startswith("file:")
    return (*(() if ready else ("embed",)), "fit", "cluster", "network", "assign")


def _stored(recipe: Recipe, items: int) -> float:
    """Bytes of vectors that an index has for each of their numbers; none where items have no vectors."""
    if not recipe.generative or not LEARNERS[recipe.identifiers.learner].needs_vectors:
        return 0.0
    return float(items * np.dtype(recipe.search.vectors).itemsize)


def _celled(recipe: Recipe, items: int, width: int) -> float:
    """Multiplications that putting the items of a catalogue into cells takes."""
    least = celled_from(recipe.search, items) if _stored(recipe, items) else None
    return 0.0 if least is None or items < least else cells.work(items, width)


def _model_seconds(dataset: Dataset, recipe: Recipe) -> tuned.Seconds | None:
    """Seconds that a model takes to embed the items, and to be fine-tuned before; None of the bundled one.

    Models differ too much for a line over characters: a few texts are timed.
    """
    settings = recipe.identifiers
    kind, _, source = settings.embedder.partition(":")
    if not recipe.generative or not source or kind == "file":
        return None
    from rars.identifiers import choosing, tuned  # they bring torch

    if settings.tune is not None:
        return tuned.tuning_seconds(dataset, settings)
    return tuned.Seconds(0.0, choosing.embedding_seconds(dataset, settings.embedder))


def _weights(recipe: Recipe) -> float:
    """Weights that a vector passes on its way through all epochs of an RQ-VAE, with what its terms add."""
    own = recipe.identifiers.own if recipe.generative else None
    if not isinstance(own, RqvaeSettings):
        return 0.0
    widths = (_WIDTH, *own.hidden, own.dim)
    once = 2.0 * sum(a * b for a, b in pairwise(widths))
    return once * own.epochs * (1 + sum(TERMS[one.term].adds for one in own.terms))


def _length(dataset: Dataset) -> float:
    """Characters of a text, about: bytes of the first ones."""
    for _, rows in dataset.item_blocks(FIELDS, size=_SAMPLE):
        lengths = pc.binary_length(joined(rows))
        return float(pc.mean(pc.fill_null(lengths, 0)).as_py() or 0.0)
    return 0.0
