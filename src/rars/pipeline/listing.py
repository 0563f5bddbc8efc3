"""Recipes as they are listed and shown.

Owns: what a recipe changes against the one it extends. Ignores what the settings do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rars.config import Described, Recipe, parent_of, recipe_list

Change = tuple[str, Any, Any]
"""A setting, its value in the parent, its value here; None where a side does not have it."""


def recipes() -> list[Described]:
    """All recipes that come with the package."""
    return recipe_list()


def recipe_difference(
    name: str | Path, *, size: str | None = None, protocol: str | None = None
) -> tuple[Recipe, str | None, list[Change]]:
    """A resolved recipe, the one it extends (or None: the defaults), and what it changes against that."""
    recipe = Recipe.resolve(name, size=size, protocol=protocol)
    parent = parent_of(name)
    base = (
        Recipe.of({"system": recipe.system})
        if parent is None
        else Recipe.resolve(parent, size=size)
    )
    theirs, ours = (dict(_flat(one.model_dump(mode="json"))) for one in (base, recipe))
    changed = [
        (key, theirs.get(key), ours.get(key))
        for key in dict.fromkeys([*theirs, *ours])
        if key not in ("name", "about") and theirs.get(key) != ours.get(key)
    ]
    return recipe, parent, changed


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
            for one in value:
                yield from _flat(one, f"{name}.{one.get('name', one.get('term'))}.")
        else:
            yield name, value
