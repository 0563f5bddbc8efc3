"""What a catalogue looks like to a retriever, so that the bundled shop can be held against real ones.

``python -m benchmarks.realism DIR ...`` prints, for each dataset folder: how alike its titles are, how its
vocabulary grows, what is missing, how queries and catalogue share words, how skewed brands are, what BM25 and
dense vectors (``use``) find alone and together, what residual k-means identifiers (4 x 256) lose of the
vectors' recall, and how many queries branch at the first code. Nothing is learned from judgments, so the
figures are of all judged queries, unless ``--split`` names some. Without a folder, demo shops are made: tidy
and at the default realism, in each language.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rars import Recipe
from rars.analysis import ambiguity
from rars.analysis.health import untrained
from rars.arrays import Bools, Ints
from rars.baselines import Bm25
from rars.data import Dataset
from rars.data.schema import SPLITS
from rars.data.shop import LOCALES, make_shop
from rars.data.shop.realism import DEFAULT
from rars.data.words import words
from rars.identifiers import cached_vectors, item_vectors, learn_identifiers, shared_embedder
from rars.identifiers.nearest import nearest
from rars.systems import Ranked
from rars.tree import PrefixTree

DEPTH = 100
ALIKE = 0.8
"""Titles are near-duplicates if they share this part of their different words (Jaccard)."""
SAMPLE = 2_000
"""Titles whose nearest title is looked for, among all."""


def measure(data: Dataset, split: str) -> dict[str, float]:
    """All figures of one dataset; shares are per cent."""
    columns = data.items(["title", "text", "brand", "color", "category"]).to_pydict()
    titles = [words(text or "") for text in columns["title"]]
    texts = [words(text or "") for text in columns["text"]]
    return {
        **_titles(titles),
        **_vocabulary([*map(list.__add__, titles, texts)]),
        **_fields(data, columns["brand"]),
        **_queries(data, split, [set(a) | set(b) for a, b in zip(titles, texts, strict=True)]),
        **_found(data, split),
    }


def _titles(titles: Sequence[list[str]]) -> dict[str, float]:
    lengths = np.array([len(title) for title in titles])
    return {
        "title words, mean": lengths.mean(),
        "title words, deviation / mean": lengths.std() / lengths.mean(),
        "titles with a near-duplicate": 100 * near_duplicates([set(title) for title in titles]),
    }


def near_duplicates(titles: Sequence[set[str]], sample: int = SAMPLE) -> float:
    """Share of (a sample of) titles with another of Jaccard similarity ``ALIKE`` or more."""
    having: dict[str, list[int]] = {}
    for row, title in enumerate(titles):
        for word in title:
            having.setdefault(word, []).append(row)
    rows = np.arange(len(titles))[:: max(1, len(titles) // sample)]
    sizes = np.array([len(title) for title in titles])
    hits = 0
    for row in rows.tolist():
        if not titles[row]:
            continue
        common = np.zeros(len(titles), dtype=np.int32)
        for word in titles[row]:
            common[having[word]] += 1
        alike = common >= ALIKE * (sizes + sizes[row] - common)
        hits += int(alike.sum() > 1)
    return hits / len(rows)


def _vocabulary(documents: Sequence[list[str]]) -> dict[str, float]:
    counts = Counter(word for document in documents for word in document)
    seen: set[str] = set()
    total, curve = 0, []
    # A random order: catalogues are often sorted by category.
    for row in np.random.default_rng(0).permutation(len(documents)).tolist():
        seen.update(documents[row])
        total += len(documents[row])
        curve.append((total, len(seen)))
    half = np.log(np.array(curve[len(curve) // 10 :], dtype=np.float64))
    return {
        "different words a 1,000 items": 1000 * len(counts) / len(documents),
        "Heaps exponent": float(np.polyfit(half[:, 0], half[:, 1], 1)[0]),
        "words seen once": 100 * sum(one == 1 for one in counts.values()) / len(counts),
    }


def _gini(counts: Sequence[int]) -> float:
    ordered = np.sort(np.array(counts, dtype=np.float64))
    ranks = np.arange(1, len(ordered) + 1)
    return float((2 * ranks - len(ordered) - 1) @ ordered / (len(ordered) * ordered.sum()))


def _fields(data: Dataset, brands: Sequence[str | None]) -> dict[str, float]:
    named = Counter(brand for brand in brands if brand)
    table = data.items()
    empty = {
        name: 100
        * float(pc.mean(pc.fill_null(pc.equal(table[name].cast(pa.string()), ""), True)).as_py())
        for name in ("text", "brand", "color")
    }
    attributes = np.array([len(one or ()) for one in table["attributes"].to_pylist()])
    return {
        "brands": len(named),
        "Gini of brands": _gini(list(named.values())) if named else 0.0,
        **{f"without {name}": share for name, share in empty.items()},
        "attributes, deviation / mean": attributes.std() / max(attributes.mean(), 1e-9),
    }


def _queries(data: Dataset, split: str, documents: Sequence[set[str]]) -> dict[str, float]:
    query, item, _ = data.positives(split)
    asked, row = np.unique(query, return_inverse=True)
    texts = [words(text) for text in data.query_texts.take(pa.array(asked)).to_pylist()]
    known = set().union(*documents)
    unknown = [sum(word not in known for word in text) / max(1, len(text)) for text in texts]
    strangers = [
        set(texts[place]).isdisjoint(documents[one]) for place, one in zip(row, item, strict=True)
    ]
    counts = np.bincount(row)
    return {
        "query words, mean": float(np.mean([len(text) for text in texts])),
        "query words not in the catalogue": 100 * float(np.mean(unknown)),
        "positives without a common word": 100 * float(np.mean(strangers)),
        "positives a query, median": float(np.median(counts)),
        "positives a query, mean": float(counts.mean()),
        "positives a query, 90th percentile": float(np.percentile(counts, 90)),
    }


def _hits(found: Ranked, row: Ints, item: Ints) -> Bools:
    sets = [set(found.row(place)[0].tolist()) for place in range(int(row.max()) + 1)]
    return np.array([one in sets[place] for place, one in zip(row, item, strict=True)])


def _recall(hit: Bools, row: Ints) -> float:
    return 100 * float((np.bincount(row, hit) / np.bincount(row)).mean())


def _found(data: Dataset, split: str) -> dict[str, float]:
    query, item, _ = data.positives(split)
    asked, row = np.unique(query, return_inverse=True)
    texts = data.query_texts.take(pa.array(asked))
    settings = Recipe.resolve("base", size="tiny").identifiers
    points, digest = item_vectors(data, settings.embedder)
    asking = cached_vectors(pa.chunked_array([texts]), shared_embedder(settings.embedder, digest))
    lexical = _hits(Bm25.of(data).search(texts.to_pylist(), DEPTH), row, item)
    dense = _hits(nearest(asking, points, DEPTH), row, item)
    identifiers = learn_identifiers(data, settings)
    kept = 100 * (untrained(data, identifiers, split) or 0.0)
    profile = ambiguity.profile(data, PrefixTree.build(identifiers.codes), split)
    vectors = _recall(dense, row)
    return {
        "Recall@100 of BM25": _recall(lexical, row),
        "Recall@100 of vectors": vectors,
        "Recall@100 of both together": _recall(lexical | dense, row),
        "Recall@100 of identifiers": kept,
        "lost by identifiers": 100 * (1 - kept / vectors),
        "queries that branch at L1": 100 * profile.rows[0].ambiguous_queries,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Figures of catalogues, real or made.")
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--split", choices=SPLITS, help="of these queries alone")
    options = parser.parse_args()
    with TemporaryDirectory() as home:
        folders = options.folders or _shops(Path(home))
        found = {}
        for folder in folders:
            data = Dataset.load(folder)
            if options.split is None:
                data = data.with_split(np.full(data.n_queries, SPLITS.index("test")))
            found[folder.name] = measure(data, options.split or "test")
    print(" " * 38, *(f"{name[:10]:>10}" for name in found))
    for name in next(iter(found.values())):
        print(f"{name:38}", *(f"{one[name]:10.2f}" for one in found.values()))


def _shops(home: Path) -> list[Path]:
    made = []
    for locale in LOCALES:
        for dial in (0.0, DEFAULT):
            made.append(home / f"{locale}-{dial:g}")
            make_shop(made[-1], size="demo", locale=locale, realism=dial)
    return made


if __name__ == "__main__":
    main()
