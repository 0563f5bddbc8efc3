"""``python -m rars.serving.replica``: one replica of a server; what it is to do stands on its stdin.

Owns: telling whoever started it that it answers, or why it cannot, and ending when that process is gone.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time

from rars.errors import RarsError
from rars.serving.replicas import ordered

_TICK = 0.5


def main() -> int:
    """Serve until told to stop; the exit code."""
    order = ordered(sys.stdin.read())
    threading.Thread(target=_end_with, args=(order["parent"],), daemon=True).start()
    from rars.serving.server import serve_on

    def ready() -> None:
        os.write(order["reports"], b"ready\n")

    door = socket.socket(fileno=order["door"])
    try:
        serve_on(door, order["runs"], order["settings"], ready=ready, replica=order["number"])
    except RarsError as error:
        os.write(order["reports"], f"{error}\n".encode())
        return 2
    return 0


def _end_with(parent: int) -> None:
    """Stop in order when nobody looks after this process any more."""
    while os.getppid() == parent:
        time.sleep(_TICK)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
