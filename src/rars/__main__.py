"""``python -m rars`` is the command ``rars``; distributed launchers start it this way."""

from __future__ import annotations

from rars.cli import main

if __name__ == "__main__":
    main()
