"""Whatever is asked, there is an answer or one sentence."""

from __future__ import annotations

import random

import numpy as np
import pytest

from rars.systems import search_many
from tests.hostile import queries
from tests.hostile.case import hunt


def test_a_search_answers_or_says_why_not():
    assert hunt(queries.cases, seed=2, seconds=60, most=50)


@pytest.mark.parametrize("rule", ["ar", "hybrid"])
def test_hundreds_of_hostile_texts_are_answered(rule):
    asked = queries.readable(random.Random(rule), 300)
    found = search_many(queries.tiny(), asked, k=3, rule=rule)
    assert [len(hits) for hits in found] == [3] * len(asked)
    assert np.isfinite([hit.score for hits in found for hit in hits]).all()
