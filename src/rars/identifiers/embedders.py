"""The embedders, by the name a recipe calls them; opening one, once a process.

A new one: write its file, which ends with ``EMBEDDER = EmbedderKind(...)``, and add a line here. Importing
this loads no weights and no torch. Ignores what is done with vectors (``embed`` caches them).
"""

from __future__ import annotations

import threading

from rars.errors import RarsError
from rars.identifiers import sentences, t5, use, vectorfile
from rars.identifiers.embedder import Embedder, EmbedderKind


def _latent(source: str, device: str) -> Embedder:
    from rars.identifiers.latent import LatentEmbedder  # it brings torch with it

    return LatentEmbedder(source, device)


EMBEDDERS: dict[str, EmbedderKind] = {
    "use": use.EMBEDDER,
    "t5": t5.EMBEDDER,
    "sentence-transformers": sentences.EMBEDDER,
    "latent": EmbedderKind(
        about="a causal language model or T5 that takes latent steps (LaSER)",
        open=_latent,
        source="NAME_OR_FOLDER",
    ),
    "file": vectorfile.EMBEDDER,
}

_opened: dict[tuple[str, str], Embedder] = {}
_opening = threading.Lock()


def embedder_kind(name: str) -> tuple[EmbedderKind, str]:
    """The kind and the source that a name like ``t5:FOLDER`` speaks of.

    ``package:NAME`` alone is a package that holds a model of sentence-transformers.
    """
    kind, _, source = name.partition(":")
    if kind == "package" and source:
        kind, source = sentences.KIND, name
    found = EMBEDDERS.get(kind)
    if found is None or found.needs_source != bool(source):
        choices = [f"{k}:{v.source}" if v.needs_source else k for k, v in EMBEDDERS.items()]
        raise RarsError(
            f"Unknown embedder {name!r}; choose {', '.join(choices[:-1])} or {choices[-1]}."
        )
    return found, source


def open_embedder(name: str, *, device: str = "cpu") -> Embedder:
    """The embedder of this name, with its weights loaded."""
    kind, source = embedder_kind(name)
    return kind.open(source, device)


def shared_embedder(name: str, digest: str = "", device: str = "cpu") -> Embedder:
    """The embedder of this name, opened once a process: a run opened again need not wait for it.

    One whose digest is not the one given (if any is) is refused.
    """
    with _opening:
        if (name, device) not in _opened:
            _opened[name, device] = open_embedder(name, device=device)
    found = _opened[name, device]
    if digest and found.digest != digest:
        raise RarsError(
            f"The embedder {name!r} is not the one that the identifiers were made with; its digest "
            "does not match."
        )
    return found


__all__ = [
    "EMBEDDERS",
    "Embedder",
    "EmbedderKind",
    "embedder_kind",
    "open_embedder",
    "shared_embedder",
]
