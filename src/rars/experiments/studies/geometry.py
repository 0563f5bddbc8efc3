"""Identifier geometry: Base and RARS, each trained from scratch on three kinds of identifiers."""

from __future__ import annotations

from rars.experiments.pairs import PairedStudy, Variant


def _rqvae(depth: int) -> tuple[str, ...]:
    return ("identifiers.learner=rqvae", f"identifiers.sizes={[256] * depth}")


STUDY = PairedStudy(
    name="geometry",
    title="Base and RARS on three kinds of identifiers",
    head="SID geometry",
    variants=(
        Variant("rqvae4", "RQ-VAE, 4×256", _rqvae(4)),
        Variant(
            "kmeans",
            "Hier. k-means, 20³",
            ("identifiers.learner=hierarchical-kmeans", "identifiers.sizes=[20, 20, 20]"),
        ),
        Variant("rqvae5", "RQ-VAE, 5×256", _rqvae(5)),
    ),
).study()
