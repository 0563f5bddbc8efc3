"""Tables that exports, scrapers and hands leave behind: for everything that reads a table of the user's.

Tables in memory are put together at random from values and types of all kinds; files are sound ones with
bytes cut out, doubled, or put in. A case makes a dataset, or says in a ``RarsError`` what is wrong.
"""

from __future__ import annotations

import datetime as dt
import decimal
import gzip
import json
import random
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rars.data import Dataset
from rars.data.importing import Tables, prepare
from tests.hostile import texts
from tests.hostile.case import Case

COLUMNS = (
    *("id", "title", "text", "brand", "color", "category", "attributes", "locale", "split"),
    *(
        "query_id",
        "item_id",
        "label",
        "grade",
        "extra",
        "",
        " id",
        "id ",
        "Id",
        "\ud800",
        "a\nb",
        "ID",
    ),
)
VALUES = (
    *(None, True, False, 0, 1, -1, 3, 2**62, 2**64, 10**30, 10**2000, 0.5, 1e308, float("nan")),
    *(
        float("inf"),
        -0.0,
        "",
        " ",
        "a",
        "b",
        "q",
        "E",
        "exact",
        "X",
        "3",
        "1e400",
        "nan",
        "-1",
        "train",
    ),
    *(
        "test",
        "dev",
        "[",
        "[1",
        "{",
        "{}",
        "[]",
        '{"a": 1}',
        '["a", ["b"]]',
        "null",
        '"',
        "\0",
        "\ud800",
    ),
    *(
        "A > B",
        " > ",
        "\ufeff",
        "x" * 5000,
        '{"a": "\\ud800"}',
        '["\\udfff"]',
        "[" * 2000,
        '{"a":' * 300,
    ),
    *(
        [],
        [1],
        ["a", None],
        [[]],
        [["a"]],
        {},
        {"a": 1},
        {"a": None},
        {"a": {"b": [1]}},
        {1: 2},
        (),
        ("a",),
    ),
    *(
        b"",
        b"\xff",
        dt.date(2020, 1, 1),
        dt.datetime(2020, 1, 1),
        decimal.Decimal("1.5"),
        object(),
        int,
    ),
    *(
        np.int64(3),
        np.float32("nan"),
        np.array([1, 2]),
        np.array(["a"]),
        np.datetime64("2020-01-01"),
        1j,
    ),
)
TYPES = (
    *(
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.int8(),
        pa.uint64(),
        pa.float16(),
    ),
    *(
        pa.float64(),
        pa.bool_(),
        pa.null(),
        pa.date32(),
        pa.timestamp("us"),
        pa.time64("us"),
        pa.decimal128(9, 2),
    ),
    *(
        pa.duration("s"),
        pa.list_(pa.string()),
        pa.list_(pa.int64(), 2),
        pa.large_list(pa.binary()),
        pa.binary_view(),
    ),
    *(
        pa.struct([("a", pa.int64()), ("b", pa.binary())]),
        pa.struct([]),
        pa.map_(pa.string(), pa.float64()),
    ),
    *(
        pa.map_(pa.binary(), pa.list_(pa.date32())),
        pa.dictionary(pa.int8(), pa.string()),
        pa.month_day_nano_interval(),
    ),
    *(
        pa.list_(pa.struct([("a", pa.timestamp("s", "UTC"))])),
        pa.large_binary(),
        pa.decimal256(50, 3),
    ),
)
_SAMPLES = (
    None,
    "a",
    "1",
    b"\xff",
    b"a",
    1,
    0,
    2.5,
    True,
    dt.date(2020, 1, 1),
    dt.datetime(2020, 1, 1),
)
_SPLICES = (
    *(
        b'"',
        b'""',
        b"\n",
        b"\r",
        b"\r\n",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b",",
        b"\t",
        b"{",
        b"}",
    ),
    *(
        b"[",
        b"]",
        b"[" * 200,
        b"\\",
        b"\\ud800",
        b":",
        b"null",
        b"1e999",
        b"9" * 400,
        b" ",
        b"'",
        b"id",
        b"a,b",
    ),
    *(
        "é".encode(),
        "銀".encode()[:2],
        b"-",
        b"NaN",
        b"Infinity",
        b"x" * 3000,
        b"\x1f\x8b",
        b"PAR1",
    ),
)


def rows_of(rng: random.Random) -> Any:
    """A list of dicts, or what somebody takes for one."""
    names = _names(rng)
    count = rng.choice((0, 1, 2, 5))
    rows: list[Any] = [{name: _value(rng, name) for name in names} for _ in range(count)]
    if rng.random() < 0.1 and names:
        rows.append(rng.choice(VALUES))
    if rng.random() < 0.1 and rows and isinstance(rows[0], dict):
        rows[0][rng.choice((1, None, ("a",), rng.choice(COLUMNS)))] = rng.choice(VALUES)
    return rows


def arrow_of(rng: random.Random) -> pa.Table:
    """An Arrow table with columns of any type, some of them twice."""
    names = _names(rng)
    count = rng.choice((0, 1, 3))
    made = [_array(rng, name, count) for name in names]
    if rng.random() < 0.1 and names:
        names, made = [*names, names[0]], [*made, made[0]]
    encodable = [name.encode("utf-8", "replace").decode() for name in names]
    return pa.table(made, names=encodable)


def _names(rng: random.Random) -> list[str]:
    wanted = ["id", "title", "text"] if rng.random() < 0.9 else []
    return list(dict.fromkeys([*wanted, *rng.sample(COLUMNS, rng.randrange(5))]))


def _value(rng: random.Random, name: str) -> Any:
    if name in ("id", "title") and rng.random() < 0.9:
        return f"{name}{rng.randrange(10**9)}"
    return texts.text_of(rng, _pieces()) if rng.random() < 0.2 else rng.choice(VALUES)


def _array(rng: random.Random, name: str, count: int) -> pa.Array:
    if name in ("id", "title", "text") and rng.random() < 0.9:
        return pa.array([f"{name}{rng.randrange(10**9)}" for _ in range(count)], pa.string())
    kind = rng.choice(TYPES)
    for _ in range(3):
        try:
            return pa.array([_sample(rng, kind) for _ in range(count)], kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
    return pa.nulls(count, pa.string())


def _sample(rng: random.Random, kind: pa.DataType) -> Any:
    if rng.random() < 0.2:
        return None
    if pa.types.is_struct(kind):
        return {field.name: _sample(rng, field.type) for field in kind}
    if pa.types.is_map(kind):
        return [(b"k", _sample(rng, kind.item_type))]
    if pa.types.is_nested(kind):
        return [_sample(rng, kind.value_type) for _ in range(2)]
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return rng.choice((b"\xff", b"a"))
    return rng.choice(_SAMPLES)


@cache
def _pieces() -> Any:
    return texts._pieces()


_ITEMS = [
    {
        "id": f"i{n}",
        "title": f"Mug {n}",
        "brand": "Acme",
        "category": "A > B",
        "attributes": '{"a": 1}',
    }
    for n in range(4)
]
_QUERIES = [{"id": f"q{n}", "text": f"mug {n}", "split": "train"} for n in range(3)]
_JUDGED = [{"query_id": f"q{n}", "item_id": f"i{n}", "grade": n} for n in range(3)]


def _csv(rows: list[dict[str, Any]], mark: str = ",") -> bytes:
    quoted = [
        [f'"{str(value).replace(chr(34), chr(34) * 2)}"' for value in row.values()] for row in rows
    ]
    return "\n".join(mark.join(line) for line in [list(rows[0]), *quoted]).encode() + b"\n"


def _jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _qrels(rows: list[dict[str, Any]]) -> bytes:
    lines = ([first, 0, *rest] for first, *rest in (row.values() for row in rows))
    return "".join(" ".join(map(str, line)) + "\n" for line in lines).encode()


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return bytes(sink.getvalue())


def _damaged(rng: random.Random, sound: bytes) -> bytes:
    made = bytearray(sound)
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        at = rng.randrange(len(made) + 1)
        kind = rng.random()
        if kind < 0.6:
            made[at:at] = rng.choice(_SPLICES)
        elif kind < 0.8:
            del made[at : at + rng.choice((1, 3, 40))]
        else:
            made[at:at] = made[max(0, at - 30) : at]
    return bytes(made)


_KINDS = {
    "csv": _csv,
    "tsv": partial(_csv, mark="\t"),
    "jsonl": _jsonl,
    "json": lambda rows: json.dumps(rows, indent=1).encode(),
    "parquet": _parquet,
    "qrels": _qrels,
    "csv.gz": lambda rows: gzip.compress(_csv(rows)),
}


def _in_memory(items: Any, queries: Any, judgments: Any) -> None:
    dataset = Dataset.of(items, queries, judgments)
    list(dataset.item_blocks(dataset.item_store.names))


def _from_files(contents: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as home:
        paths = []
        for name, content in contents.items():
            paths.append(Path(home) / name)
            paths[-1].write_bytes(content)
        prepare(Tables(*paths), consequence="nothing was written")


def cases(rng: random.Random) -> Iterator[Case]:
    """Tables in memory and damaged files; without end."""
    while True:
        tables: list[Any] = [_ITEMS, _QUERIES, _JUDGED]
        for at in {rng.randrange(3), rng.choice((0, 0, 1, 2))}:
            tables[at] = rng.choice((rows_of, rows_of, arrow_of))(rng)
            if rng.random() < 0.02:
                tables[at] = rng.choice(VALUES)
        if rng.random() < 0.7:
            tables[2] = None  # ids that nobody has would hide all else
        yield Case(f"memory {tables!r:.1500}", partial(_in_memory, *tables))
        contents = {}
        for name, rows in (("items", _ITEMS), ("queries", _QUERIES), ("judgments", _JUDGED)):
            kind = rng.choice(list(_KINDS))
            sound = _KINDS[kind](rows)
            contents[f"{name}.{kind}"] = _damaged(rng, sound) if rng.random() < 0.5 else sound
        named = {name: content.decode("latin-1") for name, content in contents.items()}
        yield Case(f"files {contents!r:.1500}", partial(_from_files, contents), {"files": named})


def again(given: dict[str, Any]) -> Case:
    """Files by their names, bytes as Latin-1 and those not named sound; or tables in memory."""
    if "files" not in given:
        tables = [
            given.get("items", _ITEMS),
            given.get("queries", _QUERIES),
            given.get("judgments"),
        ]
        return Case(f"memory {given!r:.300}", partial(_in_memory, *tables))
    contents = {}
    for name, rows in (("items", _ITEMS), ("queries", _QUERIES), ("judgments", _JUDGED)):
        mine = {one: text for one, text in given["files"].items() if one.startswith(name)}
        contents |= {one: text.encode("latin-1") for one, text in mine.items()} or {
            f"{name}.csv": _csv(rows)
        }
    return Case(f"files {given!r:.300}", partial(_from_files, contents))
