"""Columns read the same from a file, however it is divided, and from memory."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.data.store import Columns
from rars.errors import RarsError

FIXED = pa.schema([("id", pa.int64()), ("brand", pa.string())])


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 12), st.integers(1, 5), st.integers(1, 5))
def test_rows_and_blocks(data: st.DataObject, count: int, group: int, size: int) -> None:
    """Rows of rows, whole and in blocks, against slices of a list."""
    table = pa.table({"id": range(count), "more": [f"m{n}" for n in range(count)]})
    rows = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    again = np.flatnonzero(
        data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    )
    wanted = np.flatnonzero(
        data.draw(st.lists(st.booleans(), min_size=len(again), max_size=len(again)))
    )
    expected = rows[again].tolist()
    with TemporaryDirectory() as home:
        path = Path(home) / "t.parquet"
        pq.write_table(table, path, row_group_size=group)
        for source in (table, path):
            chosen = Columns(source, FIXED).chosen(rows).chosen(again)
            assert len(chosen) == len(expected)
            assert chosen.read(["more", "id"]).to_pydict() == {
                "more": [f"m{n}" for n in expected],
                "id": expected,
            }
            assert chosen.read(["brand"]).to_pydict() == {"brand": [None] * len(expected)}
            blocks = list(chosen.blocks(["id", "brand"], wanted, size))
            assert all(0 < block.num_rows <= size for _, block in blocks)
            assert [n for numbers, _ in blocks for n in numbers] == wanted.tolist()
            assert [n for _, block in blocks for n in block["id"].to_pylist()] == [
                expected[n] for n in wanted
            ]


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 nothing")
    with pytest.raises(RarsError, match="t.parquet cannot be read"):
        Columns(path, FIXED).read()
    with pytest.raises(RarsError, match="none.parquet cannot be read"):
        len(Columns(tmp_path / "none.parquet", FIXED))


def test_a_text_of_a_file_that_is_no_utf_8_is_one_sentence(tmp_path):
    """Parquet keeps bytes; only whoever reads a text sees that it is none."""
    bad = pa.array([b"mug", b"m\x83g"]).cast(pa.string(), safe=False)
    pq.write_table(pa.table({"id": ["a", "b"], "title": bad}), tmp_path / "items.parquet")
    fixed = pa.schema([("id", pa.string()), ("title", pa.string())])
    columns = Columns(tmp_path / "items.parquet", fixed)
    assert columns.read(["id"]).num_rows == 2
    with pytest.raises(RarsError, match=r"items\.parquet cannot be read: .*UTF8"):
        columns.read(["title"])
    with pytest.raises(RarsError, match=r"items\.parquet cannot be read: .*UTF8"):
        list(columns.blocks(["title"]))
