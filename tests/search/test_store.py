"""The item store is mapped, not read: what is wrong in a row is said when the row is shown."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from rars.errors import RarsError
from rars.search.store import ItemStore


def test_a_text_that_is_no_utf_8_is_one_sentence_and_only_its_own_row():
    good = pa.array(["red mug", "blue mug", "jug"])
    texts = good.buffers()[2].to_pybytes().replace(b"blue", b"bl\x83e")
    titles = pa.StringArray.from_buffers(3, good.buffers()[1], pa.py_buffer(texts))
    store = ItemStore(pa.table({"id": ["a", "b", "c"], "title": titles}))
    assert [one["title"] for one in store.take(np.array([2, 0]))] == ["jug", "red mug"]
    with pytest.raises(RarsError, match=r"shown\.arrow of this catalogue is damaged: .*UTF8"):
        store.take(np.array([2, 1]))
