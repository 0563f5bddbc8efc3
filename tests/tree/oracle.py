"""Slow, obvious re-computations of what ``rars.tree`` does with arrays: dictionaries and loops."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
from hypothesis import strategies as st

END = -1


def prefix(code, depth):
    return tuple(int(c) for c in code[:depth])


def prefixes(codes, depth):
    return sorted({prefix(code, depth) for code in codes})


def masses(codes, pairs):
    """{query: {depth: {prefix: mass}}} from (query, item, rho) pairs, by direct summation."""
    total = defaultdict(float)
    for query, _, rho in pairs:
        total[query] += rho
    depth = len(codes[0])
    found = defaultdict(lambda: [defaultdict(float) for _ in range(depth + 1)])
    for query, item, rho in pairs:
        if rho > 0:
            for level in range(depth + 1):
                found[query][level][prefix(codes[item], level)] += rho / total[query]
    return found


def refinement_entropy(levels, depth):
    """Delta_l by its definition: parent mass times the entropy of the conditional."""
    value = 0.0
    for parent, mass in levels[depth - 1].items():
        shares = [m / mass for z, m in levels[depth].items() if z[:-1] == parent]
        value += mass * -sum(s * math.log(s) for s in shares)
    return value


@st.composite
def code_matrices(draw, max_items=40, max_depth=4, max_code=4, ragged=True):
    """Random identifiers: few codes, so that prefixes and whole SIDs are shared."""
    depth = draw(st.integers(1, max_depth))
    n = draw(st.integers(1, max_items))
    rows = draw(
        st.lists(
            st.lists(st.integers(0, max_code), min_size=depth, max_size=depth),
            min_size=n,
            max_size=n,
        )
    )
    codes = np.array(rows, dtype=np.int32)
    if ragged and draw(st.booleans()):
        lengths = draw(st.lists(st.integers(1, depth), min_size=n, max_size=n))
        codes[np.arange(depth)[None, :] >= np.array(lengths)[:, None]] = END
    return codes


@st.composite
def judged_trees(draw):
    """Identifiers with judgments of several queries: (codes, [(query, item, rho)])."""
    codes = draw(code_matrices())
    pair = st.tuples(
        st.integers(0, 4), st.integers(0, len(codes) - 1), st.sampled_from([0.0, 1.0, 2.0, 3.0])
    )
    drawn = draw(st.lists(pair, min_size=1, max_size=40))
    return codes, [(q, i, rho) for (q, i), rho in {(q, i): rho for q, i, rho in drawn}.items()]
