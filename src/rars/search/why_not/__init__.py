"""Why a search does not show an item: the first thing that kept it out, in a sentence and in numbers.

Owns: finding that thing. Ignores how it is shown. In the order in which a search would meet it: the item is
not in the catalogue; a restriction leaves it out (``restricted``); the model's choice of categories does; its
prefix fell out of the beam; it was found, but stands below the first k (``beam``). Of a system without
identifiers: its rank, and the score it would need (``rank``).
"""

from __future__ import annotations

import numpy as np

from rars.search.retriever import Retriever
from rars.search.store import ItemStore
from rars.search.why_not.answer import Choice, Clause, Item, PathStep, Rival, WhyNot
from rars.search.why_not.beam import by_beam
from rars.search.why_not.rank import by_rank
from rars.search.why_not.restricted import clauses_of, filtered
from rars.systems import Query, System, check_k

__all__ = ["Choice", "Clause", "PathStep", "Rival", "WhyNot", "why_not"]


def why_not(system: System, query: Query, item_id: str) -> WhyNot:
    """Why ``item_id`` is not among the first ``query.k`` items; of any system, most of a ``Retriever``."""
    k = check_k(query.k)
    rule = query.rule if query.rule is not None else system.rules[0]
    row = _row(system, item_id)
    if row is None:
        said = f"There is no item {item_id!r} in the catalogue."
        return WhyNot(item_id, None, query.text, rule, k, "unknown", said)
    [shown] = system.catalogue.take(np.array([row]))
    asked = Item(system, query, rule, k, row, item_id, shown["title"])
    clauses = tuple(clauses_of(system, query, row))
    if clauses:
        return asked.says("filtered", filtered(clauses), because="filter", clauses=clauses)
    if isinstance(system, Retriever):
        return by_beam(asked, system)
    return by_rank(asked)


def _row(system: System, item_id: str) -> int | None:
    catalogue = system.catalogue
    if isinstance(catalogue, ItemStore):
        found = catalogue.rows_of([item_id.encode("utf-8", "replace").decode()])
        return int(found[0]) if len(found) else None
    ids = catalogue.ids.to_pylist()
    return ids.index(item_id) if item_id in ids else None
