"""``python -m rars.experiments.worker FILE``: one task in a process of its own.

Owns: the folder's lock while the task runs, and how its end is told: a mistake is one sentence and exit
code 2; weights that cannot be had, exit code 3.

If the process that started this one is killed, this one goes on; whoever comes next waits for the lock and
finds the work done.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rars import locks
from rars.errors import RarsError, Stopped, Unavailable
from rars.experiments.tasks import TASKS, UNAVAILABLE, Task


def main(file: Path) -> int:
    """Do the task of a file; the exit code."""
    try:
        task = Task.read(file)
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


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
