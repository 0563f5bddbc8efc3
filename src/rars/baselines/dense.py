"""Dense retrieval: one vector per item and query, exact inner products, no approximate index.

Owns: the vectors of a catalogue, what embeds a query, and the system ``dense``: vectors as they are, or of
whatever was tuned on the training pairs (``rars.baselines.tunings``). Ignores how vectors are made: any
embedder of ``rars.identifiers`` will do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from rars.arrays import Bools, Points
from rars.baselines.parts import Facts, Own, SystemPart
from rars.baselines.tuning import Tuning
from rars.config import Choice, part
from rars.data import Dataset
from rars.errors import RarsError
from rars.identifiers.embed import vectors_by_name
from rars.identifiers.embedder import Embedder
from rars.identifiers.embedders import shared_embedder
from rars.identifiers.nearest import nearest
from rars.identifiers.sentences import PREFIX, Pooling, SentenceTransformersEmbedder
from rars.identifiers.texts import item_texts
from rars.progress import Advance
from rars.systems import Ranked

if TYPE_CHECKING:
    from rars.identifiers.towers import Held


class DenseSettings(Choice):
    """The settings of ``dense``; a tuning's own stand in a table of its name (``[dense.encoder]``).

    >>> DenseSettings(tune="encoder", embedder="sentence-transformers:all-MiniLM-L6-v2").batch
    64
    """

    kind = "tuning"
    key = "tune"
    place = "dense"

    embedder: str = "use"
    """``use``, or ``t5:``, ``sentence-transformers:`` or ``latent:`` and the name or folder of a model."""
    tune: str = "off"
    """What is trained on the training pairs: ``maps``, one linear map for queries and one for items on top of
    frozen vectors of any embedder; ``encoder``, a sentence-transformers model itself; ``laser``, the latent
    steps of a language model."""
    pooling: Pooling = "own"
    """How a sentence-transformers model makes one vector of its token states; ``own``: as it says itself."""
    max_tokens: PositiveInt | None = None
    """Where texts are cut; left out, where a sentence-transformers or latent model says itself."""
    similarity: Literal["dot", "cosine"] = "dot"
    epochs: PositiveInt = 10
    learning_rate: float = Field(1e-3, gt=0)
    batch: PositiveInt = 512
    """Judged pairs in a batch; the items of the others are a pair's negatives."""
    temperature: float = Field(0.05, gt=0)
    precision: Literal["bf16"] | None = None
    """Of a model that is tuned, while it is: ``bf16`` takes about two thirds of the time where the processor
    knows it. What is searched afterwards is computed as the weights are, float32."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        wanted = self.tuning.embedder
        if not self.embedder.startswith(wanted):
            raise ValueError(
                f"tune = {self.tune!r} needs an embedder {wanted}..., not {self.embedder!r}"
            )
        changed = self.pooling != "own" or self.max_tokens is not None
        if changed and not self.embedder.startswith((PREFIX, wanted or PREFIX)):
            raise ValueError(
                f"pooling and max_tokens are for an embedder {PREFIX}..., not {self.embedder!r}"
            )
        return self

    @property
    def tuning(self) -> Tuning:
        """What is trained, as a part."""
        found: Tuning = part(self.kind, self.tune)
        return found

    def opened(self) -> Embedder:
        """The embedder as it is before anything is trained."""
        if self.pooling == "own" and self.max_tokens is None:
            return shared_embedder(self.embedder)
        return _changed(self.embedder.removeprefix(PREFIX), self.pooling, self.max_tokens)


@lru_cache(maxsize=1)
def _changed(source: str, pooling: Pooling, max_tokens: int | None) -> Embedder:
    """Opened once: a run that is made and then searched need not wait for it twice."""
    return SentenceTransformersEmbedder(source, pooling=pooling, max_tokens=max_tokens)


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
        texts = item_texts(dataset)
        return cls(
            *vectors_by_name(texts, name, cache=cache, device=device, advance=advance), cosine
        )

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
    tuning = settings.tuning
    facts: Facts = {"embedder": settings.opened().digest} if tuning.frozen else {}
    if tuning.learn is None:
        return facts
    assert held is not None
    facts["tuning"] = tuning.learn(settings, dataset, folder, held, seed=seed, advance=advance)
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
    tuning = settings.tuning
    if tuning.frozen and settings.opened().digest != facts["embedder"]:
        raise RarsError(
            f"The embedder {settings.embedder!r} is not the one that the run was made with."
        )
    return tuning.open(settings, dataset, folder, advance=advance)


def _trains(own: Own) -> str:
    settings: DenseSettings = own["dense"]
    if settings.tuning.learn is None:
        return ""
    rounds = f"{settings.epochs} epoch{'s' if settings.epochs > 1 else ''}"
    return f"{settings.tuning.trains.format(settings.embedder)}, {rounds}"


DENSE = SystemPart(
    "sentence vectors, as they are or fitted to the training pairs",
    DenseSettings,
    ("dense",),
    _learn,
    _open,
    chooses=lambda own: own["dense"].tuning.learn is not None,
    trains=_trains,
)
