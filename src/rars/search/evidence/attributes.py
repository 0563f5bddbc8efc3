"""A catalogue's own structured attributes as constraints.

Owns: reading the ``attributes`` column (name -> value), and the extractor that makes its values constraints:
a query that names a value ("ddr3", "stainless steel") or a feature an item says yes to ("touchscreen") asks
for the items that have it. Ignores numbers and measures (``quantities``) and colours (``colors``), which
read attributes themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rars.data.attributes import phrase
from rars.search.evidence.extractor import Known, Mention, names_in
from rars.search.evidence.text import Finds, Token, is_cjk, token_texts

LONGEST = 4
"""Words of the longest value that people would type; longer ones are descriptions."""

ORDINARY = 0.2
"""A value is an ordinary word if fewer of the items that use the word have it: most cables have no cable."""

_CHARACTERS = 12
"""The same in CJK characters."""

_SIZES = "size|talla|サイズ|pack|pieces|piezas|count|quantity"


class Attributes:
    """The extractor of attribute values: keys ``attribute WORDS``.

    ``names`` restricts it to some attributes; without it, all are used.
    """

    name = "attribute"
    columns = ("attributes",)

    def __init__(self, names: Sequence[str] | None = None) -> None:
        self._names = None if names is None else frozenset(names)

    def items(self, rows: pa.Table) -> Finds:
        """The short values each item has, and the names of what it says yes to."""
        names, values, row = flattened(rows)
        pair = pc.binary_join_element_wise(names, values, "\n").dictionary_encode()
        code = pair.indices.to_numpy(zero_copy_only=False)
        keys: dict[str, int] = {}
        place = np.full(len(pair.dictionary), -1, dtype=np.int32)
        for index, text in enumerate(pair.dictionary.to_pylist()):
            key = self._key(*text.split("\n", 1))
            if key is not None:
                place[index] = keys.setdefault(f"attribute {key}", len(keys))
        found = place[code] if len(place) else np.zeros(0, dtype=np.int32)
        return Finds(list(keys), found[found >= 0], row[found >= 0])

    def mentions(self, folded: str, tokens: Sequence[Token], known: Known) -> list[Mention]:
        """The attribute values a query names."""
        return names_in(folded, tokens, self.name, known, ORDINARY)

    def _key(self, name: str, value: str) -> str | None:
        if self._names is not None and name not in self._names:
            return None
        asked = token_texts(phrase(name, value))
        if not asked:
            return None
        is_text = any(not word[0].isdigit() for word in asked)
        cjk = sum(is_cjk(word[0]) for word in asked)
        is_short = 0 < len(asked) - cjk + bool(cjk) <= LONGEST and cjk <= _CHARACTERS
        return " ".join(asked) if is_text and is_short else None


def flattened(rows: pa.Table) -> tuple[pa.Array, pa.Array, npt.NDArray[np.int32]]:
    """All attributes of a block: name, value (never null) and row of each."""
    maps = _maps(rows)
    offsets = maps.offsets.to_numpy()
    row = np.repeat(np.arange(len(maps), dtype=np.int32), np.diff(offsets))
    low, high = int(offsets[0]), int(offsets[-1])
    values = pc.fill_null(maps.items.slice(low, high - low), "")
    return maps.keys.slice(low, high - low), values, row


def joined_values(rows: pa.Table, about: str | None = None) -> pa.Array:
    """The attribute values of each row in one text; ``about`` is a pattern for the names that count.

    A value that is only a number says little without its name: of a data sheet's many, those of sizes and
    packs are kept, since people type them ("size 40").
    """
    maps = _maps(rows)
    values = pc.fill_null(maps.items, "")
    if about is not None:
        values = pc.if_else(pc.match_substring_regex(maps.keys, f"(?i){about}"), values, "")
    silent = pc.invert(pc.match_substring_regex(maps.keys, f"(?i){_SIZES}"))
    number = pc.match_substring_regex(values, r"^\s*[0-9.,]+\s*$")
    values = pc.if_else(pc.and_(silent, number), "", values)
    return pc.binary_join(pa.ListArray.from_arrays(maps.offsets, values), "\t")


def _maps(rows: pa.Table) -> pa.MapArray:
    return pa.concat_arrays(rows["attributes"].chunks)
