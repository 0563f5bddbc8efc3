"""Small random populations on random trees, and slow re-computations of what the studies measure on them."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
from hypothesis import strategies as st

from rars.analysis.population import Population
from rars.tree import PrefixTree
from tests.tree.oracle import judged_trees, masses, prefix, refinement_entropy


@st.composite
def populations(draw, least=1):
    """(codes, tree, population) with positive grades; every query has ``least`` positives or more."""
    codes, pairs = draw(judged_trees())
    count = defaultdict(int)
    for q, _, rho in pairs:
        count[q] += rho > 0
    kept = [(q, i, rho) for q, i, rho in pairs if rho > 0 and count[q] >= least]
    if not kept:
        items = list(range(min(len(codes), least))) + [0] * max(0, least - len(codes))
        kept = [(0, i, 1.0) for i in dict.fromkeys(items)]
        if len(kept) < least:
            codes = np.concatenate([codes, codes])
            kept = [(0, i, 1.0 + i) for i in range(least)]
    return codes, PrefixTree.build(codes), people_of(kept)


def people_of(pairs):
    query, item, grade = (np.array(column) for column in zip(*sorted(pairs), strict=True))
    return Population.grouped(query, item, grade.astype(float), len(set(query.tolist())))


def pairs_of(people, weight):
    return list(zip(people.row.tolist(), people.item.tolist(), weight.tolist(), strict=True))


def refinements(codes, pairs, n):
    """(n, L) Delta_l of every query by definition."""
    found = masses(codes, pairs)
    depth = len(codes[0])
    return np.array(
        [[refinement_entropy(found[q], level) for level in range(1, depth + 1)] for q in range(n)]
    )


def taus(delta, tree_leaves):
    """Entropy-weighted depth of the queries with several distinct identifiers."""
    depths = np.arange(1, delta.shape[1] + 1)
    return [
        (row @ depths) / row.sum()
        for row, leaves in zip(delta, tree_leaves, strict=True)
        if leaves > 1
    ]


def distinct_leaves(codes, people):
    whole = len(codes[0])
    return [
        len({prefix(codes[i], whole) for i in people.item[a:b]})
        for a, b in zip(people.start[:-1], people.start[1:], strict=True)
    ]


def groups_by_depth(codes, items, depth):
    """The group of each item: its prefix, or at the depth after the last itself."""
    if depth > len(codes[0]):
        return [("item", int(i)) for i in items]
    return [prefix(codes[i], depth) for i in items]


def evidence(codes, catalogue, items, mass, kept, depth):
    """The measures of one query at one depth, by dictionaries; ``catalogue`` are all codes as assigned."""
    group = groups_by_depth(codes, items, depth)
    parent = groups_by_depth(codes, items, depth - 1)
    full, part = defaultdict(float), defaultdict(float)
    total = sum(m for m, k in zip(mass, kept, strict=True) if k)
    for z, m, k in zip(group, mass, kept, strict=True):
        full[z] += m
        if k:
            part[z] += m / total
    tv = sum(abs(full[z] - part.get(z, 0.0)) for z in full) / 2
    js = 0.0
    for z, p in full.items():
        q = part.get(z, 0.0)
        middle = (p + q) / 2
        js += p * math.log(p / middle) / 2 + (q * math.log(q / middle) / 2 if q else 0.0)
    missing = sum(p for z, p in full.items() if z not in part)
    rows = list(zip(group, mass, kept, strict=True))
    withheld = sum(m for _, m, k in rows if not k)
    covered = sum(m for z, m, k in rows if not k and z in part)
    found = (prefix(code, depth) in part for code in catalogue)
    support = sum(kept) if depth > len(codes[0]) else sum(found)
    false = 0.0
    for u in set(parent):
        mine = [row for row, above in zip(rows, parent, strict=True) if above == u]
        children, alive = {z for z, _, _ in mine}, {z for z, _, k in mine if k}
        if len(children) > 1 and len(alive) == 1:
            false += sum(m for _, m, _ in mine)
    coverage = covered / withheld if withheld > 0 else float("nan")
    return tv, js, missing, coverage, support, false
