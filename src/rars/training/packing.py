"""From judgments to batches: queries with the prefix trees of their relevant identifiers.

Owns: the training set as flat arrays (made once, mu_l(z|q) of Eq. projection), and cutting a batch out of it
(every step, vectorised over queries and entries). Ignores the model and the losses.

Ragged arrays: at each depth an entry is a pair of a query and one of its relevance-bearing nodes. The entries
of all queries stand in one flat array, sorted by query, then node; those of query q are
``start[q] : start[q + 1]``. A batch takes the entries of its queries and numbers them anew.

The relevance-bearing nodes of a query, at every depth, are exactly the rows its decoder pass needs: each
distinct prefix once, seeing its ancestors, at the position of its depth. Targets are read off the same
entries, so input and supervision cannot disagree. Where codes compete with their legal siblings alone, a
prefix with a single identifier below it has nothing left to choose: its rows are left out, nothing changes.

A batch is made of whole queries, or of drawn pairs (``Drawn``). Drawn pairs are decoded alone and counted as
often as they were drawn; the trees of their queries stay whole, as the targets of other losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from rars.arrays import Bools, Floats, Ints, padded
from rars.model.batch import Batch, Candidates, CategoryTargets, Refinement
from rars.model.prior import NodeTerms, PriorMeasure
from rars.tree import END, PrefixTree, Projection, Relevance, SidVocabulary, project
from rars.tree.categories import NONE, CategoryTree
from rars.tree.sorting import distinct

# Queries that are computed together where pairs are drawn.
_PART = 128


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
class Pairs:
    """The relevant (query, item) pairs, p in all, sorted by query.

    ``start``       (queries + 1,) where each query's pairs begin
    ``query``       (p,) the query
    ``leaf``        (p,) the entry of its identifier, in the last of the levels
    ``categories``  per category level, (p,) the entry of its category; -1 where the item has none
    """

    start: Ints
    query: Ints
    leaf: Ints
    categories: tuple[Ints, ...]


@dataclass(frozen=True, eq=False)
class Drawn:
    """What a batch is made of: its queries (B,), and which of their pairs were drawn; None: all of them."""

    queries: Ints
    pairs: Ints | None = None

    def parts(self, data: TrainingSet, rank: int = 0, world: int = 1) -> list[Ints]:
        """The queries of one of several processes that share the batch, in parts to be computed one by one.

        Losses are sums, so parts add up. Drawn pairs come from many queries: parts of similar length need
        little padding, and stay in the processor's cache.
        """
        own = self.queries[rank::world]
        if self.pairs is None or len(own) <= _PART:
            return [own]
        own = own[np.argsort(data.lengths[own], kind="stable")]
        return np.array_split(own, -(-len(own) // _PART))


@dataclass(frozen=True)
class Reads:
    """What the loss terms of a phase read of a batch whose pairs were drawn.

    ``whole``  decoder logits at every relevance-bearing branch, not only on the way to drawn pairs
    ``trees``  the whole trees of the queries
    """

    whole: bool = False
    trees: bool = True


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """n queries with their texts, vectors, relevance and categories, ready to be cut into batches.

    ``levels``         the entries of depth 0 (the root, one a query) to L (leaves)
    ``tokens``         n arrays of token ids
    ``weight``         (n,) how much each query counts
    ``vectors``        (n, v) frozen sentence vectors, ``projected`` (n, c) the same in codeword space
    ``categories``     the entries of each category level
    ``pairs``          the relevant pairs one by one
    ``latent_rows``    decoder rows before the one that predicts the first code
    ``with_siblings``  whether batches hold all legal children
    ``local``          whether a code of the decoder competes with its legal siblings alone
    """

    tree: PrefixTree
    vocabulary: SidVocabulary
    levels: tuple[Entries, ...]
    tokens: Sequence[Ints]
    weight: Floats
    pairs: Pairs
    vectors: Floats | None = None
    projected: Floats | None = None
    measure: PriorMeasure | None = None
    """The prior over identifiers, whose shares a batch then holds; None to train without."""
    categories: tuple[Entries, ...] = ()
    latent_rows: int = 0
    with_siblings: bool = True
    local: bool = False

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def n_pairs(self) -> Floats:
        """(queries,) relevant pairs of each query."""
        return self.levels[0].pairs

    @cached_property
    def lengths(self) -> Ints:
        """(queries,) tokens of each query."""
        return np.array([len(one) for one in self.tokens])

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
    local: bool = False,
    **rest: Any,
) -> TrainingSet:
    """Project every query's relevance once; ``tokens`` are in the order of ``relevance.queries``.

    ``latent_rows`` are decoder rows before the first code, those of ``categories`` unless given.
    Where a code competes with its legal siblings alone (``local``), prefixes with one identifier below them
    are left out. ``rest`` are further fields of the training set.
    """
    counted = project(tree, replace(relevance, mass=np.ones_like(relevance.mass)))
    levels = _entries(tree, vocabulary, project(tree, relevance), counted, local)
    rest.setdefault("weight", np.ones(len(relevance.queries)))
    of_categories = _category_entries(categories, relevance) if categories else ()
    return TrainingSet(
        tree=tree,
        vocabulary=vocabulary,
        levels=levels,
        tokens=tokens,
        pairs=_pairs(tree, relevance, levels[-1], categories, of_categories),
        categories=of_categories,
        local=local,
        latent_rows=latent_rows or (len(categories.sizes) if categories else 0),
        **rest,
    )


def _entries(
    tree: PrefixTree,
    vocabulary: SidVocabulary,
    projection: Projection,
    counted: Projection,
    local: bool,
) -> tuple[Entries, ...]:
    found = []
    for depth, (level, count) in enumerate(zip(projection.levels, counted.levels, strict=True)):
        code = tree.codes[depth - 1][level.node] if depth else np.zeros(len(level.node), np.int64)
        alive = code != END
        if local:
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


def _pairs(
    tree: PrefixTree,
    relevance: Relevance,
    leaves: Entries,
    categories: CategoryTree | None,
    of_categories: tuple[Entries, ...],
) -> Pairs:
    nodes: Any = () if categories is None else categories.nodes[relevance.item].T
    return Pairs(
        start=np.searchsorted(relevance.row, np.arange(len(relevance.queries) + 1)),
        query=relevance.row,
        leaf=entries_of(leaves, relevance.row, tree.leaves_of(relevance.item)),
        categories=tuple(
            np.where(node == NONE, -1, entries_of(level, relevance.row, node))
            for level, node in zip(of_categories, nodes, strict=True)
        ),
    )


def entries_of(level: Entries, query: Ints, node: Ints) -> Ints:
    """(p,) the entry of each pair of a query and a node; entries are sorted by both, as one number."""
    owner = np.repeat(np.arange(len(level.start) - 1), np.diff(level.start))
    width = 1 + int(level.node.max(initial=0))
    return np.searchsorted(owner * width + level.node, query.astype(np.int64) * width + node)


def pack(
    data: TrainingSet,
    queries: Ints,
    *,
    whole: Drawn | None = None,
    reads: Reads = Reads(),
    pad_token: int = 0,
) -> Batch:
    """Cut out a batch of ``queries`` (B,) (row numbers), this process's part of the ``whole`` batch."""
    whole = Drawn(queries) if whole is None else whole
    counts = _counts(data, queries, whole.pairs)
    drawn = whole.pairs is not None
    if drawn and not reads.whole:
        packed = _refinements(data, queries, counts.levels, only=True, legal=data.local)
        trees = _refinements(data, queries, counts.levels).refinements if reads.trees else ()
    else:
        packed = _refinements(data, queries, counts.levels)
        trees = packed.refinements
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
        trees=trees,
        categories=tuple(
            _category_targets(data, level, count, queries, whole.queries)
            for level, count in zip(data.categories, counts.categories, strict=True)
        ),
        weight=_real(data.weight[queries]),
        n_pairs=_weight_of_pairs(data, whole),
        n_queries=float(data.weight[whole.queries].sum()),
    )


def _weight_of_pairs(data: TrainingSet, whole: Drawn) -> float:
    if whole.pairs is None:
        return float((data.n_pairs[whole.queries] * data.weight[whole.queries]).sum())
    return float(data.weight[data.pairs.query[whole.pairs]].sum())


@dataclass(frozen=True)
class _Counts:
    """How many of a batch's pairs pass through its entries: per depth, and per level of categories."""

    levels: list[Floats]
    categories: list[Floats]


def _counts(data: TrainingSet, queries: Ints, drawn: Ints | None) -> _Counts:
    """All pairs of the queries (B,), or those among the ``drawn`` ones."""
    every = [_cut(level.start, queries)[0] for level in (*data.levels, *data.categories)]
    depths = len(data.levels)
    if drawn is None:
        found = [
            level.pairs[index]
            for level, index in zip((*data.levels, *data.categories), every, strict=True)
        ]
        return _Counts(found[:depths], found[depths:])
    place = np.full(len(data), -1)
    place[queries] = np.arange(len(queries))
    drawn = drawn[place[data.pairs.query[drawn]] >= 0]
    owner = place[data.pairs.query[drawn]]

    def counted(level: Entries, entry: Ints, size: int) -> Floats:
        known = entry >= 0
        local = _local(level.start, queries, entry[known], owner[known])
        return np.bincount(local, minlength=size).astype(np.float64)

    entry = data.pairs.leaf[drawn]
    levels: list[Floats] = []
    for depth in range(depths - 1, -1, -1):
        levels.append(counted(data.levels[depth], entry, len(every[depth])))
        entry = data.levels[depth].parent[entry]
    categories = [
        counted(level, of_pair[drawn], len(index))
        for level, of_pair, index in zip(
            data.categories, data.pairs.categories, every[depths:], strict=True
        )
    ]
    return _Counts(levels[::-1], categories)


@dataclass(frozen=True, eq=False)
class CandidateLists:
    """The candidate lists of all training queries, m items in all, as a training set of their own.

    ``data``   the lists with every listed item as a positive, so that they are packed like positives
    ``start``  (queries + 1,) where each query's list begins in the arrays below
    ``item``, ``mass``, ``gain``, ``rank``  (m,) as in ``rars.model.batch.Candidates``
    ``entry``  (m,) the entry of its leaf in the last level of ``data``
    """

    data: TrainingSet
    start: Ints
    item: Ints
    mass: Floats
    gain: Floats
    rank: Ints
    entry: Ints


def pack_lists(lists: CandidateLists, queries: Ints) -> Candidates:
    """Cut out the lists of a batch's ``queries`` (B,), m items in all."""
    data = lists.data
    packed = _refinements(data, queries, _counts(data, queries, None).levels)
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
        gain=_real(lists.gain[index]),
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


def _refinements(
    data: TrainingSet,
    queries: Ints,
    counts: list[Floats],
    *,
    only: bool = False,
    legal: bool = True,
) -> _Packed:
    """Walk down the queries' prefix trees, all queries at once.

    ``counts``  per depth, (the batch's entries,) the pairs that pass through each; ``only`` such entries
    ``legal``   whether refinements hold all legal children, where the training set has them

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
        count = counts[depth + 1]
        kept = (parent >= 0) & (count > 0) if only else parent >= 0
        edges.append(np.where(kept, np.cumsum(kept) - 1, -1))
        child, child_query, parent = child[kept], child_query[kept], parent[kept]
        owner, legal_node, slots = _legal(data, depth, above.node[index], wanted=legal)
        found.append(
            Refinement(
                query=_long(query),
                row=_long(row),
                codes=_long(codes),
                edge=_long(edge),
                mass=_real(above.mass[index] * weight[query]),
                parent=_long(parent),
                slot=_long(below.slot[child]),
                node=_long(below.node[child]),
                share=_real(below.mass[child] / above.mass[index][parent]),
                pairs=_real(count[kept] * weight[child_query]),
                legal_start=_long(np.searchsorted(owner, np.arange(len(index) + 1))),
                legal=_long(slots),
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


def _legal(
    data: TrainingSet, depth: int, nodes: Ints, *, wanted: bool = True
) -> tuple[Ints, Ints, Ints]:
    """All k legal children of ``nodes`` (n,) at ``depth``: index into ``nodes``, child, slot, (k,) each."""
    if not (data.with_siblings and wanted):
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, nothing
    owner, child = data.tree.expand(depth, nodes)
    slots = data.vocabulary.slot(data.tree.codes[depth][child], depth)
    if data.vocabulary.ends[depth]:
        # END sorts first among the codes but has the last slot; candidates are kept in slot order.
        order = np.lexsort((slots, owner))
        child, slots = child[order], slots[order]
    return owner, child, slots


def _prior(data: TrainingSet, queries: Ints) -> NodeTerms | None:
    """For each depth, (B, nodes) log p0(v|u,q) of nodes; None unless the prior is projected."""
    if data.measure is None:
        return None
    assert data.projected is not None
    return data.measure.shares(np.asarray(data.projected[queries]))


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
    data: TrainingSet, level: Entries, count: Floats, queries: Ints, whole: Ints
) -> CategoryTargets:
    index, query = _cut(level.start, queries)
    every, owner = _cut(level.start, whole)
    return CategoryTargets(
        query=_long(query),
        node=_long(level.node[index]),
        pairs=_real(count * data.weight[queries][query]),
        candidates=_long(distinct(level.node[every])),
        rows=float(data.weight[whole[distinct(owner)]].sum()),
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
