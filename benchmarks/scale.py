"""Hybrid search as the catalogue grows, beside what a team would run instead on the same words and vectors.

``python -m benchmarks.scale --items 300000``: the tiny model with random weights, one thread. Against it:
bm25s and a faiss index (flat, and HNSW), their best 1,000 items each, added up by item; and bm25s alone,
which no fusion with it can be faster than, whatever its index. Prints p50 and p95 of single queries, CPU
time, alternating; memory; the time to open; how many of the exact nearest neighbours cells and the pass down
the tree find, as indexes in their own right beside faiss HNSW and IVF. Embedding the query is the same for
all and not included. Ten million items need ``--dtype float16``, 20 GB of disk and ``--rivals half`` or
``hnsw-half`` (one at a time), over half precision: 7.7 GB where flat itself would be 15.4.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import scale_world
from benchmarks.measure import report, resident_megabytes
from benchmarks.scale_world import Asked
from rars.arrays import Ints, Points
from rars.identifiers.kmeans import library
from rars.scale import products
from rars.search.candidates import Candidates, CellCandidates, TreeCandidates, nearest
from rars.search.retriever import Retriever
from rars.search.store import SHOWN_FILE
from rars.systems import Query

K, DEEP = 100, 1000
BM25, DENSE = 0.6, 0.4
REACHES = (500, 1000, 2000, 4000, 8000)
PROBES = (4, 8, 16, 32)
EXPANSIONS = (64, 128, 256, 512, DEEP)
GRAPHS = ("hnsw", "hnsw-half")


# -- what others would run -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fusion:
    """bm25s and a faiss index; the best of each, added up by item."""

    words: Any
    vectors: Any = None

    def search(self, words: list[int], vector: Points) -> Ints:
        """The best ``K`` items of one query; without vectors, those of its words."""
        lexical = self.words.get_scores_from_ids(words)
        best = np.argpartition(-lexical, DEEP)[:DEEP]
        if self.vectors is None:
            return np.asarray(best[np.argsort(-lexical[best])[:K]])
        near, rows = (found[0] for found in self.vectors.search(vector[None], DEEP))
        items = np.union1d(best, rows)
        total = BM25 * lexical[items] / max(float(lexical.max()), 1e-9)
        total[np.searchsorted(items, rows)] += DENSE * near
        return np.asarray(items[np.argsort(-total)[:K]])


def bm25s_of(folder: Path) -> Any:
    import bm25s

    words = np.load(folder / "words.npy", mmap_mode="r")
    names = {scale_world.word(n): n for n in range(int(words.max()) + 1)}
    index = bm25s.BM25(k1=1.2, b=0.75)
    index.index((words.tolist(), names), show_progress=False)
    return index


def faiss_of(kind: str, folder: Path) -> Any:
    """A faiss index of all vectors, filled in chunks."""
    faiss = library()
    stored = np.load(folder / "vectors.npy", mmap_mode="r")
    dim = stored.shape[1]
    inner = faiss.METRIC_INNER_PRODUCT
    index: Any
    if kind == "flat":
        index = faiss.IndexFlatIP(dim)
    elif kind == "half":
        index = faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_fp16, inner)
    elif kind in GRAPHS:
        half = faiss.ScalarQuantizer.QT_fp16
        index = (
            faiss.IndexHNSWFlat(dim, 16, inner)
            if kind == "hnsw"
            else faiss.IndexHNSWSQ(dim, half, 16, inner)
        )
        index.hnsw.efSearch = DEEP
    else:
        lists = int(4 * len(stored) ** 0.5)
        index = faiss.IndexIVFFlat(faiss.IndexFlatIP(dim), dim, lists, inner)
        index.cp.niter = 6
        index.train(stored[: 40 * lists].astype(np.float32))
    for start in range(0, len(stored), scale_world.CHUNK):
        index.add(stored[start : start + scale_world.CHUNK].astype(np.float32))
    return index


# -- measuring -------------------------------------------------------------------------------------


def latencies(ways: dict[str, Callable[[int], Any]], count: int) -> dict[str, list[float]]:
    """CPU milliseconds of each query, the ways taking turns query by query."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(count):
        for name in sorted(ways, reverse=number % 2 == 1):
            start = time.process_time()
            ways[name](number)
            seconds[name].append(1e3 * (time.process_time() - start))
    return {
        name: values[2:] for name, values in seconds.items()
    }  # the first ones open what is lazy


def exact_nearest(folder: Path, asked: Asked) -> Ints:
    """The best ``K`` rows of each query over all vectors, in chunks."""
    stored = np.load(folder / "vectors.npy", mmap_mode="r")
    scores = np.full((len(asked.texts), K), -np.inf, dtype=np.float32)
    rows = np.zeros((len(asked.texts), K), dtype=np.int64)
    for start in range(0, len(stored), scale_world.CHUNK):
        found = asked.vectors @ stored[start : start + scale_world.CHUNK].astype(np.float32).T
        every = np.hstack([scores, found])
        best = np.argpartition(-every, K, axis=1)[:, :K]
        names = np.broadcast_to(start + np.arange(found.shape[1]), found.shape)
        rows = np.take_along_axis(np.hstack([rows, names]), best, axis=1)
        scores = np.take_along_axis(every, best, axis=1)
    return rows


def recall(found: Ints, exact: Ints) -> float:
    pairs = zip(found, exact, strict=True)
    return float(np.mean([len(np.intersect1d(one, other)) / K for one, other in pairs]))


def neighbours(
    retriever: Retriever, asked: Asked, exact: Ints, rivals: dict[str, Any]
) -> list[dict[str, Any]]:
    """Every index at several settings: the share of the exact neighbours it finds, and its time."""
    assert retriever.index.vectors is not None
    vectors, tree = retriever.index.vectors, retriever.tree
    ways: dict[str, Callable[[int], Any]] = {}

    def inside(near: Candidates, n: int) -> Ints:
        return nearest(near, tree, vectors, asked.vectors[n : n + 1], K)[0][0]

    def outside(index: Any, owner: Any, setting: str, value: int, n: int) -> Ints:
        setattr(owner, setting, value)
        return np.asarray(index.search(asked.vectors[n : n + 1], K)[1][0])

    for reach in REACHES:
        near = TreeCandidates.of(tree, retriever.reader.quantizer, reach)
        assert near is not None
        ways[f"tree, {reach}"] = partial(inside, near)
        ways[f"cells, {reach}"] = partial(inside, CellCandidates(tree, vectors, reach))
    if "ivf" in rivals:
        for probes in PROBES:
            found = partial(outside, rivals["ivf"], rivals["ivf"], "nprobe", probes)
            ways[f"IVF, {probes} probes"] = found
    for kind in filter(rivals.__contains__, GRAPHS):
        for wide in EXPANSIONS:
            found = partial(outside, rivals[kind], rivals[kind].hnsw, "efSearch", wide)
            ways[f"HNSW, ef {wide}"] = found
    count = len(asked.texts)
    spent = latencies(ways, count)
    return [
        {
            "index": name,
            f"recall@{K}": recall(np.stack([way(n) for n in range(count)]), exact),
            "ms, p50": float(np.median(spent[name])),
        }
        for name, way in ways.items()
    ]


def profile(way: Callable[[int], Any], count: int) -> None:
    """Where the time of a search goes."""
    seen = cProfile.Profile(time.process_time)
    seen.enable()
    for number in range(count):
        way(number)
    seen.disable()
    pstats.Stats(seen, stream=sys.stderr).sort_stats("tottime").print_stats(25)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=300_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--dtype", default="float32", choices=("float32", "float16"))
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--candidates", default="cells", choices=("cells", "tree"))
    parser.add_argument("--rivals", default="flat,hnsw,ivf")
    parser.add_argument("--folder", type=Path, help="where the index is, or is made and left")
    parser.add_argument("--exact", action="store_true", help="also hybrid over all items")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    products.limit(1)
    with tempfile.TemporaryDirectory() as scratch:
        run(options, options.folder or Path(scratch))


def run(options: argparse.Namespace, folder: Path) -> None:
    start = time.process_time()
    if not (folder / SHOWN_FILE).exists():
        scale_world.make(folder, options.items, options.dim, options.dtype)
    made = time.process_time() - start
    asked = scale_world.queries(folder, options.queries)
    before, start = resident_megabytes(), time.perf_counter()
    index = scale_world.opened(folder)
    opened = time.perf_counter() - start
    retriever = scale_world.retriever(index, folder, asked, candidates=options.candidates)

    def hybrid(system: Retriever, n: int) -> Any:
        return system.answer([Query(asked.texts[n], K, rule="hybrid")])[0].items

    def fused(fusion: Fusion, n: int) -> Any:
        return fusion.search(asked.words[n], asked.vectors[n])

    ways: dict[str, Callable[[int], Any]] = {"hybrid": partial(hybrid, retriever)}
    for number in range(min(20, options.queries)):
        ways["hybrid"](number)
    memory = {"hybrid": resident_megabytes() - before}
    if options.profile:
        profile(ways["hybrid"], min(50, options.queries))
    if options.exact:
        whole = replace(
            retriever, settings=retriever.settings.model_copy(update={"candidates": "all"})
        )
        ways["hybrid, all items"] = partial(hybrid, whole)
    rivals: dict[str, Any] = {}
    lexical = None
    for kind in filter(None, options.rivals.split(",")):
        before = resident_megabytes()
        if lexical is None:
            lexical = bm25s_of(folder)
            ways["bm25s alone"] = partial(fused, Fusion(lexical))
        rivals[kind] = faiss_of(kind, folder)
        memory[f"bm25s + {kind}"] = resident_megabytes() - before
        if kind != "ivf":
            ways[f"bm25s + {kind}"] = partial(fused, Fusion(lexical, rivals[kind]))
    library().omp_set_num_threads(1)
    spent = latencies(ways, options.queries)
    items = retriever.tree.n_items
    rows: list[dict[str, Any]] = [
        {
            "search": name,
            "p50, ms": float(np.percentile(values, 50)),
            "p95, ms": float(np.percentile(values, 95)),
            "times hybrid": float(np.percentile(values, 50) / np.percentile(spent["hybrid"], 50)),
            "MB": memory.get(name),
        }
        for name, values in spent.items()
    ]
    note = f"one thread, CPU time; {options.dim} dimensions; made in {made:,.0f} s, opened in {opened:.1f} s"
    report(f"scale-{items}: {items:,} items, {options.queries} queries, k {K}", rows, note)
    exact = exact_nearest(folder, asked)
    report(
        f"scale-neighbours-{items}: cells and the pass down the tree as indexes, {items:,} items",
        neighbours(retriever, asked, exact, rivals),
    )
    if options.exact:
        pairs = [(ways["hybrid"](n), ways["hybrid, all items"](n)) for n in range(options.queries)]
        report(f"scale-agreement-{items}: hybrid against hybrid over all items", [agreement(pairs)])


def agreement(pairs: list[tuple[Ints, Ints]]) -> dict[str, Any]:
    """How much of the exact ranking is found."""
    first = {n: np.mean([len(np.intersect1d(a[:n], b[:n])) / n for a, b in pairs]) for n in (10, K)}
    return {f"same of the first {n}": float(value) for n, value in first.items()}


if __name__ == "__main__":
    main()
