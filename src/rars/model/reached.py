"""The prior over identifiers without a pass over the catalogue: shares of prefixes that are asked about.

Owns: log p0(v|u,q) (``rars.model.prior``) from partial sums. With t_l(c) = beta q . c_l, the mass of a
prefix v of depth d is

    M(v) = exp(s(v)) R(v),     s(v) = t_1 + ... + t_d,
    R(v) = sum over identifiers below v of exp(t_{d+1} + ... + t_L),

and log p0(v|u,q) = log M(v) - log sum of M over the siblings of v. There are two kinds of prefixes:

- Below the *ruler*, the deepest depth D with at most ``RULED`` prefixes, a search asks about children of
  the prefixes in its beam, and few identifiers are below those. Their masses are added up exactly:
  log-shares there are those of the full pass.
- At the ruler and above it every prefix may be asked about, and every identifier is below one of them. Each
  prefix v of depth D with n identifiers has a sample of k of them, evenly spread in the order of the tree
  and drawn once for the catalogue;

      R(v) ~ n/k sum over the sample of exp(t_{D+1} + ... + t_L).

  Then the prefixes of the largest estimated mass are added up exactly, as long as they hold at most
  ``OPENED`` identifiers together: the few that carry most of the measure. Masses above the ruler are sums
  of those at the ruler.

A catalogue of at most ``SAMPLED`` identifiers is its own sample: nothing is estimated. Beyond, an error is
that of a mean of k values of a prefix that holds little of the mass, and whoever asks sees the same value.
The shares of a family always sum to one.

Ignores how query vectors and codewords are made. Small catalogues take the full pass instead, to the bit
(``rars.model.prior.PriorMeasure.log_shares``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from rars.arrays import Doubles, Floats, Ints
from rars.tree import PrefixTree
from rars.tree.descent import Reached, below

RULED = 1 << 16
"""Most prefixes at the ruler."""
SAMPLED = 1 << 19
"""Identifiers in the sample, about."""
LEAST = 4
"""The fewest of a prefix, if it has so many."""
OPENED = 1 << 15
"""Identifiers below the prefixes whose sums are made exact for a query."""

_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Sample:
    """Identifiers that stand for all, below each of the p prefixes at the ruler.

    ``depth``   D, the ruler
    ``first``   (p,) where the sample of each prefix begins; ``weight`` (p,) how many each of them stands for
    ``codes``   (sample,) the codes that follow, for each depth after D
    ``above``   (p,) the codes of the prefixes themselves, for each depth up to D
    ``leaves``  (p + 1,) the first identifier below each prefix
    """

    depth: int
    first: Ints
    weight: Doubles
    codes: tuple[Ints, ...]
    above: tuple[Ints, ...]
    leaves: Ints

    @classmethod
    def of(cls, tree: PrefixTree) -> Self:
        """Draw once for a catalogue."""
        depth = max(d for d in range(tree.depth + 1) if tree.n_nodes(d) <= max(RULED, 1))
        nodes = np.arange(tree.n_nodes(depth))
        low, high = tree.leaf_ranges(depth, nodes)
        held = (high - low).astype(np.int64)
        wanted = np.maximum(LEAST, np.ceil(held * (SAMPLED / tree.n_leaves)).astype(np.int64))
        drawn = np.minimum(held, wanted)
        first = np.cumsum(drawn) - drawn
        owner = np.repeat(nodes, drawn)
        # The middle of each of k equal stretches.
        place = 2 * (np.arange(len(owner)) - first[owner]) + 1
        leaf = low[owner] + place * held[owner] // (2 * drawn[owner])
        paths = tree.paths(tree.depth, leaf)
        own = tree.paths(depth, nodes)
        return cls(
            depth=depth,
            first=first,
            weight=held / drawn,
            codes=tuple(np.ascontiguousarray(paths[:, at]) for at in range(depth, tree.depth)),
            above=tuple(np.ascontiguousarray(own[:, at]) for at in range(depth)),
            leaves=np.append(low, tree.n_leaves),
        )

    @property
    def whole(self) -> bool:
        """Whether the sample is the catalogue."""
        return bool((self.weight == 1).all())


@dataclass(frozen=True, eq=False)
class ReachedShares:
    """Scaled log-shares of a batch of queries; ``shares[depth][query, child]`` reads like the full pass.

    ``terms``   (queries, codes + 1) for each depth: t_l, with zero for END (``rars.tree.descent``)
    ``scales``  (queries, depth) what log-shares are multiplied by

    Below the ruler children are asked for by whole families: all children of a parent, side by side.
    """

    tree: PrefixTree
    sample: Sample
    terms: Sequence[Floats]
    scales: Floats

    def __len__(self) -> int:
        return self.tree.depth

    def __getitem__(self, depth: int) -> _SharesOf:
        if not 0 <= depth < len(self):
            raise IndexError(depth)
        return _SharesOf(self, depth)

    @cached_property
    def tables(self) -> list[list[Floats]]:
        """Log-shares of every prefix down to the ruler: for each query, (nodes,) for each depth from 1 on."""
        return [self._shares(self._ruled(query)) for query in range(len(self.scales))]

    def _shares(self, mass: Floats) -> list[Floats]:
        """Log-shares from log masses at the ruler."""
        found: list[Floats] = []
        for depth in range(self.sample.depth - 1, -1, -1):
            pointers = self.tree.children[depth]
            counts = np.diff(pointers)
            above = _sums(mass, np.asarray(pointers[:-1]), counts)
            found.append(mass - np.repeat(above, counts))
            mass = above
        return found[::-1]

    def _ruled(self, query: int) -> Floats:
        """Log M of every prefix at the ruler."""
        sample = self.sample
        terms = [one[query].astype(np.float64) for one in self.terms]
        above = np.zeros(len(sample.first))
        for level, codes in enumerate(sample.above):
            above += terms[level][codes]
        if not sample.codes:
            return above
        tops = [float(one.max()) for one in terms[sample.depth :]]
        rest: Doubles = np.ones(1)
        for one, top, codes in zip(terms[sample.depth :], tops, sample.codes, strict=True):
            rest = rest * np.exp(one - top).take(codes, mode="wrap")
        sums = np.add.reduceat(rest, sample.first) * sample.weight
        mass = above + np.log(np.maximum(sums, _TINY)) + sum(tops)
        self._open(query, mass)
        return mass

    def _open(self, query: int, mass: Floats) -> None:
        """Put exact sums in the place of the largest estimates."""
        guessed = np.flatnonzero(self.sample.weight > 1)
        if not len(guessed):
            return
        most = min(OPENED // LEAST, len(guessed))
        largest = guessed[np.argpartition(mass[guessed], -most)[-most:]]
        largest = largest[np.argsort(-mass[largest], kind="stable")]
        held = self.sample.leaves[largest + 1] - self.sample.leaves[largest]
        opened = np.sort(largest[np.cumsum(held) <= OPENED])
        if len(opened):
            above = np.zeros(len(opened))
            for level, codes in enumerate(self.sample.above):
                above += self.terms[level][query, codes[opened]]
            asked = Reached(np.full(len(opened), query), opened, above)
            mass[opened] = self.exact(self.sample.depth, asked)

    def exact(self, depth: int, asked: Reached) -> Floats:
        """Log M of nodes at ``depth``, whose scores are s(v), over every identifier below them."""
        owner, reached = np.arange(len(asked)), asked
        for level in range(depth, self.tree.depth):
            continued, reached = below(self.tree, level, reached, self.terms)
            owner = owner[continued]
        counts = np.bincount(owner, minlength=len(asked))
        return _sums(reached.score, np.cumsum(counts) - counts, counts)


@dataclass(frozen=True, eq=False)
class _SharesOf:
    """The shares of one depth, read like a table (queries, nodes at ``depth + 1``)."""

    shares: ReachedShares
    depth: int

    def __getitem__(self, at: tuple[Ints, Ints]) -> Floats:
        query, child = at
        if not len(child):
            return np.zeros(0)
        scale = self.shares.scales[query, self.depth]
        if self.depth < self.shares.sample.depth:
            return np.asarray(scale * self._looked_up(query, child))
        return np.asarray(scale * self._added_up(query, child))

    def _looked_up(self, query: Ints, child: Ints) -> Floats:
        found = np.empty(len(child))
        for one in np.unique(query).tolist():
            own = query == one
            found[own] = self.shares.tables[one][self.depth][child[own]]
        return found

    def _added_up(self, query: Ints, child: Ints) -> Floats:
        tree, depth, terms = self.shares.tree, self.depth, self.shares.terms
        parent = tree.parents(depth + 1, child)
        begins = np.ones(len(child), dtype=bool)
        begins[1:] = (query[1:] != query[:-1]) | (parent[1:] != parent[:-1])
        first = np.flatnonzero(begins)
        counts = np.diff(first, append=len(child))
        # What the parent's own codes add is the same for all of a family.
        codes = tree.codes[depth][child].astype(np.int64)
        asked = Reached(query, child, terms[depth][query, codes])
        mass = self.shares.exact(depth + 1, asked)
        return np.asarray(mass - np.repeat(_sums(mass, first, counts), counts))


def _sums(mass: Floats, first: Ints, counts: Ints) -> Floats:
    """Log-sums of log masses over families of ``counts`` (none empty) that begin at ``first``."""
    if len(first) == len(mass):
        return mass
    top = np.maximum.reduceat(mass, first)
    return np.asarray(top + np.log(np.add.reduceat(np.exp(mass - np.repeat(top, counts)), first)))
