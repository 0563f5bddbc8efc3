"""Projection of relevance to all depths and all conditional targets, against plain Python.

20,000 queries with 292,000 positives on 288,000 items (the size of ESCI-US). Asks for: at least 100x,
verified equal.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from benchmarks.measure import alternate, report
from benchmarks.tree import skewed_codes
from rars.tree import PrefixTree, Relevance, project

QUERIES, PAIRS, ITEMS = 20_000, 292_000, 288_000


Targets = list[dict[tuple[int, ...], float]]
"""For each query: the share of its parent's mass that each relevance-bearing prefix holds."""


def grouped(pairs: list[tuple[int, int, float]]) -> list[list[tuple[int, float]]]:
    by_query: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for query, item, rho in pairs:
        by_query[query].append((item, rho))
    return [by_query[query] for query in sorted(by_query)]


def by_definition(codes: list[list[int]], pairs: list[tuple[int, int, float]]) -> Targets:
    """Eq. projection as it is written: for every prefix, a sum over the relevant items below it."""
    targets = []
    for judged in grouped(pairs):
        total = sum(rho for _, rho in judged)
        measure = [(tuple(codes[item]), rho / total) for item, rho in judged]
        above: dict[tuple[int, ...], float] = {(): 1.0}
        conditional = {}
        for depth in range(1, len(codes[0]) + 1):
            prefixes = {sid[:depth] for sid, _ in measure}
            mass = {z: sum(m for sid, m in measure if sid[:depth] == z) for z in prefixes}
            conditional.update({z: mass[z] / above[z[:-1]] for z in prefixes})
            above = mass
        targets.append(conditional)
    return targets


def with_dictionaries(codes: list[list[int]], pairs: list[tuple[int, int, float]]) -> Targets:
    """The same, tuned: one dictionary of masses a query, filled in one pass over its items."""
    targets = []
    for judged in grouped(pairs):
        total = sum(rho for _, rho in judged)
        mass: dict[tuple[int, ...], float] = defaultdict(float)
        for item, rho in judged:
            for depth in range(len(codes[item]) + 1):
                mass[tuple(codes[item][:depth])] += rho / total
        targets.append({z: m / mass[z[:-1]] for z, m in mass.items() if z})
    return targets


def with_arrays(tree: PrefixTree, query: Any, item: Any, rho: Any) -> list[Any]:
    projection = project(tree, Relevance.of(query, item, rho))
    return [(projection.levels[d], projection.conditional(d)) for d in range(1, tree.depth + 1)]


def main() -> None:
    rng = np.random.default_rng(0)
    codes = skewed_codes(ITEMS)
    keys = np.sort(rng.choice(QUERIES * ITEMS, PAIRS, replace=False))  # as a Dataset keeps them
    query, item = keys // ITEMS, keys % ITEMS
    rho = rng.choice([1.0, 2.0, 3.0], PAIRS)
    tree = PrefixTree.build(codes)
    rows = codes.tolist()
    pairs = list(zip(query.tolist(), item.tolist(), rho.tolist(), strict=True))

    fast = with_arrays(tree, query, item, rho)
    _verify(tree, by_definition(rows, pairs), fast)
    _verify(tree, with_dictionaries(rows, pairs), fast)
    seconds = alternate(
        {
            "Python, by the definition": lambda: by_definition(rows, pairs),
            "Python, one tuned dictionary a query": lambda: with_dictionaries(rows, pairs),
            "rars.tree.project": lambda: with_arrays(tree, query, item, rho),
        },
        repeats=5,
    )
    report(
        "projection: all depths, all conditional targets",
        [
            {
                "implementation": name,
                "seconds": taken,
                "times the arrays": taken / seconds["rars.tree.project"],
            }
            for name, taken in seconds.items()
        ],
        f"{QUERIES:,} queries, {PAIRS:,} positives, {ITEMS:,} items; results verified equal",
    )


def _verify(tree: PrefixTree, slow: Targets, fast: list[Any]) -> None:
    found: list[dict[Any, float]] = [{} for _ in slow]
    for depth, (level, conditional) in enumerate(fast, start=1):
        paths = map(tuple, tree.paths(depth, level.node).tolist())
        for row, path, value in zip(level.row.tolist(), paths, conditional.tolist(), strict=True):
            found[row][path] = value
    for one, other in zip(slow, found, strict=True):
        assert one.keys() == other.keys()
        assert all(abs(one[z] - other[z]) < 1e-12 for z in one)


if __name__ == "__main__":
    main()
