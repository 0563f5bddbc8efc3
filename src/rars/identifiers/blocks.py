"""Arithmetic on rows whose result does not depend on the other rows.

Owns: cutting rows into blocks of one fixed shape. A matrix product may round a row differently when the
number of rows changes, because another kernel handles the remainder; an item would then get another code
when it is encoded alone than among ten thousand others. Every product over items therefore runs on
exactly ``BLOCK`` rows, the last block padded with zeros. Reading block by block also keeps a memory-mapped
catalogue on disk.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from rars.arrays import Floats, Ints

BLOCK = 256


def blocks(
    vectors: Floats, dtype: npt.DTypeLike = np.float64, rows: Ints | None = None, size: int = BLOCK
) -> Iterator[tuple[slice, Floats]]:
    """Yield (where the rows belong, exactly ``size`` rows); ``rows`` picks and orders them.

    >>> [(where.stop, block.shape) for where, block in blocks(np.ones((300, 2)))]
    [(256, (256, 2)), (300, (256, 2))]
    """
    count = len(vectors) if rows is None else len(rows)
    for start in range(0, count, size):
        stop = min(start + size, count)
        picked = vectors[start:stop] if rows is None else vectors[rows[start:stop]]
        block = np.zeros((size, vectors.shape[1]), dtype=dtype)
        block[: stop - start] = picked
        yield slice(start, stop), block
