"""A case as a figure: the compressed tree from left to right, items with grades, ranks before and after.

Owns: what goes where on the paper, in points. Ignores what is shown (``rars.analysis.case``) and the
interactive form (``rars.analysis.case_page``).

A branch is as wide as the relevance mass that takes it; beside it stands its conditional share. A column is
the depth at which branches separate, so a reader sees at a glance how far relevant items share a prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from rars import disk
from rars.analysis.case import Case, CaseItem, CaseNode, moved, rank_name
from rars.analysis.fonts import families

INK, DIM, LINE, PAPER, LINK = "#1F2937", "#6B7280", "#E5E7EB", "#FFFFFF", "#3F6FA6"
GRADES = {"E": "#2F7A4B", "S": "#3F6FA6", "C": "#B45309", "I": "#9CA3AF"}
MEANINGS = {"E": "Exact", "S": "Substitute", "C": "Complement", "I": "Irrelevant"}
GOOD, BAD = "#2F7A4B", "#B64E4E"

_MARGIN, _ROW, _HEAD, _FOOT = 22.0, 38.0, 86.0, 34.0
_COLUMN, _TITLE, _SID, _RANKS = 96.0, 330.0, 112.0, 108.0
_ROOT = 64.0


def draw(case: Case, path: Path) -> None:
    """Write the figure as what the path's ending says, whole or not at all."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    texts = [case.query, *(one.title for one in (*case.items(), *case.irrelevant))]
    style: Any = {
        "font.family": families([*texts, "→>·…≥"]),
        "svg.fonttype": "path",
        "figure.dpi": 150,
    }
    with pyplot.rc_context(style):
        page = _Page(case)
        drawn = pyplot.figure(figsize=(page.width / 72, page.height / 72), facecolor=PAPER)
        try:
            axis = drawn.add_axes((0, 0, 1, 1))
            axis.set(xlim=(0, page.width), ylim=(page.height, 0))
            axis.axis("off")
            _Drawing(page, axis, drawn).all()
            image = BytesIO()
            drawn.savefig(image, format=path.suffix.lstrip(".") or "png", facecolor=PAPER)
            disk.write_bytes(path, image.getvalue())
        finally:
            pyplot.close(drawn)


class _Page:
    """Where everything stands, in points from the upper left corner."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.items = case.items()
        inner = [node for node in case.root.nodes() if node is not case.root]
        self.depths = sorted({node.depth for node in inner})
        self.tree = _MARGIN + _ROOT + _COLUMN * len(self.depths)
        self.title = self.tree + 26
        self.sid = self.title + _TITLE + 12
        self.ranks = self.sid + _SID
        self.width = self.ranks + _RANKS + _MARGIN
        self.extra = _HEAD + _ROW * len(self.items) + (14 if case.irrelevant else 0)
        self.height = self.extra + _ROW * len(case.irrelevant) + _FOOT

    def row(self, at: float) -> float:
        """The middle of a row of items."""
        return _HEAD + _ROW * (at + 0.5)

    def column(self, depth: int) -> float:
        """Where the nodes that separate at a depth begin."""
        return _MARGIN + _ROOT + _COLUMN * self.depths.index(depth) + 34


@dataclass(frozen=True, eq=False)
class _Drawing:
    """Everything that is put on the page."""

    page: _Page
    axis: Any
    figure: Any

    def all(self) -> None:
        self._head()
        self._columns()
        self._tree(self.page.case.root, 0, None)
        for at, one in enumerate(self.page.items):
            self._item(one, self.page.row(at))
        for at, one in enumerate(self.page.case.irrelevant):
            self._item(one, self.page.extra + _ROW * (at + 0.5))
        if self.page.case.irrelevant:
            y = self.page.extra - 6
            self._rule(y, self.page.title - 26)
            self._text(
                self.page.title - 34, y + 3, "judged irrelevant", 7, DIM, ha="right", va="top"
            )
        self._foot()

    def _head(self) -> None:
        page, case = self.page, self.page.case
        wide = page.width - 2 * _MARGIN - 190
        size = 15.0
        lines = self._wrapped(case.query, wide, size, 2, weight="bold")
        if len(lines) > 1:
            size = 12.0
            lines = self._wrapped(case.query, wide, size, 2, weight="bold")
        for at, line in enumerate(lines):
            self._text(_MARGIN, 26 + 16 * at, line, size, INK, weight="bold")
        where = f" · {case.locale}" if case.locale else ""
        below = 26 + 16 * len(lines) + 2
        said = f"{case.query_id}{where} · {len(page.items)} relevant items · {case.reason}"
        self._text(_MARGIN, below, said, 8, DIM)
        first, last = 100 * case.ndcg[0], 100 * case.ndcg[-1]
        color = GOOD if last > first else BAD if last < first else DIM
        right = page.width - _MARGIN
        self._text(right, 24, f"{first:.1f} → {last:.1f}", 15, color, weight="bold", ha="right")
        names = f"NDCG@100 (%) · {case.systems[0]} → {case.systems[-1]}"
        self._text(right, 44, names, 8, DIM, ha="right")

    def _columns(self) -> None:
        page, y = self.page, _HEAD - 14
        heads = [(page.column(depth), f"L{depth}") for depth in page.depths]
        heads += [(page.title, "item"), (page.sid, "identifier")]
        for x, name in heads:
            self._text(x, y, name, 7.5, DIM, weight="bold")
        self._text(page.width - _MARGIN, y, "rank", 7.5, DIM, weight="bold", ha="right")
        self._rule(_HEAD - 5, _MARGIN)

    def _tree(self, node: CaseNode, first: int, above: tuple[float, float] | None) -> int:
        """Draw a node over its rows, and its link; returns how many rows it takes."""
        count = len(list(node.leaves()))
        y = self.page.row(first + (count - 1) / 2)
        x = _MARGIN if above is None else self.page.column(node.depth)
        right = self._node(node, x, y, above)
        at = first
        for one in node.below:
            at += self._tree(one, at, (right, y))
        if node.items:
            self._link((right, y), (self.page.title - 22, y), node.mass, straight=True)
            if count > 1:
                self._bracket(first, count)
        return count

    def _node(self, node: CaseNode, x: float, y: float, above: tuple[float, float] | None) -> float:
        """The label of a node; returns where its links begin."""
        name = " ".join(node.codes)
        if above is None:
            self.axis.plot([x + 5], [y], "o", color=LINK, ms=8, zorder=4, clip_on=False)
            if name:
                self._text(x, y - 13, name, 7.5, INK, family="monospace")
            return x + 8
        self._link(above, (x - 30, y), node.mass)
        self._text(x - 4, y, f"{100 * node.share:.0f} %", 8, LINK, ha="right", weight="bold")
        return x + self._pill(x, y, node.codes)

    def _pill(self, x: float, y: float, codes: Sequence[str]) -> float:
        """Codes in a rounded box; those after the first, which had no choice, are dim. Returns its width."""
        from matplotlib.patches import FancyBboxPatch

        shown = list(codes[:1]) if len(codes) == 1 else [codes[0], f"+{len(codes) - 1}"]
        sizes = [self._wide(one, 8, family="monospace") for one in shown]
        wide = sum(sizes) + 10 + 4 * (len(shown) - 1)
        box = FancyBboxPatch(
            (x, y - 8.5), wide, 17, boxstyle="round,pad=0,rounding_size=5", fc="#EEF3F9",
            ec=LINK, lw=0.8, zorder=4,
        )  # fmt: skip
        self.axis.add_patch(box)
        self._text(x + 5, y, shown[0], 8, INK, family="monospace", z=5)
        if len(shown) > 1:
            self._text(x + 9 + sizes[0], y, shown[1], 8, DIM, family="monospace", z=5)
        return wide

    def _link(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        mass: float,
        *,
        straight: bool = False,
    ) -> None:
        """A curve as wide as the mass that takes it."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path as Curve

        wide = 1.0 + 11.0 * mass
        if straight:
            self.axis.plot([start[0] + 2, end[0]], [start[1], end[1]], color=LINE, lw=1.2, zorder=1)
            return
        middle = (start[0] + end[0]) / 2
        points = [start, (middle, start[1]), (middle, end[1]), end]
        curve = Curve(points, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])
        self.axis.add_patch(
            PathPatch(curve, fc="none", ec=LINK, lw=wide, alpha=0.32, capstyle="butt", zorder=2)
        )

    def _bracket(self, first: int, count: int) -> None:
        """Items that share an identifier."""
        x = self.page.title - 22
        top, bottom = self.page.row(first) - 8, self.page.row(first + count - 1) + 8
        self.axis.plot([x, x], [top, bottom], color=LINE, lw=2, zorder=1)

    def _item(self, one: CaseItem, y: float) -> None:
        from matplotlib.patches import FancyBboxPatch

        page = self.page
        color = GRADES.get(one.label, LINK if one.share else GRADES["I"])
        chip = FancyBboxPatch(
            (page.title - 16, y - 8), 16, 16, boxstyle="round,pad=0,rounding_size=4", fc=color,
            ec="none", zorder=3,
        )  # fmt: skip
        self.axis.add_patch(chip)
        self._text(page.title - 8, y, one.label, 8.5, PAPER, weight="bold", ha="center", z=4)
        lines = self._wrapped(one.title, _TITLE - 10, 8.5, 2)
        for at, line in enumerate(lines):
            shift = 11.5 * (at - (len(lines) - 1) / 2)
            self._text(page.title + 8, y + shift, line, 8.5, INK)
        self._text(page.sid, y, " ".join(one.sid), 7.5, DIM, family="monospace")
        self._ranks(one, y)

    def _ranks(self, one: CaseItem, y: float) -> None:
        way = moved(one)
        color = GOOD if way > 0 else BAD if way < 0 else DIM
        right = self.page.width - _MARGIN
        self._text(right - 62, y, rank_name(one.ranks[0]), 9, DIM, ha="right")
        self._text(right - 48, y, "→", 9, color, ha="center")
        self._text(right, y, rank_name(one.ranks[-1]), 10, color, weight="bold", ha="right")

    def _foot(self) -> None:
        y = self.page.height - 15
        x = _MARGIN
        known = [one.label for one in (*self.page.items, *self.page.case.irrelevant)]
        if any(label in MEANINGS for label in known):
            for label, meaning in MEANINGS.items():
                if label in known:
                    self.axis.plot([x + 3], [y], "s", color=GRADES[label], ms=6)
                    self._text(x + 10, y, meaning, 7.5, DIM)
                    x += 22 + self._wide(meaning, 7.5)
        said = (
            "per cent: share of a branch among its siblings · width: share of the query's relevance"
        )
        self._text(
            self.page.width - _MARGIN,
            y,
            f"{said} · +n: codes without a choice",
            7.5,
            DIM,
            ha="right",
        )

    def _rule(self, y: float, x: float) -> None:
        self.axis.plot([x, self.page.width - _MARGIN], [y, y], color=LINE, lw=0.8, zorder=0)

    def _text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        color: str,
        *,
        ha: str = "left",
        va: str = "baseline",
        weight: str = "normal",
        family: str | None = None,
        z: float = 3,
    ) -> Any:
        if va == "baseline":  # letters of every script and size stand on one line, centred on y
            y += 0.36 * size
        more = {"family": ["DejaVu Sans Mono", "monospace"]} if family else {}
        return self.axis.text(x, y, _plain(text), fontsize=size, color=color, ha=ha, va=va,
                              weight=weight, zorder=z, parse_math=False, **more)  # fmt: skip

    def _wide(
        self, text: str, size: float, weight: str = "normal", family: str | None = None
    ) -> float:
        """How wide a text is, in points."""
        made = self._text(0, 0, text, size, INK, weight=weight, family=family)
        box = made.get_window_extent(self.figure.canvas.get_renderer())
        made.remove()
        return float(box.width * 72 / self.figure.dpi)

    def _wrapped(
        self, text: str, wide: float, size: float, lines: int, weight: str = "normal"
    ) -> list[str]:
        """The text in at most so many lines; what does not fit ends in an ellipsis."""
        rest = _plain(text).strip()
        found: list[str] = []
        while rest and len(found) < lines:
            last = len(found) + 1 == lines
            if self._wide(rest, size, weight) <= wide:
                return [*found, rest]
            low, high = 1, len(rest)
            while low < high:  # the longest beginning that fits
                middle = (low + high + 1) // 2
                cut = rest[:middle] + ("…" if last else "")
                low, high = (
                    (middle, high) if self._wide(cut, size, weight) <= wide else (low, middle - 1)
                )
            space = rest.rfind(" ", 0, low + 1)
            end = low if last or space < low // 2 else space
            found.append(rest[:end].rstrip() + ("…" if last else ""))
            rest = rest[end:].lstrip()
        return found or [""]


def _plain(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())
