"""The codes of a whole catalogue, shard by shard.

Owns: cutting the rows. A row's codes depend on its vector alone, and shards are whole blocks of the products
(``blocks``), so that cutting changes no bit. Ignores collisions (``policies``), which need all codes at once.

Shards are kept in the cache under a digest of the quantiser and the vectors, until the codes are complete.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from rars import disk
from rars.arrays import Codes, Floats
from rars.identifiers.blocks import BLOCK
from rars.identifiers.quantizer import Quantizer
from rars.places import cache_folder
from rars.scale import AS_NEEDED, Engine
from rars.scale.shards import Shards, spans

KIND = "assigned codes"
ROWS = 64 * BLOCK
"""Rows of a shard: 32 MB of vectors."""


def encoded(
    quantizer: Quantizer, vectors: Floats, *, cache: Path | None = None, engine: Engine = AS_NEEDED
) -> Codes:
    """Codes (n, depth) of vectors (n, input), which may be memory-mapped."""
    parts = spans(len(vectors), ROWS)
    if len(parts) < 2:
        return quantizer.encode(vectors)
    folder = (cache or cache_folder()) / "assignments" / _digest(quantizer, vectors)[:32]
    shards = Shards(folder, KIND, len(parts))

    def call(number: int) -> dict[str, Any]:
        start, stop = parts[number]
        return {"quantizer": quantizer, "vectors": np.array(vectors[start:stop])}

    shards.complete(encode_shard, call, engine=engine)
    codes = np.empty((len(vectors), len(quantizer.sizes)), dtype=np.int32)
    shards.join("codes", codes)
    shards.discard()
    return codes


def encode_shard(shards: Shards, number: int, quantizer: Quantizer, vectors: Floats) -> None:
    """Write the codes of one shard's vectors."""
    codes = quantizer.encode(vectors)
    with shards.writing(number) as draft:
        draft.save_array("codes", codes)


def _digest(quantizer: Quantizer, vectors: Floats) -> str:
    """Of all that the codes depend on; reads the vectors once, as encoding does."""
    digest = hashlib.sha256(quantizer.kind.encode())
    for name, tensor in sorted(quantizer.tensors().items()):
        digest.update(f"{name} {tensor.dtype} {tensor.shape}".encode())
        digest.update(np.ascontiguousarray(tensor).tobytes())
    for start, stop in spans(len(vectors), ROWS):
        digest.update(np.ascontiguousarray(vectors[start:stop]).tobytes())
    return disk.digest_json([digest.hexdigest(), list(vectors.shape), str(vectors.dtype)])
