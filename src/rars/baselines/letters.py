"""Search by letters alone: the titles that share most letter triples with a query.

Owns: the system ``letters``, and what a fusion adds of it. It sees through misspellings and knows no meaning,
so it is a part of a system more than one. Ignores what likeness is (``rars.search.evidence.letters``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rars.arrays import Bools
from rars.baselines.parts import Own, SystemPart, learns_nothing
from rars.config import NoSettings
from rars.data import Dataset
from rars.progress import Advance
from rars.search.evidence import letters
from rars.systems import Best, Ranked, check_k

_BLOCK = 32


@dataclass(frozen=True, eq=False)
class Letters:
    """The letter triples of the titles of a catalogue."""

    titles: letters.Letters

    @classmethod
    def of(cls, dataset: Dataset) -> Letters:
        """Read the titles of a dataset."""
        return cls(
            letters.Letters.of(c.to_pylist() for c in dataset.items(["title"])["title"].chunks)
        )

    def search(
        self,
        texts: Sequence[str],
        k: int = 100,
        *,
        among: Bools | None = None,
        advance: Advance | None = None,
    ) -> Ranked:
        """The ``k`` items whose titles are most like every text; none that shares no triple with it."""
        check_k(k)
        parts: list[Ranked] = []
        for start in range(0, len(texts), _BLOCK):
            block = texts[start : start + _BLOCK]
            scores = np.stack([self.titles.likeness(text) for text in block]).astype(np.float32)
            if among is not None:
                scores[:, ~among] = 0.0
            best = Best(len(block), k, floor=0.0)
            best.add(scores)
            parts.append(best.ranked())
            if advance:
                advance(start + len(block), len(texts))
        return Ranked.joined(parts)


def _open(
    own: Own,
    dataset: Dataset,
    folder: Path,
    facts: Mapping[str, Any],
    *,
    advance: Advance | None = None,
) -> Letters:
    return Letters.of(dataset)


LETTERS = SystemPart("letters of titles alone", NoSettings, ("letters",), learns_nothing, _open)
