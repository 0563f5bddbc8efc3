"""What embedders of pretrained models share.

Owns: the digest of a model's weights, and the error where a model cannot be loaded. Ignores the models.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from rars import disk
from rars.checkpoints import NO_CODE, reason
from rars.errors import RarsError, Unavailable


def weights_digest(source: str, model: Any) -> object:
    """A folder's files, or of a hub model the weights themselves: names may be re-used."""
    folder = Path(source)
    if folder.is_dir():
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): disk.digest_file(path) for path in paths}
    import torch

    digest = hashlib.sha256()
    for key, tensor in sorted(model.state_dict().items()):
        digest.update(f"{key}{tuple(tensor.shape)}{tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return [source, digest.hexdigest()]


def unreachable(kind: str, source: str, error: Exception) -> RarsError:
    """The error of a checkpoint that cannot be loaded, as one sentence."""
    why = reason(error)
    if why == NO_CODE:
        return RarsError(f"Embedder '{kind}:{source}' cannot be loaded: {why}.")
    return Unavailable(
        f"Embedder '{kind}:{source}' cannot be loaded: it is neither a folder with a checkpoint nor a "
        f"model that the hub gave us ({why})."
    )
