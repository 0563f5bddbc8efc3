"""What a hunt once found stays mended: every case that is kept in ``found/`` is tried again."""

from __future__ import annotations

import json
import random

import pytest

from tests.hostile import found, texts
from tests.hostile.case import Case, hunt

FILES = sorted(found.FOLDER.glob("*.json"))


def test_there_are_cases_of_every_area():
    assert {json.loads(path.read_text())["area"] for path in FILES} == set(found.AREAS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_stays_mended(path, tmp_path, monkeypatch):
    monkeypatch.setenv("RARS_CACHE", str(tmp_path / "cache"))
    case = found.read(path)
    assert hunt(lambda _: iter([case])) == 1


def test_a_case_that_is_kept_comes_back(tmp_path, monkeypatch):
    """By its input where that can be said, else by its seed and number."""
    monkeypatch.setattr(found, "FOLDER", tmp_path / "found")
    cases = texts.cases(random.Random(5))
    third = [next(cases) for _ in range(3)][2]
    by_input = found.read(found.keep("texts", 5, 2, third, "KeyError: x"))
    assert by_input.name.startswith(f"text {third.given['text']!r:.300}")
    by_number = found.read(found.keep("texts", 5, 2, Case(third.name, third.run), "KeyError: x"))
    assert by_number.name == third.name
    assert len(list((tmp_path / "found").iterdir())) == 2


def test_what_is_long_is_said_and_not_stored():
    given = {"a": [{"join": ["x", {"repeat": "ab", "times": 3}]}], "b": {"repeat": 1, "more": 2}}
    assert found._spelled(given) == {"a": ["xababab"], "b": {"repeat": 1, "more": 2}}
