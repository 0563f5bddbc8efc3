"""Found items as people read them: in a program, in JSON, in a notebook.

Owns: what is shown of an item, and a table of HTML that needs nothing from outside. Ignores how items are
found.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

from rars.systems.protocol import Answer, Catalogue, Explained


@dataclass(frozen=True)
class Hit:
    """An item that was found, with what is shown of it."""

    item_id: str
    score: float
    title: str
    brand: str | None = None
    color: str | None = None
    category: tuple[str, ...] = ()
    identifier: tuple[int, ...] = ()
    explanation: Explained | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        found = {**vars(self), "category": list(self.category), "identifier": list(self.identifier)}
        if self.explanation is None:
            del found["explanation"]
        else:
            found["explanation"] = self.explanation.as_dict()
        return found


class Hits(list[Hit]):
    """The hits of one query, best first; a notebook shows them as a table.

    >>> Hits([Hit("a", 0.5, "Red <mug>")], "mug")._repr_html_().count("Red &lt;mug&gt;")
    1
    """

    def __init__(self, hits: Iterable[Hit] = (), query: str = "") -> None:
        super().__init__(hits)
        self.query = query

    @classmethod
    def of(cls, answer: Answer, catalogue: Catalogue, query: str) -> Hits:
        """An answer with the shown fields of its items."""
        codes = None if answer.identifiers is None else answer.identifiers.tolist()
        return cls(
            (
                Hit(
                    item_id=shown["id"],
                    score=float(answer.scores[at]),
                    title=shown["title"],
                    brand=shown["brand"],
                    color=shown["color"],
                    category=tuple(shown["category"] or ()),
                    identifier=() if codes is None else tuple(codes[at]),
                    explanation=None if answer.explanations is None else answer.explanations[at],
                )
                for at, shown in enumerate(catalogue.take(answer.items))
            ),
            query,
        )

    def _repr_html_(self) -> str:
        """A table of its own; explanations are folded."""
        head = "".join(
            f'<th style="{_CELL}">{name}</th>'
            for name in ("", "score", "item", "title", "category")
        )
        rows = "".join(f"<tr>{''.join(_cells(rank, hit))}</tr>" for rank, hit in enumerate(self, 1))
        return (
            '<table style="border-collapse:collapse">'
            f'<caption dir="auto" style="text-align:start;padding:0.2em 0.6em">{escape(self.query)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{rows or _NOTHING}</tbody></table>"
        )


# Outside a notebook, which has a style of its own, nothing else gives a cell room.
_CELL = "padding:0.2em 0.6em;text-align:start;vertical-align:top"
_NUMBER = "padding:0.2em 0.6em;text-align:end;vertical-align:top"
_NOTHING = '<tr><td colspan="5">Nothing was found.</td></tr>'


def _cells(rank: int, hit: Hit) -> list[str]:
    # dir="auto": each text decides by its own letters which way it runs.
    shown = " · ".join(part for part in (hit.title, hit.brand, hit.color) if part)
    title = escape(shown)
    if hit.explanation is not None:
        title += (
            "<details><summary>why</summary>"
            f'<pre style="text-align:left">{escape(str(hit.explanation))}</pre></details>'
        )
    return [
        f'<td style="{_NUMBER}">{rank}</td>',
        f'<td style="{_NUMBER}">{hit.score:.3f}</td>',
        f'<td dir="auto" style="{_CELL}">{escape(hit.item_id)}</td>',
        f'<td dir="auto" style="{_CELL}">{title}</td>',
        f'<td dir="auto" style="{_CELL}">{escape(" > ".join(hit.category))}</td>',
    ]
