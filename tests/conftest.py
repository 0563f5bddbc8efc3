"""What several tests need."""

from __future__ import annotations

import pytest


@pytest.fixture
def float64():
    """Torch in double precision, for comparisons to many digits."""
    import torch  # after the threads are set, in the conftest above

    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)
