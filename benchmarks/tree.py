"""The flat tree against a nested-dict trie: time to build and memory.

Asks for: at least 20x faster to build and 20x smaller at 1 million items, and at most 16 bytes per item
beyond the codes at 1 and 10 million.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.measure import alternate, python_bytes, report
from rars.tree import PrefixTree


def skewed_codes(n: int, depth: int = 4, size: int = 256, seed: int = 0) -> npt.NDArray[np.int32]:
    """Random identifiers whose codes are unevenly used, as learned ones are (Zipf-like per depth)."""
    rng = np.random.default_rng(seed)
    weight = 1.0 / np.arange(1, size + 1) ** 0.6
    columns = [
        rng.permutation(size)[rng.choice(size, n, p=weight / weight.sum())] for _ in range(depth)
    ]
    return np.stack(columns, axis=1).astype(np.int32)


def dict_trie(codes: list[list[int]]) -> dict[Any, Any]:
    """The usual trie: a dictionary per prefix, a list of items in each leaf."""
    root: dict[Any, Any] = {}
    for item, row in enumerate(codes):
        node = root
        for code in row[:-1]:
            node = node.setdefault(code, {})
        node.setdefault(row[-1], []).append(item)
    return root


def main() -> None:
    codes = skewed_codes(1_000_000)
    rows = codes.tolist()
    seconds = alternate(
        {"dict": lambda: dict_trie(rows), "flat": lambda: PrefixTree.build(codes)}, repeats=3
    )
    tree = PrefixTree.build(codes)
    dict_bytes = python_bytes(lambda: dict_trie(rows))
    large = skewed_codes(10_000_000, seed=1)
    large_seconds = alternate({"flat": lambda: PrefixTree.build(large)}, repeats=3)["flat"]
    large_tree = PrefixTree.build(large)
    report(
        "tree: build and memory",
        [
            {
                "structure": "nested dict, 1M",
                "seconds": seconds["dict"],
                "bytes per item": dict_bytes / 1e6,
            },
            {
                "structure": "flat arrays, 1M",
                "seconds": seconds["flat"],
                "bytes per item": tree.nbytes / 1e6,
                "times faster": seconds["dict"] / seconds["flat"],
                "times smaller": dict_bytes / tree.nbytes,
            },
            {
                "structure": "flat arrays, 10M",
                "seconds": large_seconds,
                "bytes per item": large_tree.nbytes / 1e7,
            },
        ],
        "bytes beyond the codes; the inverse order, made on first use, adds 4 bytes an item",
    )


if __name__ == "__main__":
    main()
