"""A trained run, opened for search: a model and an index version together.

Owns: opening a run, reading a batch of queries, and turning found identifiers into answers. Ignores what a
query asks for (``rars.search.planning``), which categories the model chooses (``rars.search.router``) and how
results are shown (``rars.systems``). A retriever does not change once it is opened: any number of threads may
search with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rars import artifacts
from rars.arrays import Floats, Ints, Points
from rars.config import SearchSettings
from rars.errors import RarsError, expected
from rars.identifiers import Identifiers
from rars.model import saving
from rars.model.identifier_model import IdentifierModel
from rars.model.prior import PriorMeasure
from rars.model.saving import Ready
from rars.progress import Advance
from rars.runs import Run
from rars.scale.threads import Choice, best_for, working
from rars.search import weights
from rars.search.beam import Begun, Guide, Paths, beam_search, items_of
from rars.search.candidates import Candidates, CellCandidates, candidates_of, looks_at_some
from rars.search.evidence.languages import language_of
from rars.search.evidence.parts import AskedOf, Weighed, weigh
from rars.search.exact import exact_search
from rars.search.explanation import Explanation, PathTrace, explain
from rars.search.index import MODEL_KIND, IndexVersion
from rars.search.planning import Plan, Planner, settings_of
from rars.search.precision import Precision, at_precision
from rars.search.query_reader import QueryReader, measure_of, prior_of_nodes
from rars.search.router import Named, Router
from rars.search.routing import Matching
from rars.search.rules import RULES, HybridSettings, owner_of
from rars.search.store import ItemStore
from rars.systems import Answer, Categories, Hits, Query, listed, search_many
from rars.tree import PrefixTree

EXPLAINING = "f"
"""The evidence that explains a hit of a rule that has none."""


@dataclass(frozen=True, eq=False)
class _Sentences:
    """The sentence vectors of a batch, made when first asked for and then shared."""

    reader: QueryReader
    texts: list[str]

    @cached_property
    def vectors(self) -> Points:
        return self.reader.vectors(self.texts)

    def of(self, rows: list[int]) -> Points:
        """The vectors of some texts of the batch."""
        return self.vectors[rows]

    @property
    def made(self) -> Points | None:
        """The vectors, if somebody has asked for them."""
        found: Points | None = vars(self).get("vectors")
        return found


@dataclass(frozen=True, eq=False)
class Readied:
    """A batch of queries, read: all that a search starts from, and whoever looks at how it went.

    ``weighed``  the evidence of each query; ``named`` the categories chosen for it
    """

    plans: list[Plan]
    begun: Begun
    projected: Tensor | None
    guide: Guide
    weighed: list[Weighed | None]
    named: list[Named]


@dataclass(frozen=True, eq=False)
class Retriever:
    """A model and the version of the catalogue that it searches; a ``rars.systems.System``.

    ``settings``   what a search does unless it is told otherwise: the recipe's ``[search]``
    ``hybrid``     the settings of the rule ``hybrid``: chosen on validation queries, or the recipe's
    ``router``     chooses categories for queries that leave it to the model
    ``measure``    what the model's prior says of this catalogue, where it has one
    ``precision``  as the model was loaded
    """

    run: Run
    ready: Ready
    reader: QueryReader
    index: IndexVersion
    settings: SearchSettings
    hybrid: HybridSettings
    router: Router
    measure: PriorMeasure | None = None
    precision: str = "float32"

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        version: str | None = None,
        verify: bool = True,
        precision: Precision = "float32",
        device: str = "cpu",
    ) -> Retriever:
        """Open a run folder; a damaged part, or an index of another model, is one sentence.

        ``version``    of the catalogue; the current one if not named
        ``precision``  ``int8`` is faster on large models and approximate: scores, and so the order of hits,
                       are not those of ``float32``
        ``device``     where the model computes, as torch names it
        """
        if not isinstance(version, str | None):
            raise expected("version", "text or None", version)
        run = Run.open(folder, generative=True)
        index = IndexVersion.load(run, version, verify=verify)
        trained = artifacts.opening(run.folder / "model", kind=MODEL_KIND, verify=verify)
        ready = saving.load(trained.folder)
        model = at_precision(_on_device(ready.model, device, precision), precision)
        ready = replace(ready, model=model)
        items = index.items.ids, index.codes
        identifiers = Identifiers.load(run.folder / "identifiers", items=items, verify=verify)
        settings = run.recipe().search
        _check_codes(ready, index)
        return cls(
            run=run,
            ready=ready,
            reader=QueryReader.of(ready, identifiers),
            index=index,
            settings=settings,
            hybrid=weights.chosen(run, index.meta["model"]) or settings_of(settings, "hybrid"),
            router=Router.of(ready, index),
            measure=measure_of(ready, index.tree),
            precision=precision,
        )

    def at(self, version: str | None = None, *, verify: bool = True) -> Retriever:
        """The same model over another version of the catalogue (the current one if not named)."""
        return self.with_index(IndexVersion.load(self.run, version, verify=verify))

    def with_index(self, index: IndexVersion) -> Retriever:
        """The same model over another version; no weights are read."""
        for part in ("model", "identifiers"):
            if index.meta[part] != self.index.meta[part]:
                raise RarsError(f"{index.folder} was made for another {part} than was loaded.")
        router, measure = Router.of(self.ready, index), measure_of(self.ready, index.tree)
        return replace(self, index=index, router=router, measure=measure)

    def with_width(self, width: int) -> Retriever:
        """The same with another beam: prefixes kept at a depth unless more items are asked for."""
        if not isinstance(width, int) or isinstance(width, bool) or width < 1:
            raise expected("width", "a whole number of 1 or more", width)
        return replace(self, settings=self.settings.model_copy(update={"width": width}))

    def with_categories(self, categories: Categories) -> Retriever:
        """The same where queries that do not say search so many of the model's categories, or ``all``."""
        update = {"categories": "auto" if categories is None else categories}
        found = replace(self, settings=self.settings.model_copy(update=update))
        found.check([Query("a", 1)])
        return found

    # -- the protocol of a system ----------------------------------------------------------------

    @property
    def tree(self) -> PrefixTree:
        """The identifiers of the catalogue."""
        return self.index.tree

    @property
    def catalogue(self) -> ItemStore:
        """The items of the version that is searched."""
        return self.index.items

    def __len__(self) -> int:
        return self.tree.n_items

    @property
    def rules(self) -> tuple[str, ...]:
        """The recipe's own rule, then the others; patterns such as ``0110`` and ``hybrid-dense`` too."""
        own = self.settings.rule
        return (own, *(name for name in RULES if name != own))

    def reads(self, locale: str) -> bool:
        """Whether the catalogue has items of a locale, or the query can be read in its language."""
        locales = self.catalogue.locales
        if locales is None:
            return language_of(locale) is not None
        return locales.found_in(locale) is not None

    def facts(self, rule: str | None = None) -> dict[str, Any]:
        """Digests of model and identifiers, the version, and the settings that the rule reads."""
        name = self.rules[0] if rule is None else rule
        own = owner_of(name)
        search = {key: getattr(self.settings, key) for key in ("width", "categories", "score")}
        search |= {"candidates": self._looks_at} if self._reaches else {}
        search |= {"reach": self.near.reach} if self.near is not None else {}
        found = {
            "rule": name,
            "version": self.index.name,
            "model": self.index.meta["model"],
            "identifiers": self.index.meta["identifiers"],
            "search": search | {own: self.planner.own[own].model_dump(mode="json")},
        }
        return found if self.precision == "float32" else found | {"precision": self.precision}

    def check(self, queries: Sequence[Query]) -> None:
        """Refuse the first query that could not be answered; nothing is searched."""
        self.planner.plans(queries)

    def answer(self, queries: Sequence[Query], *, advance: Advance | None = None) -> list[Answer]:
        """The answer of each query; all are checked before the first is searched."""
        for query in queries:
            if not isinstance(query, Query):
                raise expected("What is answered", "a Query", query)
        plans = self.planner.plans(queries)
        answers: list[Answer | None] = [None] * len(plans)
        done = 0
        with working(self.threads):
            for rows in self.planner.batches(plans):
                found = self._answered([plans[row] for row in rows])
                for row, one in zip(rows, found, strict=True):
                    answers[row] = one
                done += len(rows)
                if advance:
                    advance(done, len(plans))
        return [one for one in answers if one is not None]

    # -- conveniences ----------------------------------------------------------------------------

    def search(
        self,
        text: str,
        k: int = 10,
        *,
        rule: str | None = None,
        categories: Categories = None,
        category: str | None = None,
        allow: Sequence[str] | None = None,
        deny: Sequence[str] | None = None,
        locale: str | None = None,
        exact: bool = False,
        explain: bool = False,
        filter: str | None = None,
    ) -> Hits:
        """The best ``k`` items of a text; fewer where fewer exist. What is None is as the recipe says.

        ``rule``        ``ar``, ``all``, ``hybrid``, ``hybrid-PART`` or a pattern such as ``0110``
        ``categories``  how many of the model's categories to search; ``all`` for the whole catalogue;
                        ``auto``: 3 as in the paper, but for ``hybrid`` everything
        ``category``    search this category of the catalogue alone (and whatever is below it)
        ``allow``       item ids that may be found; ``deny``, those that may not
        ``locale``      where the query comes from: ``en``, ``es``, ``ja`` (None: unknown); it is read with
                        the words of that language, and finds items of that locale if they have one
        ``exact``       score every identifier instead of a beam of them; for small catalogues
        ``explain``     say why each item was found
        ``filter``      which items may be found, by their columns: ``brand = Acme AND price < 20``
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
            filter=filter,
        )
        return found

    def search_many(
        self,
        texts: Sequence[str],
        k: int = 10,
        *,
        advance: Advance | None = None,
        **options: Any,
    ) -> list[Hits]:
        """The same for many texts, in batches; ``options`` are those of ``search``."""
        return search_many(self, texts, k, advance=advance, **options)

    def rank_many(
        self,
        texts: Sequence[str],
        k: int = 100,
        *,
        rule: str | None = None,
        categories: Categories = None,
        locale: str | None = None,
        exact: bool = False,
        advance: Advance | None = None,
    ) -> list[tuple[Ints, Floats]]:
        """Catalogue rows and scores alone, best first."""
        asked = [
            Query(text, k, rule=rule, categories=categories, locale=locale, exact=exact)
            for text in listed(texts)
        ]
        return [(one.items, one.scores) for one in self.answer(asked, advance=advance)]

    # -- what a search looks at ------------------------------------------------------------------

    @cached_property
    def threads(self) -> Choice:
        """Those that its model is best served by, from the first search on."""
        return best_for(self.ready.model)

    @cached_property
    def planner(self) -> Planner:
        """What queries of this catalogue ask for."""
        return Planner(self.tree, self.catalogue, self.router, self.settings, self.hybrid)

    @property
    def _reaches(self) -> bool:
        """Whether dense evidence and prior look at a part of the catalogue alone."""
        return looks_at_some(self.settings, len(self))

    @cached_property
    def near(self) -> Candidates | None:
        """What finds the items whose vectors are worth a look; None where all are looked at."""
        return candidates_of(self.settings, self.tree, self.index.vectors, self.reader.quantizer)

    @property
    def _looks_at(self) -> str:
        return "cells" if isinstance(self.near, CellCandidates) else "tree"

    # -- one batch -------------------------------------------------------------------------------

    @torch.inference_mode()
    def readied(self, queries: Sequence[Query]) -> Readied:
        """Queries read together, before any is searched."""
        return self._readied(self.planner.plans(queries))

    def _readied(self, plans: list[Plan]) -> Readied:
        model = self.ready.model
        sentences = _Sentences(self.reader, [one.text for one in plans])
        weighed = self._weighed(plans, sentences)
        encoded, projected = self.reader.encode(sentences.texts, seen=sentences.made)
        begun = Begun.of(model, encoded)
        admitted, named = self.router.admitted(model.categories, begun.latents, plans)
        rules = [one.rule for one in plans]
        guiding = [
            one.evidence if one is not None and rule.guides else None
            for one, rule in zip(weighed, rules, strict=True)
        ]
        guide = Guide(
            admitted=admitted,
            evidence=guiding if any(rule.guides for rule in rules) else None,
            mask=np.array([rule.mask for rule in rules]),
            weight=np.array([rule.weight for rule in rules]),
            ends=np.array([rule.bound for rule in rules]),
            normaliser=self.ready.architecture.normaliser,
            score=self.settings.score,
            prior=prior_of_nodes(
                model,
                self.measure,
                projected,
                np.array([rule.prior for rule in rules]),
                reached=self._reaches,
            ),
        )
        return Readied(plans, begun, projected, guide, weighed, named)

    @torch.inference_mode()
    def _answered(self, plans: list[Plan]) -> list[Answer]:
        """The answers of one batch, all of the same width."""
        readied = self._readied(plans)
        found = (exact_search if plans[0].exact else beam_search)(
            self.ready.model,
            self.tree,
            self.ready.architecture.vocabulary,
            readied.begun,
            projected=readied.projected,
            width=plans[0].width,
            guide=readied.guide,
        )
        every = self.tree.paths(self.tree.depth, np.maximum(found.leaves, 0).ravel())
        codes = every.reshape(*found.leaves.shape, self.tree.depth)
        return [
            self._expanded(found, codes[row], row, one, readied.weighed[row], readied.named[row])
            for row, one in enumerate(plans)
        ]

    def _weighed(self, plans: list[Plan], sentences: _Sentences) -> list[Weighed | None]:
        """The evidence of each query; None where its rule has none and nobody asks why."""
        found: list[Weighed | None] = [None] * len(plans)
        groups: dict[tuple[int, bool], list[int]] = {}
        for row, one in enumerate(plans):
            if one.rule.guides or one.explain:
                groups.setdefault((id(one.rule), one.rule.guides), []).append(row)
        for (_, guides), rows in groups.items():
            rule = plans[rows[0]].rule
            asked = AskedOf(
                self.index.evidence,
                self.index.vectors,
                [plans[row].text for row in rows],
                [plans[row].language for row in rows],
                partial(sentences.of, rows) if self.reader.embeds else None,
                self.index.judged,
                self.near,
                [plans[row].places for row in rows],
                letters=self.index.items.letters,
            )
            kinds = rule.evidence if guides else {EXPLAINING: 1.0}
            for row, its in zip(rows, weigh(asked, kinds, bound=rule.bound), strict=True):
                places = plans[row].places
                found[row] = its if places is None else its.among(places.marks)
        return found

    # -- from identifiers to items ---------------------------------------------------------------

    def _expanded(
        self,
        found: Paths,
        codes: Ints,
        row: int,
        one: Plan,
        weighed: Weighed | None,
        named: Named,
    ) -> Answer:
        """Identifiers to items: those that share one by the rule's evidence, then in catalogue order."""
        every = one.k if one.places is None else self.tree.n_items
        order = weighed.evidence if weighed is not None and one.rule.guides else None
        items, places = items_of(self.tree, found.leaves[row], every, order)
        if one.places is not None:
            stays = one.places.has(items)
            items, places = items[stays][: one.k], places[stays][: one.k]
        why = None
        if one.explain:
            assert weighed is not None
            why = [
                self._explained(found, row, place, weighed, item, named, one.places)
                for item, place in zip(items.tolist(), places.tolist(), strict=True)
            ]
        return Answer(items, found.scores[row][places], codes[places], why)

    def _explained(
        self,
        found: Paths,
        row: int,
        place: int,
        weighed: Weighed,
        item: int,
        named: Named,
        places: Matching | None,
    ) -> Explanation:
        trace = PathTrace(
            int(found.leaves[row, place]),
            found.model[row, place],
            found.evidence[row, place],
            self.settings.score,
        )
        marks = None if places is None else places.marks
        return explain(self.tree, self.index.items, weighed, trace, item, named, marks)


# -- opening ---------------------------------------------------------------------------------------


def _on_device(model: IdentifierModel, device: str, precision: str) -> IdentifierModel:
    if not isinstance(device, str | torch.device):
        raise expected("device", "text", device)
    try:
        wanted = torch.device(device)
        if precision != "float32" and wanted.type != "cpu":
            raise RarsError(f"Precision {precision} computes on the CPU alone, not on {device}.")
        return model.to(wanted)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise RarsError(f"The device {device!r} cannot be used: {reason}.") from error


def _check_codes(ready: Ready, index: IndexVersion) -> None:
    """Refuse a catalogue with codes that the model does not have."""
    highest = [int(codes.max()) for codes in index.tree.codes]
    sizes = ready.architecture.sizes
    if len(highest) != len(sizes) or any(a >= b for a, b in zip(highest, sizes, strict=True)):
        raise RarsError(f"{index.folder} has other codes than its model, which has {list(sizes)}.")
