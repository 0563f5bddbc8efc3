"""The loss terms of the RQ-VAE, by the name a recipe calls them.

L = sum of weight x term. A new one: write its file, which ends with ``TERM = QuantisationTerm(...)``, and
add a line here; ``[[identifiers.rqvae.terms]]`` may then name it.
"""

from __future__ import annotations

from typing import ClassVar

from rars.config import TermSettings
from rars.identifiers import codebook, reconstruction
from rars.identifiers.step import QuantisationTerm, Step

TERMS: dict[str, QuantisationTerm] = {
    "codebook": codebook.TERM,
    "reconstruction": reconstruction.TERM,
}


class QuantisationTermSettings(TermSettings):
    """One entry of ``[[identifiers.rqvae.terms]]``."""

    kind: ClassVar[str] = "quantisation term"


__all__ = ["TERMS", "QuantisationTerm", "QuantisationTermSettings", "Step"]
