"""The tree as a query sees it: the branches below a prefix, and what the search knows of each.

Owns: one look at one prefix. Ignores how it is drawn. The numbers are those of the search itself: the model's
probability of each legal child, what evidence adds (Eq. rars-score), the exact maxima it comes from, and
whether the beam keeps the branch. Where the query is judged, ``mass`` is mu_l(z|q), the share of its
relevance that is below (Eq. projection).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch

from rars.arrays import Bools, Floats, Ints
from rars.errors import RarsError
from rars.search.beam import Stage, beam_search, code_rows, on, step_gain
from rars.search.evidence import Evidence
from rars.search.retriever import Readied, Retriever
from rars.systems import Query
from rars.tree import END, PrefixTree, code_name


@dataclass(frozen=True)
class Branch:
    """A child of the prefix.

    ``probability``       the model's, of this code after the prefix; None where raw logits are added up
    ``path_probability``  of the whole prefix with it
    ``model``             what the model adds to the score here; ``evidence``, what evidence adds
    ``maximum``           the most evidence that an item below has, before weighting
    ``score``             of the prefix with this code: what the beam ranks by
    ``items``             how many are below; ``matching``, how many of them may be found
    ``legal``             whether the search may go there: a match below, in a category that was chosen
    ``kept``              whether the beam keeps it
    ``mass``              the share of the query's judged relevance that is below; None without judgments
    ``titles``            of some items below, those with the most evidence first
    ``leaf``              whether the identifier is whole with it
    """

    code: int
    name: str
    probability: float | None
    path_probability: float | None
    model: float
    evidence: float
    maximum: float | None
    score: float
    items: int
    matching: int
    legal: bool
    kept: bool
    mass: float | None
    titles: tuple[str, ...]
    leaf: bool


@dataclass(frozen=True)
class Branches:
    """A prefix and the branches below it, the best score first; those that are not legal come last.

    ``name``     of the prefix: ``a12 b7``, empty at the root; ``more`` branches are not listed
    ``items``    how many are below; ``matching``, how many of them may be found
    ``found``    of a whole identifier: ids and titles of its items
    """

    query: str
    rule: str
    prefix: tuple[int, ...]
    name: str
    items: int
    matching: int
    score: float
    mass: float | None
    children: tuple[Branch, ...]
    more: int
    found: tuple[tuple[str, str], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def read_prefix(text: str) -> tuple[int, ...]:
    """Codes of a prefix as people write it.

    >>> read_prefix("a12 b7"), read_prefix("12,7"), read_prefix(""), read_prefix("a3/end")
    ((12, 7), (12, 7), (), (3, -1))
    """
    codes = []
    for word in re.split(r"[\s,/.>]+", text.strip()) if text.strip() else ():
        match = re.fullmatch(r"[a-hA-H]?(\d{1,9})|end", word)
        if match is None:
            raise RarsError(f"{word!r} is no code of a prefix; write it as a12 b7, or 12 7.")
        codes.append(END if match[1] is None else int(match[1]))
    return tuple(codes)


@torch.inference_mode()
def walk(
    retriever: Retriever,
    query: Query,
    prefix: Sequence[int] = (),
    *,
    judged: Mapping[str, float] | None = None,
    limit: int = 50,
    titles: int = 3,
) -> Branches:
    """The branches below a prefix of the catalogue, for a query.

    ``judged``  mass of item ids for this query; what the catalogue lacks does not count
    ``limit``   branches that are listed; ``titles`` of items for each
    """
    tree = retriever.tree
    path = _nodes(tree, prefix)
    # Explained: then a rule without evidence shows the paper's, which counts nothing.
    readied = retriever.readied([replace(query, explain=True)])
    look = _Look.at(retriever, readied, path)
    depth, node = len(path) - 1, path[-1]
    mass = None if judged is None else _Mass.of(retriever, judged)
    shared: dict[str, Any] = {
        "query": query.text,
        "rule": readied.plans[0].rule.name,
        "prefix": tuple(int(code) for code in prefix),
        "name": _name(prefix),
        "items": int(_items(tree, depth, np.array([node]))[0]),
        "matching": int(_matching(tree, readied, depth, np.array([node]))[0]),
        "score": look.score,
        "mass": None if mass is None else float(mass.below(depth, np.array([node]))[0]),
    }
    if depth == tree.depth:
        rows = tree.items_below(depth, node)
        found = tuple((one["id"], one["title"]) for one in retriever.catalogue.take(rows))
        return Branches(**shared, children=(), more=0, found=found)
    children = look.children(readied, mass)
    order = np.lexsort((-children["score"], ~children["legal"]))
    listed = tuple(
        _branch(retriever, readied, depth, look, children, int(at), titles) for at in order[:limit]
    )
    return Branches(**shared, children=listed, more=len(order) - len(listed))


def _nodes(tree: PrefixTree, prefix: Sequence[int]) -> list[int]:
    """The nodes of a prefix from the root on; one that the catalogue lacks is one sentence."""
    found = [0]
    for depth in range(1, len(prefix) + 1):
        node = tree.find(prefix[:depth]) if depth <= tree.depth else None
        if node is None:
            above = _name(prefix[: depth - 1])
            end = f"after {above} there is none" if above else "no identifier begins so"
            raise RarsError(f"The catalogue has no prefix {_name(prefix)}: {end}.")
        found.append(node)
    return found


def _name(prefix: Sequence[int]) -> str:
    return " ".join(code_name(depth, int(code)) for depth, code in enumerate(prefix))


def _items(tree: PrefixTree, depth: int, nodes: Ints) -> Ints:
    low, high = tree.item_ranges(depth, nodes)
    return np.asarray(high - low)


def _matching(tree: PrefixTree, readied: Readied, depth: int, nodes: Ints) -> Ints:
    places = readied.plans[0].places
    return _items(tree, depth, nodes) if places is None else places.count(depth, nodes)


# -- the model's view ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Look:
    """The model at one prefix: its children, what each gains, and the score and model terms so far."""

    retriever: Retriever
    depth: int
    child: Ints
    gained: Floats
    score: float
    model: float

    @classmethod
    def at(cls, retriever: Retriever, readied: Readied, path: list[int]) -> _Look:
        """Decode along a path of nodes."""
        model, tree = retriever.ready.model, retriever.tree
        vocabulary, guide = retriever.ready.architecture.vocabulary, readied.guide
        hidden, cache = readied.begun.hidden, readied.begun.cache
        projected = None if readied.projected is None else readied.projected[:, None]
        none = np.zeros(1, dtype=np.int64)
        score = total = 0.0
        for depth, node in enumerate(path):
            if depth == tree.depth:
                return cls(retriever, depth, none[:0], np.zeros(0), score, total)
            here = np.array([node])
            _, child = tree.expand(depth, here)
            logits = model.logits(depth, hidden, projected)
            beam = np.zeros(len(child), dtype=np.int64)
            gained = step_gain(tree, vocabulary, depth, here, beam, child, logits, guide)
            if depth + 1 == len(path):
                return cls(retriever, depth, child, gained, score, total)
            at = int(np.flatnonzero(child == path[depth + 1])[0])
            following = child[at : at + 1]
            total += float(gained[at])
            score += float(gained[at] + guide.added(tree, depth, none, following, 1)[0])
            if depth + 1 < tree.depth:
                inputs = code_rows(model, tree, vocabulary, depth, following[None])
                moved = cache.reordered(on(hidden.device, none[None]))
                hidden, cache = model.decoder.step(inputs, moved, readied.begun.memory)
        raise AssertionError("a path has a root")

    def children(self, readied: Readied, mass: _Mass | None) -> dict[str, Any]:
        """Everything about the children that is an array."""
        tree, depth, child = self.retriever.tree, self.depth, self.child
        guide, weighed = readied.guide, readied.weighed[0]
        none = np.zeros(len(child), dtype=np.int64)
        added = guide.added(tree, depth, none, child, 1)
        legal = np.ones(len(child), dtype=bool)
        if guide.admitted is not None:
            legal = guide.admitted.allows(depth, none, child)
        # Of what holds no match the maximum is nobody's.
        added = np.where(legal, added, 0.0)
        best = None
        if weighed is not None:
            best = Evidence.prefix_maxima(weighed.evidence, depth + 1, child)
        return {
            "evidence": added,
            "legal": legal,
            "score": self.score + self.gained + added,
            "maximum": best,
            "items": _items(tree, depth + 1, child),
            "matching": _matching(tree, readied, depth + 1, child),
            "kept": self._kept(readied),
            "mass": None if mass is None else mass.below(depth + 1, child),
        }

    def _kept(self, readied: Readied) -> Bools:
        """Which children the beam keeps."""
        stages: list[Stage] = []
        retriever = self.retriever
        beam_search(
            retriever.ready.model,
            retriever.tree,
            retriever.ready.architecture.vocabulary,
            readied.begun,
            projected=readied.projected,
            width=readied.plans[0].width,
            guide=readied.guide,
            watch=stages.append,
        )
        return np.isin(self.child, stages[self.depth].kept[0])


def _branch(
    retriever: Retriever,
    readied: Readied,
    depth: int,
    look: _Look,
    children: dict[str, Any],
    at: int,
    titles: int,
) -> Branch:
    tree = retriever.tree
    node = int(look.child[at])
    code = int(tree.codes[depth][node])
    gained = float(look.gained[at])
    normal = retriever.settings.score == "probability"
    return Branch(
        code=code,
        name=code_name(depth, code),
        probability=float(np.exp(gained)) if normal else None,
        path_probability=float(np.exp(look.model + gained)) if normal else None,
        model=gained,
        evidence=float(children["evidence"][at]),
        maximum=None if children["maximum"] is None else float(children["maximum"][at]),
        score=float(children["score"][at]),
        items=int(children["items"][at]),
        matching=int(children["matching"][at]),
        legal=bool(children["legal"][at]),
        kept=bool(children["kept"][at]),
        mass=None if children["mass"] is None else float(children["mass"][at]),
        titles=_titles(retriever, readied, depth + 1, node, titles),
        leaf=depth + 1 == tree.depth,
    )


def _titles(
    retriever: Retriever, readied: Readied, depth: int, node: int, count: int
) -> tuple[str, ...]:
    """Titles of items below a node: matches before others, the most evidence first."""
    tree, places, weighed = retriever.tree, readied.plans[0].places, readied.weighed[0]
    low, high = (int(one) for one in tree.item_ranges(depth, node))
    positions = np.arange(low, high)
    if places is not None and places.marks[low:high].any():
        positions = positions[places.marks[low:high]]
    if weighed is not None:
        positions = positions[np.argsort(-weighed.evidence.at(positions), kind="stable")]
    rows = tree.order[positions[:count]]
    return tuple(one["title"] for one in retriever.catalogue.take(rows))


@dataclass(frozen=True, eq=False)
class _Mass:
    """Judged relevance over the items in the order of the tree: sorted positions and running sums."""

    tree: PrefixTree
    positions: Ints
    sums: Floats

    @classmethod
    def of(cls, retriever: Retriever, judged: Mapping[str, float]) -> _Mass:
        rows = retriever.catalogue.find(list(judged))
        mass = np.maximum(np.array(list(judged.values()), dtype=np.float64), 0.0)[rows >= 0]
        places = retriever.tree.positions[rows[rows >= 0]]
        order = np.argsort(places, kind="stable")
        sums = np.append(0.0, np.cumsum(mass[order]))
        return cls(retriever.tree, places[order], sums / (sums[-1] or 1.0))

    def below(self, depth: int, nodes: Ints) -> Floats:
        """Mu of nodes at a depth."""
        low, high = self.tree.item_ranges(depth, nodes)
        ends = np.searchsorted(self.positions, np.stack([low, high]))
        return np.asarray(self.sums[ends[1]] - self.sums[ends[0]])
