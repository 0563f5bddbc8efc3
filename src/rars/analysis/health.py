"""Identifiers before any training: the figure of their health, and the recall they reach untrained.

Owns: the figure of ``rars inspect``, and the recall of the untrained reconstruction retriever. The measures
are in ``rars.identifiers.health``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from rars.analysis import figures
from rars.data import Dataset
from rars.identifiers import Health, Identifiers, cached_vectors, shared_embedder, untrained_recall
from rars.identifiers.embedders import embedder_kind
from rars.identifiers.hit_rate import hit_rate


def untrained(dataset: Dataset, identifiers: Identifiers, split: str, k: int = 100) -> float | None:
    """Recall@k of query vector . reconstructed item, with no training; None where that has no meaning.

    It compares identifier learners before any model is trained: what it loses, no decoder can win back.
    """
    kind, _ = embedder_kind(identifiers.embedder_name)
    if not identifiers.quantizer.takes_vectors or not kind.reads_texts:
        return None
    query, item, _ = dataset.positives(split)
    if not len(query):
        return None
    embedder = shared_embedder(identifiers.embedder_name, identifiers.embedder)
    asked, row = np.unique(query, return_inverse=True)
    texts = pa.chunked_array([dataset.query_texts.take(pa.array(asked))])
    vectors = identifiers.query_space(cached_vectors(texts, embedder), texts.to_pylist())
    return untrained_recall(vectors, identifiers.quantizer, identifiers.codes, (row, item), k)


def embedding_hit_rate(
    dataset: Dataset, identifiers: Identifiers, split: str, k: int = 50
) -> float | None:
    """FORGE's hit rate of the vectors that identifiers stand for; None where they stand for none."""
    quantizer = identifiers.quantizer
    if not quantizer.takes_vectors:
        return None
    points = quantizer.decode(identifiers.codes[:, : len(quantizer.sizes)])
    return hit_rate(dataset, points, split, k)


def draw(health: Health, path: Path) -> None:
    """Codes used per depth, how many prefixes there are, and how many items share an identifier."""
    labels = [f"L{row.depth}" for row in health.depths]
    place = np.arange(len(labels))
    with figures.figure(path, panels=3, width=3.6) as (codes, prefixes, leaves):
        codes.bar(
            place, [row.size for row in health.depths], 0.6, color="#E5E7EB", label="possible"
        )
        codes.bar(place, [row.used for row in health.depths], 0.6, color=figures.BLUE, label="used")
        codes.plot(
            place,
            [row.perplexity for row in health.depths],
            "D",
            color=figures.ORANGE,
            label="perplexity",
        )
        codes.set(xticks=place, xticklabels=labels, ylabel="codes")
        codes.set_title("Codes in use")
        codes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncol=3)
        drawn = prefixes.bar(place, [r.prefixes for r in health.depths], 0.6, color=figures.GREEN)
        prefixes.bar_label(drawn, fmt="{:,.0f}", fontsize=8, label_type="center", color="white")
        prefixes.axhline(health.items, color=figures.GREY, ls="--", lw=1)
        prefixes.text(
            place[0] - 0.4, health.items, f"{health.items:,} items", va="bottom", fontsize=8
        )
        prefixes.set(xticks=place, xticklabels=labels, yscale="log", ylabel="distinct prefixes")
        prefixes.set_ylim(1, 3 * health.items)
        prefixes.set_title("How the tree spreads")
        sizes = sorted(health.leaves)[:8]
        counts = [health.leaves[size] for size in sizes]
        drawn = leaves.bar([str(size) for size in sizes], counts, 0.6, color=figures.RED)
        leaves.bar_label(drawn, fmt="{:,.0f}", fontsize=8, padding=2)
        leaves.set(yscale="log", ylim=(0.8, 3 * max(counts)), xlim=(-0.8, max(3, len(sizes)) - 0.2))
        leaves.set(xlabel="items that share it", ylabel="identifiers")
        leaves.set_title(f"Items that share one: {100 * health.collision_rate:.1f} %")
