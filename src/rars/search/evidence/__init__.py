"""Compatibility evidence: what a query asks for, what items have, and the best of it below every prefix."""

from __future__ import annotations

from rars.search.evidence.ancestry import Ancestry
from rars.search.evidence.attributes import Attributes
from rars.search.evidence.brands import Brands
from rars.search.evidence.colors import Colors
from rars.search.evidence.evidence import Evidence, Match, beam_maxima, combine
from rars.search.evidence.extractor import Constraint, Extractor, Known, Mention
from rars.search.evidence.index import Asked, EvidenceIndex, Weights, default_extractors
from rars.search.evidence.quantities import Quantities

__all__ = [
    "Ancestry",
    "Asked",
    "Attributes",
    "Brands",
    "Colors",
    "Constraint",
    "Evidence",
    "EvidenceIndex",
    "Extractor",
    "Known",
    "Match",
    "Mention",
    "Quantities",
    "Weights",
    "beam_maxima",
    "combine",
    "default_extractors",
]
