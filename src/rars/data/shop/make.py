"""Making a shop: items in chunks, then queries with their truth and judgments.

Owns: sizes, splits, uniqueness of query texts, the order of writing. The tables ``truth`` (the positives
of each query) and ``intents`` (what each query means) are written beside the three of every dataset.
Memory holds the facts of all items (19 bytes each, and as many while they are joined), an index over them,
and one chunk of texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from rars.data.folder import DatasetWriter, writing_dataset
from rars.data.schema import JUDGMENTS
from rars.data.shop.asking import ask
from rars.data.shop.draws import Draw, key, uniforms
from rars.data.shop.facts import Facts, make_facts
from rars.data.shop.grading import Graded, Query, judge, truth
from rars.data.shop.index import Index
from rars.data.shop.intents import Intent, draw_intent, intent_rows
from rars.data.shop.items import item_rows
from rars.data.shop.lexicon import Lexicon, lexicon
from rars.data.shop.pooling import shown
from rars.data.shop.raters import effort, misjudged
from rars.data.shop.realism import DEFAULT, Realism
from rars.data.shop.slips import same_text
from rars.data.shop.world import world
from rars.data.splits import with_validation
from rars.errors import RarsError
from rars.progress import Advance

SMALLEST, LARGEST = 100, 50_000_000
MOST_TRAIN, MOST_TEST = 20_000, 4_000
CHUNK = 20_000
QUERY_BLOCK = 500
MOST_ATTEMPTS = 1000

INTENTS = pa.schema(
    [
        pa.field(name, pa.string(), nullable=False)
        for name in ("query_id", "leaf", "name", "op", "value")
    ]
)


@dataclass(frozen=True)
class Size:
    """How many items and queries a shop has, and how untidy it is unless told otherwise.

    ``tiny`` is tidy: it is for trying things out, and too small for a long tail.
    """

    name: str
    items: int
    train: int
    test: int
    realism: float = DEFAULT


SIZES = {
    "tiny": Size("tiny", 300, 100, 20, realism=0.0),
    "small": Size("small", 2_000, 500, 100),
    "demo": Size("demo", 10_000, 3_000, 600),
}


def make_shop(
    folder: Path,
    *,
    size: str | int,
    locale: str = "en",
    seed: int = 0,
    complements: float | None = None,
    realism: float | None = None,
    advance: Advance | None = None,
) -> None:
    """Write the dataset folder of a shop that exists only on paper.

    ``size`` is ``tiny``, ``small``, ``demo`` or a number of items. The same size, locale and seed give the
    same bytes; a larger shop of the same seed begins with the same items. ``complements`` is the share of
    queries of which complements are judged (those with a single other positive always are). ``realism``, from
    0 to 1, makes the shop as untidy as real ones are; left out, it is the size's own. Complements follow it.

    >>> from tempfile import TemporaryDirectory
    >>> from rars.data import Dataset
    >>> with TemporaryDirectory() as home:
    ...     make_shop(Path(home) / "shop", size="tiny")
    ...     shop = Dataset.load(Path(home) / "shop")
    ...     shop.n_items, shop.n_queries
    (300, 120)
    """
    chosen, words = parse_size(size), lexicon(locale)
    dial = chosen.realism if realism is None else realism
    untidy = Realism.at(dial)
    judged = 1 - untidy.beside if complements is None else complements
    if not 0 <= judged <= 1:
        raise RarsError(f"The share of judged complements is between 0 and 1, not {judged}.")
    turned = {"complements": judged} if judged != 1 else {}
    turned |= {"realism": dial} if dial else {}
    total = chosen.items + chosen.train + chosen.test
    report: Advance = advance or (lambda done, total: None)
    with writing_dataset(
        Path(folder),
        name=f"shop-{chosen.name}-{locale}",
        licence="CC0-1.0",
        grades="labels",
        seed=seed,
        locale=locale,
        size=chosen.name,
        **turned,
    ) as writer:
        parts = []
        for start in range(0, chosen.items, CHUNK):
            stop = min(start + CHUNK, chosen.items)
            parts.append(make_facts(seed, start, stop, untidy))
            writer.add("items", item_rows(parts[-1], locale, seed, start, untidy))
            report(stop, total)
        facts = Facts.joined(parts)
        _write_queries(writer, facts, words, chosen, seed, judged, untidy, report)


def parse_size(size: str | int) -> Size:
    """The size of a name or of a number of items.

    >>> parse_size("demo").train, parse_size(1_000_000).train
    (3000, 20000)
    """
    if str(size) in SIZES:
        return SIZES[str(size)]
    try:
        items = int(size)
    except ValueError:
        names = ", ".join(SIZES)
        raise RarsError(
            f"Unknown shop size {size!r}; choose {names} or a number of items."
        ) from None
    if not SMALLEST <= items <= LARGEST:
        raise RarsError(f"A shop has {SMALLEST} to {LARGEST} items, not {items}.")
    train, test = min(MOST_TRAIN, items * 3 // 10), min(MOST_TEST, items * 6 // 100)
    return Size(str(items), items, train, test)


def _write_queries(
    writer: DatasetWriter,
    facts: Facts,
    words: Lexicon,
    size: Size,
    seed: int,
    complements: float,
    realism: Realism,
    report: Advance,
) -> None:
    count = size.train + size.test
    ids = [f"Q{i:06d}" for i in range(count)]
    splits = with_validation(ids, _splits(seed, size))
    queries = _queries(facts, words, seed, count, realism)
    raters = _Raters(facts, words, seed, complements, realism)
    for start in range(0, count, QUERY_BLOCK):
        block = ids[start : start + QUERY_BLOCK]
        made = [next(queries) for _ in block]
        texts = [query.text for query in made]
        writer.add(
            "queries",
            pa.table(
                {
                    "id": block,
                    "text": texts,
                    "locale": [words.locale] * len(block),
                    "split": splits[start : start + QUERY_BLOCK],
                }
            ),
        )
        judged = [raters.judge(name, query) for name, query in zip(block, made, strict=True)]
        writer.add("judgments", _pairs(block, judged))
        writer.add("truth", _pairs(block, [query.known for query in made]))
        writer.add("intents", _intents(block, [query.intent for query in made], words))
        report(size.items + start + len(block), size.items + count)


@dataclass(frozen=True)
class _Raters:
    """Who judges the queries of a shop, and how."""

    facts: Facts
    words: Lexicon
    seed: int
    complements: float
    realism: Realism

    def judge(self, name: str, query: Query) -> Graded:
        """The judgments of the query with this id."""
        draw = Draw(key(self.seed, "judge", name))

        def pool(count: int) -> Graded:
            return shown(query, self.facts, count, self.words, self.seed, draw)

        pooled = pool if self.realism.pooled > 0 and draw.chance(self.realism.pooled) else None
        work = effort(self.realism.uneven, draw)
        judged = judge(query, self.facts, draw, self.complements, work, pooled)
        if self.realism.misjudged == 0:
            return judged
        kin = self.facts.leaf[judged.rows] == query.intent.leaf
        return misjudged(judged, kin, self.realism.misjudged, draw)


def _queries(
    facts: Facts, words: Lexicon, seed: int, count: int, realism: Realism
) -> Iterator[Query]:
    seen: set[str] = set()
    index = Index(facts)
    for position in range(count):
        for attempt in range(MOST_ATTEMPTS):
            draw = Draw(key(seed, "query", words.locale, position, attempt))
            intent = draw_intent(facts, draw, realism)
            text = ask(intent, words, draw, realism.slips)
            known = truth(intent, index, draw)
            if same_text(text) not in seen and len(known.rows) >= 2:
                seen.add(same_text(text))
                yield Query(text, intent, known)
                break
        else:
            raise RarsError(f"A shop of {len(facts)} items has no {count} different queries.")


def _splits(seed: int, size: Size) -> list[str]:
    ranks = uniforms(key(seed, "split"), np.arange(size.train + size.test))
    test = set(np.argsort(ranks, kind="stable")[: size.test].tolist())
    return ["test" if i in test else "train" for i in range(size.train + size.test)]


def _pairs(ids: list[str], graded: list[Graded]) -> pa.Table:
    counts = [len(entry.rows) for entry in graded]
    rows = np.concatenate([entry.rows for entry in graded])
    items, place = np.unique(rows, return_inverse=True)
    names = pa.array([f"P{row:07d}" for row in items.tolist()], pa.string())
    columns = [
        pa.array(ids, pa.string()).take(pa.array(np.repeat(np.arange(len(ids)), counts))),
        names.take(pa.array(place)),
        pa.array(np.concatenate([entry.grades for entry in graded]).astype(np.float32)),
    ]
    return pa.table(columns, schema=JUDGMENTS)


def _intents(ids: list[str], intents: list[Intent], words: Lexicon) -> pa.Table:
    rows = [
        (name, world().leaves[intent.leaf].key, *row)
        for name, intent in zip(ids, intents, strict=True)
        for row in intent_rows(intent, words)
    ]
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    return pa.table(columns, schema=INTENTS)
