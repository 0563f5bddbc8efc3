"""Dense retrieval: one vector per item and query, exact inner products, no approximate index.

Owns: the vectors of a catalogue, what embeds a query, and the system ``dense``: vectors as they are, turned
by maps learned on the training pairs, or of an encoder tuned on them. Ignores how vectors are made: any
embedder of ``rars.identifiers`` will do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from rars.arrays import Bools, Points
from rars.baselines.parts import Facts, Own, SystemPart
from rars.config import FitSettings, Section
from rars.data import Dataset
from rars.errors import RarsError
from rars.identifiers.embed import cached_vectors
from rars.identifiers.embedder import Embedder
from rars.identifiers.embedders import open_embedder, shared_embedder
from rars.identifiers.nearest import nearest
from rars.identifiers.texts import item_texts
from rars.progress import Advance
from rars.systems import Ranked

if TYPE_CHECKING:
    from rars.identifiers.towers import Held

ENCODERS = "sentence-transformers:"
"""Embedders of this kind can be tuned themselves."""

_USUAL: dict[str, dict[str, Any]] = {
    "encoder": {"epochs": 2, "learning_rate": 5e-5, "batch": 64},
}
"""Where tuning is gentler than the fields' own defaults, which are those of maps."""


class DenseSettings(Section):
    """The settings of ``dense``.

    >>> DenseSettings(tune="encoder", embedder="sentence-transformers:all-MiniLM-L6-v2").batch
    64
    """

    embedder: str = "use"
    """``use``, ``t5:NAME_OR_FOLDER`` or ``sentence-transformers:NAME_OR_FOLDER``."""
    tune: Literal["off", "maps", "encoder"] = "off"
    """What is trained on the training pairs: ``maps``, one linear map for queries and one for items on top of
    frozen vectors of any embedder; ``encoder``, a sentence-transformers model itself."""
    epochs: PositiveInt = 10
    learning_rate: float = Field(1e-3, gt=0)
    batch: PositiveInt = 512
    """Judged pairs in a batch; the items of the others are a pair's negatives."""
    temperature: float = Field(0.05, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, given: Any) -> Any:
        """Resolve the defaults of what is trained, so that a written recipe says what was used."""
        return (
            {**_USUAL.get(str(given.get("tune")), {}), **given}
            if isinstance(given, dict)
            else given
        )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.tune == "encoder" and not self.embedder.startswith(ENCODERS):
            raise ValueError(
                f"tune = 'encoder' needs an embedder {ENCODERS}..., not {self.embedder!r}"
            )
        return self

    @property
    def fit(self) -> FitSettings:
        """How it is tuned."""
        return FitSettings(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            batch=self.batch,
            temperature=self.temperature,
        )


@dataclass(frozen=True, eq=False)
class Dense:
    """Item vectors (items, dim) in catalogue order, and what embeds a query.

    ``cosine`` divides by the lengths of both vectors; without it the plain inner product counts.
    """

    vectors: Points
    embedder: Embedder
    cosine: bool = False

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        name: str = "use",
        *,
        cosine: bool = False,
        cache: Path | None = None,
        device: str = "cpu",
        advance: Advance | None = None,
    ) -> Dense:
        """Embed the catalogue with a named embedder, or take its vectors from the cache."""
        embedder = open_embedder(name, device=device)
        texts = item_texts(dataset)
        vectors = cached_vectors(texts, embedder, cache=cache, advance=advance)
        return cls(vectors, embedder, cosine)

    def search(
        self,
        texts: Sequence[str],
        k: int = 100,
        *,
        among: Bools | None = None,
        advance: Advance | None = None,
    ) -> Ranked:
        """The ``k`` items with the largest inner product, for every text."""
        queries = self.embedder.embed(list(texts))
        return nearest(queries, self.vectors, k, cosine=self.cosine, among=among, advance=advance)


# -- the system ------------------------------------------------------------------------------------


def _learn(
    own: Own,
    dataset: Dataset,
    folder: Path,
    held: Held | None,
    *,
    seed: int = 0,
    advance: Advance | None = None,
) -> Facts:
    """Fine-tune, where the settings say so; the best epoch on validation queries is kept."""
    settings: DenseSettings = own["dense"]
    embedder = shared_embedder(settings.embedder)
    facts: Facts = {"embedder": embedder.digest}
    if settings.tune == "off":
        return facts
    assert held is not None
    # Each kind brings its own libraries: only for whoever tunes it.
    from rars.identifiers.towers import tune

    towers: Any
    if settings.tune == "encoder":
        from rars.identifiers.encoder_tuning import SentenceEncoder

        towers = SentenceEncoder.of(dataset, settings.embedder)
    else:
        from rars.identifiers.fitting import ResidualMaps

        towers = ResidualMaps.of(dataset, embedder, advance=advance)
    facts["tuning"] = tune(towers, dataset, settings.fit, held, seed=seed, advance=advance)
    towers.save(folder)
    return facts


def _open(
    own: Own,
    dataset: Dataset,
    folder: Path,
    facts: Mapping[str, Any],
    *,
    advance: Advance | None = None,
) -> Dense:
    settings: DenseSettings = own["dense"]
    if settings.tune == "encoder":
        from rars.identifiers.encoder_tuning import tuned_name

        return Dense.of(dataset, tuned_name(folder), cosine=True, advance=advance)
    embedder = shared_embedder(settings.embedder)
    if embedder.digest != facts["embedder"]:
        raise RarsError(
            f"The embedder {settings.embedder!r} is not the one that the run was made with."
        )
    if settings.tune == "off":
        return Dense(cached_vectors(item_texts(dataset), embedder, advance=advance), embedder)
    from rars.baselines.maps import mapped_dense

    return mapped_dense(dataset, embedder, folder, advance=advance)


def _trains(own: Own) -> str:
    settings: DenseSettings = own["dense"]
    if settings.tune == "off":
        return ""
    over = "maps over {} vectors" if settings.tune == "maps" else "{}"
    rounds = f"{settings.epochs} epoch{'s' if settings.epochs > 1 else ''}"
    return f"{over.format(settings.embedder)}, {rounds}"


DENSE = SystemPart(
    "sentence vectors, as they are or fitted to the training pairs",
    DenseSettings,
    ("dense",),
    _learn,
    _open,
    chooses=lambda own: own["dense"].tune != "off",
    trains=_trains,
)
