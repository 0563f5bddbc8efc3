"""What is done is not done again; what is damaged is."""

from __future__ import annotations

import numpy as np
import pytest

from rars.scale.local import Local
from rars.scale.shards import Shards, spans

from . import work


def asked(folder):
    return sorted(int(mark.name) for mark in folder.iterdir())


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11])
def test_spans_cover_every_row_once(count):
    rows = [row for start, stop in spans(count, 5) for row in range(start, stop)]
    assert rows == list(range(count))


def test_only_what_is_missing_or_damaged_is_done(tmp_path):
    shards, marks = Shards(tmp_path / "all", "numbers", 4), tmp_path / "marks"
    marks.mkdir()
    work.write(shards, 1, 2)
    work.write(shards, 2, 2)
    (tmp_path / "all" / "000002" / "values.npy").write_bytes(b"no array")
    seen = []
    shards.complete(
        work.write, lambda n: {"rows": 2, "marks": marks}, advance=lambda *at: seen.append(at)
    )
    assert asked(marks) == [0, 2, 3]
    assert seen == [(2, 4), (3, 4), (4, 4)]
    assert shards.missing() == []


def test_joined_rows_are_the_same_by_any_engine(tmp_path):
    joined = []
    for number, engine in enumerate((Local(1), Local(3))):
        shards = Shards(tmp_path / str(number), "numbers", 5)
        shards.complete(work.write, lambda n: {"rows": n + 1}, engine=engine)
        joined.append(np.empty(15, dtype=np.int64))
        shards.join("values", joined[-1])
        shards.discard()
        assert not (tmp_path / str(number)).exists()
    assert joined[0].tolist() == [100 * n + i for n in range(5) for i in range(n + 1)]
    assert np.array_equal(*joined)
