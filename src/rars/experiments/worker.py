"""``python -m rars.experiments.worker FILE [PARENT]``: one task in a process of its own.

Owns: the folder's lock while the task runs, and how its end is told: a mistake is one sentence and exit
code 2; weights that cannot be had, exit code 3.

If the process that started this one is killed, this one goes on; whoever comes next waits for the lock and
finds the work done. On a node of a cluster it does not: given its PARENT, it ends with it, since the cluster
starts the task elsewhere.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from rars import locks
from rars.errors import RarsError, Stopped, Unavailable
from rars.experiments.tasks import TASKS, UNAVAILABLE, Task

_TICK = 0.5


def main(file: str, parent: str | None = None) -> int:
    """Do the task of a file; the exit code."""
    if parent is not None:
        _end_with(int(parent))
    try:
        task = Task.read(Path(file))
        if task.kind not in TASKS:
            raise RarsError(f"{file}: there is no task {task.kind!r}; choose {', '.join(TASKS)}.")
        with locks.held(task.folder, wait=True):
            TASKS[task.kind](**task.arguments)
    except Unavailable as error:
        print(f"rars: {error}", file=sys.stderr)
        return UNAVAILABLE
    except RarsError as error:
        print(f"rars: {error}", file=sys.stderr)
        return 2
    except Stopped as stop:
        print(f"rars: {stop}", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        return 130
    return 0


def _end_with(parent: int) -> None:
    """Be gone when the process that started this one is."""

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(_TICK)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
