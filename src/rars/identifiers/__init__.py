"""How items get their semantic identifiers: embedders, learners, collisions, health, new items."""

from __future__ import annotations

from rars.identifiers.embed import cached_vectors, item_vectors, open_embedder
from rars.identifiers.health import Health, check_health, measure_health, untrained_recall
from rars.identifiers.hierarchical import induce_categories
from rars.identifiers.identifiers import Identifiers, fit_quantizer, learn_identifiers
from rars.identifiers.maps import Maps
from rars.identifiers.quantizer import Quantizer
from rars.identifiers.texts import item_texts

__all__ = [
    "Health",
    "Identifiers",
    "Maps",
    "Quantizer",
    "cached_vectors",
    "check_health",
    "fit_quantizer",
    "induce_categories",
    "item_texts",
    "item_vectors",
    "learn_identifiers",
    "measure_health",
    "open_embedder",
    "untrained_recall",
]
