"""The learners of identifiers, by the name a recipe calls them.

A new one: write its file, which ends with ``LEARNER = Learner(...)``, and add a line here. Nothing else
has to know it. Importing this needs no torch and no faiss: learners bring them when they fit.
"""

from __future__ import annotations

from rars.identifiers import (
    additive,
    category_clusters,
    hierarchical,
    kmeans,
    naive,
    recursive,
    rqvae,
)
from rars.identifiers.learner import Learner, Scene

LEARNERS: dict[str, Learner] = {
    "residual-kmeans": kmeans.LEARNER,
    "additive": additive.LEARNER,
    "rqvae": rqvae.LEARNER,
    "hierarchical-kmeans": hierarchical.LEARNER,
    "recursive-kmeans": recursive.LEARNER,
    "category-clusters": category_clusters.LEARNER,
    "naive": naive.LEARNER,
}

__all__ = ["LEARNERS", "Learner", "Scene"]
