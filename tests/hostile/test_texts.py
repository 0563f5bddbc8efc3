"""Whatever a text holds, reading it never fails."""

from __future__ import annotations

from tests.hostile import texts
from tests.hostile.case import hunt


def test_reading_a_text_never_fails():
    assert hunt(texts.cases, seed=1, seconds=60, most=900)
