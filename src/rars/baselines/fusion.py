"""Several systems as one: a weighted sum of their scores, item by item.

Owns: putting scores of different systems on one scale, and the system ``fusion`` of BM25 and dense vectors,
tuned or not, and (if asked for) of what was relevant to similar queries and of letters. Its weights are
fitted on validation queries as those of the rule ``hybrid`` are (``rars.search.fitting``); ignores how.

Within each query and system, scores are shifted and scaled to [0, 1] over the items that the system
returned. An item that a system did not return counts 0 there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pydantic import PositiveInt

from rars.arrays import Bools, Floats, Ints
from rars.baselines.bm25 import BM25
from rars.baselines.dense import DENSE
from rars.baselines.letters import LETTERS
from rars.baselines.neighbours import NEIGHBOURS
from rars.baselines.parts import Facts, Own, SystemPart
from rars.config import Section
from rars.data import Dataset
from rars.errors import RarsError
from rars.progress import Advance
from rars.search.fitting import EACH, Candidates, fit
from rars.systems import Ranked, Searcher, check_k

if TYPE_CHECKING:
    from rars.evaluation.truth import Truth
    from rars.identifiers.towers import Held

DEPTH = 200


class FusionSettings(Section):
    """The settings of ``fusion``; weights are fitted, never set."""

    depth: PositiveInt = DEPTH
    """How many items of each system take part."""
    neighbours: bool = False
    """Whether items that were relevant to similar training queries are a part."""
    letters: bool = False
    """Whether titles that share letters with the query are a part."""


@dataclass(frozen=True)
class Fusion:
    """Systems and their weights."""

    parts: tuple[Searcher, ...]
    weights: tuple[float, ...]
    depth: int = DEPTH

    @classmethod
    def tuned(
        cls, parts: Sequence[Searcher], texts: Sequence[str], truth: Truth, *, depth: int = DEPTH
    ) -> Fusion:
        """Fit the weights on texts; ``truth`` says what is relevant to each, in the same order."""
        found = [part.search(texts, depth) for part in parts]
        return cls(tuple(parts), fitted_weights(found, truth), depth)

    def search(
        self,
        texts: Sequence[str],
        k: int = 100,
        *,
        among: Bools | None = None,
        advance: Advance | None = None,
    ) -> Ranked:
        """The ``k`` items with the highest weighted sum."""
        found = []
        narrowed: dict[str, Any] = {} if among is None else {"among": among}
        for done, part in enumerate(self.parts):
            found.append(part.search(texts, max(k, self.depth), **narrowed))
            if advance:
                advance(done + 1, len(self.parts))
        return fuse(found, self.weights, k)


def fuse(found: Sequence[Ranked], weights: Sequence[float], k: int = 100) -> Ranked:
    """Add up the normalised scores of several systems for the same texts.

    >>> lexical = Ranked.of_lists([[0, 1, 2]], [[9.0, 6.0, 3.0]])
    >>> dense = Ranked.of_lists([[2, 1, 5]], [[0.9, 0.8, 0.1]])
    >>> fuse([lexical, dense], [0.5, 0.5]).items.tolist()
    [1, 0, 2, 5]
    """
    check_k(k)
    _check(found, weights)
    row, item, scores, _ = _joined(found)
    return Ranked.best_of(len(found[0]), row, item, scores @ np.asarray(weights, float), k)


def _joined(found: Sequence[Ranked]) -> tuple[Ints, Ints, Floats, Bools]:
    """Every item that some system returned: its text, its row, its scores (items, systems).

    And whether a system has it among its first ``EACH``.
    """
    row = np.concatenate([part.owner for part in found])
    item = np.concatenate([part.items for part in found]).astype(np.int64)
    span = int(item.max(initial=0)) + 1
    pair, group = np.unique(row * span + item, return_inverse=True)
    whose = np.repeat(np.arange(len(found)), [len(part.items) for part in found])
    scores = np.zeros((len(pair), len(found)))
    scores[group, whose] = np.concatenate([scaled(part) for part in found])
    ahead = np.zeros(len(pair), dtype=bool)
    ahead[group[np.concatenate([part.places for part in found]) < EACH]] = True
    return pair // span, pair % span, scores, ahead


def scaled(ranked: Ranked) -> Floats:
    """Scores of each text shifted and scaled to [0, 1]; all 1 where they are all the same.

    >>> scaled(Ranked.of_lists([[0, 1, 2], [3]], [[5, 4, 1], [7]])).tolist()
    [1.0, 0.75, 0.0, 1.0]
    """
    scores = ranked.scores.astype(np.float64)
    owner, pointers = ranked.owner, ranked.pointers
    shown = np.diff(pointers) > 0
    highest, lowest = np.ones(len(ranked)), np.zeros(len(ranked))
    highest[shown] = scores[pointers[:-1][shown]]
    lowest[shown] = scores[pointers[1:][shown] - 1]
    spread = (highest - lowest)[owner]
    flat = np.ones_like(scores)
    return np.divide(scores - lowest[owner], spread, out=flat, where=spread > 0)


def fitted_weights(found: Sequence[Ranked], truth: Truth) -> tuple[float, ...]:
    """The weights, which sum to one, that the results of several systems for the same texts speak for.

    Without a text that tells anything, and where every system is worse than none, all count the same.
    """
    equal = [1 / max(1, len(found))] * len(found)
    _check(found, equal)
    if len(truth) != len(found[0]):
        raise RarsError(f"There are {len(found[0])} texts but judgments of {len(truth)}.")
    row, item, scores, ahead = _joined(found)
    row, item, scores = row[ahead], item[ahead], scores[ahead]
    gains = np.zeros(len(row))
    key = row * truth.size + item
    _, at, which = np.intersect1d(key, truth.keys, assume_unique=True, return_indices=True)
    gains[at] = truth.gain[which]
    weights = fit(Candidates.of(len(truth), row, scores, gains), equal).weights
    whole = float(weights.sum())
    return tuple((weights / whole).round(4).tolist() if whole > 0 else equal)


def _check(found: Sequence[Ranked], weights: Sequence[float]) -> None:
    if not found:
        raise RarsError("A fusion needs at least one system.")
    if len(found) != len(weights):
        raise RarsError(f"A fusion of {len(found)} systems got {len(weights)} weights.")
    if not all(np.isfinite(w) and w >= 0 for w in weights) or not any(weights):
        raise RarsError(f"Fusion weights must be 0 or more and not all 0, not {tuple(weights)}.")
    if len({len(part) for part in found}) > 1:
        raise RarsError("The systems of a fusion must have searched the same texts.")


# -- the system ------------------------------------------------------------------------------------


def _parts(own: Own) -> dict[str, SystemPart]:
    settings: FusionSettings = own["fusion"]
    asked = {"neighbours": NEIGHBOURS, "letters": LETTERS}
    return {"BM25": BM25, "dense": DENSE} | {
        name: part for name, part in asked.items() if getattr(settings, name)
    }


def _learn(
    own: Own,
    dataset: Dataset,
    folder: Path,
    held: Held | None,
    *,
    seed: int = 0,
    advance: Advance | None = None,
) -> Facts:
    """Whatever the parts learn, then their weights."""
    from rars.evaluation.truth import Truth

    assert held is not None
    facts: Facts = {}
    # Neighbours look through the dense part's eyes, letters learn nothing.
    for part in (BM25, DENSE):
        facts |= part.learn(own, dataset, folder, held, seed=seed, advance=advance)
    truth = Truth.of(dataset, "validation")
    texts: list[str] = dataset.query_texts.take(pa.array(truth.queries)).to_pylist()
    settings: FusionSettings = own["fusion"]
    parts = _opened(own, dataset, folder, facts, None)
    found = Fusion.tuned(parts, texts, truth, depth=settings.depth)
    return facts | {"weights": list(found.weights), "parts": list(_parts(own))}


def _open(
    own: Own,
    dataset: Dataset,
    folder: Path,
    facts: Mapping[str, Any],
    *,
    advance: Advance | None = None,
) -> Fusion:
    settings: FusionSettings = own["fusion"]
    parts = _opened(own, dataset, folder, facts, advance)
    return Fusion(parts, tuple(facts["weights"]), settings.depth)


def _opened(
    own: Own, dataset: Dataset, folder: Path, facts: Mapping[str, Any], advance: Advance | None
) -> tuple[Searcher, ...]:
    every = _parts(own).values()
    return tuple(part.open(own, dataset, folder, facts, advance=advance) for part in every)


FUSION = SystemPart(
    "BM25 and dense vectors added up item by item",
    FusionSettings,
    ("fusion", "bm25", "dense"),
    _learn,
    _open,
    chooses=lambda own: True,
    trains=DENSE.trains,
)
