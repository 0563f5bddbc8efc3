"""Search by letters, alone and as a part of a fusion."""

from __future__ import annotations

import numpy as np

from rars.baselines import Letters
from rars.data import Dataset

ITEMS = [
    {"id": "a", "title": "Cordless drill 20V"},
    {"id": "b", "title": "Drill bit set"},
    {"id": "c", "title": "Garden hose"},
]


def test_a_misspelt_query_finds_what_it_means_and_nothing_without_a_common_triple():
    found = Letters.of(Dataset.of(ITEMS, [{"id": "q", "text": "x"}]))
    ranked = found.search(["cordles dril", "xyz"], 10)
    assert ranked.row(0)[0].tolist() == [0, 1]
    assert not len(ranked.row(1)[0])
    only = found.search(["cordles dril"], 10, among=np.array([False, True, True]))
    assert only.row(0)[0].tolist() == [1]
