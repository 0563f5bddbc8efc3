"""The public face of a trained run: texts in, explained hits out.

Owns: opening a run for search, batches, and turning found identifiers into hits. Ignores how results are
printed; what narrows a search is checked by ``rars.search.narrowing``. A retriever does not change once it is
opened: any number of threads may search with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from rars import artifacts
from rars.errors import RarsError
from rars.identifiers import Identifiers
from rars.model import saving
from rars.model.prior import Measure
from rars.model.saving import Ready
from rars.runs import Run
from rars.search.beam import Begun, Found, Guide, beam_search, items_of
from rars.search.exact import exact_search
from rars.search.explaining import Explanation, PathTrace, explain
from rars.search.index import MODEL_KIND, IndexVersion, home
from rars.search.narrowing import Narrow
from rars.search.precision import Precision, at_precision
from rars.search.reading import QueryReader, checked, measure_of, prior_of_nodes
from rars.search.routing import Admission, Routes, Shared, admit_leaves
from rars.search.rules import Hybrid, Rule, Weighed, weigh
from rars.tree import PrefixTree

Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.floating[Any]]
Bools = npt.NDArray[np.bool_]
Advance = Callable[[int, int], None]
Categories = int | Literal["auto"] | None

WIDTH = 100
"""Beams, where no more items are asked for."""
ROUTED = 3
"""C, how many categories a query admits under the paper's rules."""
RULE = "hybrid"
HYBRID = "hybrid.json"
EXACT = 50_000
"""Identifiers that a search without pruning may have to score."""

_BATCH = 32
_EXACT_CELLS = 1_000_000
"""Queries x prefixes of one batch of a search without pruning."""


@dataclass(frozen=True)
class Hit:
    """An item that was found, with what is shown of it."""

    item_id: str
    score: float
    title: str
    brand: str | None = None
    color: str | None = None
    category: tuple[str, ...] = ()
    identifier: tuple[int, ...] = ()
    explanation: Explanation | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        found = {**vars(self), "category": list(self.category), "identifier": list(self.identifier)}
        if self.explanation is None:
            del found["explanation"]
        else:
            found["explanation"] = self.explanation.as_dict()
        return found


@dataclass(frozen=True, eq=False)
class _Plan:
    """One search, checked: what to look for, and where.

    ``items`` (items,) and ``leaves`` (leaves,) mark what may be found; None for all
    ``exact``  score every identifier, instead of keeping the best prefixes
    """

    k: int
    rule: Rule
    categories: int | None
    items: Bools | None
    leaves: Bools | None
    language: str | None
    exact: bool


@dataclass(frozen=True, eq=False)
class Answer:
    """One query's results: catalogue rows, best first, their scores, and what led to them."""

    items: Ints
    scores: Floats
    places: Ints
    weighed: Weighed | None
    categories: tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False)
class Retriever:
    """A trained run, opened for search.

    ``routes`` are the categories that the model can choose from; ``loose`` are the prefixes of
    items that are in none of them: no choice of categories leaves those out.
    """

    run: Run
    ready: Ready
    reader: QueryReader
    index: IndexVersion
    routes: Routes | None
    loose: Shared | None
    hybrid: Hybrid
    measure: Measure | None = None

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        version: str | None = None,
        verify: bool = True,
        precision: Precision = "float32",
    ) -> Retriever:
        """Open a run folder; a damaged part, or an index of another model, is one sentence.

        ``precision``  ``int8`` is faster on large models and approximate: scores, and so the order of hits,
                       are not those of ``float32``
        """
        run = Run.open(folder)
        index = IndexVersion.load(run, version, verify=verify)
        artifacts.opening(run.folder / "model", kind=MODEL_KIND, verify=verify)
        ready = saving.load(run.folder / "model")
        ready = replace(ready, model=at_precision(ready.model, precision))
        identifiers = Identifiers.load(run.folder / "identifiers", verify=verify)
        routes = loose = None
        if index.categories is not None and ready.model.categories is not None:
            routes = Routes.of(index.categories, index.tree)
            outside = np.flatnonzero(index.categories.nodes[:, 0] < 0)
            if len(outside):
                marks = np.zeros(index.tree.n_leaves, dtype=bool)
                marks[index.tree.leaves_of(outside)] = True
                loose = Shared.of(index.tree, marks)
        reader = QueryReader.of(ready, identifiers)
        measure = measure_of(ready, index.tree)
        hybrid = stored_hybrid(run, index)
        return cls(run, ready, reader, index, routes, loose, hybrid, measure)

    @property
    def tree(self) -> PrefixTree:
        """The identifiers of the catalogue."""
        return self.index.tree

    def __len__(self) -> int:
        return self.tree.n_items

    # -- searching -------------------------------------------------------------------------------

    def search(
        self,
        text: str,
        k: int = 10,
        *,
        rule: str = RULE,
        categories: Categories = "auto",
        category: str | None = None,
        allow: Sequence[str] | None = None,
        deny: Sequence[str] | None = None,
        locale: str | None = None,
        exact: bool = False,
        explain: bool = False,
    ) -> list[Hit]:
        """The best ``k`` items of a text; fewer where fewer exist.

        ``rule``        ``ar``, ``all``, ``hybrid`` or a pattern of 0 and 1, one for each code
        ``categories``  how many of the model's categories to search; None for the whole catalogue;
                        ``auto``: 3 as in the paper, but for ``hybrid`` everything
        ``category``    search this category of the catalogue alone (and whatever is below it)
        ``allow``       item ids that may be found; ``deny``, those that may not
        ``locale``      where the query comes from: ``en``, ``es``, ``ja`` (None: unknown); it is read with
                        the words of that language, and finds items of that locale if they have one
        ``exact``       score every identifier instead of a beam of them; for small catalogues
        """
        [found] = self.search_many(
            [text],
            k,
            rule=rule,
            categories=categories,
            category=category,
            allow=allow,
            deny=deny,
            locale=locale,
            exact=exact,
            explain=explain,
        )
        return found

    def search_many(
        self,
        texts: Sequence[str],
        k: int = 10,
        *,
        rule: str = RULE,
        categories: Categories = "auto",
        category: str | None = None,
        allow: Sequence[str] | None = None,
        deny: Sequence[str] | None = None,
        locale: str | None = None,
        exact: bool = False,
        explain: bool = False,
        advance: Advance | None = None,
    ) -> list[list[Hit]]:
        """The same for many texts, in batches."""
        narrow = Narrow(category, allow, deny, locale)
        plan = self._plan(k, rule, categories, narrow, exact)
        return [
            self._hits(answer, found, row, explain)
            for answer, found, row in self._answers(checked(texts), plan, advance)
        ]

    def rank_many(
        self,
        texts: Sequence[str],
        k: int = 100,
        *,
        rule: str | Rule = RULE,
        categories: Categories = "auto",
        locale: str | None = None,
        exact: bool = False,
        advance: Advance | None = None,
    ) -> list[tuple[Ints, Floats]]:
        """Catalogue rows and scores alone, best first: what evaluation needs."""
        plan = self._plan(k, rule, categories, Narrow(locale=locale), exact)
        answers = self._answers(checked(texts), plan, advance)
        return [(answer.items, answer.scores) for answer, _, _ in answers]

    def _answers(
        self, texts: list[str], plan: _Plan, advance: Advance | None
    ) -> Iterator[tuple[Answer, Found, int]]:
        width = min(max(WIDTH, plan.k), self.tree.n_leaves)
        size = max(1, _BATCH * WIDTH // max(width, WIDTH))
        if plan.exact:
            nodes = sum(self.tree.n_nodes(depth + 1) for depth in range(self.tree.depth))
            size = min(size, max(1, _EXACT_CELLS // nodes))
        for start in range(0, len(texts), size):
            block = texts[start : start + size]
            found, weighed, named = self._identify(block, plan, width)
            for row in range(len(block)):
                yield self._expand(found, row, plan, weighed[row], named[row]), found, row
            if advance:
                advance(start + len(block), len(texts))

    @torch.inference_mode()
    def _identify(
        self, texts: list[str], plan: _Plan, width: int
    ) -> tuple[Found, list[Weighed], list[tuple[tuple[str, float], ...]]]:
        """One batch: the identifiers found, the evidence and the admitted categories of each text."""
        seen = dense = None
        if plan.rule.hybrid is not None and self.index.vectors is not None and self.reader.embeds:
            seen = self.reader.vectors(texts)
            dense = self.index.vectors.scores(seen, self.tree.order)
        weighed = weigh(plan.rule, self.index.evidence, texts, dense, plan.language)
        encoded, projected = self.reader.encode(texts, seen=seen)
        begun = Begun.of(self.ready.model, encoded)
        admitted, named = self._admit(begun, plan)
        guide = Guide(
            admitted=admitted,
            evidence=[one.evidence for one in weighed] if plan.rule.guides else None,
            mask=plan.rule.mask,
            weight=plan.rule.weight,
            normaliser=self.ready.architecture.normaliser,
            prior=prior_of_nodes(self.ready.model, self.measure, projected, plan.rule.prior),
        )
        found = (exact_search if plan.exact else beam_search)(
            self.ready.model,
            self.tree,
            self.ready.architecture.vocabulary,
            begun,
            projected=projected,
            width=width,
            guide=guide,
        )
        return found, weighed, named

    def _expand(
        self,
        found: Found,
        row: int,
        plan: _Plan,
        weighed: Weighed,
        categories: tuple[tuple[str, float], ...],
    ) -> Answer:
        """Identifiers to items: those that share one by evidence, then in catalogue order."""
        every = self.tree.n_items if plan.items is not None else plan.k
        items, places = items_of(self.tree, found.leaves[row], every, weighed.evidence)
        if plan.items is not None:
            stays = plan.items[items]
            items, places = items[stays][: plan.k], places[stays][: plan.k]
        return Answer(items, found.scores[row][places], places, weighed, categories)

    # -- narrowing -------------------------------------------------------------------------------

    def _plan(
        self, k: int, rule: str | Rule, categories: Categories, narrow: Narrow, exact: bool
    ) -> _Plan:
        if k < 1:
            raise RarsError(f"k must be at least 1, not {k}.")
        chosen = rule if isinstance(rule, Rule) else Rule.parse(rule, self.tree.depth, self.hybrid)
        if categories == "auto":
            categories = None if chosen.hybrid is not None else ROUTED
        elif categories is not None and categories < 1:
            raise RarsError(f"A search needs at least 1 category, not {categories}.")
        items, leaves = narrow.items(self.index), None
        if items is not None:
            leaves = np.zeros(self.tree.n_leaves, dtype=bool)
            leaves[self.tree.leaves_of(np.flatnonzero(items))] = True
        if exact:
            _check_exact(self.tree.n_leaves if leaves is None else int(leaves.sum()))
        # A category that was asked for stands in the place of those the model would choose.
        routed = None if self.routes is None or narrow.category is not None else categories
        k = min(k, self.tree.n_items)
        return _Plan(k, chosen, routed, items, leaves, narrow.language, exact)

    def _admit(
        self, begun: Begun, plan: _Plan
    ) -> tuple[Admission | None, list[tuple[tuple[str, float], ...]]]:
        """The prefixes each query may use, and the names of the categories chosen for it."""
        queries = len(begun)
        nothing: list[tuple[tuple[str, float], ...]] = [()] * queries
        states = self.ready.model.categories
        if plan.categories is None or self.routes is None or states is None:
            shared = None if plan.leaves is None else Shared.of(self.tree, plan.leaves)
            return shared, nothing
        chances = [values.numpy() for values in states.log_probabilities(begun.latents)]
        best = self.routes.best(chances, plan.categories)
        named = self._named(best, chances)
        if plan.leaves is None:
            return self.routes.admit(best, self.loose), named
        query, leaf = self.routes.leaves_of(best, self.loose)
        stays = plan.leaves[leaf]
        return admit_leaves(self.tree, query[stays], leaf[stays]), named

    def _named(self, best: Ints, chances: Sequence[Floats]) -> list[tuple[tuple[str, float], ...]]:
        assert self.routes is not None
        level, node, names = self.routes.level, self.routes.node, self.routes.names
        return [
            tuple((names[t], float(np.exp(chances[level[t]][row, node[t]]))) for t in terminals)
            for row, terminals in enumerate(best.tolist())
        ]

    # -- showing ---------------------------------------------------------------------------------

    def _hits(self, answer: Answer, found: Found, row: int, explained: bool) -> list[Hit]:
        leaves = found.leaves[row][answer.places]
        identifiers = self.tree.paths(self.tree.depth, leaves).tolist()
        hits = []
        for at, shown in enumerate(self.index.items.take(answer.items)):
            why = None
            if explained and answer.weighed is not None:
                place = int(answer.places[at])
                trace = PathTrace(
                    int(leaves[at]), found.model[row, place], found.evidence[row, place]
                )
                why = explain(
                    self.tree,
                    self.index.items,
                    answer.weighed,
                    trace,
                    int(answer.items[at]),
                    answer.categories,
                )
            hits.append(
                Hit(
                    item_id=shown["id"],
                    score=float(answer.scores[at]),
                    title=shown["title"],
                    brand=shown["brand"],
                    color=shown["color"],
                    category=tuple(shown["category"] or ()),
                    identifier=tuple(identifiers[at]),
                    explanation=why,
                )
            )
        return hits


def stored_hybrid(run: Run, index: IndexVersion) -> Hybrid:
    """The settings chosen for this model, or the defaults."""
    path = home(run) / HYBRID
    if not path.exists():
        return Hybrid()
    found = artifacts.read_json(path)
    if not isinstance(found, dict) or found.get("model") != index.meta["model"]:
        return Hybrid()
    try:
        return Hybrid(**found["settings"])
    except (KeyError, TypeError) as error:
        raise RarsError(f"{path} does not hold the settings of the rule hybrid.") from error


def store_hybrid(retriever: Retriever, settings: Hybrid, **facts: Any) -> None:
    """Use these settings from now on, for every version of the catalogue, as long as the model stays."""
    artifacts.write_json(
        home(retriever.run) / HYBRID,
        {"model": retriever.index.meta["model"], "settings": settings.as_dict(), **facts},
    )


def _check_exact(identifiers: int) -> None:
    if identifiers > EXACT:
        raise RarsError(
            f"An exact search would score {identifiers:,} identifiers, and {EXACT:,} is the most; "
            "leave --exact out, or narrow the search to a category."
        )
