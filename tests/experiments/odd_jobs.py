"""A worker whose tasks take milliseconds: to tests it is what the real one is to runs."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from rars.errors import RarsError, Unavailable
from rars.experiments import worker
from rars.experiments.tasks import TASKS


def make(out, seconds=0.0, after=None, without=None):
    """Make a folder, after a while or a file; one that is there already only once; take another away."""
    if not Path(out).exists():
        time.sleep(seconds)
        while after is not None and not Path(after).exists():
            time.sleep(0.01)
        if without is not None:
            Path(without).rmdir()
        Path(out).mkdir()


def fail(why):
    """A mistake of the user."""
    raise RarsError(why)


def lack(why):
    """Something that cannot be had here."""
    raise Unavailable(why)


def crash():
    """A mistake of ours."""
    raise ValueError("a defect")


def threads(out):
    """Say how many threads this process may use."""
    Path(out).write_text(os.environ["OMP_NUM_THREADS"])
    time.sleep(0.2)


def save(out):
    """Work long; asked to stop, save first."""

    def stop(*_):
        Path(out).with_suffix(".saved").touch()
        sys.exit(130)

    signal.signal(signal.SIGTERM, stop)
    Path(out).touch()
    time.sleep(60)


if __name__ == "__main__":
    TASKS.update(make=make, fail=fail, crash=crash, lack=lack, threads=threads, save=save)
    sys.exit(worker.main(*sys.argv[1:]))
