"""From judgments to batches: whole queries with the prefix trees of their relevant identifiers.

Owns: the training set as flat arrays (made once, mu_l(z|q) of Eq. projection), and cutting a batch out of it
(every step, vectorised over queries and entries). Ignores the model and the losses.

Ragged arrays: at each depth an entry is a pair of a query and one of its relevance-bearing nodes. The entries
of all queries stand in one flat array, sorted by query, then node; those of query q are
``start[q] : start[q + 1]``. A batch takes the entries of its queries and numbers them anew.

The relevance-bearing nodes of a query, at every depth, are exactly the rows its decoder pass needs: each
distinct prefix once, seeing its ancestors, at the position of its depth. Targets are read off the same
entries, so input and supervision cannot disagree. Where codes compete with their legal siblings alone, a
prefix with a single identifier below it has nothing left to choose: its rows are left out, nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from rars.arrays import Bools, Floats, Ints, padded
from rars.model.batch import Batch, Candidates, CategoryTargets, Refinement
from rars.model.prior import PriorMeasure
from rars.tree import END, PrefixTree, Projection, Relevance, SidVocabulary, project
from rars.tree.categories import CategoryTree


@dataclass(frozen=True, eq=False)
class Entries:
    """The relevance-bearing nodes of one depth, of all training queries; e entries in all.

    ``start``   (queries + 1,) where each query's entries begin
    ``node``    (e,) the node of the tree at this depth
    ``slot``    (e,) the slot of its last code
    ``alive``   (e,) whether its children are predicted: its identifiers go on, and something is to choose
    ``mass``    (e,) mu_l(z|q)
    ``pairs``   (e,) how many of the query's relevant items are below it
    ``parent``  (e,) the entry of its parent, one depth up
    """

    start: Ints
    node: Ints
    slot: Ints
    alive: Bools
    mass: Floats
    pairs: Floats
    parent: Ints


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """n queries with their texts, vectors, relevance and categories, ready to be cut into batches.

    ``levels``         the entries of depth 0 (the root, one a query) to L (leaves)
    ``tokens``         n arrays of token ids
    ``weight``         (n,) how much each query counts
    ``vectors``        (n, v) frozen sentence vectors, ``projected`` (n, c) the same in codeword space
    ``categories``     the entries of each category level
    ``latent_rows``    decoder rows before the one that predicts the first code
    ``with_siblings``  whether batches hold all legal children
    """

    tree: PrefixTree
    vocabulary: SidVocabulary
    levels: tuple[Entries, ...]
    tokens: Sequence[Ints]
    weight: Floats
    vectors: Floats | None = None
    projected: Floats | None = None
    measure: PriorMeasure | None = None
    """The prior over identifiers, whose shares a batch then holds; None to train without."""
    categories: tuple[Entries, ...] = ()
    latent_rows: int = 0
    with_siblings: bool = True

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def n_pairs(self) -> Floats:
        """(queries,) relevant pairs of each query."""
        return self.levels[0].pairs

    @property
    def n_rows(self) -> Ints:
        """(queries,) decoder rows of each query."""
        inner = (np.add.reduceat(np.append(e.alive, 0), e.start[:-1]) for e in self.levels[1:-1])
        return sum(inner, np.full(len(self), self.latent_rows + 1))


def training_set(
    tree: PrefixTree,
    vocabulary: SidVocabulary,
    relevance: Relevance,
    tokens: Sequence[Ints],
    *,
    categories: CategoryTree | None = None,
    latent_rows: int | None = None,
    skip_decided: bool = False,
    **rest: Any,
) -> TrainingSet:
    """Project every query's relevance once; ``tokens`` are in the order of ``relevance.queries``.

    ``latent_rows`` are decoder rows before the first code, those of ``categories`` unless given.
    ``skip_decided`` leaves out prefixes with one identifier below them, which is exact where a code competes
    with its legal siblings alone. ``rest`` are further fields of the training set.
    """
    counted = project(tree, replace(relevance, mass=np.ones_like(relevance.mass)))
    levels = _entries(tree, vocabulary, project(tree, relevance), counted, skip_decided)
    rest.setdefault("weight", np.ones(len(relevance.queries)))
    return TrainingSet(
        tree=tree,
        vocabulary=vocabulary,
        levels=levels,
        tokens=tokens,
        categories=_category_entries(categories, relevance) if categories else (),
        latent_rows=latent_rows or (len(categories.sizes) if categories else 0),
        **rest,
    )


def _entries(
    tree: PrefixTree,
    vocabulary: SidVocabulary,
    projection: Projection,
    counted: Projection,
    skip_decided: bool,
) -> tuple[Entries, ...]:
    found = []
    for depth, (level, count) in enumerate(zip(projection.levels, counted.levels, strict=True)):
        code = tree.codes[depth - 1][level.node] if depth else np.zeros(len(level.node), np.int64)
        alive = code != END
        if skip_decided:
            first, after = tree.leaf_ranges(depth, level.node)
            alive &= after - first > 1
        found.append(
            Entries(
                start=np.searchsorted(level.row, np.arange(projection.n_rows + 1)),
                node=level.node,
                slot=vocabulary.slot(code, depth - 1) if depth else code,
                alive=alive,
                mass=level.mass,
                pairs=count.mass,
                parent=level.parent,
            )
        )
    return tuple(found)


def _category_entries(categories: CategoryTree, relevance: Relevance) -> tuple[Entries, ...]:
    found = []
    for level in range(len(categories.sizes)):
        row, node, pairs = categories.of_pairs(level, relevance.row, relevance.item)
        start = np.searchsorted(row, np.arange(len(relevance.queries) + 1))
        every = np.ones(len(node), dtype=bool)
        counts = pairs.astype(np.float64)
        found.append(Entries(start, node, node, every, counts, counts, node))
    return tuple(found)


def pack(
    data: TrainingSet, queries: Ints, *, whole: Ints | None = None, pad_token: int = 0
) -> Batch:
    """Cut out a batch of ``queries`` (B,) (row numbers), this process's part of the ``whole`` batch."""
    whole = queries if whole is None else whole
    packed = _refinements(data, queries)
    tokens, mask = padded([data.tokens[q] for q in queries], pad_token)
    positions, visible = _visibility(data, len(queries), packed)
    return Batch(
        tokens=torch.from_numpy(tokens),
        mask=torch.from_numpy(mask.astype(np.int64)),
        vectors=_taken(data.vectors, queries),
        projected=_taken(data.projected if data.measure is None else None, queries),
        positions=positions,
        visible=visible,
        refinements=packed.refinements,
        categories=tuple(
            _category_targets(data, level, queries, whole) for level in data.categories
        ),
        weight=_real(data.weight[queries]),
        n_pairs=float((data.n_pairs[whole] * data.weight[whole]).sum()),
        n_queries=float(data.weight[whole].sum()),
    )


@dataclass(frozen=True, eq=False)
class CandidateLists:
    """The candidate lists of all training queries, m items in all, as a training set of their own.

    ``data``   the lists with every listed item as a positive, so that they are packed like positives
    ``start``  (queries + 1,) where each query's list begins in the arrays below
    ``item``, ``mass``, ``rank``  (m,) as in ``rars.model.batch.Candidates``
    ``entry``  (m,) the entry of its leaf in the last level of ``data``
    """

    data: TrainingSet
    start: Ints
    item: Ints
    mass: Floats
    rank: Ints
    entry: Ints


def pack_lists(lists: CandidateLists, queries: Ints) -> Candidates:
    """Cut out the lists of a batch's ``queries`` (B,), m items in all."""
    data = lists.data
    packed = _refinements(data, queries)
    positions, visible = _visibility(data, len(queries), packed)
    index, query = _cut(lists.start, queries)
    # From each listed item's leaf up: ``edges`` (m, L), which edge of every refinement its path takes.
    entry = lists.entry[index]
    edges = np.empty((len(index), data.tree.depth), dtype=np.int64)
    for depth in range(data.tree.depth, 0, -1):
        level = data.levels[depth]
        edges[:, depth - 1] = packed.edge_of[depth - 1][_local(level.start, queries, entry, query)]
        entry = level.parent[entry]
    return Candidates(
        query=_long(query),
        item=_long(lists.item[index]),
        mass=_real(lists.mass[index]),
        rank=_long(lists.rank[index]),
        edge=_long(edges),
        positions=positions,
        visible=visible,
        refinements=packed.refinements,
    )


@dataclass(frozen=True)
class _Rows:
    """The n decoder rows of prefixes of l codes: (n,) query and row, (n, l + 1) rows from the root to it."""

    query: Ints
    row: Ints
    path: Ints


@dataclass(frozen=True)
class _Packed:
    """The refinements of a batch, and which decoder rows and edges its entries became.

    ``rows``     T, the decoder rows of the longest query
    ``placed``   the decoder rows of each depth
    ``edge_of``  for each refinement, (the batch's entries one depth down,) the edge each became; -1: none
    """

    refinements: tuple[Refinement, ...]
    rows: int
    placed: list[_Rows]
    edge_of: list[Ints]


def _refinements(data: TrainingSet, queries: Ints) -> _Packed:
    """Walk down the queries' prefix trees, all queries at once.

    At each depth there are n live parents (entries with a decoder row) and m entries one level down, of which
    m' have a live parent and become the edges of the refinement:

    ``index``, ``query``  (n,) the parents' entries in ``above``, and their queries in the batch
    ``place``             (the batch's entries of this depth,) number among the n live parents, -1 if not live
    ``codes``, ``path``   (n, depth) slots and decoder rows on the way to each parent
    ``edge``              (n,) which edge of the refinement above leads to each parent
    ``used``              (B,) decoder rows taken so far
    """
    n = len(queries)
    used = np.full(n, data.latent_rows)
    index, query = _cut(data.levels[0].start, queries)
    place = np.arange(n)
    codes = np.zeros((n, 0), dtype=np.int64)
    path = np.zeros((n, 0), dtype=np.int64)
    edge = np.arange(n)
    found: list[Refinement] = []
    placed: list[_Rows] = []
    edges: list[Ints] = []
    prior = _prior(data, queries)
    weight = data.weight[queries]
    for depth in range(data.tree.depth):
        above, below = data.levels[depth], data.levels[depth + 1]
        row = used[query] + _rank(query)
        used = used + np.bincount(query, minlength=n)
        path = np.concatenate([path, row[:, None]], axis=1)
        placed.append(_Rows(query, row, path))
        # Children of the live parents: their entries are those of the same queries one level down.
        child, child_query = _cut(below.start, queries)
        parent = place[_local(above.start, queries, below.parent[child], child_query)]
        kept = parent >= 0
        edges.append(np.where(kept, np.cumsum(kept) - 1, -1))
        child, child_query, parent = child[kept], child_query[kept], parent[kept]
        owner, legal_node, legal = _legal(data, depth, above.node[index])
        found.append(
            Refinement(
                query=_long(query),
                row=_long(row),
                codes=_long(codes),
                edge=_long(edge),
                mass=_real(above.mass[index] * weight[query]),
                parent=_long(parent),
                slot=_long(below.slot[child]),
                share=_real(below.mass[child] / above.mass[index][parent]),
                pairs=_real(below.pairs[child] * weight[child_query]),
                legal_start=_long(np.searchsorted(owner, np.arange(len(index) + 1))),
                legal=_long(legal),
                prior=_real(prior[depth][query[owner], legal_node]) if prior else None,
            )
        )
        place = np.full(len(kept), -1)
        alive = below.alive[child]
        place[np.flatnonzero(kept)[alive]] = np.arange(alive.sum())
        edge = np.flatnonzero(alive)
        index, query = child[edge], child_query[edge]
        codes = np.concatenate([codes[parent[edge]], below.slot[index][:, None]], axis=1)
        path = path[parent[edge]]
    return _Packed(tuple(found), int(used.max()), placed, edges)


def _legal(data: TrainingSet, depth: int, nodes: Ints) -> tuple[Ints, Ints, Ints]:
    """All k legal children of ``nodes`` (n,) at ``depth``: index into ``nodes``, child, slot, (k,) each."""
    if not data.with_siblings:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, nothing
    owner, child = data.tree.expand(depth, nodes)
    slots = data.vocabulary.slot(data.tree.codes[depth][child], depth)
    if data.vocabulary.ends[depth]:
        # END sorts first among the codes but has the last slot; candidates are kept in slot order.
        order = np.lexsort((slots, owner))
        child, slots = child[order], slots[order]
    return owner, child, slots


def _prior(data: TrainingSet, queries: Ints) -> tuple[Floats, ...] | None:
    """For each depth, (B, nodes) log p0(v|u,q) of every node; None unless the prior is projected."""
    if data.measure is None:
        return None
    assert data.projected is not None
    return data.measure.log_shares(np.asarray(data.projected[queries]))


def _visibility(data: TrainingSet, n: int, packed: _Packed) -> tuple[torch.Tensor, torch.Tensor]:
    """Positions (n, rows) of decoder rows, and which rows each sees (n, rows, rows)."""
    rows, first = packed.rows, data.latent_rows + 1
    visible = torch.eye(rows, dtype=torch.bool).repeat(n, 1, 1)
    visible[:, :first, :first] |= torch.ones(first, first, dtype=torch.bool).tril()
    positions = torch.zeros(n, rows, dtype=torch.long)
    positions[:, :first] = torch.arange(first)
    for depth, at in enumerate(packed.placed[1:], start=1):
        query, row = _long(at.query), _long(at.row)
        visible[query, row, :first] = True
        visible[query[:, None], row[:, None], _long(at.path)] = True
        positions[query, row] = data.latent_rows + depth
    return positions, visible


def _category_targets(
    data: TrainingSet, level: Entries, queries: Ints, whole: Ints
) -> CategoryTargets:
    index, query = _cut(level.start, queries)
    every, owner = _cut(level.start, whole)
    return CategoryTargets(
        query=_long(query),
        node=_long(level.node[index]),
        pairs=_real(level.pairs[index] * data.weight[queries][query]),
        candidates=_long(np.unique(level.node[every])),
        rows=float(data.weight[whole[np.unique(owner)]].sum()),
    )


def _cut(start: Ints, queries: Ints) -> tuple[Ints, Ints]:
    """The entries of ``queries`` (B,), query after query: (c,) entry and (c,) index into ``queries``."""
    counts = start[queries + 1] - start[queries]
    owner = np.repeat(np.arange(len(queries)), counts)
    first = np.cumsum(counts) - counts
    return start[queries][owner] + np.arange(len(owner)) - first[owner], owner


def _local(start: Ints, queries: Ints, entry: Ints, owner: Ints) -> Ints:
    """Where in the result of ``_cut`` each ``entry`` stands; ``owner`` is its index into ``queries``."""
    counts = start[queries + 1] - start[queries]
    first = np.cumsum(counts) - counts
    return np.asarray(entry - start[queries][owner] + first[owner])


def _rank(group: Ints) -> Ints:
    """(r,): the place of each row inside its group; ``group`` (r,) is sorted."""
    first = np.searchsorted(group, group)
    return np.arange(len(group)) - first


def _taken(values: Floats | None, queries: Ints) -> torch.Tensor | None:
    return None if values is None else _real(np.asarray(values[queries]))


def _long(values: Ints) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.int64))


def _real(values: Floats) -> torch.Tensor:
    return torch.as_tensor(np.asarray(values), dtype=torch.get_default_dtype())
