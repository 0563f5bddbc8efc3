"""One look for every figure, and a safe way to save one.

Owns: the style (fonts, colours, no clutter) and that an image is old or new. Ignores what is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from rars import disk
from rars.errors import RarsError

BLUE, ORANGE, GREEN, RED, GREY = "#3F6FA6", "#D97706", "#3F8F5B", "#B64E4E", "#6B7280"
SERIES = (BLUE, ORANGE, GREEN, RED, GREY)
"""The colours of several lines or groups of bars, in order."""

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
def figure(
    path: Path, panels: int, width: float = 4.2, height: float = 3.2, *, rows: int = 1
) -> Iterator[Any]:
    """Draw on a row of axes, or on several rows of them; the image is at ``path`` when the block ends.

    It is there whole or not at all.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context(_STYLE):
        drawn, axes = pyplot.subplots(
            rows, panels, figsize=(width * panels, height * rows), squeeze=False
        )
        try:
            kind = path.suffix.lstrip(".").lower() or "png"
            if kind not in (known := drawn.canvas.get_supported_filetypes()):
                raise RarsError(f"{path}: no figure ends in .{kind}, but in {', '.join(known)}.")
            yield axes[0] if rows == 1 else axes
            drawn.tight_layout()
            image = BytesIO()
            drawn.savefig(image, format=kind)
            disk.write_bytes(path, image.getvalue())
        finally:
            pyplot.close(drawn)
