"""The item store is mapped, not read; what is wrong inside is found when a version is checked."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

from rars.search.store import ItemStore

GOOD = pa.array(["red mug", "blue mug", "jug"])


def store(offsets=None, texts=None):
    kept, said = GOOD.buffers()[1:]
    titles = pa.StringArray.from_buffers(
        3, offsets or kept, said if texts is None else pa.py_buffer(texts)
    )
    return ItemStore(pa.table({"id": ["a", "b", "c"], "title": titles}))


def test_a_sound_store_passes():
    store().check()


def test_a_text_that_is_no_utf_8_is_named():
    texts = GOOD.buffers()[2].to_pybytes().replace(b"blue", b"bl\x83e")
    with pytest.raises(ValueError, match=r"shown\.arrow: .*UTF8"):
        store(texts=texts).check()


@pytest.mark.parametrize("offsets", [(0, 7, 2_000_000_000, 18), (0, -7, 15, 18), (0, 15, 7, 18)])
def test_offsets_that_lead_outside_are_named_and_not_followed(offsets):
    """A row behind such an offset would be read from anywhere in memory."""
    buffer = pa.array(offsets, pa.int32()).buffers()[1]
    with pytest.raises(ValueError, match=r"shown\.arrow: "):
        store(offsets=buffer).check()


def test_showing_items_does_not_import_pandas(tmp_path):
    """It takes a quarter of a second, and a search needs none of it."""
    table = pa.table({"id": ["a", "b"]})
    with pa.ipc.new_file(tmp_path / "shown.arrow", table.schema) as file:
        file.write_table(table)
    code = (
        "import sys, numpy as np, pyarrow as pa; from rars.search.store import ItemStore; "
        "store = ItemStore(pa.ipc.open_file(pa.memory_map(sys.argv[1])).read_all()); "
        "sys.exit(store.take(np.array([1])) != [{'id': 'b'}] or 'pandas' in sys.modules)"
    )
    line = [sys.executable, "-c", code, str(tmp_path / "shown.arrow")]
    assert subprocess.run(line, check=False).returncode == 0
