"""RQ-VAE: an encoder, residual codebooks and a decoder, trained together.

Owns: the settings, and the learner. The training is ``rqvae_network``'s, which needs torch; what it trains
for is a list of loss terms (``quantisation``): L = sum of weight x term.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, PositiveInt, model_validator

from rars.config import Section, merged, part
from rars.identifiers.learner import Learner, Scene
from rars.identifiers.quantisation import QuantisationTermSettings
from rars.identifiers.residual import ResidualQuantizer

DEFAULT_TERMS = ("codebook", "reconstruction")
"""Gradients of the latents are added up in the reverse of this order; another one rounds otherwise."""


def _terms() -> tuple[QuantisationTermSettings, ...]:
    return tuple(QuantisationTermSettings.model_validate({"term": one}) for one in DEFAULT_TERMS)


class RqvaeSettings(Section):
    """An MLP to ``dim`` numbers, residual codebooks, and the mirrored MLP back.

    >>> RqvaeSettings.model_validate({"terms": {"codebook": {"commitment": 1}}}).terms[0].own.commitment
    1.0
    """

    hidden: tuple[PositiveInt, ...] = (2048, 1024, 512, 256, 128, 64)
    dim: PositiveInt = 32
    epochs: PositiveInt = 300
    batch: PositiveInt = 2048
    lr: float = Field(default=1e-3, gt=0)
    weight_decay: float = Field(default=1e-4, ge=0)
    terms: tuple[QuantisationTermSettings, ...] = Field(default_factory=_terms, min_length=1)
    """What is trained for: L = sum of weight x term. A table changes the default terms it names."""
    curvature: float = Field(default=0.0, ge=0)
    """Of the Poincare ball in which residuals and codewords are compared; 0: the flat space."""
    balanced: bool = True
    """Assign the last level by balanced transport while training, so that all its codes are used."""
    epsilon: float = Field(default=0.003, gt=0)
    """Sharpness of the balanced assignment of the last level; smaller is closer to nearest-code."""
    iterations: PositiveInt = 50
    """Rounds of the balanced assignment."""
    evaluate_every: PositiveInt = 10
    """Epochs between two measurements of the collision rate; the best measured epoch is kept."""
    revive: bool = True
    """Re-seed codes that no item used for a whole epoch."""

    @model_validator(mode="before")
    @classmethod
    def _laid_over(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or not isinstance(given.get("terms"), Mapping):
            return given
        return merged({"terms": [{"term": one} for one in DEFAULT_TERMS]}, given)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [one.name for one in self.terms]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two terms are called {name!r}; give one a name of its own")
        return self


def fit_rqvae(scene: Scene, settings: RqvaeSettings) -> ResidualQuantizer:
    """Train an RQ-VAE on the scene's vectors, which may be memory-mapped."""
    from rars.identifiers.rqvae_network import trained

    return trained(scene, settings)


def reads_categories(settings: RqvaeSettings) -> bool:
    """Whether one of the terms asks for categories."""
    return any(part("quantisation term", one.term).needs_categories for one in settings.terms)


LEARNER = Learner(
    about="residual codebooks behind an encoder, trained together with a decoder",
    settings=RqvaeSettings,
    fit=fit_rqvae,
    defaults={"sizes": (256, 256, 256, 256), "collisions": "repair"},
    needs_categories=reads_categories,
)
