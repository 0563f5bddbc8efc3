"""The tree of a query as columns of branches: how wide each is, and the ribbons between them.

Owns: where everything stands, in pixels. Ignores colours and texts. A column holds the branches below one
prefix; the one that is followed opens into the next column. A branch is as wide as the model finds it
probable after its prefix: widths of a column add up to ``FULL``. Where raw logits are added up there is no
probability, and the shares of a softmax over the shown branches stand in for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rars.serving.schemas import Branch, TreeResponse

FULL = 160.0
"""Pixels of a probability of 1."""
ROW = 46.0
"""Pixels of a row at least: a line of text and one of figures."""
GAP = 56.0
"""Pixels between two columns, which the ribbons cross."""
_AROUND = 8.0
_THIN = 1.0


@dataclass(frozen=True)
class Row:
    """A branch: its height and that of its bar, and shares of evidence and relevance between 0 and 1."""

    branch: Branch
    top: float
    height: float
    thick: float
    evidence: float
    followed: bool
    marked: bool

    @property
    def middle(self) -> float:
        """Where its bar is centred."""
        return self.top + self.height / 2


@dataclass(frozen=True)
class Column:
    """The branches below a prefix, and the ribbons that lead to them from the column before.

    ``canvas``  the height that the ribbons need
    """

    at: TreeResponse
    rows: tuple[Row, ...]
    height: float
    canvas: float
    ribbons: tuple[tuple[str, bool], ...]

    @property
    def hidden(self) -> int:
        """Branches that are not drawn."""
        return self.at.more + len(self.at.children) - len(self.rows)


def columns(
    looks: Sequence[TreeResponse], path: Sequence[int] = (), *, limit: int = 12
) -> list[Column]:
    """A column for each prefix looked at, from the root on; ``path`` is marked, an item's identifier."""
    found: list[Column] = []
    for depth, look in enumerate(looks):
        if not look.children:
            break
        following = looks[depth + 1].prefix[-1] if depth + 1 < len(looks) else None
        on_path = list(path[:depth]) == look.prefix and len(path) > depth
        marked = path[depth] if on_path else None
        rows = _rows(_listed(look.children, {following, marked}, limit), following, marked)
        height = sum(row.height for row in rows)
        before = next((row for row in found[-1].rows if row.followed), None) if found else None
        canvas = max(height, found[-1].height if found else 0.0)
        found.append(Column(look, rows, height, canvas, _ribbons(before, rows)))
    return found


def _listed(children: Sequence[Branch], always: set[int | None], limit: int) -> list[Branch]:
    """The best branches, and those that must be seen wherever they stand."""
    return [one for at, one in enumerate(children) if at < limit or one.code in always]


def _rows(branches: Sequence[Branch], following: int | None, marked: int | None) -> tuple[Row, ...]:
    shares = _shares(branches)
    most = max((one.evidence for one in branches), default=0.0)
    rows: list[Row] = []
    top = 0.0
    for one, share in zip(branches, shares, strict=True):
        thick = max(FULL * share, _THIN)
        height = max(ROW, thick + _AROUND)
        evidence = max(one.evidence, 0.0) / most if most > 0 else 0.0
        rows.append(
            Row(one, top, height, thick, evidence, one.code == following, one.code == marked)
        )
        top += height
    return tuple(rows)


def _shares(branches: Sequence[Branch]) -> list[float]:
    if all(one.probability is not None for one in branches):
        return [one.probability or 0.0 for one in branches]
    terms = np.array([one.model for one in branches])
    weights = np.exp(terms - terms.max())
    return list(map(float, weights / weights.sum()))


def _ribbons(before: Row | None, rows: Sequence[Row]) -> tuple[tuple[str, bool], ...]:
    """One a branch, from a slice of the bar it comes from to its own bar; the followed one is told apart."""
    if before is None or not rows:
        return ()
    total = sum(row.thick for row in rows)
    start = before.middle - before.thick / 2
    found = []
    for row in rows:
        part = before.thick * row.thick / total
        ends = row.middle - row.thick / 2, row.middle + row.thick / 2
        found.append((_ribbon((start, start + part), ends), row.followed or row.marked))
        start += part
    return tuple(found)


def _ribbon(left: tuple[float, float], right: tuple[float, float]) -> str:
    """The outline of a band that bends from one stretch to another.

    >>> _ribbon((0, 2), (10, 14))
    'M0 0.0C28 0.0 28 10.0 56 10.0V14.0C28 14.0 28 2.0 0 2.0Z'
    """
    half, full = f"{GAP / 2:g}", f"{GAP:g}"
    return (
        f"M0 {left[0]:.1f}C{half} {left[0]:.1f} {half} {right[0]:.1f} {full} {right[0]:.1f}"
        f"V{right[1]:.1f}C{half} {right[1]:.1f} {half} {left[1]:.1f} 0 {left[1]:.1f}Z"
    )
