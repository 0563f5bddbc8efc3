"""Beam search over legal children: candidates are gathered from the tree, so no other identifier can exist.

Owns: the beam score S_LT(s|q) (Eq. rars-score), which without evidence is S_AR(s|q) (Eq. inference-ar), and
the order in which prefixes are expanded. Ignores texts and items.

The encoder runs once a query; the rows before the first code and the query's keys and values are shared by
all beams; a beam's own path is a handful of cached rows, re-indexed by gather. Evidence is added at every
legal step, so it decides what is pruned; ending a path is no such step (Eq. rars-score gives EOS none). A
query with fewer legal identifiers than beams gets fewer results, never an illegal or a repeated one.

Where codes compete with their legal siblings alone, a prefix with one identifier below it has nothing left to
decide: each of its codes has probability one. Such prefixes stay in the beam and are not decoded.

The tree, evidence and scores are NumPy arrays of the host; the model's tensors are on its own device. What
goes from one side to the other is copied by name: ``on`` and ``host``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from rars.arrays import Bools, Floats, Ints
from rars.model.decoder import Cache, Memory
from rars.model.encoder import Encoded
from rars.model.identifier_model import IdentifierModel
from rars.model.prior import NodeTerms
from rars.objectives.common import group_logsumexp
from rars.search.evidence import Evidence, beam_maxima
from rars.search.routing import Admission
from rars.tree import END, PrefixTree, SidVocabulary

NOTHING = -1


@dataclass(frozen=True)
class Paths:
    """Identifiers, best first; ``NOTHING`` where a query has no more.

    ``leaves``, ``scores``    (queries, beams) leaves of the tree and their scores
    ``model``, ``evidence``   (queries, beams, depth) what the model and the evidence gave at each code
    """

    leaves: Ints
    scores: Floats
    model: Floats
    evidence: Floats


@dataclass(frozen=True)
class Guide:
    """What narrows and steers a search beside the model; a setting is one for all queries or one for each.

    ``admitted``    the prefixes each query may use; None for all
    ``evidence``    one a query, None for one that goes without
    ``mask``        (depth,) or (queries, depth): where evidence counts
    ``weight``      or (queries,): how much (lambda_comp)
    ``ends``        or (queries,): whether evidence also counts where an identifier ends: the paper gives EOS
                    none, but bounds must come down to the identifier's own (``Bound``)
    ``normaliser``  the one the model was trained with: over its ``depth``, or over its legal ``children``
    ``score``       what a code adds: its log-``probability``, or the raw ``logit`` (as RIPOR does)
    ``prior``       what the model's prior gives each node, (queries, nodes) for each depth, where it is
                    projected onto the tree
    """

    admitted: Admission | None = None
    evidence: Sequence[Evidence | None] | None = None
    mask: npt.ArrayLike = ()
    weight: npt.ArrayLike = 2.0
    ends: npt.ArrayLike = False
    normaliser: str = "depth"
    score: str = "probability"
    prior: NodeTerms | None = None

    def added(self, tree: PrefixTree, depth: int, query: Ints, node: Ints, queries: int) -> Floats:
        """What evidence adds at nodes at ``depth + 1``; ``query`` (sorted) says whose each is."""
        if self.evidence is None:
            return np.zeros(len(node))
        counts = np.broadcast_to(np.asarray(self.mask, dtype=bool), (queries, tree.depth))[:, depth]
        used = [one if here else None for one, here in zip(self.evidence, counts, strict=True)]
        if all(one is None for one in used):
            return np.zeros(len(node))
        found = np.broadcast_to(self.weight, queries)[query] * beam_maxima(
            used, depth + 1, query, node
        )
        ended = tree.codes[depth][node] == END
        if ended.any():
            found[ended & ~np.broadcast_to(self.ends, queries)[query]] = 0.0
        return np.asarray(found)


@dataclass(frozen=True, eq=False)
class Begun:
    """A batch of queries, decoded up to their first code: all that routing and search both start from.

    ``memory``   keys and values of the encoded queries; ``cache`` those of the rows before the first code
    ``hidden``   (B, 1, d) the state that predicts the first code
    ``latents``  (B, J, d) the latent category states
    """

    memory: Memory
    cache: Cache
    hidden: Tensor
    latents: Tensor

    @classmethod
    @torch.inference_mode()
    def of(cls, model: IdentifierModel, encoded: Encoded) -> Begun:
        """Run the category steps of encoded queries once; routing and beam share the result."""
        memory = model.decoder.memory(encoded.states, encoded.mask)
        thought = model.think(memory)
        hidden, cache = model.decoder.prefix(thought.ahead, memory, thought.past)
        latents = thought.states
        if latents is None:  # learned slots: the states come with the pass
            latents = hidden[:, : model.latent_rows]
        return cls(memory, cache, hidden[:, -1:], latents)

    def __len__(self) -> int:
        return len(self.hidden)


def on(device: torch.device, values: npt.NDArray[np.generic]) -> Tensor:
    """A host array as a tensor of the model's device."""
    return torch.from_numpy(values).to(device)


def host(values: Tensor) -> npt.NDArray[np.float64]:
    """A tensor of any device as a host array of doubles, in which scores are added up."""
    return np.asarray(values.cpu().double().numpy())


@dataclass(frozen=True, eq=False)
class Stage:
    """One step of a beam, for whoever wants to know what was kept and what was not.

    ``query``, ``nodes``, ``scores``  (candidates,) whose each is, the prefix at ``depth + 1``, its score
    ``kept``                          (queries, beams) the prefixes that stay, in the order of the tree
    ``model``, ``evidence``           (queries, beams, depth) the terms of their codes
    """

    depth: int
    query: Ints
    nodes: Ints
    scores: Floats
    kept: Ints
    model: Floats
    evidence: Floats


@torch.inference_mode()
def beam_search(
    model: IdentifierModel,
    tree: PrefixTree,
    vocabulary: SidVocabulary,
    begun: Begun,
    *,
    projected: Tensor | None = None,
    width: int = 100,
    guide: Guide = Guide(),
    watch: Callable[[Stage], None] | None = None,
) -> Paths:
    """The ``width`` best identifiers of each query; ``watch`` is told of every step."""
    hidden, cache = begun.hidden, begun.cache
    beams = _Beams.start(len(begun), tree.depth)
    places = np.zeros_like(beams.nodes)
    for depth in range(tree.depth):
        logits = model.logits(depth, hidden, None if projected is None else projected[:, None])
        choice = _Choice(logits, places)
        beams = _advance(tree, vocabulary, depth, beams, choice, width, guide, watch)
        if depth + 1 < tree.depth:
            decoded, places_next = _undecided(tree, depth + 1, beams.nodes, guide)
            parents = np.take_along_axis(places, beams.came_from, axis=1)
            parents = np.maximum(np.take_along_axis(parents, decoded, axis=1), 0)
            nodes = np.take_along_axis(beams.nodes, decoded, axis=1)
            cache = cache.reordered(on(hidden.device, parents))
            inputs = code_rows(model, tree, vocabulary, depth, nodes)
            hidden, cache = model.decoder.step(inputs, cache, begun.memory)
            places = places_next
    return Paths(beams.nodes, beams.scores, beams.model, beams.evidence)


def code_rows(
    model: IdentifierModel, tree: PrefixTree, vocabulary: SidVocabulary, depth: int, nodes: Ints
) -> Tensor:
    """The decoder inputs (..., d) that follow nodes at ``depth + 1``; any row where there is no node."""
    if not vocabulary.slots[depth]:
        # Every identifier has ended before: nothing is read from these rows.
        return model.start.expand(*nodes.shape, -1)
    code = np.maximum(tree.codes[depth][np.maximum(nodes, 0)], 0)
    slots = vocabulary.slot(code, depth).astype(np.int64)
    rows: Tensor = model.code_inputs[depth](on(model.start.device, slots))
    return rows


@dataclass(frozen=True, eq=False)
class _Choice:
    """Logits (queries, rows, choices) of the beams that have something to decide.

    ``places`` (queries, beams) is the row of each beam; ``NOTHING`` where it has one child, or is none.
    """

    logits: Tensor
    places: Ints


def _undecided(tree: PrefixTree, depth: int, nodes: Ints, guide: Guide) -> tuple[Ints, Ints]:
    """The beams to decode (queries, rows), and the row of each beam (queries, beams) or ``NOTHING``.

    A query with fewer of them than others has its first beam in the rows that are left; nobody reads those.
    """
    low, high = tree.item_ranges(depth, np.maximum(nodes, 0))
    several = nodes != NOTHING
    if guide.normaliser == "children" and guide.score == "probability":
        several &= high - low > 1
    rows = max(1, int(several.sum(axis=1).max(initial=0)))
    order = np.argsort(~several, axis=1, kind="stable")[:, :rows]
    decoded = np.where(np.take_along_axis(several, order, axis=1), order, 0)
    return decoded, np.where(several, np.cumsum(several, axis=1) - 1, NOTHING)


@dataclass(frozen=True)
class _Beams:
    """The prefixes kept at one depth, (queries, beams), and how they came about."""

    nodes: Ints
    scores: Floats
    came_from: Ints
    model: Floats
    evidence: Floats

    @classmethod
    def start(cls, queries: int, depth: int) -> _Beams:
        shape = (queries, 1)
        gains = np.zeros((queries, 1, depth))
        return cls(
            np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape, np.int64), gains, gains
        )


def _advance(
    tree: PrefixTree,
    vocabulary: SidVocabulary,
    depth: int,
    beams: _Beams,
    choice: _Choice,
    width: int,
    guide: Guide,
    watch: Callable[[Stage], None] | None = None,
) -> _Beams:
    """Expand every live beam to its admitted legal children and keep the best ``width`` a query.

    Until the last depth beams stand in the order of the tree, so that equal scores do too; then best first.
    """
    n, wide = beams.nodes.shape
    live = np.flatnonzero(beams.nodes.ravel() != NOTHING)
    owner, child = tree.expand(depth, beams.nodes.ravel()[live])
    flat = live[owner]  # which beam of which query each child continues
    # Children compete before routing: what a category leaves out still takes its share of probability.
    gained = _gained(tree, vocabulary, depth, beams.nodes.ravel(), flat, child, choice, guide)
    if guide.admitted is not None:
        allowed = guide.admitted.allows(depth, flat // wide, child)
        flat, child, gained = flat[allowed], child[allowed], gained[allowed]
    query = flat // wide
    added = guide.added(tree, depth, query, child, n)
    total = beams.scores.ravel()[flat] + gained + added
    chosen, missing = _best(total, query, n, width, ranked=depth + 1 == tree.depth)
    offered = query, child, total
    if not len(child):  # no query admits anything here
        child = flat = np.zeros(1, dtype=np.int64)
        gained = added = total = np.zeros(1)
    beam = np.where(missing, 0, flat[chosen] % wide)
    model = np.take_along_axis(beams.model, beam[:, :, None], axis=1)
    evidence = np.take_along_axis(beams.evidence, beam[:, :, None], axis=1)
    model[:, :, depth], evidence[:, :, depth] = gained[chosen], added[chosen]
    nodes = np.where(missing, NOTHING, child[chosen])
    if watch is not None:
        watch(Stage(depth, *offered, nodes, model, evidence))
    return _Beams(
        nodes=nodes,
        scores=np.where(missing, -np.inf, total[chosen]),
        came_from=beam,
        model=model,
        evidence=evidence,
    )


def _best(total: Floats, query: Ints, n: int, width: int, *, ranked: bool) -> tuple[Ints, Bools]:
    """For each query the indices of its best totals, and where it has no more.

    Of equal totals the first are taken. In the order given, or (``ranked``) best first.
    """
    counts = np.bincount(query, minlength=n)
    most = max(1, int(counts.max(initial=0)))
    first = np.cumsum(counts) - counts
    grid = np.full((n, most), -np.inf)
    grid[query, np.arange(len(query)) - first[query]] = total
    place = first_largest(grid, min(width, most))
    if ranked:
        order = np.argsort(-np.take_along_axis(grid, place, axis=1), axis=1, kind="stable")
        place = np.take_along_axis(place, order, axis=1)
    missing = place >= counts[:, None]
    return np.where(missing, 0, first[:, None] + place), missing


def first_largest(values: Floats, count: int) -> Ints:
    """Columns of the ``count`` largest values of each row, in their order; of equal ones the first.

    >>> first_largest(np.array([[1.0, 3.0, 1.0, 2.0]]), 3).tolist()
    [[0, 1, 3]]
    """
    rows, columns = values.shape
    if count >= columns:
        return np.broadcast_to(np.arange(columns), values.shape)
    least = np.partition(values, columns - count, axis=1)[:, columns - count, None]
    kept = values > least
    spare = count - kept.sum(axis=1, keepdims=True)
    ties = values == least
    kept |= ties & (np.cumsum(ties, axis=1) <= spare)
    return np.nonzero(kept)[1].reshape(rows, count)


def _gained(
    tree: PrefixTree,
    vocabulary: SidVocabulary,
    depth: int,
    nodes: Ints,
    flat: Ints,
    child: Ints,
    choice: _Choice,
    guide: Guide,
) -> Floats:
    """What each child adds to its beam ``flat``; the only child of a beam that decides nothing adds 0."""
    beams, rows = choice.places.shape[1], choice.logits.shape[1]
    place = choice.places.ravel()[flat]
    open_ = np.flatnonzero(place != NOTHING)
    row = flat[open_] // beams * rows + place[open_]
    above = np.full(choice.logits.shape[0] * rows, NOTHING)
    above[row] = nodes[flat[open_]]
    found = np.zeros(len(child))
    found[open_] = step_gain(
        tree, vocabulary, depth, above, row, child[open_], choice.logits, guide
    )
    return found


def step_gain(
    tree: PrefixTree,
    vocabulary: SidVocabulary,
    depth: int,
    nodes: Ints,
    flat: Ints,
    child: Ints,
    logits: Tensor,
    guide: Guide,
) -> Floats:
    """What each child adds to its beam (``Guide.score``); going on after the end costs nothing."""
    codes = tree.codes[depth][child].astype(np.int64)
    free = np.zeros(len(child), dtype=bool)
    if (codes == END).any():
        over = tree.codes[depth - 1][nodes[flat]] == END if depth else free
        free = (codes == END) & (over | (not vocabulary.ends[depth]))
        if free.all():  # also at a depth that no identifier reaches, where there are no logits
            return np.zeros(len(child))
        codes = np.where(free, 0, codes)
    queries, wide = logits.shape[:2]
    slots = on(logits.device, vocabulary.slot(codes, depth).astype(np.int64))
    beam = on(logits.device, flat)
    normalised = guide.score == "probability"
    if normalised and guide.normaliser == "depth":
        gained = torch.log_softmax(logits, dim=-1).flatten(0, 1)[beam, slots]
    else:
        gained = logits.flatten(0, 1)[beam, slots]
        if guide.prior is not None:
            gained = gained + on(logits.device, guide.prior[depth][flat // wide, child])
        if normalised:
            gained = gained - group_logsumexp(gained, beam, queries * wide)[beam]
    return np.where(free, 0.0, host(gained))


def items_of(
    tree: PrefixTree, leaves: Ints, k: int, evidence: Evidence | None = None
) -> tuple[Ints, Ints]:
    """The first ``k`` items of a row of leaves, and which place in the row each comes from.

    Items that share an identifier are ordered by evidence if there is any, then as in the catalogue.
    """
    leaves = leaves[leaves != NOTHING]
    low, high = tree.item_ranges(tree.depth, leaves)
    counts = high - low
    first = np.cumsum(counts) - counts
    owner = np.repeat(np.arange(len(leaves)), counts)
    items = np.asarray(tree.order[low[owner] + np.arange(len(owner)) - first[owner]])
    if evidence is not None and len(items) > len(leaves):
        order = np.lexsort((-evidence.of(items), owner))
        items, owner = items[order], owner[order]
    return items[:k], owner[:k]
