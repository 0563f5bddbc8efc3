"""``python -m rars.scale.worker DESCRIPTOR``: one process of ``rars.scale.local``.

Owns: the life of a worker: calls from its line, until the line is closed. If whoever started it is killed, it
finishes the call in hand, which may be a shard that somebody needs, and ends. Ctrl-C is not for it.
"""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection

from rars.scale.engine import ended


def main(descriptor: int) -> None:
    """Work until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line = Connection(descriptor)
    with suppress(EOFError, OSError):
        sys.path[:] = line.recv()
        while True:
            function, call = line.recv()
            line.send(ended(function, call))


if __name__ == "__main__":
    main(int(sys.argv[1]))
