"""Training positives: Exact alone, with Substitutes, with Complements too; the evaluation stays the same.

The weights 3/2/1 are kept and normalised over the positives a query has; queries without one are dropped.
"""

from __future__ import annotations

from rars.experiments.pairs import PairedStudy, Variant

STUDY = PairedStudy(
    name="positives",
    title="Base and RARS trained on E, E + S and E + S + C, evaluated alike",
    head="Training positives",
    variants=(
        Variant("e", "E only", ("objective.relevance=exact",)),
        Variant("es", "E + S", ("objective.relevance=exact+substitute",)),
        Variant("esc", "E + S + C", ("objective.relevance=linear",)),
    ),
).study()
