"""What a comparison system of a recipe learns from a dataset, and how it is opened again.

Owns: the same few steps for every system of ``rars.baselines.SYSTEMS``, and what they choose on: nDCG@100 of
validation queries. Ignores run folders, and what each system does.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rars import disk
from rars.baselines import SYSTEMS, SystemPart
from rars.baselines.parts import Facts
from rars.config import Recipe
from rars.data import Dataset
from rars.errors import RarsError
from rars.progress import Advance
from rars.systems import Searcher

if TYPE_CHECKING:
    from rars.identifiers.towers import Held


def part_of(recipe: Recipe) -> SystemPart:
    """The system of a recipe that is not generative."""
    if recipe.generative:
        raise RarsError(f"The recipe {recipe.name} is generative: it is no comparison system.")
    return SYSTEMS[recipe.system]


def learn(
    recipe: Recipe,
    dataset: Dataset,
    folder: Path,
    held: Held | None,
    *,
    advance: Advance | None = None,
) -> Facts:
    """Learn a system into an empty folder: the facts that opening it again needs.

    ``held`` may be None where nothing is chosen on validation queries.
    """
    part = part_of(recipe)
    if part.chooses(recipe.own) and held is None:
        raise RarsError(
            f"{dataset.where} has no validation query with a positive item; {recipe.name} chooses on them."
        )
    seed = recipe.training.seed
    return part.learn(recipe.own, dataset, folder, held, seed=seed, advance=advance)


def open_searcher(
    recipe: Recipe,
    dataset: Dataset,
    folder: Path,
    facts: Mapping[str, Any],
    *,
    advance: Advance | None = None,
) -> Searcher:
    """The system that ``learn`` left in a folder, over the whole catalogue."""
    return part_of(recipe).open(recipe.own, dataset, folder, facts, advance=advance)


def held_out(recipe: Recipe, dataset: Dataset) -> Held | None:
    """The validation queries that a system chooses on; None where it does not, or there are none."""
    if not part_of(recipe).chooses(recipe.own):
        return None
    from rars.evaluation import Measure, Truth, quality
    from rars.identifiers.towers import Held

    truth = Truth.of(dataset, "validation")
    if not len(truth):
        return None
    return Held(truth.queries, quality(truth, truth.queries, Measure("nDCG", 100)))


def source_digest(recipe: Recipe, dataset: Dataset) -> str:
    """Of everything a system is made from: the same digest, the same system."""
    own = {name: one.model_dump(mode="json") for name, one in recipe.own.items()}
    seed = recipe.training.seed if part_of(recipe).trains(recipe.own) else None
    return disk.digest_json([dataset.digest, recipe.system, own, seed])
