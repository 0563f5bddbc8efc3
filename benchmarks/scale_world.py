"""A catalogue of any size for benchmarks: vectors, identifiers, words and colours drawn, not read.

Owns: building its index on disk in chunks (vectors and codes are never in memory together, so ten million
items need time and disk, not memory), opening it as a run is opened, and queries about it. Weights are
random. The queries' vectors are given: what an embedder costs is the same for everybody, and not measured
here.

Vectors are clusters below clusters with noise that falls off by direction, of unit length. An item has ten
words, eight of them from one Zipf distribution and two of its clusters, and one of 16 colours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
import pyarrow as pa
import torch

from benchmarks.evidence import COLORS
from rars.arrays import Ints, Points
from rars.config import Recipe
from rars.identifiers.kmeans import library
from rars.identifiers.residual import ResidualQuantizer
from rars.model import saving
from rars.model.saving import Ready, build
from rars.model.tokenizer import train_tokenizer
from rars.search.cells import Cells
from rars.search.evidence import Ancestry, EvidenceIndex, default_extractors
from rars.search.evidence.lexical import Words
from rars.search.evidence.postings import PostingsBuilder
from rars.search.index import IndexVersion
from rars.search.query_reader import QueryReader, measure_of
from rars.search.retriever import Retriever
from rars.search.router import Router
from rars.search.rules import HybridSettings
from rars.search.store import SHOWN, SHOWN_FILE, ItemStore
from rars.search.vectors import Vectors, cells_of
from rars.tree import PrefixTree, SidVocabulary

CHUNK = 100_000
CODES, DEPTH = 256, 4
TOPS, SUBS = 60, 40
VOCABULARY, WORDS, OWN = 50_000, 8, 2
SHARPNESS, PRIOR, DECODER = 22.6, (0.8, 0.64, 0.61, 0.94), 0.3
"""As a short training of ``practical`` on the demo shop left them."""

_SAMPLE = 25_600
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u")]


def word(number: int) -> str:
    """A word that is no colour, unit or number."""
    found = "x"
    while True:
        number, rest = divmod(number, len(_SYLLABLES))
        found += _SYLLABLES[rest]
        if not number:
            return found + "x"


@dataclass(frozen=True, eq=False)
class Draws:
    """Items drawn chunk by chunk; the same for the same number and width."""

    items: int
    dim: int

    @cached_property
    def _centres(self) -> tuple[Points, Points, Points]:
        rng = np.random.default_rng(0)
        fall = (1 / np.arange(1, self.dim + 1) ** 0.6).astype(np.float32)
        tops = rng.normal(size=(TOPS, self.dim)).astype(np.float32) * fall
        subs = rng.normal(size=(TOPS, SUBS, self.dim)).astype(np.float32) * fall * 0.8
        return tops, subs, fall * 0.7

    @cached_property
    def _chances(self) -> Any:
        weight = 1 / np.arange(1, VOCABULARY + 1)
        return np.cumsum(weight / weight.sum())

    def chunks(self) -> Iterator[tuple[slice, Points, Ints, Ints]]:
        """Where, vectors (n, dim), words (n, 10) and colours (n,) of each chunk."""
        for start in range(0, self.items, CHUNK):
            where = slice(start, min(start + CHUNK, self.items))
            yield (where, *self._drawn(np.random.default_rng([1, start]), where.stop - start))

    def _drawn(self, rng: np.random.Generator, n: int) -> tuple[Points, Ints, Ints]:
        tops, subs, noise = self._centres
        weight = 1 / np.arange(1, TOPS + 1) ** 0.7
        top = rng.choice(TOPS, n, p=weight / weight.sum())
        sub = np.minimum((rng.pareto(1.2, n) * 6).astype(np.int64), SUBS - 1)
        points = tops[top] + subs[top, sub]
        points += rng.standard_normal((n, self.dim), dtype=np.float32) * noise
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        words = np.searchsorted(self._chances, rng.random((n, WORDS)))
        own = VOCABULARY + np.stack([top, TOPS + top * SUBS + sub], axis=1)
        return points, np.hstack([words, own]), rng.integers(0, len(COLORS), n)


def codebooks(vectors: Points) -> tuple[Points, ...]:
    """Residual k-means of a sample."""
    faiss = library()
    rest, found = vectors.copy(), []
    for depth in range(DEPTH):
        means = faiss.Kmeans(rest.shape[1], CODES, niter=6, seed=depth, max_points_per_centroid=100)
        means.train(rest)
        found.append(np.array(means.centroids))
        rest -= found[-1][means.index.search(rest, 1)[1][:, 0]]
    return tuple(found)


def make(folder: Path, items: int, dim: int, dtype: str) -> None:
    """Write the index of a drawn catalogue, and its words for whoever else wants to index them."""
    folder.mkdir(parents=True, exist_ok=True)
    draws = Draws(items, dim)
    quantizer: ResidualQuantizer | None = None
    stored = np.lib.format.open_memmap(folder / "vectors.npy", "w+", dtype, (items, dim))
    texts = np.lib.format.open_memmap(folder / "words.npy", "w+", np.int32, (items, WORDS + OWN))
    codes = np.empty((items, DEPTH), dtype=np.int32)
    builders = PostingsBuilder(), PostingsBuilder()
    names = [word(n) for n in range(VOCABULARY + TOPS + TOPS * SUBS)]
    for where, vectors, words, colors in draws.chunks():
        if quantizer is None:
            quantizer = ResidualQuantizer(codebooks(vectors[:_SAMPLE]))
            np.save(folder / "codebooks.npy", np.stack(quantizer.codebooks))
        stored[where], texts[where] = vectors, words
        codes[where] = quantizer.encode(vectors)
        row = np.arange(where.start, where.stop, dtype=np.int32)
        builders[0].add(names, words.astype(np.int32).ravel(), np.repeat(row, words.shape[1]))
        builders[1].add([f"color {one}" for one in COLORS], colors.astype(np.int32), row)
    texts.flush()
    listed, own = cells_of(stored)
    spread = np.lib.format.open_memmap(folder / "segment.npy", "w+", dtype, (items, dim))
    for start in range(0, items, CHUNK):
        spread[own[start : start + CHUNK]] = stored[start : start + CHUNK]
    spread.flush()
    np.savez(folder / "cells.npz", centroids=listed.centroids, starts=listed.starts, rows=own)
    tree = PrefixTree.build(codes)
    tree.save(folder / "tree")
    found, keys = (builder.finish(tree.positions) for builder in builders)
    lengths = np.full(items, WORDS + OWN, dtype=np.int32)
    index = EvidenceIndex(Ancestry.of(tree), Words(found, lengths), keys, default_extractors())
    index.save(folder / "evidence")
    ids = pa.array([f"P{n}" for n in range(items)])
    blank = {name: pa.nulls(items, pa.string()) for name in SHOWN}
    table = pa.table(blank | {"id": ids, "title": ids})
    with (
        pa.OSFile(str(folder / SHOWN_FILE), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as out,
    ):
        out.write_table(table)


@dataclass(frozen=True, eq=False)
class GivenVectors(QueryReader):
    """A reader whose sentence vectors are known by their text."""

    table: dict[str, Points] = field(default_factory=dict)

    def vectors(self, texts: Sequence[str]) -> Points:
        """Look them up."""
        return np.stack([self.table[text] for text in texts])


@dataclass(frozen=True, eq=False)
class Asked:
    """Queries: texts, their word numbers, and vectors (n, dim)."""

    texts: list[str]
    words: list[list[int]]
    vectors: Points


def queries(folder: Path, count: int) -> Asked:
    """Each is about an item: three of its words, half of them with a colour, and a vector near its own."""
    stored, words = (
        np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("vectors", "words")
    )
    rng = np.random.default_rng(7)
    rows = rng.integers(0, len(stored), count)
    others = stored[rng.integers(0, len(stored), count)].astype(np.float32)
    vectors = stored[rows].astype(np.float32) + 0.5 * others
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts, asked = [], []
    for number, row in enumerate(rows.tolist()):
        common = sorted(set(words[row, :WORDS].tolist()))[1:4:2]  # not its most frequent word
        chosen = [*common, int(words[row, WORDS + 1])]
        color = [sorted(COLORS)[number % len(COLORS)]] if number % 2 else []
        # The number keeps texts apart; no item has it.
        texts.append(" ".join([*map(word, chosen), *color, f"q{number}"]))
        asked.append(chosen)
    return Asked(texts, asked, vectors)


def ready_model(books: Sequence[Points], tree: PrefixTree) -> Ready:
    """The tiny model of ``practical`` with random weights, a prior as sharp as a trained one, opened anew."""
    settings = Recipe.resolve("practical", size="tiny").model
    tokenizer = train_tokenizer((word(n) for n in range(20_000)), settings.vocabulary, 64)
    vocabulary = SidVocabulary.of(tree, (CODES,) * DEPTH)
    ready = build(
        settings, vocabulary, tokenizer, vector=books[0].shape[1], embedder="given", codewords=books
    )
    assert ready.model.prior is not None
    with torch.no_grad():
        ready.model.prior.sharpness.fill_(SHARPNESS)
        ready.model.prior.scales.copy_(torch.tensor(PRIOR))
        ready.model.prior.own.fill_(DECODER)
    # A run that is opened has leaner modules than one in training.
    with TemporaryDirectory() as folder:
        saving.save(ready, Path(folder))
        return saving.load(Path(folder))


def opened(folder: Path) -> IndexVersion:
    """The index of the catalogue, opened as that of a run is, without checking digests."""
    tree = PrefixTree.load(folder / "tree", verify=False)
    stored = np.asarray(np.load(folder / "segment.npy", mmap_mode="r"))
    with np.load(folder / "cells.npz") as found:
        listed, rows = Cells(found["centroids"], found["starts"]), found["rows"].astype(np.int32)
    return IndexVersion(
        name="v000001",
        folder=folder,
        meta={"model": "", "identifiers": ""},
        digest="",
        codes=np.zeros((0, DEPTH), dtype=np.int32),
        tree=tree,
        categories=None,
        evidence=EvidenceIndex.load(folder / "evidence", tree, verify=False),
        items=ItemStore(pa.ipc.open_file(pa.memory_map(str(folder / SHOWN_FILE))).read_all()),
        vectors=Vectors(("vectors",), (stored,), rows, cells=(listed,)),
    )


def retriever(index: IndexVersion, folder: Path, asked: Asked, **settings: Any) -> Retriever:
    """The index and a model with random weights."""
    quantizer = ResidualQuantizer(tuple(np.load(folder / "codebooks.npy")))
    ready = ready_model(quantizer.codebooks, index.tree)
    table = dict(zip(asked.texts, asked.vectors, strict=True))
    reader = GivenVectors(ready, quantizer, "given", "given", table=table)
    search = Recipe.resolve("practical", size="tiny").search.model_copy(update=settings)
    router, measure = Router.of(ready, index), measure_of(ready, index.tree)
    nothing = cast(Any, None)
    return Retriever(nothing, ready, reader, index, search, HybridSettings(), router, measure)
