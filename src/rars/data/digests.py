"""The digest of what is in memory: equal content, equal digest.

Owns: SHA-256 of Arrow tables and NumPy arrays by value, however they are chunked, sliced or padded. Ignores
files (``rars.artifacts``) and what columns mean.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_ROWS = 65_536


def digest_array(values: npt.NDArray[Any]) -> str:
    """SHA-256 of an array's type, shape and values."""
    digest = hashlib.sha256(f"{values.dtype.str}{values.shape}".encode())
    digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()


def digest_table(table: pa.Table) -> str:
    """SHA-256 of names, types and values, row by row.

    >>> one = pa.table({"id": pa.chunked_array([["a"], ["b", None]])})
    >>> digest_table(one) == digest_table(pa.table({"id": ["x", "a", "b", None]}).slice(1))
    True
    """
    digest = hashlib.sha256(str(table.num_rows).encode())
    for field in table.schema:
        digest.update(f"\n{field.name}\n{field.type}\n".encode("utf-8", "surrogatepass"))
        column = table[field.name]
        for start in range(0, len(column), _ROWS):
            part = column.slice(start, _ROWS)
            _add(digest, pa.concat_arrays(part.chunks))
    return digest.hexdigest()


def _add(digest: Any, values: pa.Array) -> None:
    """Which values are there, then the values alone: what a null hides has no say."""
    kind = values.type
    digest.update(np.packbits(values.is_valid().to_numpy(zero_copy_only=False)).data)
    if pa.types.is_dictionary(kind):
        _add(digest, values.cast(kind.value_type))
        return
    values = values.drop_null()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        lengths = pc.binary_length(values).to_numpy(zero_copy_only=False)
        digest.update(np.ascontiguousarray(lengths, dtype=np.int64).data)
        digest.update("".join(values.to_pylist()).encode())
    elif pa.types.is_map(kind):
        _add_lengths(digest, np.diff(values.offsets.to_numpy()))
        low, high = values.offsets[0].as_py(), values.offsets[-1].as_py()
        _add(digest, values.keys.slice(low, high - low))
        _add(digest, values.items.slice(low, high - low))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        _add_lengths(digest, pc.list_value_length(values).to_numpy(zero_copy_only=False))
        _add(digest, values.flatten())
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        digest.update(np.ascontiguousarray(values.to_numpy(zero_copy_only=False)).data)
    else:  # dates, structs and the like among the further columns
        digest.update(repr(values.to_pylist()).encode("utf-8", "surrogatepass"))


def _add_lengths(digest: Any, lengths: npt.NDArray[Any]) -> None:
    digest.update(np.ascontiguousarray(lengths, dtype=np.int64).data)
