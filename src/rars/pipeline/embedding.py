"""What a recipe's embedder ``auto`` stands for in a run.

Owns: that the choice is made once a run: what a run's recipe says already is not asked again. Ignores how it
is made (``rars.identifiers.choosing``).
"""

from __future__ import annotations

from pathlib import Path

from rars.config import Recipe
from rars.data import Dataset
from rars.identifiers.choosing import AUTO, choose_embedder
from rars.progress import SILENT, Tell


def settled(
    dataset: Dataset, recipe: Recipe, out: Path, *, device: str = "cpu", tell: Tell = SILENT
) -> Recipe:
    """The recipe with an embedder that has a name."""
    if not recipe.generative or recipe.identifiers.embedder != AUTO:
        return recipe
    kept = out / "recipe.toml"
    if kept.exists():
        known = Recipe.read(kept).identifiers
        if known.embedder != AUTO:
            return with_embedder(recipe, known.embedder)
    wanted = recipe.identifiers
    chosen = choose_embedder(dataset, wanted.fit, seed=wanted.seed, device=device, tell=tell)
    return with_embedder(recipe, chosen.name)


def with_embedder(recipe: Recipe, name: str) -> Recipe:
    """The recipe with this embedder."""
    identifiers = recipe.identifiers.with_embedder(name)
    return recipe.model_copy(update={"identifiers": identifiers})
