"""What a learner of identifiers is: settings, needs, and a function from its inputs to a fitted quantiser.

Owns: the two classes that every learner's file and its caller share. A learner is one file that ends with its
``LEARNER``, and one line in ``learners.LEARNERS``. Ignores where vectors and categories come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rars.arrays import Codes, Points
from rars.config import Section
from rars.data import Dataset
from rars.identifiers.quantizer import Quantizer
from rars.progress import Advance
from rars.tree.categories import CategoryTree
from rars.unfinished import Unfinished


@dataclass(frozen=True, eq=False)
class Scene:
    """The inputs of a learner.

    ``vectors``     (n, dim) of the items in catalogue order, may be memory-mapped; None unless needed
    ``categories``  of the items; None unless needed
    ``sizes``       codes per depth; empty for a learner that takes none
    ``kept``        where a learner that takes long keeps its state, to go on after a kill
    """

    dataset: Dataset
    vectors: Points | None = None
    categories: CategoryTree | None = None
    sizes: tuple[int, ...] = ()
    seed: int = 42
    device: str = "cpu"
    advance: Advance | None = None
    kept: Unfinished = field(default_factory=Unfinished)

    @property
    def points(self) -> Points:
        """The vectors, for a learner that said it needs them."""
        assert self.vectors is not None
        return self.vectors


class Fitted(NamedTuple):
    """A quantiser, and the codes of the catalogue (n, depth) where they do not follow from vectors alone."""

    quantizer: Quantizer
    codes: Codes


@dataclass(frozen=True)
class Learner:
    """A way to fit a quantiser.

    ``fit``               (scene, settings) -> quantiser, or ``Fitted``; settings of the class ``settings``
    ``defaults``          what ``[identifiers]`` uses where a recipe says nothing: ``sizes``, ``collisions``
    ``needs_vectors``     true whenever the quantiser takes vectors
    ``needs_categories``  always or never; or as the settings say
    """

    about: str
    settings: type[Section]
    fit: Callable[[Scene, Any], Quantizer | Fitted]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    takes_sizes: bool = True
    needs_vectors: bool = True
    needs_categories: bool | Callable[[Any], bool] = False

    def reads_categories(self, settings: Any) -> bool:
        """Whether categories must be made for a fit with these settings."""
        need = self.needs_categories
        return need(settings) if callable(need) else need
