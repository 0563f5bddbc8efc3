"""The ESCI shopping queries, by the paper's protocol.

Owns: which pairs, products and queries of the two ESCI files (and of ESCI-S, which has the categories) make
the dataset of one locale. Ignores how HTML is cleaned (``rars.data.markup``).

Protocol: the small version; the catalogue is the products of training positives (E, S, C) that have a
category; training and test pairs are those whose product is in the catalogue, Irrelevant ones included. A
test query is eligible if one of its positives lies in a category (first three levels) that training
positives reach, validation held out. Without ESCI-S there is no category filter; ``full_catalogue`` keeps
every judged product.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rars import places
from rars.data import columns, rules
from rars.data.folder import refuse_foreign, writing_dataset
from rars.data.markup import joined, plain
from rars.data.problems import Problems
from rars.data.rules import Named, one
from rars.data.splits import with_validation
from rars.data.tables import (
    BROKEN,
    Meter,
    Source,
    checked_utf8,
    existing,
    first_line,
    open_bytes,
    read_parquet,
)
from rars.errors import RarsError
from rars.progress import Advance

EXAMPLES = "shopping_queries_dataset_examples.parquet"
PRODUCTS = "shopping_queries_dataset_products.parquet"
LOCALES = ("us", "es", "jp")
LEVELS = 3
"""How deep the category tree of training is: the eligible test positives lie in one of its paths."""

_EXAMPLE_COLUMNS = [
    "query_id",
    "query",
    "product_id",
    "product_locale",
    "esci_label",
    "small_version",
    "split",
]
_PRODUCT_COLUMNS = [
    "product_id",
    "product_locale",
    "product_title",
    "product_description",
    "product_bullet_point",
    "product_brand",
    "product_color",
]
_ASIN = re.compile(rb'"asin"\s*:\s*"([^"]+)"')
_BATCH = 20_000

Paths = dict[str, list[str]]


@dataclass(frozen=True)
class EsciCounts:
    """What the protocol kept; pairs include Irrelevant ones, positives do not."""

    products: int
    train_queries: int
    train_pairs: int
    train_positives: int
    test_queries: int
    test_pairs: int
    test_positives: int
    test_queries_with_positive: int
    test_queries_eligible: int
    products_without_category: int
    products_without_text: int

    def as_json(self) -> dict[str, int]:
        """The counts as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class _Pairs:
    """Judged pairs of one locale, aligned; ``train`` marks those of training queries."""

    query: pa.StringArray
    text: pa.StringArray
    product: pa.StringArray
    grade: npt.NDArray[np.float64]
    train: npt.NDArray[np.bool_]

    def where(self, keep: npt.NDArray[np.bool_]) -> _Pairs:
        chosen = pa.array(keep)
        return _Pairs(
            self.query.filter(chosen),
            self.text.filter(chosen),
            self.product.filter(chosen),
            self.grade[keep],
            self.train[keep],
        )

    def merged(self) -> _Pairs:
        """Without repeated pairs: the highest grade is kept."""
        query, product = codes_of(self.query), codes_of(self.product)
        order = np.lexsort((-self.grade, product, query))
        first = np.ones(len(order), dtype=bool)
        same_query = query[order][1:] == query[order][:-1]
        first[1:] = ~(same_query & (product[order][1:] == product[order][:-1]))
        keep = np.zeros(len(order), dtype=bool)
        keep[order[first]] = True
        return self.where(keep)

    def training_positives(self) -> pa.StringArray:
        return self.product.filter(pa.array(self.train & (self.grade > 0))).unique()


def make_esci(
    source: Path,
    folder: Path,
    *,
    locale: str,
    categories: Path | None = None,
    full_catalogue: bool = False,
    advance: Advance | None = None,
) -> EsciCounts:
    """Write the dataset folder of one locale from the ESCI files in ``source``."""
    if locale not in LOCALES:
        raise RarsError(f"Unknown ESCI locale {locale!r}; choose one of {', '.join(LOCALES)}.")
    folder = places.target(folder, replaced=True)
    refuse_foreign(folder)
    products = existing(source / PRODUCTS)
    meter = Meter([products, *([existing(categories)] if categories else [])], advance)
    pairs = _read_pairs(existing(source / EXAMPLES), locale)
    known = _listed_products(products, locale)
    wanted = pairs.product.unique() if full_catalogue else pairs.training_positives()
    listed = wanted.filter(pc.is_in(wanted, known))
    paths = None if categories is None else _read_categories(categories, locale, listed, meter)
    kept = listed if full_catalogue or paths is None else pa.array(list(paths), pa.string())
    pairs = pairs.where(columns.mask(pc.is_in(pairs.product, kept)))
    if not len(pairs.query):
        raise RarsError(f"{source} has no judged {locale!r} product that the protocol keeps.")
    queries = _queries(pairs, locale, paths)
    counts = EsciCounts(
        **_count(pairs, queries),
        products=len(kept),
        products_without_category=len(listed) - len(paths) if paths is not None else 0,
        products_without_text=len(wanted) - len(listed),
    )
    protocol = {
        "version": "small",
        "category_filter": paths is not None and not full_catalogue,
        "catalogue": "judged products" if full_catalogue else "products of training positives",
        "counts": counts.as_json(),
    }
    with writing_dataset(
        folder, name=f"esci-{locale}", licence="Apache-2.0", locale=locale, protocol=protocol
    ) as writer:
        for items in _items(products, locale, kept, paths or {}, meter):
            writer.add("items", items)
        writer.add("queries", queries)
        writer.add("judgments", _judgments(pairs))
    return counts


def _read_pairs(path: Path, locale: str) -> _Pairs:
    """The small version's pairs of one locale; whatever is wrong with them is said at once."""
    problems = Problems()
    source = read_parquet(path, problems, columns=_EXAMPLE_COLUMNS)
    if source is None:
        problems.stop("nothing was written")
        raise AssertionError("a file that cannot be read is a problem")
    named = Named(source, problems, {})
    for column in _EXAMPLE_COLUMNS:
        if not named.has(column):
            named.missing(column)
    problems.stop("nothing was written")
    # The rules look at every row, so that the row they name is the row of the file.
    grade = rules.label_grades(named, "esci_label")
    text = rules.not_empty(named, "query")
    query, product = named.texts("query_id"), named.texts("product_id")
    split = rules.split_names(named, "split")
    problems.stop("nothing was written")
    assert grade is not None
    pairs = _Pairs(
        one(query), one(text), one(product), grade, columns.mask(pc.equal(split, "train"))
    )
    small = pc.equal(source.table["small_version"].cast(pa.int64()), 1)
    keep = pc.and_(small, pc.equal(source.table["product_locale"].cast(pa.string()), locale))
    return pairs.where(columns.mask(keep)).merged()


def _listed_products(path: Path, locale: str) -> pa.StringArray:
    """Ids of the products that have a row, in this locale: the same id may be sold in several."""
    problems = Problems()
    source = read_parquet(path, problems, columns=["product_id", "product_locale"])
    types = pq.read_schema(path) if source is not None else None
    for column in _PRODUCT_COLUMNS:
        if types is not None and column not in types.names:
            problems.add(path, "missing column", column=column)
    problems.stop("nothing was written")
    assert source is not None
    here = pc.equal(source.table["product_locale"].cast(pa.string()), locale)
    ids: pa.StringArray = one(source.table["product_id"].cast(pa.string()).filter(here))
    _refuse_duplicates(source, ids, here, problems)
    return ids


def _refuse_duplicates(
    source: Source, ids: pa.StringArray, here: pa.ChunkedArray, problems: Problems
) -> None:
    if len(ids.unique()) == len(ids):
        return
    rows = np.flatnonzero(columns.mask(here))
    codes = ids.dictionary_encode().indices.to_numpy()
    again = np.zeros(source.table.num_rows, dtype=bool)
    again[rows[1:]] = codes[1:] <= np.maximum.accumulate(codes)[:-1]
    problems.add_records(source, "product_id", again, "duplicate id within the locale")
    problems.stop("nothing was written")


def _read_categories(path: Path, locale: str, wanted: pa.StringArray, meter: Meter) -> Paths:
    """Category paths of the wanted products that have one, in the order of ``wanted``."""
    needed = dict.fromkeys(wanted.to_pylist())
    found: Paths = {}
    for row in _category_rows(path, needed, meter):
        levels = row.get("category")
        if row.get("asin") in needed and row.get("locale", locale) == locale:
            names = [str(level).strip() for level in levels or [] if level is not None]
            names = [name for name in names if name]
            if names:
                found.setdefault(row["asin"], names)
    return {asin: found[asin] for asin in needed if asin in found}


def _category_rows(path: Path, needed: dict[str, None], meter: Meter) -> Iterator[dict[str, Any]]:
    """Lines of ESCI-S about needed products; lines hold whole product pages, so others stay unparsed."""
    problems = Problems()
    try:
        with open_bytes(path, meter) as stream:
            for number, line in enumerate(stream, 1):
                asin = _ASIN.search(line)
                if asin is not None and asin[1].decode("utf-8", "replace") not in needed:
                    continue
                if line.isspace():
                    continue
                row = _parsed(line)
                if row is None or not isinstance(row.get("category", []), list | None):
                    message = (
                        "broken JSON: expected an object with asin, locale and category (a list)"
                    )
                    problems.add(path, message, row=number)
                else:
                    yield row
    except BROKEN as error:
        problems.add(path, f"broken file: {error}")
    problems.stop("nothing was written")


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def _items(
    path: Path, locale: str, kept: pa.StringArray, paths: Paths, meter: Meter
) -> Iterator[pa.Table]:
    """The kept products in file order, cleaned, a batch at a time."""
    problems = Problems()
    for start, batch in _product_batches(path, meter):
        table = checked_utf8(Source(path, batch, start=start), problems).table
        keep = pc.and_(
            pc.equal(table["product_locale"].cast(pa.string()), locale),
            pc.is_in(table["product_id"].cast(pa.string()), kept),
        )
        yield _item_rows(table.filter(keep), paths)
    problems.stop("nothing was written")


def _product_batches(path: Path, meter: Meter) -> Iterator[tuple[int, pa.Table]]:
    start, size = 0, path.stat().st_size
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH, columns=_PRODUCT_COLUMNS):
                yield start, pa.Table.from_batches([batch])
                start += batch.num_rows
                meter.tick(size * batch.num_rows // file.metadata.num_rows)
    except (*BROKEN, pa.ArrowException) as error:
        raise RarsError(f"{path}, row {start + 1}: broken Parquet: {first_line(error)}.") from error


def _item_rows(products: pa.Table, paths: Paths) -> pa.Table:
    ids = one(products["product_id"].cast(pa.string()))
    parts = [plain(products[name]) for name in ("product_description", "product_bullet_point")]
    text = joined(parts)
    # A handful of products have no title; the schema asks for one, and these name the item best.
    title = pc.coalesce(
        plain(products["product_title"]), pc.utf8_slice_codeunits(text, 0, 100), ids
    )
    return pa.table(
        {
            "id": ids,
            "title": title,
            "text": text,
            "brand": plain(products["product_brand"]),
            "color": plain(products["product_color"]),
            "category": pa.array([paths.get(i) for i in ids.to_pylist()], pa.list_(pa.string())),
        }
    )


def _queries(pairs: _Pairs, locale: str, paths: Paths | None) -> pa.Table:
    """One row per query that still has a pair, with its split and whether it is eligible."""
    _, first = np.unique(codes_of(pairs.query), return_index=True)
    ids = pairs.query.take(pa.array(first)).to_pylist()
    split = with_validation(ids, ["train" if t else "test" for t in pairs.train[first]])
    eligible = _eligible(pairs, np.array(split) == "train", paths)
    return pa.table(
        {
            "id": pa.array(ids, pa.string()),
            "text": pairs.text.take(pa.array(first)),
            "locale": pa.array([locale] * len(ids), pa.string()),
            "split": pa.array(split, pa.string()),
            "eligible": pa.array(eligible),
        }
    )


def _eligible(
    pairs: _Pairs, trains: npt.NDArray[np.bool_], paths: Paths | None
) -> npt.NDArray[np.bool_]:
    """Queries with a positive in a category path that the queries in ``trains`` reach."""
    query = codes_of(pairs.query)
    positive = pairs.grade > 0
    if paths is not None:
        products = pairs.product.to_pylist()
        heads = np.array([" > ".join(paths.get(p, [])[:LEVELS]) for p in products], dtype=object)
        reached = set(heads[positive & trains[query]]) - {""}
        positive = positive & np.fromiter((head in reached for head in heads), bool, len(heads))
    eligible = np.zeros(len(trains), dtype=bool)
    eligible[query[positive]] = True
    return eligible


def codes_of(ids: pa.StringArray) -> npt.NDArray[np.int32]:
    """Each id as the number of different ids before its first appearance."""
    codes: npt.NDArray[np.int32] = ids.dictionary_encode().indices.to_numpy()
    return codes


def _count(pairs: _Pairs, queries: pa.Table) -> dict[str, int]:
    query, positive, train = codes_of(pairs.query), pairs.grade > 0, pairs.train
    tested = columns.mask(pc.equal(queries["split"], "test"))
    eligible = columns.mask(queries["eligible"])
    return {
        "train_queries": int((~tested).sum()),
        "train_pairs": int(train.sum()),
        "train_positives": int((train & positive).sum()),
        "test_queries": int(tested.sum()),
        "test_pairs": int((~train).sum()),
        "test_positives": int((~train & positive).sum()),
        "test_queries_with_positive": len(np.unique(query[~train & positive])),
        "test_queries_eligible": int((tested & eligible).sum()),
    }


def _judgments(pairs: _Pairs) -> pa.Table:
    return pa.table(
        {
            "query_id": pairs.query,
            "item_id": pairs.product,
            "grade": pa.array(pairs.grade.astype(np.float32)),
        }
    )
