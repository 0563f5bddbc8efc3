"""The systems a generative retriever is compared with: BM25, dense vectors, memory, letters, their fusion."""

from __future__ import annotations

from rars.baselines.bm25 import BM25, Bm25
from rars.baselines.dense import DENSE, Dense
from rars.baselines.fusion import FUSION, Fusion, fuse
from rars.baselines.letters import LETTERS, Letters
from rars.baselines.neighbours import NEIGHBOURS, Neighbours
from rars.baselines.parts import SystemPart

SYSTEMS: dict[str, SystemPart] = {
    "bm25": BM25,
    "dense": DENSE,
    "neighbours": NEIGHBOURS,
    "letters": LETTERS,
    "fusion": FUSION,
}
"""Every comparison system by its name."""

__all__ = ["SYSTEMS", "Bm25", "Dense", "Fusion", "Letters", "Neighbours", "SystemPart", "fuse"]
