"""One query as a case: its judged items on the tree of their identifiers, and where two systems rank them.

Owns: the compressed tree of a query. A path without a choice is one node, so that every node but the root is
a branch that relevance takes, with its conditional share mu_l(v|u,q) among its siblings (Eq. projection).
Ignores which queries are worth showing (``rars.analysis.cases``) and how a case is drawn
(``rars.analysis.case_figure``, ``rars.analysis.case_page``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rars.data import Dataset
from rars.data.schema import LABEL_GRADES
from rars.tree import END, PrefixTree, Projection, Relevance, code_name, project

ABSENT = 100
"""A rank beyond this is none."""
LABELS = {grade: label for label, grade in LABEL_GRADES.items()}


@dataclass(frozen=True)
class CaseItem:
    """A judged item.

    ``label``  E, S, C or I; the grade itself where grades are numbers
    ``sid``    the codes of its identifier; ``share`` mu(d|q), 0 for an irrelevant one
    ``ranks``  its place under each system, from 1; None where it is not among the first 100
    """

    item_id: str
    title: str
    grade: float
    label: str
    sid: tuple[str, ...]
    share: float
    ranks: tuple[int | None, ...]


@dataclass(frozen=True)
class CaseNode:
    """A prefix at which relevance divides, or a whole identifier.

    ``codes``  the codes since the node above: several where there was nothing to choose
    ``depth``  at which its first code stands, 1 for a branch from the root; 0 for the root itself
    ``share``  of the mass of the node above; ``mass`` of the query's
    """

    codes: tuple[str, ...]
    depth: int
    share: float
    mass: float
    below: tuple[CaseNode, ...] = ()
    items: tuple[CaseItem, ...] = ()

    def leaves(self) -> Iterator[CaseItem]:
        """All items below, in the order of the tree."""
        yield from self.items
        for one in self.below:
            yield from one.leaves()

    def nodes(self) -> Iterator[CaseNode]:
        """The node itself and all below."""
        yield self
        for one in self.below:
            yield from one.nodes()


@dataclass(frozen=True)
class Case:
    """A query with its tree.

    ``reason``      why it is shown
    ``systems``     the names of the two systems; ``ndcg`` the query's NDCG@100 under each
    ``irrelevant``  items judged irrelevant that a system ranks, the best ranked first
    """

    query_id: str
    query: str
    locale: str | None
    reason: str
    systems: tuple[str, ...]
    ndcg: tuple[float, ...]
    root: CaseNode
    irrelevant: tuple[CaseItem, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    def items(self) -> list[CaseItem]:
        """The relevant items, in the order of the tree."""
        return list(self.root.leaves())

    def _repr_html_(self) -> str:
        from rars.analysis.case_page import html

        return html([self])


def compressed(tree: PrefixTree, relevance: Relevance, items: Mapping[int, CaseItem]) -> CaseNode:
    """The tree of one query's relevance; ``items`` by catalogue row."""
    projection = project(tree, relevance)
    leaf = tree.leaves_of(relevance.item)
    held: dict[int, list[CaseItem]] = {}
    for row, node in zip(relevance.item.tolist(), leaf.tolist(), strict=True):
        held.setdefault(node, []).append(items[row])
    children = [_children(projection, depth) for depth in range(tree.depth)]
    return _node(tree, projection, children, held, 0, 0, 1.0, ())


def _children(projection: Projection, depth: int) -> list[list[int]]:
    """For each entry of a depth, its entries one depth further down."""
    found: list[list[int]] = [[] for _ in projection.levels[depth].mass]
    for entry, parent in enumerate(projection.levels[depth + 1].parent.tolist()):
        found[parent].append(entry)
    return found


def _node(
    tree: PrefixTree,
    projection: Projection,
    children: Sequence[Sequence[Sequence[int]]],
    held: Mapping[int, Sequence[CaseItem]],
    depth: int,
    entry: int,
    share: float,
    codes: tuple[str, ...],
) -> CaseNode:
    """The node of an entry: down as long as there is one way, then its branches."""
    first = depth
    while depth < tree.depth and len(children[depth][entry]) == 1:
        entry, depth = children[depth][entry][0], depth + 1
        name = _name(tree, projection, depth, entry)
        codes = (*codes, name) if name else codes
    level = projection.levels[depth]
    mass = float(level.mass[entry])
    if depth == tree.depth:
        found = tuple(sorted(held[int(level.node[entry])], key=lambda one: -one.grade))
        return CaseNode(codes, first, share, mass, items=found)
    shares = projection.conditional(depth + 1)
    below = tuple(
        _node(tree, projection, children, held, depth + 1, one, float(shares[one]),
              (_name(tree, projection, depth + 1, one) or "end",))
        for one in children[depth][entry]
    )  # fmt: skip
    return CaseNode(codes, first, share, mass, below=below)


def _name(tree: PrefixTree, projection: Projection, depth: int, entry: int) -> str:
    """The name of an entry's last code; empty where an identifier has ended."""
    code = int(tree.codes[depth - 1][projection.levels[depth].node[entry]])
    return "" if code == END else code_name(depth - 1, code)


@dataclass(frozen=True, eq=False)
class Judged:
    """The judgments of one query: catalogue rows, grades, and mass rho."""

    item: Any
    grade: Any
    mass: Any


def case_of(
    dataset: Dataset,
    tree: PrefixTree,
    query: int,
    judged: Judged,
    ranks: Sequence[Mapping[int, int]],
    *,
    reason: str,
    systems: Sequence[str],
    ndcg: Sequence[float],
    irrelevant: int = 3,
) -> Case:
    """The case of one query (a row number); ``ranks[s]`` are the places of items under system s."""
    shown = dataset.items(["id", "title"]).take(judged.item).to_pylist()
    codes = tree.identifiers(judged.item)
    total = float(judged.mass.sum())
    made = {}
    for at, row in enumerate(judged.item.tolist()):
        grade = float(judged.grade[at])
        made[row] = CaseItem(
            item_id=shown[at]["id"],
            title=shown[at]["title"],
            grade=grade,
            label=label(dataset, grade),
            sid=tuple(code_name(d, int(c)) for d, c in enumerate(codes[at]) if c != END),
            share=float(judged.mass[at]) / total,
            ranks=tuple(one.get(row) for one in ranks),
        )
    some = judged.mass > 0
    relevance = Relevance.of(np.zeros(int(some.sum())), judged.item[some], judged.mass[some])
    seen = [one for one in made.values() if not one.share and any(one.ranks)]
    seen.sort(key=lambda one: min(rank for rank in one.ranks if rank))
    return Case(
        query_id=str(dataset.query_ids[query].as_py()),
        query=str(dataset.query_texts[query].as_py()),
        locale=dataset.query_locales[query],
        reason=reason,
        systems=tuple(systems),
        ndcg=tuple(ndcg),
        root=compressed(tree, relevance, made),
        irrelevant=tuple(seen[:irrelevant]),
    )


def label(dataset: Dataset, grade: float) -> str:
    """What a grade is called: a letter where the dataset has labels, else the number."""
    if dataset.facts.get("grades") == "labels" and grade in LABELS:
        return LABELS[grade]
    return f"{grade:g}"


def rank_name(rank: int | None) -> str:
    """A rank as a figure shows it.

    >>> rank_name(3), rank_name(None)
    ('3', '>100')
    """
    return f">{ABSENT}" if rank is None else str(rank)


def moved(one: CaseItem) -> int:
    """1 if the last system places an item better than the first, -1 if worse, 0 if neither.

    Higher is better, but for an irrelevant item lower is.
    """
    first, last = (ABSENT + 1 if rank is None else rank for rank in (one.ranks[0], one.ranks[-1]))
    return int(np.sign(first - last)) * (1 if one.share else -1)
