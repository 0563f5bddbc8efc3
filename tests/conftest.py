"""One thread per test process: several share the cores, and results do not depend on how many there are."""

from __future__ import annotations

import os

import pytest

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")


@pytest.fixture
def float64():
    """Torch in double precision, for comparisons to many digits."""
    import torch  # after the threads are set

    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)
