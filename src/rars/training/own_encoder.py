"""The model itself as a dual encoder: learned first, so that identifiers can be made of its vectors.

Owns: a model without identifiers whose vector of a text is the decoder's first state, learning it on judged
pairs (``rars.identifiers.towers``), keeping it with the identifiers, and letting the generator start from it
(``identifiers.fit.by = "encoder"``). RIPOR begins like this: an identifier's codes are then parts of the very
state that predicts them. Ignores how identifiers are made of vectors.

Queries and items go through the same weights. Vectors have length one; similarity is their inner product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor, nn

from rars import tensors
from rars.arrays import Ints, Points, padded
from rars.config import FitSettings, ModelSettings
from rars.data import Dataset
from rars.errors import RarsError
from rars.identifiers.embed import cached_vectors
from rars.identifiers.embedders import open_embedder
from rars.identifiers.fitting import held_out
from rars.identifiers.own import ANOTHER_MODEL, OwnKind
from rars.identifiers.texts import item_texts
from rars.identifiers.towers import TwoTowers, tune
from rars.model import saving
from rars.model.backbone import PRESETS
from rars.model.identifier_model import IdentifierModel
from rars.model.saving import Ready
from rars.progress import SILENT, Tell
from rars.training.prepare import query_tokenizer
from rars.tree import SidVocabulary
from rars.unfinished import Unfinished

_NOTHING = SidVocabulary((1,), (False,))
"""The model has no identifiers yet: one code that stands for nothing."""
_BATCH = 256
_CODES = ("code_inputs.", "code_outputs.")


@dataclass(frozen=True, eq=False)
class OwnEncoder:
    """A model that was learned as a dual encoder; ``rars.identifiers.own.ItemEncoder``."""

    ready: Ready

    @property
    def tokenizer(self) -> object:
        """What it reads words with; the generator reads them alike."""
        return self.ready.tokenizer

    @cached_property
    def digest(self) -> str:
        """Changes whenever the same text would get another vector."""
        return tensors.digest(self.ready.model.state_dict())

    def embed(self, vectors: Points, texts: Sequence[str | None]) -> Points:
        """Vectors (n, width) of texts whose frozen vectors are (n, dim)."""
        if len(texts) != len(vectors):
            raise RarsError(f"{len(vectors)} vectors need as many texts, not {len(texts)}.")
        out = np.empty((len(texts), self.ready.model.decoder.width), dtype=np.float32)
        tokens = self.ready.tokenizer.encode([text or "" for text in texts])
        with torch.no_grad():
            for start in range(0, len(texts), _BATCH):
                part = slice(start, start + _BATCH)
                out[part] = _states(self.ready, tokens[part], vectors[part]).cpu().numpy()
        return out

    def begin(self, model: IdentifierModel) -> None:
        """Give a model of identifiers these weights; its code tables and heads keep theirs."""
        known = self.ready.model.state_dict()
        own = model.state_dict()
        taken = {name: value for name, value in known.items() if not name.startswith(_CODES)}
        for name, value in taken.items():
            if name not in own or own[name].shape != value.shape:
                raise RarsError(ANOTHER_MODEL)
        model.load_state_dict(own | taken)

    def save(self, folder: Path) -> None:
        """Write the model's files into a folder."""
        saving.save(self.ready, folder)

    @classmethod
    def load(cls, folder: Path) -> OwnEncoder:
        """Read what ``save`` wrote."""
        return cls(saving.load(folder))


def _states(ready: Ready, tokens: Sequence[Ints], vectors: Points) -> Tensor:
    """The decoder's first state (n, width) of texts, at length one."""
    model = ready.model
    device = model.start.device
    words, mask = padded(list(tokens), ready.tokenizer.pad)
    seen = None
    if ready.architecture.vector:
        seen = torch.from_numpy(np.array(vectors, dtype=np.float32)).to(device)
    encoded = model.encoder(
        torch.from_numpy(words).to(device),
        torch.from_numpy(mask.astype(np.int64)).to(device),
        seen,
    )
    memory = model.decoder.memory(encoded.states, encoded.mask)
    thought = model.think(memory)
    states, _ = model.decoder.sequence(thought.ahead, memory, thought.past)
    return nn.functional.normalize(states[:, -1], dim=-1)


class OwnTowers(TwoTowers):
    """The model over the texts of a dataset's training and validation queries and of its items.

    ``place`` (queries of the dataset,) is the row of a query in ``queries``, -1 where it has none.
    """

    def __init__(
        self,
        ready: Ready,
        place: Ints,
        queries: tuple[Sequence[Ints], Points],
        items: tuple[Sequence[Ints], Points],
    ) -> None:
        super().__init__()
        self.model = ready.model
        self._ready, self._place = ready, place
        self._query_texts, self._item_texts = queries, items

    def queries(self, rows: Ints) -> Tensor:
        """Vectors of queries."""
        return self._of(self._query_texts, self._place[rows])

    def items(self, rows: Ints) -> Tensor:
        """Vectors of items."""
        return self._of(self._item_texts, rows)

    def _of(self, texts: tuple[Sequence[Ints], Points], rows: Ints) -> Tensor:
        tokens, vectors = texts
        return _states(self._ready, [tokens[row] for row in rows], vectors[rows])


def learn(
    dataset: Dataset,
    name: str,
    settings: FitSettings,
    model: ModelSettings,
    *,
    items: Points,
    seed: int = 0,
    cache: Path | None = None,
    device: str = "cpu",
    tell: Tell = SILENT,
) -> OwnEncoder | None:
    """A fresh model learned as a dual encoder, from the epoch that is best on validation queries.

    ``name`` is the embedder's, whose vectors of the items are ``items``: a small model reads them beside the
    words. None where there are no judged training and validation queries; ``tell`` says so.
    """
    held = held_out(dataset)
    if held is None or not len(dataset.positives("train")[0]):
        tell.say("No judged training and validation queries: there is nothing to learn vectors on.")
        return None
    tell.say("Learning the model's own encoder on the training judgments.")
    rows = np.concatenate([dataset.queries_in("train"), dataset.queries_in("validation")])
    place = np.full(dataset.n_queries, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    texts: list[str] = dataset.query_texts.take(pa.array(rows)).to_pylist()
    judged = np.unique(dataset.positives("train")[0])
    tokenizer = query_tokenizer(
        dataset, model, dataset.query_texts.take(pa.array(judged)).to_pylist()
    )
    reads = model.backbone in PRESETS and model.vector_tokens > 0
    vectors = np.zeros((len(rows), 0), dtype=np.float32)
    if reads:
        column = pa.chunked_array([pa.array(texts, pa.string())])
        vectors = cached_vectors(column, open_embedder(name, device=device), cache=cache)
    ready = saving.build(
        model.model_copy(update={"categories": "off", "prior": "off", "aligned_codes": False}),
        _NOTHING,
        tokenizer,
        vector=items.shape[1] if reads else 0,
        embedder=name,
        seed=seed,
    )
    ready.model.to(device)
    described = [text or "" for text in item_texts(dataset).to_pylist()]
    towers = OwnTowers(
        ready, place, (tokenizer.encode(texts), vectors), (tokenizer.encode(described), items)
    )
    start = tensors.digest(towers.state_dict())
    made_of = [dataset.digest, settings.model_dump(mode="json"), seed, start, name]
    with (
        Unfinished.of("own encoder", made_of, cache=cache) as kept,
        tell.stage("encoder") as advance,
    ):
        tune(towers, dataset, settings, held, seed=seed, kept=kept, advance=advance)
    return OwnEncoder(ready)


OWN: dict[str, OwnKind] = {"encoder": OwnKind(learn, OwnEncoder.load)}
"""What identifiers may be made of beside frozen vectors, by the name of ``identifiers.fit.by``."""
