"""The loss terms of the RQ-VAE, by the name a recipe calls them.

L = sum of weight x term. A new one: write its file, which ends with ``TERM = QuantisationTerm(...)``, and
add a line here; ``[[identifiers.rqvae.terms]]`` may then name it.
"""

from __future__ import annotations

from typing import ClassVar

from rars.config import TermSettings
from rars.identifiers import (
    category_constraint,
    cluster_scale,
    codebook,
    dispersion,
    grade_triplets,
    hyperbolic,
    pair_contrast,
    query_alignment,
    query_mates,
    reconstruction,
)
from rars.identifiers.step import QuantisationTerm, Step

TERMS: dict[str, QuantisationTerm] = {
    "codebook": codebook.TERM,
    "reconstruction": reconstruction.TERM,
    "query-mates": query_mates.TERM,
    "grade-triplets": grade_triplets.TERM,
    "query-alignment": query_alignment.TERM,
    "category-constraint": category_constraint.TERM,
    "cluster-scale": cluster_scale.TERM,
    "dispersion": dispersion.TERM,
    "pair-contrast": pair_contrast.TERM,
    "hyperbolic-codebook": hyperbolic.CODEBOOK,
    "hyperbolic-reconstruction": hyperbolic.RECONSTRUCTION,
}


class QuantisationTermSettings(TermSettings):
    """One entry of ``[[identifiers.rqvae.terms]]``."""

    kind: ClassVar[str] = "quantisation term"


__all__ = ["TERMS", "QuantisationTerm", "QuantisationTermSettings", "Step"]
