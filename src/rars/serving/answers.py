"""Questions to a system, answered as plain JSON values.

Owns: what the searching thread does with a batch of searches, and with a question about one item or prefix.
Ignores queues, HTTP, and which version is current: an ``Opened`` is given.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from rars.errors import RarsError
from rars.search.facets import count
from rars.search.restrictions import matching
from rars.search.retriever import Retriever
from rars.search.walk import read_prefix, walk
from rars.search.why_not import why_not
from rars.serving.judged import Judged, measured
from rars.serving.refusals import Refused, bad_request, not_found, of_error
from rars.serving.schemas import ExplainRequest, Question, SearchRequest, TreeRequest
from rars.serving.systems import Opened
from rars.systems import Answer, Query
from rars.tree import code_name

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Search:
    """A search as it was asked, and as a system reads it."""

    request: SearchRequest
    query: Query


def query_of(asked: Question, *, explain: bool = False) -> Query:
    """A question as systems read it."""
    return Query(
        asked.query,
        asked.k,
        rule=asked.rule,
        categories=asked.categories,
        category=asked.category,
        allow=asked.allow,
        deny=asked.deny,
        locale=asked.locale,
        exact=asked.exact,
        explain=explain,
        filter=asked.filter,
    )


# -- searches --------------------------------------------------------------------------------------


def search_all(
    opened: Opened, asked: Sequence[Search], judged: Judged | None, *, narrow: bool
) -> list[dict[str, Any] | Exception]:
    """The answers of one batch, or what is wrong with a search; all by one version of the catalogue."""
    found: list[dict[str, Any] | Exception] = [_wrong(opened, one) or {} for one in asked]
    good = [at for at, one in enumerate(found) if not isinstance(one, Exception)]
    system = opened.narrow if narrow else opened.system
    begun = time.perf_counter()
    answers = system.answer([asked[at].query for at in good]) if good else []
    searched = time.perf_counter()
    every = np.concatenate([one.items for one in answers]) if answers else np.zeros(0, np.int64)
    shown = iter(opened.store.take(every))
    for at, answer in zip(good, answers, strict=True):
        rows = [next(shown) for _ in range(len(answer))]
        found[at] = _told(opened, asked[at], answer, rows, judged, narrow=narrow)
    took = {"search": searched - begun, "show": time.perf_counter() - searched, "batch": len(good)}
    for at in good:
        one = found[at]
        assert isinstance(one, dict)
        one["timings"] = took
    return found


def _wrong(opened: Opened, asked: Search) -> Exception | None:
    """What is wrong with a search, found before any of its batch is searched."""
    try:
        opened.system.check([asked.query])
        for name in (*asked.request.facets, *asked.request.fields):
            opened.store.columns.named(name)
    except RarsError as error:
        return _refused(opened, error)
    return None


def _refused(opened: Opened, error: RarsError) -> Refused:
    """A mistake as a refusal, which calls the system by its name, not by its folder."""
    refused = of_error(error)
    refused.message = refused.message.replace(str(opened.run.folder), opened.name)
    return refused


def _told(
    opened: Opened,
    asked: Search,
    answer: Answer,
    shown: Sequence[dict[str, Any]],
    judged: Judged | None,
    *,
    narrow: bool,
) -> dict[str, Any]:
    request, query = asked.request, asked.query
    width = opened.beam(query, narrow=narrow)
    told: dict[str, Any] = {
        "query": query.text,
        "system": opened.name,
        "version": opened.version,
        "rule": opened.system.rules[0] if query.rule is None else query.rule,
        "k": query.k,
        "count": len(answer),
        "degraded": width != opened.beam(query, narrow=False),
        "width": width,
        "hits": hits_of(answer, shown),
        "facets": [],
        "measures": None,
    }
    if request.fields:
        columns = opened.store.columns
        for hit, row in zip(told["hits"], answer.items.tolist(), strict=True):
            hit["fields"] = {name: columns.values_of(name, row) for name in request.fields}
    if request.facets:
        rows = answer.items if request.facet_over == "hits" else matching(opened.system, query)
        counted = count(opened.store, request.facets, rows, limit=request.facet_limit)
        told["facets"] = [one.as_dict() for one in counted]
    if request.judged and judged is not None and (grades := judged.grades(query.text)):
        for hit in told["hits"]:
            hit["grade"] = grades.get(hit["item_id"])
        told["measures"] = measured(grades, [hit["item_id"] for hit in told["hits"]], query.k)
    return told


def hits_of(answer: Answer, shown: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Hits with what is shown of each."""
    scores = answer.scores.tolist()
    codes = None if answer.identifiers is None else answer.identifiers.tolist()
    hits = []
    for at, item in enumerate(shown):
        hit = {
            "rank": at + 1,
            "item_id": item["id"],
            "score": scores[at],
            "title": item["title"],
            "brand": item["brand"],
            "color": item["color"],
            "category": item["category"] or [],
            "identifier": [] if codes is None else codes[at],
            "path": "" if codes is None else path_of(codes[at]),
        }
        if answer.explanations is not None:
            hit["explanation"] = answer.explanations[at].as_dict()
        hits.append(hit)
    return hits


def path_of(codes: Sequence[int]) -> str:
    """An identifier as people read it."""
    return " ".join(code_name(depth, code) for depth, code in enumerate(codes))


# -- one item, one prefix --------------------------------------------------------------------------


def explained(opened: Opened, asked: ExplainRequest) -> dict[str, Any]:
    """Why an item was found, or why not."""
    query = query_of(asked)
    told = _checked(opened, lambda: why_not(opened.system, query, asked.item_id))
    hit = None
    if told.reason == "found":
        wanted = replace(query, explain=isinstance(opened.system, Retriever))
        [answer] = opened.system.answer([wanted])
        hits = hits_of(answer, opened.store.take(answer.items))
        hit = next((one for one in hits if one["item_id"] == asked.item_id), None)
    return {
        "query": query.text,
        "system": opened.name,
        "version": opened.version,
        "rule": told.rule,
        "item_id": asked.item_id,
        "found": told.reason == "found",
        "reason": told.reason,
        "sentence": told.sentence,
        "hit": hit,
        "why_not": told.as_dict(),
    }


def branches(opened: Opened, asked: TreeRequest, judged: Judged | None) -> dict[str, Any]:
    """The branches below a prefix as a query sees them."""
    system = opened.system
    if not isinstance(system, Retriever):
        raise bad_request(f"The system {opened.name!r} has no tree to walk.", "system")
    grades = None if judged is None else judged.grades(asked.query)
    query = query_of(asked)
    seen = _checked(
        opened,
        lambda: walk(system, query, read_prefix(asked.prefix), judged=grades, limit=asked.limit),
    )
    items = [{"item_id": item_id, "title": title} for item_id, title in seen.found]
    return {
        **seen.as_dict(),
        "system": opened.name,
        "version": opened.version,
        "depth": len(seen.prefix),
        "found": items,
    }


def item(opened: Opened, item_id: str) -> dict[str, Any]:
    """All that the catalogue has of an item."""
    store = opened.store
    row = int(store.find([item_id])[0])
    if row < 0:
        raise not_found(f"There is no item {item_id!r} in the catalogue.", "item_id")
    [shown] = store.take(np.array([row]))
    codes: list[int] = []
    shares = 0
    if isinstance(opened.system, Retriever):
        tree = opened.system.tree
        codes = np.asarray(opened.system.index.codes[row]).tolist()
        low, high = tree.item_ranges(tree.depth, int(tree.leaves_of(np.array([row]))[0]))
        shares = int(high - low) - 1
    columns = store.columns
    return {
        "item_id": shown["id"],
        "title": shown["title"],
        "system": opened.name,
        "version": opened.version,
        "brand": shown["brand"],
        "color": shown["color"],
        "category": shown["category"] or [],
        "identifier": codes,
        "path": path_of(codes),
        "shares": shares,
        "columns": {
            one.name: columns.values_of(one.name, row)
            for one in columns.describe()
            if one.kind != "other"
        },
    }


def _checked(opened: Opened, call: Callable[[], T]) -> T:
    """A user's mistake as a refusal."""
    try:
        return call()
    except RarsError as error:
        raise _refused(opened, error) from error
