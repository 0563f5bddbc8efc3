"""Rankings: the results of a system for the queries of a dataset.

Owns: results tied to the dataset's queries, and the two promises every measure relies on: an item is ranked
at most once per query, and scores never increase down a ranking. A ranking that breaks one is refused, not
repaired: a repaired one would hide a defect of the system behind its numbers. Ignores judgments and files.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rars.arrays import Ints
from rars.data import Dataset
from rars.errors import RarsError
from rars.progress import Advance
from rars.systems import Query, Ranked, Searcher, System
from rars.tree import PrefixTree


@dataclass(frozen=True, eq=False)
class Ranking:
    """Results of queries.

    ``queries``  (n,) row numbers of the dataset's queries, increasing
    ``ranked``   the results of each, in the same order; a query may have none
    """

    queries: npt.NDArray[np.int32]
    ranked: Ranked

    @classmethod
    def of(cls, queries: npt.ArrayLike, ranked: Ranked) -> Ranking:
        """Tie results to queries (in any order); what cannot be measured is refused.

        >>> ranking = Ranking.of([8, 3], Ranked.of_lists([[5, 1], [2]]))
        >>> ranking.queries.tolist(), ranking.ranked.items.tolist()
        ([3, 8], [2, 5, 1])
        """
        rows = np.asarray(queries, dtype=np.int32).ravel()
        if len(rows) != len(ranked):
            raise RarsError(f"There are {len(rows)} queries but {len(ranked)} rankings.")
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        if (np.diff(rows) == 0).any():
            twice = rows[:-1][np.diff(rows) == 0][0]
            raise RarsError(f"Query number {twice} has more than one ranking.")
        ranked = _reordered(ranked, order)
        _check(rows, ranked)
        return cls(rows, ranked)

    def cut(self, k: int) -> Ranking:
        """At most ``k`` results for each query."""
        return Ranking(self.queries, self.ranked.cut(k))


def rank_split(
    searcher: Searcher,
    dataset: Dataset,
    split: str,
    k: int = 100,
    *,
    advance: Advance | None = None,
) -> Ranking:
    """Ask a system every query of a split."""
    queries = dataset.queries_in(split)
    return Ranking.of(queries, searcher.search(texts_of(dataset, queries), k, advance=advance))


def texts_of(dataset: Dataset, queries: Ints) -> list[str]:
    """The texts of queries, given by their row numbers."""
    texts: list[str] = dataset.query_texts.take(pa.array(queries)).to_pylist()
    return texts


def queries_of(
    system: System, dataset: Dataset, rows: Ints, k: int, rule: str | None = None
) -> list[Query]:
    """Queries of a dataset (row numbers) as a system takes them, with their locale where it reads that."""
    locales = dataset.query_locales
    read = {name: system.reads(name) for name in set(locales) - {None} if name}
    return [
        Query(text, k, rule=rule, locale=locale if locale and read[locale] else None)
        for text, locale in zip(
            texts_of(dataset, rows), (locales[row] for row in rows.tolist()), strict=True
        )
    ]


def identifier_ranking(ranking: Ranking, tree: PrefixTree) -> Ranking:
    """The identifiers (leaves of the tree) that the ranked items stand for, each where it comes first.

    >>> tree = PrefixTree.build([[0, 1], [0, 0], [0, 1], [2, 2]])
    >>> items = Ranking.of([0], Ranked.of_lists([[0, 3, 2, 1]]))
    >>> identifier_ranking(items, tree).ranked.items.tolist()
    [1, 2, 0]
    """
    ranked = ranking.ranked
    leaves = tree.leaves_of(ranked.items).astype(np.int32)
    key = ranked.owner * tree.n_leaves + leaves
    first = np.zeros(len(key), dtype=bool)
    first[np.unique(key, return_index=True)[1]] = True
    return Ranking(ranking.queries, Ranked(ranked.pointers, leaves, ranked.scores).where(first))


def _reordered(ranked: Ranked, order: Ints) -> Ranked:
    if (order == np.arange(len(order))).all():
        return ranked
    return Ranked.of_lists(
        [ranked.row(int(i))[0] for i in order], [ranked.row(int(i))[1] for i in order]
    )


def _check(queries: Ints, ranked: Ranked) -> None:
    owner, items, scores = ranked.owner, ranked.items, ranked.scores
    if not np.isfinite(scores).all():
        place = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise RarsError(
            f"The score of item number {items[place]} for query number {queries[owner[place]]} "
            f"is {scores[place]}; scores must be finite."
        )
    if (items < 0).any():
        place = int(np.flatnonzero(items < 0)[0])
        raise RarsError(f"Query number {queries[owner[place]]} ranks an item of negative number.")
    rising = (np.diff(scores) > 0) & (np.diff(owner) == 0)
    if rising.any():
        query = queries[owner[int(np.flatnonzero(rising)[0])]]
        raise RarsError(f"The ranking of query number {query} is not sorted by falling score.")
    key = np.sort(owner * (int(items.max(initial=0)) + 1) + items)
    again = np.flatnonzero(np.diff(key) == 0)
    if len(again):
        query, item = divmod(int(key[again[0]]), int(items.max()) + 1)
        raise RarsError(
            f"Item number {item} is ranked more than once for query number {queries[query]}."
        )
