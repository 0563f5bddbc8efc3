"""What a filter costs at 300,000 items: read, every item decided, and the legal prefixes of the tree.

``python -m benchmarks filters``. Side by side with what a user would write who has the table in memory: the
same condition in pandas and in pyarrow, which gives a mask and no prefixes, and with the tables of all
prefixes that a mask would otherwise be turned into. Filters are never taken from the cache here. Asks for:
2 ms or less, for every filter but a search inside long texts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.measure import alternate, report
from benchmarks.search import ITEMS
from benchmarks.tree import skewed_codes
from rars.arrays import Bools
from rars.data.schema import ITEMS as SCHEMA
from rars.data.store import Columns
from rars.search.columns import ItemColumns
from rars.search.filters import parse
from rars.search.routing import Matching, Shared
from rars.tree import PrefixTree

COLORS = ("black", "white", "navy", "red", "blue", "green", "grey", "pink")
MOST = 2.0
"""Milliseconds."""


def items(count: int) -> pa.Table:
    """A catalogue of texts, numbers, truths, paths and attributes, unevenly spread."""
    rng = np.random.default_rng(5)
    brand = rng.zipf(1.4, count) % 5000
    leaf = rng.zipf(1.3, count) % 300
    material = rng.choice(["cotton", "steel", "wood", "glass"], count)
    return pa.table(
        {
            "id": pa.array([f"P{n:07d}" for n in range(count)]),
            "title": pa.array([f"Thing {n} with a title of usual length" for n in range(count)]),
            "brand": pa.array([f"Brand {n}" for n in brand.tolist()]),
            "color": pa.array(rng.choice(COLORS, count).tolist()),
            "category": pa.array(
                [[f"A{n % 6}", f"B{n % 30}", f"C{n}"] for n in leaf.tolist()],
                pa.list_(pa.string()),
            ),
            "price": pa.array(rng.gamma(2.0, 20.0, count), mask=rng.random(count) < 0.05),
            "in_stock": pa.array(rng.random(count) < 0.8),
            "attributes": pa.array(
                [[("material", one), ("size", str(n % 40))] for n, one in enumerate(material)],
                pa.map_(pa.string(), pa.string()),
            ),
        }
    )


Frame = Any
Plain = Callable[[Frame], Any]

FILTERS: dict[str, tuple[Plain, Plain]] = {
    'brand = "Brand 1" AND price < 20 AND color IN (black, navy)': (
        lambda f: (f.brand == "Brand 1") & (f.price < 20) & f.color.isin(["black", "navy"]),
        lambda t: pc.and_(
            pc.and_(pc.equal(t["brand"], "Brand 1"), pc.less(t["price"], 20)),
            pc.is_in(t["color"], value_set=pa.array(["black", "navy"])),
        ),
    ),
    "price < 200": (lambda f: f.price < 200, lambda t: pc.less(t["price"], 200)),
    "in_stock = true": (lambda f: f.in_stock, lambda t: t["in_stock"]),
    'brand = "Brand 4321"': (
        lambda f: f.brand == "Brand 4321",
        lambda t: pc.equal(t["brand"], "Brand 4321"),
    ),
    "color NOT IN (red, blue, green, grey, pink) OR price >= 50": (
        lambda f: ~f.color.isin(["red", "blue", "green", "grey", "pink"]) | (f.price >= 50),
        lambda t: pc.or_(
            pc.invert(
                pc.is_in(t["color"], value_set=pa.array(["red", "blue", "green", "grey", "pink"]))
            ),
            pc.fill_null(pc.greater_equal(t["price"], 50), False),
        ),
    ),
    'category = "A1 > B1"': (
        lambda f: f.category.str.startswith("A1 > B1 > "),
        lambda t: pc.starts_with(t["category"], "A1 > B1 > "),
    ),
    "material = steel AND size < 7": (
        lambda f: (f.material == "steel") & (f["size"].astype(int) < 7),
        lambda t: pc.and_(pc.equal(t["material"], "steel"), pc.less(t["size"].cast(pa.int64()), 7)),
    ),
    "id = P0123456": (lambda f: f.id == "P0123456", lambda t: pc.equal(t["id"], "P0123456")),
    "title : 12345": (
        lambda f: f.title.str.contains("12345", regex=False),
        lambda t: pc.match_substring(t["title"], "12345"),
    ),
}


def flat(table: pa.Table) -> pa.Table:
    """The same, as somebody would lay it out for pandas: a column an attribute, paths joined."""
    entries = table["attributes"].combine_chunks()
    values = {"category": pc.binary_join(table["category"], " > ")}
    for at, name in enumerate(("material", "size")):
        values[name] = entries.items.take(pa.array(np.arange(at, 2 * table.num_rows, 2)))
    plain = table.drop_columns(["attributes", "category"])
    for name, column in values.items():
        plain = plain.append_column(name, column)
    return plain


def ours(columns: ItemColumns, tree: PrefixTree, text: str) -> Matching:
    return Matching.of(tree, columns.passed(parse(text), text))


def tables(tree: PrefixTree, marks: Bools) -> Shared:
    """The other way to legal prefixes: a mark for each, level by level."""
    leaves = np.logical_or.reduceat(np.take(marks, tree.order), tree.buckets[:-1])
    return Shared.of(tree, leaves)


def main() -> None:
    table = items(ITEMS)
    tree = PrefixTree.build(skewed_codes(ITEMS))
    columns = ItemColumns(Columns(table, SCHEMA))
    frame, arrow = flat(table).to_pandas(), flat(table).combine_chunks()
    rows, slow = [], []
    for text, (in_pandas, in_arrow) in FILTERS.items():
        marks = columns.passed(parse(text), text)
        np.testing.assert_array_equal(marks, np.asarray(in_pandas(frame), dtype=bool))
        seconds = alternate(
            {
                "ours": partial(ours, columns, tree, text),
                "marks": partial(_marks, columns, text),
                "pandas": partial(in_pandas, frame),
                "pyarrow": partial(in_arrow, arrow),
                "tables": partial(tables, tree, marks),
            },
            clock=time.process_time,
        )
        rows.append(
            {
                "filter": text,
                "items, %": 100 * float(marks.mean()),
                "ours, ms": 1e3 * seconds["ours"],
                "of it marks, ms": 1e3 * seconds["marks"],
                "pandas, ms": 1e3 * seconds["pandas"],
                "pyarrow, ms": 1e3 * seconds["pyarrow"],
                "tables of prefixes, ms": 1e3 * seconds["tables"],
                "pandas / ours": seconds["pandas"] / seconds["ours"],
            }
        )
        if 1e3 * seconds["ours"] > MOST and " : " not in text:
            slow.append(text)
    report(
        "filters: read, decided and turned into legal prefixes, 300,000 items",
        rows,
        "ours is all three; pandas and pyarrow give a mask, tables the prefixes; CPU time of one thread",
    )
    reading(table)
    if slow:
        raise SystemExit(f"slower than {MOST} ms: {', '.join(slow)}")


def _marks(columns: ItemColumns, text: str) -> Bools:
    return columns.passed(parse(text), text)


def reading(table: pa.Table) -> None:
    """What the first filter on a column costs: reading it."""
    rows = []
    for name in ("brand", "color", "price", "category", "material", "title"):
        columns = ItemColumns(Columns(table, SCHEMA))
        start = time.process_time()
        columns.column(name)
        rows.append({"column": name, "ms": 1e3 * (time.process_time() - start)})
    report("filters-reading: a column named for the first time, 300,000 items", rows)


if __name__ == "__main__":
    main()
