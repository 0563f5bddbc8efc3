"""What a loss term of the RQ-VAE is, and what it sees of a training step.

Owns: the two classes that every term's file and the training loop share. A term is one file that ends with
its ``TERM``, and one line in ``quantisation.TERMS``. Ignores the network.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rars.arrays import Ints
from rars.config import Section
from rars.identifiers.learner import Scene

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class Step:
    """What the network makes of one batch of n items.

    ``scene``   what the learner received: the dataset, the items' categories, ...
    ``rows``    (n,) the batch's items, as rows of the catalogue
    ``batch``   (n, input) their vectors
    ``latent``  (n, dim) what the encoder makes of them
    ``codes``   per depth, (n,) the code of each item; the last depth balanced
    ``words``   per depth, (n, dim) its codeword; gradients reach the codebooks
    ``books``   per depth, (codes, dim) the codebook
    ``encode``  vectors to codeword space
    ``decode``  codeword space to vectors
    ``look``    rows of the catalogue to a step of those items, with nearest codes at every depth: for a term
                that needs further items beside the batch's own
    ``number``  which step of the training it is
    ``curvature``  of the ball in which codes are compared; 0 in flat space
    """

    scene: Scene
    rows: Ints
    batch: Tensor
    latent: Tensor
    codes: Sequence[Tensor]
    words: Sequence[Tensor]
    books: Sequence[Tensor]
    encode: Callable[[Tensor], Tensor]
    decode: Callable[[Tensor], Tensor]
    look: Callable[[Ints], Step]
    number: tuple[int, ...] = (0,)
    curvature: float = 0.0
    _residuals: list[Tensor] = field(default_factory=list)

    def residual(self, depth: int) -> Tensor:
        """(n, dim) what the depths before this one (from 0) left over; gradients reach the encoder."""
        # Made when asked for: gradients of one tensor are added up in the order in which it was used, so
        # a term that goes down the depths gets the same bits whatever stands beside it.
        known = self._residuals
        while len(known) <= depth:
            at = len(known)
            known.append(known[-1] - self.words[at - 1].detach() if at else self.latent)
        return known[depth]

    def shrunk(self, depth: int) -> float:
        """How long the residuals that enter a depth are, against the latents; no gradient.

        The gradient of a cosine grows as its vectors shrink. A term that compares directions at every depth
        multiplies with this, so that depths pull alike: otherwise the last ones, whose residuals are small,
        drag the latents about and no depth learns.
        """
        length = self.residual(depth).detach().norm(dim=-1).mean()
        return float(length / self.latent.detach().norm(dim=-1).mean().clamp_min(1e-12))

    def random(self, purpose: str) -> np.random.Generator:
        """Numbers drawn for a purpose at this step: terms that name the same purpose draw the same."""
        return np.random.default_rng([self.scene.seed, *self.number, zlib.crc32(purpose.encode())])

    @cached_property
    def quantised(self) -> Tensor:
        """(n, dim) the sum of the codewords; gradients pass straight through to the encoder."""
        total = self.latent.new_zeros(self.latent.shape)
        for word in self.words:
            total = total + word.detach()
        return self.latent + (total - self.latent).detach()

    @cached_property
    def rebuilt(self) -> Tensor:
        """(n, input) what the decoder makes of the codewords."""
        return self.decode(self.quantised)


def no_loss(step: Step, settings: Any) -> Tensor:
    """The ``loss`` of a term that says what it does by ``start``."""
    raise NotImplementedError


@dataclass(frozen=True)
class QuantisationTerm:
    """A loss term: ``loss`` takes (step, settings) and returns a number with gradients.

    ``weight`` is how much of it counts where a recipe does not say; ``adds`` what it adds to the time of an
    epoch, in plain ones, about: measured for whole recipes, and divided among their terms. A term that reads
    tables made once, or trains something of its own, has ``start`` instead: (scene, settings) -> a function
    of the step; where that is a torch module, its parameters are trained with the network.
    """

    about: str
    settings: type[Section]
    loss: Callable[[Step, Any], Tensor] = no_loss
    weight: float = 1.0
    needs_categories: bool = False
    start: Callable[[Scene, Any], Callable[[Step], Tensor]] | None = None
    adds: float = 0.0

    def started(self, scene: Scene, settings: Any) -> Callable[[Step], Tensor]:
        """The loss as a function of the step alone."""
        if self.start is not None:
            return self.start(scene, settings)
        return lambda step: self.loss(step, settings)
