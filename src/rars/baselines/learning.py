"""What a comparison system learns from a dataset, and how it is opened again.

Owns: the steps of each system of a recipe (``bm25``, ``dense``, ``fusion``) and what they leave in a folder.
BM25 and dense vectors as they are learn nothing; fine-tuning leaves a model; a fusion leaves its weights.
Ignores run folders and measures: whoever trains says what is good on validation queries (``Held``).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from rars import artifacts
from rars.baselines.bm25 import Bm25
from rars.baselines.dense import Dense
from rars.baselines.fusion import Fusion
from rars.baselines.ranked import Advance, Searcher
from rars.baselines.tuning import Held, tune
from rars.config import Recipe
from rars.data import Dataset
from rars.errors import RarsError
from rars.identifiers.embed import cached_vectors
from rars.identifiers.texts import item_texts
from rars.search.reading import embedder_of

Facts = dict[str, Any]


def learn(
    recipe: Recipe,
    dataset: Dataset,
    folder: Path,
    held: Held | None,
    *,
    advance: Advance | None = None,
) -> tuple[Searcher, Facts]:
    """Learn a system into an empty folder: the system, and the facts that opening it again needs.

    ``held`` may be None where nothing is chosen on validation queries.
    """
    if needs_validation(recipe) and held is None:
        raise RarsError(
            f"{dataset.folder} has no validation query with a positive item; {recipe.name} chooses on them."
        )
    facts: Facts = {}
    if recipe.system != "bm25":
        facts |= _learn_dense(recipe, dataset, folder, held, advance)
    if recipe.system == "fusion":
        assert held is not None
        found = _fused(recipe, dataset, folder, facts, held)
        facts["weights"] = list(found.weights)
        return found, facts
    return open_searcher(recipe, dataset, folder, facts, advance=advance), facts


def needs_validation(recipe: Recipe) -> bool:
    """Whether something is chosen on validation queries."""
    return recipe.system == "fusion" or (recipe.system == "dense" and recipe.baseline.fine_tune)


def open_searcher(
    recipe: Recipe,
    dataset: Dataset,
    folder: Path,
    facts: Mapping[str, Any],
    *,
    advance: Advance | None = None,
) -> Searcher:
    """The system that ``learn`` left in a folder, over the whole catalogue."""
    match recipe.system:
        case "bm25":
            return _lexical(recipe, dataset, advance)
        case "dense":
            return _dense(recipe, dataset, folder, facts, advance)
        case "fusion":
            parts = (
                _lexical(recipe, dataset, advance),
                _dense(recipe, dataset, folder, facts, advance),
            )
            return Fusion(parts, tuple(facts["weights"]))
        case other:
            raise RarsError(f"A {other} recipe is no comparison system.")


def source_digest(recipe: Recipe, dataset: Dataset) -> str:
    """Of everything a system is made from: the same digest, the same system."""
    settings = recipe.baseline.model_dump(mode="json")
    seed = recipe.training.seed if recipe.baseline.fine_tune else None
    return artifacts.digest_json([dataset.digest, recipe.system, settings, seed])


def _learn_dense(
    recipe: Recipe, dataset: Dataset, folder: Path, held: Held | None, advance: Advance | None
) -> Facts:
    settings = recipe.baseline
    embedder = embedder_of(settings.embedder, "")
    facts: Facts = {"embedder": embedder.digest}
    if not settings.fine_tune:
        return facts
    assert held is not None
    # Each kind brings its own libraries: only for whoever tunes it.
    towers: Any
    if settings.tunes_encoder:
        from rars.baselines.encoder import SentenceEncoder

        towers = SentenceEncoder.of(dataset, settings.embedder)
    else:
        from rars.baselines.maps import ResidualMaps

        towers = ResidualMaps.of(dataset, embedder, advance=advance)
    facts["tuning"] = tune(
        towers, dataset, settings, held, seed=recipe.training.seed, advance=advance
    )
    towers.save(folder)
    return facts


def _fused(recipe: Recipe, dataset: Dataset, folder: Path, facts: Facts, held: Held) -> Fusion:
    parts = (_lexical(recipe, dataset, None), _dense(recipe, dataset, folder, facts, None))
    texts: list[str] = dataset.query_texts.take(pa.array(held.queries)).to_pylist()
    return Fusion.tuned(parts, texts, held.quality)


def _lexical(recipe: Recipe, dataset: Dataset, advance: Advance | None) -> Bm25:
    settings = recipe.baseline
    return Bm25.of(dataset, k1=settings.k1, b=settings.b, advance=advance)


def _dense(
    recipe: Recipe,
    dataset: Dataset,
    folder: Path,
    facts: Mapping[str, Any],
    advance: Advance | None,
) -> Dense:
    settings = recipe.baseline
    if settings.fine_tune and settings.tunes_encoder:
        from rars.baselines.encoder import tuned_name

        return Dense.of(dataset, tuned_name(folder), cosine=True, advance=advance)
    embedder = embedder_of(settings.embedder, "")
    if embedder.digest != facts["embedder"]:
        raise RarsError(
            f"The embedder {settings.embedder!r} is not the one that the run was made with."
        )
    if not settings.fine_tune:
        return Dense(cached_vectors(item_texts(dataset), embedder, advance=advance), embedder)
    from rars.baselines.maps import mapped_dense

    return mapped_dense(dataset, embedder, folder, advance=advance)
