"""One query's relevant items as the tree of their identifiers, with how relevance divides at every branch.

Owns: the tree of one query, for a terminal or a notebook to draw. The masses are those of ``rars.tree``
(Eq. projection); ``share`` is mu_l(v|u,q), the part of its parent's mass that a branch holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape

import numpy as np
import pyarrow.compute as pc

from rars.data import Dataset
from rars.errors import RarsError
from rars.tree import END, PrefixTree, Relevance, ambiguity, code_name, project

_FEW = 8
"""Most items of the query that is shown where none is named."""


@dataclass(frozen=True)
class Leaf:
    """A relevant item: its id, title and grade."""

    item_id: str
    title: str
    grade: float


@dataclass(frozen=True)
class Branch:
    """A prefix that holds relevance: its last code's name (``a57``), its share, what is below it."""

    name: str
    share: float
    mass: float
    below: tuple[Branch, ...] = ()
    items: tuple[Leaf, ...] = ()


@dataclass(frozen=True)
class RelevanceTree:
    """A query and its branches."""

    query: str
    branches: tuple[Branch, ...]

    def __str__(self) -> str:
        return "\n".join([self.query, *_lines(self.branches)])

    def _repr_html_(self) -> str:
        style = (
            "<style>.rars-tree ul{list-style:none;padding-left:1.4em;margin:.1em 0;"
            "border-left:1px solid #8886}.rars-tree code{color:#3f6fa6}"
            ".rars-tree i{display:inline-block;height:.55em;background:#3f6fa6;border-radius:2px;"
            "vertical-align:middle;margin:0 .4em}.rars-tree small{opacity:.65}</style>"
        )
        body = _html(self.branches)
        return f'<div class="rars-tree">{style}<b dir="auto">{escape(self.query)}</b>{body}</div>'


def walk(
    dataset: Dataset, tree: PrefixTree, query: str | None = None, split: str = "train"
) -> RelevanceTree:
    """The tree of one query, given by its id or text; without one, of an example of the split."""
    relevance = Relevance.of(*dataset.positives(split))
    if not len(relevance.queries):
        raise RarsError(
            f"The split {split!r} of {dataset.where} has no query with a positive item."
        )
    row = _example(tree, relevance) if query is None else _row(dataset, relevance, query, split)
    own = relevance.row == row
    number = int(relevance.queries[row])
    one = Relevance.of(
        np.zeros(own.sum(), dtype=np.int64), relevance.item[own], relevance.mass[own]
    )
    judged = dataset.judged(split)
    grades = dict(
        zip(judged.item[judged.query == number].tolist(),
            judged.grade[judged.query == number].tolist(), strict=True)
    )  # fmt: skip
    text = str(dataset.query_texts[number].as_py())
    return RelevanceTree(text, _branches(dataset, tree, one, grades))


def _example(tree: PrefixTree, relevance: Relevance) -> int:
    """A query that divides at several depths, but has few enough items to show."""
    spread = ambiguity(tree, project(tree, relevance)).branches.sum(axis=1)
    count = np.bincount(relevance.row)
    return int(np.argmax(spread - 10 * (count > _FEW)))


def _row(dataset: Dataset, relevance: Relevance, query: str, split: str) -> int:
    for column in (dataset.query_ids, dataset.query_texts):
        found = np.flatnonzero(np.asarray(pc.equal(column, query)))
        at = np.flatnonzero(np.isin(relevance.queries, found))
        if len(at):
            return int(at[0])
    raise RarsError(f"No {split} query with a positive item has the id or text {query!r}.")


def _branches(
    dataset: Dataset, tree: PrefixTree, relevance: Relevance, grades: dict[int, float]
) -> tuple[Branch, ...]:
    """From the leaves up: the branches of every entry, hung below the entry of its parent."""
    projection = project(tree, relevance)
    shown = dataset.items(["id", "title"]).take(relevance.item)
    known = {
        int(item): Leaf(row["id"], row["title"], grades.get(int(item), 0.0))
        for item, row in zip(relevance.item, shown.to_pylist(), strict=True)
    }
    leaf = tree.leaves_of(relevance.item)
    below: dict[int, list[Branch]] = {}
    for depth in range(tree.depth, 0, -1):
        level, share = projection.levels[depth], projection.conditional(depth)
        above: dict[int, list[Branch]] = {}
        for entry, node in enumerate(level.node.tolist()):
            items = relevance.item[leaf == node] if depth == tree.depth else ()
            code = int(tree.codes[depth - 1][node])
            branch = Branch(
                name=code_name(depth - 1, code),
                share=float(share[entry]),
                mass=float(level.mass[entry]),
                below=tuple(below.get(entry, ())),
                items=tuple(known[int(item)] for item in items),
            )
            if code == END and branch.below:  # an identifier ends once
                branch = replace(branch, below=(), items=branch.below[0].items)
            above.setdefault(int(level.parent[entry]), []).append(branch)
        below = above
    return tuple(below[0])


def _lines(branches: tuple[Branch, ...], indent: str = "  ") -> Iterator[str]:
    for one in branches:
        titles = "; ".join(leaf.title for leaf in one.items)
        yield f"{indent}{one.name}  {100 * one.share:.0f} %  {titles}".rstrip()
        yield from _lines(one.below, indent + "  ")


def _html(branches: tuple[Branch, ...]) -> str:
    if not branches:
        return ""
    rows = []
    for one in branches:
        items = "; ".join(
            f'<span dir="auto">{escape(leaf.title)}</span> <small>grade {leaf.grade:g}</small>'
            for leaf in one.items
        )
        bar = f'<i style="width:{4 * one.mass:.2f}em"></i>'
        label = f"<code>{one.name}</code>{bar}{100 * one.share:.0f} %"
        if one.below:
            rows.append(
                f"<li><details open><summary>{label}</summary>{_html(one.below)}</details></li>"
            )
        else:
            rows.append(f"<li>{label} {items}</li>")
    return f"<ul>{''.join(rows)}</ul>"
