"""NumPy's products by one thread, so that their last bits are the same wherever they are computed.

Owns: that one switch, and that others multiply as fast as NumPy. In which order a product is added up depends
on how many threads share it, on some processors; work that promises the same bytes for any number of workers
is done inside ``ONE_THREAD``, whatever the environment says. The products of a shard are small: more threads
made them slower. Ignores torch, and how many threads a model should have: see ``rars.scale.threads``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
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


def limit(threads: int) -> None:
    """From now on NumPy multiplies with so many threads, in a process that is somebody's own.

    The products of a search are small: a second thread takes as much of the processor as the first, and saves
    nothing.
    """
    _libraries().limit(limits=threads)


_CHOICE = "OPENBLAS_CORETYPE"
_KERNELS = {
    "haswell": "Haswell",
    "zen": "Zen",
    "skylakex": "SkylakeX",
    "cooperlake": "SkylakeX",
    "sapphirerapids": "SkylakeX",
}
"""What an older OpenBLAS has for processors that NumPy's knows."""


@contextmanager
def as_numpy() -> Iterator[None]:
    """A library that is first imported inside, with an OpenBLAS of its own, multiplies the way NumPy does.

    That in the wheels of faiss (0.3.15) takes a younger processor for one of 2004, and is four
    to six times slower than NumPy there. What the environment says already stands.
    """
    kernel = next(filter(None, (_KERNELS.get(name) for name in _architectures())), None)
    if kernel is None or _CHOICE in os.environ:
        yield
        return
    os.environ[_CHOICE] = kernel
    try:
        yield
    finally:
        del os.environ[_CHOICE]


def _architectures() -> list[str]:
    """What the libraries that multiply for NumPy take this processor for, in small letters."""
    return [str(one.get("architecture")).lower() for one in _libraries().info()]
