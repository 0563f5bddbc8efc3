"""Sinkhorn scaling of many small matrices, compiled. Imported only by what is about to use it.

Owns: the inner loop of ``rars.identifiers.sinkhorn`` for stacks of matrices that are a few rows high, where
a product with a vector is over before a library has begun it. Sums are taken in one order, whatever the
machine's vectors are wide. Ignores distances and what a plan is for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from rars.identifiers.sinkhorn import ITERATIONS, TINY


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def scale(kernel: Any, rows: Any, columns: Any) -> None:
    """Turn kernels (g, n, k) into plans in place: rows sum to ``rows`` (g, n), columns nearly to theirs."""
    groups, n, k = kernel.shape
    even = k - k % 8
    u, v = np.empty(n), np.empty(k)
    for g in range(groups):
        matrix = kernel[g]
        u[:] = 1.0
        for _ in range(ITERATIONS):
            v[:] = 0.0
            for i in range(n):
                for j in range(k):
                    v[j] += matrix[i, j] * u[i]
            for j in range(k):
                v[j] = columns[g, j] / max(v[j], TINY)
            for i in range(n):
                # Eight sums side by side: what vectors do, in an order of its own.
                a = b = c = d = e = f = p = q = 0.0
                for j in range(0, even, 8):
                    a += matrix[i, j] * v[j]
                    b += matrix[i, j + 1] * v[j + 1]
                    c += matrix[i, j + 2] * v[j + 2]
                    d += matrix[i, j + 3] * v[j + 3]
                    e += matrix[i, j + 4] * v[j + 4]
                    f += matrix[i, j + 5] * v[j + 5]
                    p += matrix[i, j + 6] * v[j + 6]
                    q += matrix[i, j + 7] * v[j + 7]
                total = ((a + b) + (c + d)) + ((e + f) + (p + q))
                for j in range(even, k):
                    total += matrix[i, j] * v[j]
                u[i] = rows[g, i] / max(total, TINY)
        for i in range(n):
            for j in range(k):
                matrix[i, j] *= u[i] * v[j]
