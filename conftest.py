"""One thread per test process: several share the cores, and results do not depend on how many there are."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# A busy machine draws examples slowly; that says nothing about the code.
settings.register_profile("rars", suppress_health_check=[HealthCheck.too_slow], deadline=None)
settings.load_profile("rars")
