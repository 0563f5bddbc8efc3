"""The categories that a model chooses for each query, and the prefixes these admit.

Owns: how many categories a query gets (C of the paper, or as many as hold enough) and which, by the model's
probabilities; whatever else narrows a query is taken into account. Ignores how sets of prefixes are kept
(``rars.search.routing``), scores, and evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from torch import Tensor

from rars.arrays import Floats, Ints
from rars.errors import RarsError
from rars.model.categories import CategoryStates
from rars.model.saving import Ready
from rars.search.beam import host
from rars.search.index import IndexVersion
from rars.search.routing import Admission, Matching, Routes, Several, Shared, admit_leaves
from rars.search.rules import FILLED, ROUTED, Rule
from rars.systems import Categories, Query
from rars.tree import PrefixTree

Named = tuple[tuple[str, float], ...]
"""Category paths and their probabilities."""


class Asked(Protocol):
    """Where one query may look."""

    @property
    def categories(self) -> int | None:
        """How many the model chooses; None for the whole catalogue."""

    @property
    def least(self) -> int:
        """It chooses more where those hold fewer identifiers that may be found; 0 for never."""

    @property
    def places(self) -> Matching | None:
        """What may be found at all; None for everything."""


@dataclass(frozen=True, eq=False)
class Router:
    """The categories of one version of a catalogue, as a model can choose among them.

    ``routes``   what can be chosen from; None where the model knows no categories, or the catalogue has none
    ``loose``    the prefixes of items that are in no category: no choice leaves those out
    ``induced``  whether clustering made the categories, so that a few of them may hold next to nothing
    """

    tree: PrefixTree
    routes: Routes | None = None
    loose: Shared | None = None
    induced: bool = False

    @classmethod
    def of(cls, ready: Ready, index: IndexVersion) -> Router:
        """What a model can choose from in a version of the catalogue."""
        categories = index.categories
        if categories is None:
            return cls(index.tree)
        if ready.model.categories is None:
            return cls(index.tree, induced=categories.induced)
        loose = None
        if len(outside := np.flatnonzero(categories.nodes[:, 0] < 0)):
            marks = np.zeros(index.tree.n_leaves, dtype=bool)
            marks[index.tree.leaves_of(outside)] = True
            loose = Shared.of(index.tree, marks)
        routes = Routes.of(categories, index.tree)
        return cls(index.tree, routes, loose, categories.induced)

    def count(self, query: Query, wanted: Categories, rule: Rule) -> int | None:
        """How many categories the model chooses for a query; None for the whole catalogue."""
        if isinstance(wanted, int):
            if wanted < 1:
                raise RarsError(f"A search needs at least 1 category, not {wanted}.")
        elif wanted not in ("auto", "all"):
            raise RarsError(f"--categories {wanted!r} is neither a number nor auto nor all.")
        # A category that was asked for stands in the place of those the model would choose.
        if self.routes is None or query.category is not None or wanted == "all":
            return None
        if wanted == "auto":
            return ROUTED if rule.routed else None
        return wanted

    def least(self, wanted: Categories, k: int, width: int, *, picks: bool) -> int:
        """How many identifiers the categories of a query hold at the least, if left to the rule."""
        if wanted != "auto":
            return 0
        if self.induced:
            return FILLED * width
        return k if picks else 0

    def admitted(
        self, states: CategoryStates | None, latents: Tensor, asked: Sequence[Asked]
    ) -> tuple[Admission | None, list[Named]]:
        """The prefixes each query may use, and the names of the categories that the states choose for it."""
        named: list[Named] = [()] * len(asked)
        groups: dict[tuple[int | None, bool, int], list[int]] = {}
        for row, one in enumerate(asked):
            groups.setdefault((one.categories, one.least > 0, id(one.places)), []).append(row)
        chances: list[Floats] | None = None
        parts: list[Admission | None] = []
        for (count, fills, _), rows in groups.items():
            places = asked[rows[0]].places
            if count is None:
                parts.append(places)
                continue
            assert self.routes is not None
            if chances is None:
                chances = chances_of(states, latents)
            own = [values[rows] for values in chances]
            if fills:
                best = self.routes.holding(own, count, places, [asked[row].least for row in rows])
            else:
                best = list(self.routes.best(own, count))
            for row, names in zip(rows, self._named(best, own), strict=True):
                named[row] = names
            parts.append(self._routed(best, places))
        return Several.of(parts, [np.array(rows) for rows in groups.values()]), named

    def _routed(self, best: Sequence[Ints], places: Matching | None) -> Admission:
        """The prefixes of the best categories, and of those only what may be found."""
        assert self.routes is not None
        if places is None and len({len(chosen) for chosen in best}) <= 1:
            return self.routes.admit(np.asarray(best), self.loose)
        found = [self.routes.leaves_of(chosen[None], self.loose)[1] for chosen in best]
        query = np.repeat(np.arange(len(found)), [len(leaves) for leaves in found])
        leaf = np.concatenate(found)
        if places is None:
            return admit_leaves(self.tree, query, leaf)
        stays = places.count(self.tree.depth, leaf) > 0
        return admit_leaves(self.tree, query[stays], leaf[stays])

    def _named(self, best: Sequence[Ints], chances: Sequence[Floats]) -> list[Named]:
        assert self.routes is not None
        level, node, names = self.routes.level, self.routes.node, self.routes.names
        return [
            tuple((names[t], float(np.exp(chances[level[t]][row, node[t]]))) for t in terminals)
            for row, terminals in enumerate(one.tolist() for one in best)
        ]


def chances_of(states: CategoryStates | None, latents: Tensor) -> list[Floats]:
    """The log-probabilities of the categories of each level, a row a query."""
    assert states is not None
    return [host(values) for values in states.log_probabilities(latents)]
