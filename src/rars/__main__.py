"""``python -m rars`` is the command ``rars``; distributed launchers start it this way.

Python puts the current folder first on the path of ``python -m``, where a ``torch.py`` that came with
somebody's data would be imported in torch's place. It is taken off before anything else is imported. Only
what is called ``rars`` there is found before this file is; ``python -P -m rars`` and the console script never
look.
"""

from __future__ import annotations

import sys


def _leave_out_current_folder() -> None:
    if sys.flags.safe_path or not sys.path:  # -P: Python did not put it there
        return
    import os  # Python itself has imported it already

    try:
        here = {"", os.getcwd()}  # noqa: PTH109 (pathlib would be looked for in the current folder)
    except OSError:  # it was deleted
        here = {""}
    if sys.path[0] in here:
        del sys.path[0]


if __name__ == "__main__":
    _leave_out_current_folder()
    from rars.cli import main

    main()
