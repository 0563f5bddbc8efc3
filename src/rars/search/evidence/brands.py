"""Brands: the catalogue's own brand strings, found in queries as whole runs of words.

Owns: the keys of the brand field and its mentions in queries. Ignores negation. A query is walked once,
growing a run while some brand begins with it; the number of brands does not matter.

A brand that is an ordinary word (an item by "Case", in a shop full of phone cases) is no constraint, and one
that is also a colour or a measure ("Gold", "3M") counts as the brand only where the catalogue mostly means
the brand by it. What an item is *for* is no constraint on its own brand: "case for Acme phones".

Japanese shops write a foreign brand with its reading: "Acme(アクメ)", in the brand field or in titles. Each
reading found so becomes another name of the brand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rars.data.words import fold
from rars.search.evidence.extractor import Constraint, Known, Mention, longest_runs, names_in
from rars.search.evidence.text import (
    KATAKANA,
    LETTER,
    Finds,
    Token,
    block_of,
    scan,
    scanner,
    token_texts,
    unaccented,
)

NAMELESS = frozenset(
    (
        *("generic", "unbranded", "unknown", "n a", "na", "none", "no brand", "no name", "noname"),
        *("oem", "genérico", "generico", "sin marca"),
        *map(" ".join, ("ノーブランド", "ノーブランド品", "不明")),
    )
)
"""What catalogues write where there is no brand."""

ORDINARY = 0.02
"""A brand is an ordinary word if fewer of the items that use the word are of that brand."""

_BOTH = re.compile(r"^([^()]+)\(([^()]+)\)\s*$")
_READING = scanner(rf"[^\s()]+(?: [^\s()]+){{0,2}} ?\([{KATAKANA}・ ]+\)")
_ENDING = "\t"
"""Between a reading and the brand it stands for, in the keys ``reading WORDS<tab>BRAND``."""

_FOR = re.compile(rf"(?<!{LETTER})(?:for|fits|compatible with|works with|para|compatible con)\s+$")
_FOR_BEHIND = re.compile(r"(?:\s?[a-z0-9]+){0,2}\s?(?:用|対応|互換)")


class Brands:
    """The extractor of brands: keys ``brand WORDS``."""

    name = "brand"
    columns = ("brand", "title")

    def items(self, rows: pa.Table) -> Finds:
        """The brand of each item, under each name its field gives: "ソニー(SONY)" is two."""
        encoded = pc.fill_null(pa.concat_arrays(rows["brand"].chunks), "").dictionary_encode()
        brand = encoded.indices.to_numpy(zero_copy_only=False)
        names = [brand_names(text) for text in encoded.dictionary.to_pylist()]
        keys: dict[str, int] = {}
        lists = [[keys.setdefault(f"brand {one}", len(keys)) for one in some] for some in names]
        every = Finds([], brand, np.arange(len(brand), dtype=np.int32))
        own = every.exploded(list(keys), lists)
        titles = scan(_READING, _with_readings(block_of([rows["title"]])))
        pairs, code = np.unique(
            np.stack([titles.code, brand[titles.row]]), axis=1, return_inverse=True
        )
        lists = [
            [keys.setdefault(key, len(keys)) for key in _readings(titles.surfaces[at], names[of])]
            for at, of in pairs.T.tolist()
        ]
        read = Finds([], code.astype(np.int32).ravel(), titles.row).exploded(list(keys), lists)
        return Finds(
            list(keys), np.concatenate([own.code, read.code]), np.concatenate([own.row, read.row])
        )

    def mentions(self, folded: str, tokens: Sequence[Token], known: Known) -> list[Mention]:
        """The brands a query names, by their own names or by a reading."""
        found = names_in(folded, tokens, "brand", known, ORDINARY)
        for start, end, key in longest_runs(folded, tokens, "reading", known, _ENDING):
            brand = key.partition(_ENDING)[2]
            constraint = Constraint("brand", folded[start:end], (f"brand {brand}",))
            found.append(Mention(start, end, (constraint,)))
        return [mention for mention in found if not _is_purpose(folded, mention)]


def brand_names(field: str) -> list[str]:
    """The names a brand field gives, as runs of words, with and without accents.

    >>> brand_names("Ralph  Lauren"), brand_names("L'Oréal"), brand_names("Generic")
    (['ralph lauren'], ['loréal', 'loreal'], [])
    >>> len(brand_names("ソニー(SONY)"))
    3
    """
    folded = fold(field)
    parts = [folded]
    both = _BOTH.match(folded)
    if both:
        parts += both.groups()
    names = [" ".join(token_texts(part)) for part in (*parts, *map(unaccented, parts))]
    return [name for name in dict.fromkeys(names) if _is_name(name)]


def _is_name(name: str) -> bool:
    return len(name) > 1 and name not in NAMELESS and not name.replace(" ", "").isdigit()


def _with_readings(block: str) -> str:
    """The block if it has any reading; else nothing, to save the longer search."""
    return block if re.search(rf"\([{KATAKANA}]", block) else ""


def _readings(surface: str, names: Sequence[str]) -> Iterator[str]:
    """The key of "BRAND (READING)" in the title of an item of that brand."""
    before, _, reading = surface.rstrip(")").rpartition("(")
    said = " ".join(token_texts(before))
    for name in names:
        if said == name or said.endswith(f" {name}"):
            yield f"reading {' '.join(token_texts(reading))}{_ENDING}{name}"


def _is_purpose(folded: str, mention: Mention) -> bool:
    before = folded[max(0, mention.start - 32) : mention.start]
    return bool(_FOR.search(before) or _FOR_BEHIND.match(folded, mention.end))
