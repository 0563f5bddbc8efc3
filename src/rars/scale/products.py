"""NumPy's products by one thread, so that their last bits are the same wherever they are computed.

Owns: that one switch. In which order a product is added up depends on how many threads share it, on some
processors; work that promises the same bytes for any number of workers is done inside ``ONE_THREAD``,
whatever the environment says. The products of a shard are small: more threads made them slower. Ignores
torch, whose threads are chosen in ``rars.scale.threads``.
"""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any


class _OneThread:
    """While anybody is inside. The number is the whole process's: the last one to leave puts it back.

    (Some libraries do not take a larger number from another thread than the one that lowered it: then one
    thread it stays, which is slower elsewhere and never wrong.)
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._limits = _libraries().limit(limits=1)
            self._inside += 1

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limits.restore_original_limits()


@cache
def _libraries() -> Any:
    """Those that multiply for NumPy in this process."""
    import numpy as np  # noqa: F401  # found are those that are loaded
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


ONE_THREAD = _OneThread()
