"""The studies of relevance on a tree at the paper's sizes: compiled loops against straightforward NumPy.

Asks for: 999 assignments x 4 controls x 6,014 queries x 87,000 pairs in at most 60 s on one core, at least 50
times faster than NumPy query by query, with the same numbers; the evidence design (3 assignments, 5 retention
levels and 2 further masks, 3 weights, 20 replicates) with its bootstraps and tests, on 4,649 queries and
288,372 items, in at most 5 minutes.

``python -m benchmarks.analyses profile`` sets the made data beside the paper's table (a).
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import paper_data
from benchmarks.measure import peak_megabytes, report
from rars.analysis import assignments, hierarchy
from rars.analysis.evidence import design
from rars.analysis.evidence.summary import summary
from rars.analysis.population import Population
from rars.tree import PrefixTree, ambiguity, project

ASSIGNMENTS, CHECKED = 999, 1
"""How many are drawn, and how many of them NumPy does as well."""


def groups(made: paper_data.Made) -> dict[str, npt.NDArray[np.int64]]:
    """The four controls; three levels are a coarser category."""
    first = assignments.nodes_of(made.tree)[made.tree.positions, 0].astype(np.int64)
    coarse, fine = (
        np.unique(first * 2000 + made.category // step, return_inverse=True)[1] for step in (10, 1)
    )
    return {
        "global": np.zeros_like(first),
        "first code": first,
        "three levels": coarse,
        "full category": fine,
    }


def straightforward(
    tree: PrefixTree,
    people: Population,
    codes: npt.NDArray[np.int32],
    group: npt.NDArray[np.int64],
    draws: assignments.Draws,
    state: np.uint64,
) -> npt.NDArray[np.float64]:
    """One assignment with NumPy, query by query: np.unique of every depth, entropies by definition.

    The items that matter get the same slots as in the compiled loop, all others are shuffled as well, as one
    would do without thinking of which are needed.
    """
    random = np.random.default_rng(int(state))
    order = np.lexsort((random.random(len(group)), group))
    moved = np.empty_like(codes)
    moved[np.argsort(group, kind="stable")] = codes[order]
    moved[draws.items] = codes[tree.order[draws.slots(state)]]
    depth = codes.shape[1]
    sums, tau, some = np.zeros(depth), 0.0, 0
    for a, b in zip(people.start[:-1], people.start[1:], strict=True):
        mass = people.grade[a:b] / people.grade[a:b].sum()
        rows = moved[people.item[a:b]]
        whole = np.zeros(depth + 1)
        for level in range(1, depth + 1):
            _, inverse = np.unique(rows[:, :level], axis=0, return_inverse=True)
            held = np.bincount(inverse.ravel(), mass)
            whole[level] = -(held * np.log(held)).sum()
        delta = np.diff(whole)
        sums += delta
        if whole[-1] > 1e-12:
            tau += delta @ np.arange(1, depth + 1) / whole[-1]
            some += 1
    return np.array([*(sums / len(people)), tau / max(some, 1), some])


def controls() -> None:
    """The hierarchy controls."""
    made = paper_data.made(pairs_scale=2.82)
    tree, people = made.tree, made.people
    codes = tree.identifiers(np.arange(tree.n_items))
    warm = assignments.states(0, 9, count=1)
    rows: list[dict[str, Any]] = []
    both = [0.0, 0.0]
    for number, (name, group) in enumerate(groups(made).items()):
        hierarchy.reassigned(tree, people, people.grade, group, warm)
        states = assignments.states(0, number, count=ASSIGNMENTS)
        began = time.process_time()
        found = hierarchy.reassigned(tree, people, people.grade, group, states)
        fast = time.process_time() - began
        draws = assignments.Draws.of(tree, group, people.item)
        began = time.process_time()
        naive = [
            straightforward(tree, people, codes, group, draws, state) for state in states[:CHECKED]
        ]
        slow = (time.process_time() - began) / CHECKED * ASSIGNMENTS
        np.testing.assert_allclose(found[:CHECKED], naive, atol=1e-9)
        both = [both[0] + fast, both[1] + slow]
        rows.append({"control": name, "compiled s": fast, "NumPy s": slow, "ratio": slow / fast})
        print(rows[-1], flush=True)
    rows.append({"control": "all four", "compiled s": both[0], "NumPy s": both[1]})
    rows[-1]["ratio"] = both[1] / both[0]
    report(
        "analyses: hierarchy controls",
        rows,
        f"{ASSIGNMENTS} assignments, {len(people):,} queries, {len(people.item):,} pairs, "
        f"{tree.n_items:,} items; CPU seconds of one core. NumPy: {CHECKED} assignment measured, equal to "
        "1e-9, times the rest.",
    )


def evidence() -> None:
    """The evidence design."""
    made = paper_data.made()
    settings = design.EvidenceSettings()

    def work(settings: design.EvidenceSettings) -> design.Design:
        return design.designed(made.tree, made.people, settings, lambda done, total: None)

    work(design.EvidenceSettings(replicates=1))
    found: list[design.Design] = []
    began = time.process_time()
    peak = peak_megabytes(lambda: found.append(work(settings)))
    seconds = time.process_time() - began
    began = time.process_time()
    summary(found[0])
    summed = time.process_time() - began
    several = made.people.several()
    report(
        "analyses: evidence design",
        [
            {
                "queries": len(several),
                "pairs": len(several.item),
                "items": made.tree.n_items,
                "design, s": seconds,
                "bootstrap and tests, s": summed,
                "seconds": seconds + summed,
                "peak MB": peak,
            }
        ],
        "3 assignments x 7 masks x 3 weights x 20 replicates x 5 depths; CPU seconds of one core",
    )


def profile() -> None:
    """The made data beside the paper's table (a)."""
    made = paper_data.made()
    measured = ambiguity(made.tree, project(made.tree, made.people.relevance("linear")))
    columns = {
        "entropy": measured.entropy.mean(axis=0),
        "queries": 100 * measured.branches.mean(axis=0),
        "mass": 100 * measured.mass.mean(axis=0),
    }
    rows = []
    for depth in range(made.tree.depth):
        row: dict[str, Any] = {"depth": f"L{depth + 1}"}
        for name, values in columns.items():
            row |= {name: float(values[depth]), f"{name}, paper": paper_data.PAPER[name][depth]}
        rows.append(row)
    report("analyses: profile of the made data", rows, f"{len(made.people):,} queries")


PARTS = {"profile": profile, "controls": controls, "evidence": evidence}


def main() -> None:
    asked = sys.argv[1:] or list(PARTS)
    if set(asked) - set(PARTS):
        sys.exit(f"usage: python -m benchmarks.analyses [{' | '.join(PARTS)}]")
    for name in asked:
        PARTS[name]()


if __name__ == "__main__":
    main()
