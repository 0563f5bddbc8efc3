"""What a query asks for, checked and turned into a plan, before anything is searched.

Owns: the settings of every rule, what a query leaves open, its restrictions as prefixes (the latest ones are
kept), and which plans may be searched together. Ignores texts, models and scores.

Queries of one batch may differ in everything: those that need another beam width, or an exact search, are
put into batches of their own; rule, restrictions, categories, locale and k are one a query inside the beam.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from rars.config import SearchSettings, Section
from rars.errors import RarsError
from rars.search.restrictions import Narrow, kept
from rars.search.router import Router
from rars.search.routing import Matching
from rars.search.rules import RULES, HybridSettings, Rule, plan
from rars.search.store import ItemStore
from rars.systems import Query, check_k, checked
from rars.tree import PrefixTree

EXACT = 50_000
"""Identifiers that a search without pruning may have to score."""

_BATCH = 32
_CELLS = _BATCH * 100
"""Queries x beams of one batch."""
_EXACT_CELLS = 1_000_000
"""Queries x prefixes of one batch of a search without pruning."""


@dataclass(frozen=True, eq=False)
class Plan:
    """One query, checked: what to look for, and where (``rars.search.router.Asked``).

    ``width``  prefixes kept at a depth
    """

    text: str
    k: int
    width: int
    rule: Rule
    categories: int | None
    least: int
    places: Matching | None
    language: str | None
    exact: bool
    explain: bool


@dataclass(frozen=True, eq=False)
class Planner:
    """Plans for one version of a catalogue; ``settings`` and ``hybrid`` are what a query does not say."""

    tree: PrefixTree
    items: ItemStore
    router: Router
    settings: SearchSettings
    hybrid: HybridSettings

    @cached_property
    def own(self) -> dict[str, Section]:
        """The settings of every rule: the recipe's own rule has its own, the others their defaults."""
        return {name: settings_of(self.settings, name) for name in RULES} | {"hybrid": self.hybrid}

    def plans(self, queries: Sequence[Query]) -> list[Plan]:
        """Every query checked; what several ask for in the same words is worked out once."""
        texts = checked([query.text for query in queries])
        rules: dict[str, Rule] = {}
        plans = []
        for text, query in zip(texts, queries, strict=True):
            name = query.rule if query.rule is not None else self.settings.rule
            if name not in rules:
                rules[name] = plan(name, self.tree.depth, self.own)
            plans.append(self._plan(text, query, rules[name], Narrow.of(query)))
        return plans

    def _plan(self, text: str, query: Query, rule: Rule, narrow: Narrow) -> Plan:
        k = min(check_k(query.k), self.tree.n_items)
        width = min(max(self.settings.width, k), self.tree.n_leaves)
        places = self.matching(narrow)
        if query.exact:
            _check_exact(self.tree.n_leaves if places is None else places.leaves)
        wanted = self.settings.categories if query.categories is None else query.categories
        return Plan(
            text=text,
            k=k,
            width=width,
            rule=rule,
            categories=self.router.count(query, wanted, rule),
            least=self.router.least(wanted, k, width, picks=narrow.picks),
            places=places,
            language=narrow.language,
            exact=query.exact,
            explain=query.explain,
        )

    @cached_property
    def matching(self) -> Callable[[Narrow], Matching | None]:
        """What a restriction leaves, as prefixes; None for everything. Kept for the latest ones."""
        # A planner that is let go must not wait for what it keeps.
        tree, items = self.tree, self.items

        def made(narrow: Narrow) -> Matching | None:
            marks = narrow.items(items)
            return None if marks is None else Matching.of(tree, marks)

        return lru_cache(maxsize=kept(tree.n_items))(made)

    def batches(self, plans: Sequence[Plan]) -> Iterator[list[int]]:
        """Rows of plans that can be searched together, a batch at a time."""
        groups: dict[tuple[int, bool], list[int]] = {}
        for row, one in enumerate(plans):
            groups.setdefault((one.width, one.exact), []).append(row)
        nodes = sum(self.tree.n_nodes(depth + 1) for depth in range(self.tree.depth))
        for (width, exact), rows in groups.items():
            size = max(1, min(_BATCH, _CELLS // width))
            if exact:
                size = max(1, min(size, _EXACT_CELLS // nodes))
            for start in range(0, len(rows), size):
                yield rows[start : start + size]


def settings_of(settings: SearchSettings, rule: str) -> Any:
    """The recipe's settings of a rule, or their defaults where it has another one."""
    return settings.own if settings.rule == rule else RULES[rule].settings()


def _check_exact(identifiers: int) -> None:
    if identifiers > EXACT:
        raise RarsError(
            f"An exact search would score {identifiers:,} identifiers, and {EXACT:,} is the most; "
            "leave --exact out, or narrow the search to a category."
        )
