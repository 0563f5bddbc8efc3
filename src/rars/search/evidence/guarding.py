"""One text that an extractor cannot read costs that text, not the work around it.

Owns: asking an extractor and going on where it fails: a block of items is halved until the item it fails on
is alone, a query asks for nothing there. Ignores why it failed; the warning says it. A ``RarsError`` is
meant for the user and passes.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rars.data.problems import quoted
from rars.errors import RarsError, RarsWarning
from rars.search.evidence.extractor import Extractor, Known, Mention
from rars.search.evidence.text import Finds, Token


@dataclass
class Unread:
    """The items that extractors could not read: how many of each extractor, and the first with its reason."""

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    def items(self, extractor: Extractor, rows: pa.Table, numbers: npt.NDArray[np.int32]) -> Finds:
        """The keys of a block whose catalogue rows are ``numbers``; nothing of items that cannot be read."""
        try:
            return extractor.items(rows)
        except (RarsError, MemoryError):
            raise
        except Exception as error:  # whatever a text did to it
            if rows.num_rows <= 1:
                self._note(extractor.name, f"row {numbers[0] + 1}: {_reason(error)}")
                nothing = np.zeros(0, dtype=np.int32)
                return Finds([], nothing, nothing)
        half = rows.num_rows // 2
        low = self.items(extractor, rows.slice(0, half), numbers[:half])
        high = self.items(extractor, rows.slice(half), numbers[half:])
        return Finds(
            [*low.surfaces, *high.surfaces],
            np.concatenate([low.code, high.code + len(low.surfaces)]).astype(np.int32),
            np.concatenate([low.row, high.row + half]).astype(np.int32),
        )

    def warn(self) -> None:
        """One sentence for each extractor that could not read everything."""
        for name, count in self.counts.items():
            items = "1 item was" if count == 1 else f"{count:,} items were"
            warnings.warn(
                f"{items} not read by the extractor {name!r} ({self.first[name]}); a query for what it "
                "finds does not find them.",
                RarsWarning,
                stacklevel=2,
            )

    def _note(self, name: str, why: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1
        self.first.setdefault(name, why)


def mentions(
    extractor: Extractor, folded: str, tokens: Sequence[Token], known: Known
) -> list[Mention]:
    """What a query asks for; nothing where the extractor cannot read it."""
    try:
        return extractor.mentions(folded, tokens, known)
    except (RarsError, MemoryError):
        raise
    except Exception as error:
        warnings.warn(
            f"The query {quoted(folded)} was not read by the extractor {extractor.name!r} "
            f"({_reason(error)}).",
            RarsWarning,
            stacklevel=2,
        )
        return []


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no reason'}"
