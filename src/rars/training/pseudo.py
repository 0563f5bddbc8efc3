"""Pseudo-queries: queries made from an item's own fields, so that an item nobody judged can be found.

Owns: how an item's title, brand, category and attributes become something a person might type. Deterministic
in the seed: pseudo-query n of a pool depends on (seed, n) alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rars.data import Dataset

Ints = npt.NDArray[np.integer[Any]]

_SHORTEST, _LONGEST = 2, 5


def pool(dataset: Dataset, count: int, seed: int) -> tuple[Ints, list[str]]:
    """Items and texts of ``count`` pseudo-queries; every item comes up before any does twice."""
    rng = np.random.default_rng([seed, 7])
    rounds = -(-count // max(1, dataset.n_items))
    items = np.concatenate([rng.permutation(dataset.n_items) for _ in range(rounds)])[:count]
    table = dataset.items(["title", "brand", "color", "category", "attributes"])
    rows = table.take(pa.array(items)).to_pylist()
    return items, [query_of(row, rng) for row in rows]


def query_of(item: dict[str, Any], rng: np.random.Generator) -> str:
    """One query: the title, a span of it, or a handful of the item's facts.

    >>> rng = np.random.default_rng(0)
    >>> query_of({"title": "Lumo Mug 300 ml red", "brand": "Lumo", "color": "red", "category": None}, rng)
    'Lumo Mug 300 ml'
    """
    title = str(item["title"])
    kind = rng.random()
    if kind < 0.2:
        return title
    if kind < 0.65:
        return _span(title, rng)
    return _facts(item, rng) or _span(title, rng)


def _span(title: str, rng: np.random.Generator) -> str:
    """A run of words of the title; of characters where it is written without spaces."""
    words = title.split()
    joint = " "
    if len(words) < 3:
        words, joint = list(title), ""
    scale = 1 if joint else 3
    length = int(rng.integers(_SHORTEST * scale, _LONGEST * scale + 1))
    first = int(rng.integers(0, max(1, len(words) - length + 1)))
    return joint.join(words[first : first + length]).strip() or title


def _facts(item: dict[str, Any], rng: np.random.Generator) -> str:
    """The item's kind with one or two of its facts, in a random order."""
    path: Sequence[str] = item.get("category") or []
    values = [value for _, value in (item.get("attributes") or []) if value and len(value) < 24]
    known = [value for value in (item.get("brand"), item.get("color"), *values) if value]
    if not path or not known:
        return ""
    wanted = min(len(known), 1 + int(rng.random() < 0.5))
    chosen = [known[index] for index in rng.choice(len(known), wanted, replace=False)]
    words = [*chosen, path[-1]]
    rng.shuffle(words)
    return " ".join(words)
