"""What a tuning of a dense system is: a part of a recipe that learns into a folder and is opened from it.

Owns: the shape of a tuning, and training a model so that a kill costs a minute. A tuning is one file; its
settings stand in a table of its name (``[dense.encoder]``), and a line in ``rars.baselines.tunings.TUNINGS``
gives it a name. Ignores the tunings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rars.config import Section
from rars.data import Dataset
from rars.progress import Advance
from rars.unfinished import Unfinished

if TYPE_CHECKING:  # the settings look tunings up
    from rars.baselines.dense import Dense, DenseSettings
    from rars.identifiers.encoder_tuning import SentenceEncoder
    from rars.identifiers.latent_tuning import LatentEncoder
    from rars.identifiers.towers import Held, Lessons


class Tune(Protocol):
    """Trains what is trained and leaves it in a folder."""

    def __call__(
        self,
        settings: DenseSettings,
        dataset: Dataset,
        folder: Path,
        held: Held,
        *,
        seed: int = 0,
        advance: Advance | None = None,
    ) -> dict[str, Any]:
        """What was reached, as plain JSON values (``rars.identifiers.towers.tune``)."""


class OpenTuned(Protocol):
    """Opens what was left in a folder, over the whole catalogue."""

    def __call__(
        self,
        settings: DenseSettings,
        dataset: Dataset,
        folder: Path,
        *,
        advance: Advance | None = None,
    ) -> Dense:
        """The system, ready for texts."""


@dataclass(frozen=True)
class Tuning:
    """A tuning as recipes name it.

    ``about``     one line; ``settings`` its own table of a recipe
    ``learn``     None where nothing is learned
    ``embedder``  how the name of an embedder must begin; empty where any will do
    ``frozen``    whether the embedder stays as it is, and a run therefore needs the same one again
    ``trains``    what is trained, for people, of the embedder's name
    ``defaults``  of the common settings (``DenseSettings``), where they are this tuning's own
    """

    about: str
    settings: type[Section]
    open: OpenTuned
    learn: Tune | None = None
    embedder: str = ""
    frozen: bool = False
    trains: str = "{}"
    defaults: Mapping[str, Any] = field(default_factory=dict)


def tuned(
    towers: SentenceEncoder | LatentEncoder,
    settings: DenseSettings,
    dataset: Dataset,
    folder: Path,
    held: Held,
    lessons: Lessons,
    *,
    seed: int = 0,
    advance: Advance | None = None,
) -> dict[str, Any]:
    """Train a model and leave it in a folder; killed, the same call goes on where it stood.

    Its state is kept under a digest of the data, the settings and the weights it starts from.
    """
    from rars import tensors  # these bring torch
    from rars.identifiers.towers import READ, tune

    start = tensors.digest(towers.state_dict())
    made_of = [dataset.digest, settings.model_dump(mode="json"), seed, start]
    with Unfinished.of("tuned system", made_of) as kept:
        report = tune(
            towers,
            dataset,
            settings,
            held,
            lessons=lessons,
            pool=READ,
            seed=seed,
            kept=kept,
            advance=advance,
        )
        towers.save(folder)
    return report
