"""Query text to token ids. Identifiers never pass through here.

Owns: the offline sub-word tokenizer (byte-level, so no text is ever unknown), and the same face over a
checkpoint's own tokenizer. Ignores the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from rars.errors import RarsError

PAD, EOS = "<pad>", "</s>"
FILE = "tokenizer.json"


class QueryTokenizer:
    """A ``tokenizers`` tokenizer with what the encoder needs to know: padding, end, length."""

    def __init__(self, inner: Any, *, pad: int, end: int | None, max_tokens: int) -> None:
        self.inner = inner
        self.pad = pad
        self.end = end
        self.max_tokens = max_tokens
        self.inner.no_padding()
        self.inner.no_truncation()

    @property
    def size(self) -> int:
        """How many token ids there are."""
        return int(self.inner.get_vocab_size())

    def encode(self, texts: Sequence[str]) -> list[npt.NDArray[np.int64]]:
        """Token ids of each text, cut to ``max_tokens``; an empty text is its end token alone."""
        rows = []
        for found in self.inner.encode_batch(list(texts), add_special_tokens=self.end is None):
            ids = found.ids[: self.max_tokens]
            if self.end is not None:
                ids = [*ids[: self.max_tokens - 1], self.end]
            rows.append(np.asarray(ids or [self.pad], dtype=np.int64))
        return rows

    def save(self, folder: Path) -> None:
        """Write ``tokenizer.json``, which any ``tokenizers`` user can open."""
        self.inner.save(str(folder / FILE))

    @property
    def facts(self) -> dict[str, Any]:
        """What ``load`` needs beside the file."""
        return {"pad": self.pad, "end": self.end, "max_tokens": self.max_tokens}

    @classmethod
    def load(cls, folder: Path, facts: dict[str, Any]) -> QueryTokenizer:
        """Open a saved tokenizer."""
        try:
            inner = Tokenizer.from_file(str(folder / FILE))
        except Exception as error:  # the library raises bare exceptions
            raise RarsError(f"{folder / FILE} is not a readable tokenizer: {error}.") from error
        found = cls(inner, **facts)
        for name in ("pad", "end"):
            token = facts[name]
            if token is not None and not 0 <= token < found.size:
                raise RarsError(
                    f"{folder / FILE} has {found.size:,} tokens, and none is {name} {token}."
                )
        return found


def train_tokenizer(texts: Iterable[str], vocabulary: int, max_tokens: int) -> QueryTokenizer:
    """Learn sub-words from catalogue and training queries.

    >>> tokenizer = train_tokenizer(["red mug", "blue mug"] * 5, 300, 32)
    >>> inner = tokenizer.inner
    >>> inner.decode(tokenizer.encode(["RED ☕ マグ"])[0].tolist(), skip_special_tokens=True)
    'red ☕ マグ'
    """
    inner = Tokenizer(models.BPE())
    inner.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[PAD, EOS],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    inner.train_from_iterator(texts, trainer)
    return QueryTokenizer(inner, pad=0, end=1, max_tokens=max_tokens)


def pretrained_tokenizer(name: str, max_tokens: int) -> QueryTokenizer:
    """The tokenizer of a checkpoint, by hub name or folder."""
    from transformers import AutoTokenizer

    from rars.checkpoints import located
    from rars.model.backbone import loading

    with loading(name):
        known = AutoTokenizer.from_pretrained(located(name), trust_remote_code=False)
    inner = getattr(known, "backend_tokenizer", None)
    if inner is None:
        raise RarsError(f"The checkpoint {name} has no fast tokenizer (tokenizer.json).")
    copied = Tokenizer.from_str(inner.to_str())
    pad = known.pad_token_id if known.pad_token_id is not None else 0
    return QueryTokenizer(copied, pad=pad, end=None, max_tokens=max_tokens)
