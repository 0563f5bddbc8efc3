"""The systems a generative retriever is compared with: BM25, dense vectors, and their fusion."""

from __future__ import annotations

from rars.baselines.bm25 import Bm25
from rars.baselines.dense import Dense
from rars.baselines.fusion import Fusion, fuse
from rars.baselines.ranked import Ranked, Searcher
from rars.data.words import words

__all__ = ["Bm25", "Dense", "Fusion", "Ranked", "Searcher", "fuse", "words"]
