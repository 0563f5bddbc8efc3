"""What several tests need."""

from __future__ import annotations

import shutil
import subprocess

import pytest


@pytest.fixture
def float64():
    """Torch in double precision, for comparisons to many digits."""
    import torch  # after the threads are set, in the conftest above

    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    line = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(line, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)
