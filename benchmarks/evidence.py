"""Compatibility of one query with prefix maxima for a whole beam, against dense NumPy.

``python -m benchmarks.evidence``: 300,000 items, about 15,000 postings and 20,000 beam children a query, one
thread. Asks for: at most 1.5 ms a query and at least 4x a vectorised dense implementation, results equal.
Then the same from 100,000 to 3 million items, once with postings that grow with the catalogue and once with
as many as before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.measure import alternate, report
from benchmarks.tree import skewed_codes
from rars.search.evidence import Ancestry, Evidence, EvidenceIndex, default_extractors
from rars.search.evidence.index import PAPER, Asked
from rars.search.evidence.lexical import Words
from rars.search.evidence.postings import PostingsBuilder
from rars.search.evidence.quantities import quantities
from rars.tree import PrefixTree

ITEMS, POSTINGS, BEAMS, QUERIES = 300_000, 15_000, 100, 16
SIZES = (100_000, 300_000, 1_000_000, 3_000_000)
ROUNDS = 9

Floats = npt.NDArray[Any]
Step = tuple[int, npt.NDArray[Any]]
Lists = list[tuple[Floats, float]]


def query_terms(number: int) -> tuple[str, dict[str, float], dict[str, float]]:
    """A query, and what share of its postings each of its keys and each of its words has."""
    color = sorted(COLORS)[number]
    (volume,) = quantities(f"{number + 1} l")
    keys = {f"brand acme{number}": 0.20, f"color {color}": 0.45, volume.measures[0]: 0.15}
    words = {f"bottle{number}": 0.12, f"aurora{number}": 0.08}
    return f"acme{number} {color} bottle{number} {number + 1} l aurora{number}", keys, words


COLORS = (
    *("black", "white", "gray", "silver", "gold", "blue", "red", "green", "khaki", "yellow"),
    *("orange", "coral", "pink", "purple", "brown", "beige"),
)


def make_index(tree: PrefixTree, postings: int, seed: int = 0) -> EvidenceIndex:
    """An index that holds the queries' terms on random items, among many terms that no query has."""
    rng = np.random.default_rng(seed)
    items = tree.n_items
    builders = PostingsBuilder(), PostingsBuilder()
    for number in range(QUERIES):
        for builder, shares in zip(builders, query_terms(number)[1:], strict=True):
            for term, share in shares.items():
                rows = rng.choice(items, int(postings * share), replace=False).astype(np.int32)
                builder.add([term], np.zeros(len(rows), dtype=np.int32), rows)
    for builder in builders:
        others = [f"{begin}{number}" for number in range(50_000) for begin in ("brand x", "y")]
        rows = rng.integers(0, items, items, dtype=np.int32)
        builder.add(others, rng.integers(0, len(others), items, dtype=np.int32), rows)
    keys, words = (builder.finish(tree.positions) for builder in builders)
    lengths = np.full(items, 20, dtype=np.int32)
    return EvidenceIndex(Ancestry.of(tree), Words(words, lengths), keys, default_extractors())


def make_beam(tree: PrefixTree, seed: int = 0) -> list[Step]:
    """The children that a beam of 100 looks at on its way down, depth by depth."""
    rng = np.random.default_rng(seed)
    steps = []
    beam: npt.NDArray[Any] = np.zeros(1, dtype=np.int64)
    for depth in range(tree.depth):
        _, children = tree.expand(depth, beam)
        steps.append((depth + 1, children))
        beam = rng.choice(children, min(BEAMS, len(children)), replace=False)
    return steps


def with_postings(index: EvidenceIndex, asked: Asked, steps: Sequence[Step]) -> list[Floats]:
    evidence = index.sum_of(asked).whole()
    return [evidence.prefix_maxima(depth, nodes) for depth, nodes in steps]


def lists_of(index: EvidenceIndex, asked: Asked) -> tuple[Lists, float]:
    """The query's posting lists with their weights, and the score of an item that is on none."""
    count = len(asked.constraints)
    gammas = [PAPER.gamma(constraint) for constraint in asked.constraints]
    lists = [
        (_items_of(index, constraint.keys), (1 + gamma) / count)
        for constraint, gamma in zip(asked.constraints, gammas, strict=True)
    ]
    total = sum(rare.idf for rare in asked.words)
    lists += [(rare.listed.positions, PAPER.lexical * rare.idf / total) for rare in asked.words]
    return lists, -sum(gammas) / count


def _items_of(index: EvidenceIndex, keys: Sequence[str]) -> Floats:
    """The sorted positions of the items that have any of the keys."""
    lists = [one.positions for key in keys if (one := index.keys.find(key))]
    return np.unique(np.concatenate(lists))


def dense_lists(
    tree: PrefixTree, lists: Lists, baseline: float, steps: Sequence[Step]
) -> list[Floats]:
    """A score for every item, written list by list; maxima of all nodes from the leaves to the root."""
    scores = np.full(tree.n_items, baseline)
    for positions, weight in lists:
        scores[positions] += weight
    return dense_maxima(tree, scores, steps)


def dense_columns(
    tree: PrefixTree, columns: Floats, weights: list[float], baseline: float, steps: Sequence[Step]
) -> list[Floats]:
    """The same from ready-made indicator columns I_a(d), as the formula is written."""
    scores = np.full(tree.n_items, baseline)
    for column, weight in zip(columns, weights, strict=True):
        scores += weight * column
    return dense_maxima(tree, scores, steps)


def dense_maxima(tree: PrefixTree, scores: Floats, steps: Sequence[Step]) -> list[Floats]:
    best = {tree.depth: np.maximum.reduceat(scores, tree.buckets[:-1])}
    for depth in range(tree.depth - 1, 0, -1):
        best[depth] = np.maximum.reduceat(best[depth + 1], tree.children[depth][:-1])
    return [best[depth][nodes] for depth, nodes in steps]


def measure(items: int, postings: int) -> dict[str, Any]:
    """Milliseconds a query of each implementation at one size, after checking that they agree."""
    tree = PrefixTree.build(skewed_codes(items))
    index = make_index(tree, postings)
    texts = [query_terms(number)[0] for number in range(QUERIES)]
    beams = [make_beam(tree, seed) for seed in range(QUERIES)]
    asked = [index.read(text) for text in texts]
    assert all((len(one.constraints), len(one.words)) == (3, 2) for one in asked), asked
    lists = [lists_of(index, one) for one in asked]
    columns = [_columns(some, items) for some, _ in lists]
    runs: dict[str, Callable[[], list[list[Floats]]]] = {
        "postings": lambda: [
            with_postings(index, one, beam) for one, beam in zip(asked, beams, strict=True)
        ],
        "from the text": lambda: [
            with_postings(index, index.read(text), beam)
            for text, beam in zip(texts, beams, strict=True)
        ],
        "dense": lambda: [
            dense_lists(tree, some, baseline, beam)
            for (some, baseline), beam in zip(lists, beams, strict=True)
        ],
        "dense columns": lambda: [
            dense_columns(tree, matrix, [weight for _, weight in some], baseline, beam)
            for matrix, (some, baseline), beam in zip(columns, lists, beams, strict=True)
        ],
    }
    _verify([run() for run in runs.values()])
    times = {name: seconds / QUERIES for name, seconds in alternate(runs, ROUNDS).items()}
    return {
        "items": items,
        "postings": sum(len(positions) for positions, _ in lists[0][0]),
        "children": sum(len(nodes) for beam in beams for _, nodes in beam) // QUERIES,
        **{f"{name}, ms": seconds * 1e3 for name, seconds in times.items()},
        "times faster than dense": times["dense"] / times["postings"],
        "than columns": times["dense columns"] / times["postings"],
    }


def _columns(lists: Lists, items: int) -> npt.NDArray[np.bool_]:
    columns = np.zeros((len(lists), items), dtype=bool)
    for column, (positions, _) in zip(columns, lists, strict=True):
        column[positions] = True
    return columns


def _verify(results: Sequence[list[list[Floats]]]) -> None:
    for other in results[1:]:
        for one_query, other_query in zip(results[0], other, strict=True):
            for one, two in zip(one_query, other_query, strict=True):
                np.testing.assert_allclose(one, two, atol=1e-12)


def any_score(items: int = ITEMS) -> list[dict[str, Any]]:
    """What the maxima alone cost for a score of every item, such as a dense similarity."""
    tree = PrefixTree.build(skewed_codes(items))
    ancestry, steps = Ancestry.of(tree), make_beam(tree)
    scores = np.random.default_rng(0).random(items, dtype=np.float32)

    def dense() -> list[Floats]:
        evidence = Evidence.from_dense(ancestry, scores)
        return [evidence.prefix_maxima(depth, nodes) for depth, nodes in steps]

    times = alternate({"ours": dense, "all": lambda: dense_maxima(tree, scores, steps)}, ROUNDS)
    return [
        {"maxima of a dense score": "for the beam's nodes", "ms": times["ours"] * 1e3},
        {"maxima of a dense score": "for all nodes", "ms": times["all"] * 1e3},
    ]


def main() -> None:
    report(
        "evidence: compatibility of one query, a whole beam",
        [measure(ITEMS, POSTINGS)],
        "medians over 16 queries a turn; 'from the text' includes reading the query; results verified equal",
    )
    report(
        "evidence-growth: postings grow with the catalogue",
        [measure(items, items * POSTINGS // ITEMS) for items in SIZES],
    )
    report(
        "evidence-fixed: as many postings in a larger catalogue",
        [measure(items, POSTINGS) for items in SIZES],
    )
    report("evidence-dense: a score for every item, 300,000 items", any_score())


if __name__ == "__main__":
    main()
