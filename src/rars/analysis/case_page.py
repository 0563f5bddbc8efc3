"""Cases as HTML: the same tree as the figure, whose branches fold and tell about themselves.

Owns: the grid of a case (a row an item, a column a depth) for ``templates/case.html``, which has its look and
the little script that draws links and folds. Without a script everything is shown, unlinked. Ignores what is
shown (``rars.analysis.case``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rars.analysis.case import Case, CaseItem, CaseNode, moved, rank_name
from rars.evaluation.markup import templates


@dataclass(frozen=True)
class Placed:
    """A node in the grid; ``path`` are the numbers of the nodes above it, then its own."""

    number: int
    path: tuple[int, ...]
    node: CaseNode
    column: int
    row: int
    span: int

    @property
    def parent(self) -> int:
        """The number of the node above; -1 for the root."""
        return self.path[-2] if len(self.path) > 1 else -1


@dataclass(frozen=True)
class PlacedItem:
    """An item in the grid."""

    item: CaseItem
    path: tuple[int, ...]
    row: int
    before: str
    after: str
    way: int


def html(cases: Sequence[Case]) -> str:
    """Cases one below the other, with their style and script."""
    page = templates("rars.analysis", "rars.evaluation").get_template("case.html")
    return page.render(cases=[_shown(one) for one in cases])


def _shown(case: Case) -> dict[str, object]:
    depths = sorted({one.depth for one in case.root.nodes() if one is not case.root})
    nodes: list[Placed] = []
    items: list[PlacedItem] = []

    def place(node: CaseNode, above: tuple[int, ...]) -> None:
        path = (*above, len(nodes))
        column = 1 if not above else 2 + depths.index(node.depth)
        first = len(items)
        nodes.append(Placed(len(nodes), path, node, column, first, len(list(node.leaves()))))
        for one in node.items:
            items.append(_item(one, path, len(items)))
        for below in node.below:
            place(below, path)

    place(case.root, ())
    judged = [_item(one, (), len(items) + 1 + at) for at, one in enumerate(case.irrelevant)]
    change = case.ndcg[-1] - case.ndcg[0]
    return {
        "case": case,
        "depths": depths,
        "nodes": nodes,
        "items": items,
        "irrelevant": judged,
        "way": "better" if change > 0 else "worse" if change < 0 else "",
    }


def _item(one: CaseItem, path: tuple[int, ...], row: int) -> PlacedItem:
    ranks = one.ranks
    return PlacedItem(one, path, row, rank_name(ranks[0]), rank_name(ranks[-1]), moved(one))
