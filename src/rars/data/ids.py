"""Where ids stand among others.

Owns: looking up some ids among very many, and many among many. Ignores what they are ids of.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rars.arrays import Longs

_FEWER = 4
"""So many times fewer: then the ids that are looked up are put into a table, and not those they are among."""


def placed(wanted: pa.Array | pa.ChunkedArray, known: pa.Array) -> Longs:
    """The place of each wanted id in ``known``, which has each once; -1 where it is not there.

    >>> placed(pa.array(["c", "x", None, "a", "c"]), pa.array(["a", "b", "c"])).tolist()
    [2, -1, -1, 0, 2]
    """
    if isinstance(wanted, pa.ChunkedArray):
        wanted = wanted.combine_chunks()
    if _FEWER * len(wanted) > len(known):
        return _looked_up(wanted, known)
    there = np.flatnonzero(pc.is_in(known, wanted).to_numpy(zero_copy_only=False))
    found = _looked_up(wanted, known.take(pa.array(there)))
    return np.where(found >= 0, np.append(there, -1)[found], -1)


def _looked_up(wanted: pa.Array, known: pa.Array) -> Longs:
    found = pc.fill_null(pc.index_in(wanted, known), -1)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)
