"""Fonts for words of any script: the installed ones that have all of their letters.

Owns: which families a figure names, so that its letters are drawn and not boxes. A letter that no installed
font has stays a box; pages show it with the reader's fonts. Shaping and direction are the drawing library's.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

PREFERRED = (
    "Noto Sans",
    "DejaVu Sans",
    "Noto Sans CJK JP",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Hiragino Sans",
    "Yu Gothic",
    "IPAexGothic",
    "Arial Unicode MS",
)
"""Tried first, in this order; then every other installed family by its name."""
LAST = "DejaVu Sans"
"""Comes with the drawing library."""


def families(texts: Iterable[str]) -> list[str]:
    """The families that together have the letters of these texts, the plainest first."""
    missing = {ord(sign) for text in texts for sign in text if not sign.isspace()}
    found: list[str] = []
    installed = _installed()
    plain = [name for name in PREFERRED if name in installed]
    rest = sorted(name for name in installed if "Sans" in name and name not in plain)
    for name in (*plain, *rest):
        if not missing and found:
            break
        have = missing & _letters(name)
        if have or not found:
            found.append(name)
            missing -= have
    return found if LAST in found else [*found, LAST]


@cache
def _installed() -> dict[str, Any]:
    """Regular faces by family."""
    from matplotlib import font_manager

    faces: dict[str, Any] = {}
    for face in font_manager.fontManager.ttflist:
        if face.style == "normal" and face.weight in (400, "normal", "regular", "book"):
            faces.setdefault(face.name, face)
    return faces


@cache
def _letters(name: str) -> frozenset[int]:
    from matplotlib import font_manager

    face = _installed()[name]
    try:
        return frozenset(font_manager.get_font(face.fname).get_charmap())
    except (OSError, RuntimeError):  # a file that is no font any more
        return frozenset()
