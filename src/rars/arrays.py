"""Names of array types, and rows of different lengths as one table. Needs NumPy alone.

Owns: the few types that every room's signatures speak of. Shapes stand in the docstrings of what uses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.floating[Any]]
Longs = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Points = npt.NDArray[np.float32]
"""Vectors, (n, dim)."""
Codes = npt.NDArray[np.int32]
"""Identifiers, (n, depth)."""


def padded(rows: Sequence[Ints], pad: int) -> tuple[npt.NDArray[np.int64], Bools]:
    """Rows of different lengths as one table (n, longest), and where it holds something.

    >>> table, mask = padded([np.array([5, 6]), np.array([7])], 0)
    >>> table.tolist(), mask.tolist()
    ([[5, 6], [7, 0]], [[True, True], [True, False]])
    """
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    mask = np.arange(int(lengths.max(initial=0))) < lengths[:, None]
    table = np.full(mask.shape, pad, dtype=np.int64)
    if len(rows):
        table[mask] = np.concatenate(rows)
    return table, mask
