"""Texts that catalogues and people write, and texts that nobody would: for everything that reads a text.

Numbers x units x punctuation x scripts x fractions x dimensions, put together at random from the pieces that
the extractors know and from any of Unicode.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from rars.data.words import fold, indexed, words
from rars.search.evidence import EvidenceIndex, units
from rars.search.evidence.color_words import color_words
from rars.search.evidence.colors import canonical
from rars.search.evidence.index import EXTRACTORS
from rars.search.evidence.negation import denial_words
from rars.search.evidence.quantities import quantities
from rars.search.evidence.text import block_of, features, tokens
from rars.systems.texts import cleaned
from rars.tree import PrefixTree
from tests.hostile.case import Case

NUMBERS = (
    *("1", "0", "00", "10 000", "10,000", "10.000", "1.500,5", "1,5", ".5", "5.", "1e400", "1/2"),
    *("3-1/4", "3 1/4", "1⁄2", "½", "3½", "1/0", "0/2", "9" * 15, "9" * 400, "1,000" * 90, "1.2.3"),
    *(
        "1,2,3.4",
        "-5",
        "+5",
        "５００",
        "٣",
        "¹²",
        "Ⅳ",
        "①",
        "3²",
        "1_000",
        "0x10",
        "1'000",
        "∞",
        "NaN",
    ),
)
MARKS = (
    *(
        " ",
        "-",
        ".",
        ",",
        "/",
        "x",
        " x ",
        "×",
        " by ",
        "*",
        '"',
        "'",
        "''",
        "″",
        "”",
        "(",
        ")",
        "#",
    ),
    *(
        "№",
        "$",
        "€",
        "%",
        "+",
        "&",
        "|",
        "\t",
        "\n",
        "\r",
        "\u2028",
        "\u00a0",
        "\u200b",
        "\u200d",
        "_",
    ),
    *(
        "\u202e",
        "\u202c",
        "\ufeff",
        "\u0301",
        "\u0308",
        "\u3099",
        "・",
        "、",
        "～",
        ":",
        ";",
        "°",
        "ﬁ",
    ),
)
WORDS = (
    *(
        "no",
        "without",
        "not",
        "sin",
        "以外",
        "なし",
        "for",
        "fits",
        "用",
        "Acme",
        "アクメ",
        "(アクメ)",
        "N/A",
    ),
    *(
        "case",
        "men's",
        "L'Oréal",
        "straße",
        "İstanbul",
        "ΐ",
        "شاحن",
        "סלולר",
        "ไทย",
        "हिन्दी",
        "한국어",
    ),
    *(
        "😀",
        "👩‍👩‍👧",
        "🇩🇪",
        "Z̸̢",
        "\U000e0001",
        "\uffff",
        "\x00",
        "\x7f",
        "赤ちゃん",
        "yes",
        "in",
        "in.",
    ),
)


def _pieces() -> Sequence[Sequence[str]]:
    names = [name.removeprefix("+") for name in units.names()]
    hyphens = [name.replace(" ", "-") for name in names if " " in name]
    named = color_words()
    colours = [one for by in named.names.values() for some in by.values() for one in some]
    words_of_denial = [word for by in denial_words()[:-1] for some in by.values() for word in some]
    return (NUMBERS, names, hyphens, MARKS, WORDS, colours, named.phrases, words_of_denial)


def text_of(rng: random.Random, pieces: Sequence[Sequence[str]] | None = None) -> str:
    """One text: pieces side by side, some of them in upper case, some of them any characters at all."""
    pieces = pieces or _pieces()
    made = []
    for _ in range(rng.choice((1, 2, 3, 4, 6, 9, 20))):
        kind = rng.random()
        if kind < 0.1:
            made.append(anything(rng, rng.randint(1, 6)))
        elif kind < 0.4:  # what is most likely to be read as something
            unit = rng.choice(rng.choice((pieces[1], pieces[2])))
            made.append(f"{rng.choice(NUMBERS)}{rng.choice(('', ' ', '-', '.'))}{unit}")
        else:
            made.append(rng.choice(rng.choice(pieces)))
        made.append(rng.choice(("", " ", " ", rng.choice(MARKS))))
    text = "".join(made)
    return text.upper() if rng.random() < 0.2 else text


def anything(rng: random.Random, length: int) -> str:
    """Characters of all of Unicode but surrogates."""
    top = rng.choice((0x80, 0x250, 0x3100, 0xD800, 0x110000))
    codes = (rng.randrange(top) for _ in range(length))
    return "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000)


def catalogue(rng: random.Random, rows: int, pieces: Sequence[Sequence[str]]) -> pa.Table:
    """Items as extractors get them."""

    def column(share: float) -> list[str | None]:
        return [text_of(rng, pieces) if rng.random() < share else None for _ in range(rows)]

    attributes = [
        [(text_of(rng, pieces), text_of(rng, pieces)) for _ in range(rng.randrange(3))]
        if rng.random() < 0.7
        else None
        for _ in range(rows)
    ]
    return pa.table(
        {
            "id": [str(row) for row in range(rows)],
            "title": pa.array(column(0.9), pa.string()),
            "text": pa.array(column(0.5), pa.string()),
            "brand": pa.array(column(0.5), pa.string()),
            "color": pa.array(column(0.5), pa.string()),
            "attributes": pa.array(attributes, pa.map_(pa.string(), pa.string())),
        }
    )


def index_of(rng: random.Random, pieces: Sequence[Sequence[str]]) -> EvidenceIndex:
    """An index of a few hostile items, with every extractor there is."""
    items = [
        {
            **row,
            "title": (row["title"] or "").strip() or "x",
            "attributes": dict(row["attributes"] or ()),
        }
        for row in catalogue(rng, 40, pieces).to_pylist()
    ]
    return _indexed(items)


def _indexed(items: list[dict[str, Any]]) -> EvidenceIndex:
    from rars.data import Dataset

    dataset = Dataset.of(items, [{"id": "q", "text": "x"}])
    tree = PrefixTree.build(np.arange(len(items))[:, None] // [8, 1] % 8)
    return EvidenceIndex.build(dataset, tree, extractors=[make() for make in EXTRACTORS.values()])


def _read(text: str, index: EvidenceIndex, language: str | None) -> None:
    """Everything that reads one text, without a guard."""
    from rars.search.evidence.extractor import Known, without_overlaps
    from rars.search.evidence.negation import affirmed

    folded = fold(cleaned(text))
    found = tokens(folded)
    known = Known(index.keys, index.words.postings, language)
    said = [m for one in index.extractors for m in one.mentions(folded, found, known)]
    for mention in said:
        assert 0 <= mention.start < mention.end <= len(folded), mention
    affirmed(folded, without_overlaps(said), language)
    index.compatibility(text, language=language)
    index.bm25(text)
    words(text), indexed(text), canonical(text), units.readings(text)
    if folded:
        quantities(folded, language)


def _scan(rows: pa.Table) -> None:
    features(block_of([rows[name] for name in ("title", "text", "brand", "color")]))
    for make in EXTRACTORS.values():
        found = make().items(rows)
        assert (found.row < rows.num_rows).all()
        assert not len(found.code) or found.code.max() < len(found.surfaces)


def cases(rng: random.Random) -> Iterator[Case]:
    """Queries against an index of hostile items, and blocks of hostile items; without end."""
    pieces = _pieces()
    while True:
        index = index_of(rng, pieces)
        for _ in range(300):
            text, language = text_of(rng, pieces), rng.choice((None, "en", "es", "ja"))
            yield Case(
                f"text {text!r} ({language})",
                partial(_read, text, index, language),
                {"text": text, "language": language},
            )
        rows = catalogue(rng, rng.choice((1, 2, 20)), pieces)
        yield Case(f"items {rows.to_pylist()!r}", partial(_scan, rows))


def again(given: dict[str, Any]) -> Case:
    """A text read, against an index of items that are given or hostile by themselves."""

    def run() -> None:
        items = given.get("items")
        index = _indexed(items) if items else index_of(random.Random(0), _pieces())
        _read(given["text"], index, given.get("language"))

    return Case(f"text {given['text']!r:.300}", run)
