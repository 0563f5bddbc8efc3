"""One look for every figure, and a safe way to save one.

Owns: the style (fonts, colours, no clutter) and atomic saving. Ignores what is drawn.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BLUE, ORANGE, GREEN, RED, GREY = "#3F6FA6", "#D97706", "#3F8F5B", "#B64E4E", "#6B7280"

_STYLE: Any = {
    "figure.dpi": 130,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#E5E7EB",
    "axes.axisbelow": True,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "legend.frameon": False,
}


@contextmanager
def figure(path: Path, panels: int, width: float = 4.2, height: float = 3.2) -> Iterator[Any]:
    """Draw on a row of axes; the image is at ``path`` when the block ends, whole or not at all."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context(_STYLE):
        drawn, axes = pyplot.subplots(1, panels, figsize=(width * panels, height), squeeze=False)
        try:
            yield axes[0]
            drawn.tight_layout()
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{os.getpid()}.{path.name}")
            drawn.savefig(temporary, format=path.suffix.lstrip(".") or "png")
            temporary.replace(path)
        finally:
            pyplot.close(drawn)
