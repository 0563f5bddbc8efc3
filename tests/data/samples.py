"""A small sound dataset as plain tables, and ways to write it in every format."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Rows = list[dict[str, Any]]

ITEMS: Rows = [
    {
        "id": "i1",
        "title": "Power bank 10000 mAh",
        "text": 'Charges a phone twice,\nsays "the maker"',
        "brand": "Volta",
        "color": "black",
        "category": ["Electronics", "Chargers"],
        "attributes": {"battery": "10000", "wireless": "true"},
        "shelf": "A7",
    },
    {
        "id": "i2",
        "title": "Lámpara de mesa",
        "text": None,
        "brand": None,
        "color": "white",
        "category": ["Home", "Lamps", "Desk"],
        "attributes": None,
        "shelf": None,
    },
    {
        "id": "003",
        "title": "充電ケーブル 2m",
        "text": "USB-C",
        "brand": "Volta",
        "color": None,
        "category": None,
        "attributes": {"length": "2"},
        "shelf": "B1",
    },
]
QUERIES: Rows = [
    {"id": "q1", "text": "power bank", "locale": "us", "split": "train"},
    {"id": "q2", "text": "desk lamp", "locale": None, "split": "dev"},
    {"id": "q3", "text": "ケーブル", "locale": "jp", "split": "test"},
]
JUDGMENTS: Rows = [
    {"query_id": "q1", "item_id": "i1", "label": "E"},
    {"query_id": "q1", "item_id": "003", "label": "Complement"},
    {"query_id": "q2", "item_id": "i2", "label": "s"},
    {"query_id": "q3", "item_id": "003", "label": "I"},
    {"query_id": "q3", "item_id": "003", "label": "E"},
]

NESTED = {"category": pa.list_(pa.string()), "attributes": pa.map_(pa.string(), pa.string())}


def write(folder: Path, table: str, rows: Rows, suffix: str) -> Path:
    """Write rows as ``TABLE.SUFFIX`` (csv, tsv, jsonl, parquet, each also with .gz)."""
    path = folder / f"{table}.{suffix}"
    kind = suffix.removesuffix(".gz")
    if kind == "parquet":
        data = _parquet(rows)
    elif kind == "jsonl":
        data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    else:
        data = _delimited(rows, "\t" if kind == "tsv" else ",").encode()
    path.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
    return path


def write_all(folder: Path, suffix: str = "csv", **tables: Rows) -> dict[str, Path]:
    """Write the sample, or the given tables in its place."""
    rows = {"items": ITEMS, "queries": QUERIES, "judgments": JUDGMENTS, **tables}
    folder.mkdir(parents=True, exist_ok=True)
    return {table: write(folder, table, content, suffix) for table, content in rows.items()}


def _parquet(rows: Rows) -> bytes:
    names = list(rows[0])
    columns = []
    for name in names:
        values = [row[name] for row in rows]
        if name == "attributes":
            values = [None if value is None else list(value.items()) for value in values]
        plain = None if isinstance(rows[0][name], int | float) else pa.string()
        columns.append(pa.array(values, NESTED.get(name, plain)))
    stream = io.BytesIO()
    pq.write_table(pa.table(columns, names=names), stream)
    return stream.getvalue()


def _delimited(rows: Rows, delimiter: str) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter, lineterminator="\r\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return stream.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return " > ".join(value)
    return json.dumps(value) if isinstance(value, dict) else value
