"""One string per item: what the embedder reads.

Owns: which fields, in which order. Ignores markup, which readers have already removed. Stays in Arrow memory,
so that a catalogue costs its characters and nothing more.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rars.data import Dataset

FIELDS = ("title", "text", "brand", "color")

_ROWS = 65536


def item_texts(dataset: Dataset) -> pa.ChunkedArray:
    """Title, text, brand and colour of each item, joined by spaces, in catalogue order."""
    return joined(dataset.items(FIELDS))


def joined(items: pa.Table) -> pa.ChunkedArray:
    """The same for any table with (some of) these columns, such as items about to be added.

    >>> joined(pa.table({"title": ["Mug", "Pen"], "brand": ["Acme", None], "text": ["", "Blue"]}))[1]
    <pyarrow.StringScalar: 'Pen Blue'>
    """
    columns = [_filled(items[name]) for name in FIELDS if name in items.column_names]
    return pc.binary_join_element_wise(*columns, " ", null_handling="skip")


def digest_texts(texts: pa.ChunkedArray) -> str:
    """SHA-256 of the texts and where each ends, however they are chunked."""
    digest = hashlib.sha256(str(len(texts)).encode())
    for start in range(0, len(texts), _ROWS):
        part = pa.concat_arrays(texts.slice(start, _ROWS).chunks)
        digest.update(pc.binary_length(part).to_numpy(zero_copy_only=False).astype(np.int64))
        digest.update("".join(part.to_pylist()).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _filled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Empty strings as nulls, so that joining does not leave double spaces."""
    column = column.cast(pa.string())
    return pc.if_else(pc.equal(column, ""), None, column)
