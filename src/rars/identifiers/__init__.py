"""How items get their semantic identifiers: embedders, learners, collisions, health, new items."""

from __future__ import annotations

from rars.identifiers.categories import catalogue_categories
from rars.identifiers.embed import (
    cached_vectors,
    item_vectors,
    keep_vectors,
    query_vectors,
    vectors_by_name,
)
from rars.identifiers.embedders import open_embedder, shared_embedder
from rars.identifiers.health import Health, check_health, measure_health, untrained_recall
from rars.identifiers.hierarchical import induce_categories
from rars.identifiers.identifiers import Identifiers, learn_identifiers
from rars.identifiers.learners import LEARNERS, Learner, Scene
from rars.identifiers.maps import Maps
from rars.identifiers.quantizer import Quantizer
from rars.identifiers.texts import item_texts

__all__ = [
    "LEARNERS",
    "Health",
    "Identifiers",
    "Learner",
    "Maps",
    "Quantizer",
    "Scene",
    "cached_vectors",
    "catalogue_categories",
    "check_health",
    "induce_categories",
    "item_texts",
    "item_vectors",
    "keep_vectors",
    "learn_identifiers",
    "measure_health",
    "open_embedder",
    "query_vectors",
    "shared_embedder",
    "untrained_recall",
    "vectors_by_name",
]
