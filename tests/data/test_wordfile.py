"""Word files are part of the package, and say what is wrong with them in one sentence."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rars
from rars.data.wordfile import WordTable, read_words
from rars.errors import RarsError

PACKAGE = Path(rars.__file__).parent


def test_every_data_file_is_in_the_wheel() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["rars"]
    packed = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    assert set(PACKAGE.rglob("*.toml")) <= packed
    assert all(any(PACKAGE.glob(pattern)) for pattern in patterns)


def test_a_mistake_names_the_way_to_its_key(tmp_path: Path) -> None:
    file = tmp_path / "fr.toml"
    file.write_text('[[units]]\nis = ["meter"]\n[[units]]\nis = ["gram", 3]\n', encoding="utf-8")
    second = read_words(file).tables("units")[1]
    with pytest.raises(RarsError) as caught:
        second.texts("is")
    assert (
        str(caught.value) == f"{tmp_path.name}/fr.toml: units[2].is: must be a text, not a number."
    )


def test_a_file_that_is_no_text_is_a_clear_mistake(tmp_path: Path) -> None:
    (tmp_path / "fr.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(RarsError, match=r"The word file .*fr.toml is not readable TOML"):
        read_words(tmp_path / "fr.toml")


@given(st.lists(st.sampled_from(["{}", "{Cap}", "{x}", "{", "}", "a", " "]), max_size=6))
def test_only_known_marks_pass(parts: list[str]) -> None:
    text = "".join(parts)
    marks = re.findall(r"\{[^{}]*\}", text)
    lone = bool(re.search("[{}]", re.sub(r"\{[^{}]*\}", "", text)))
    fine = not lone and {"{}"} <= set(marks) <= {"{}", "{Cap}"}
    table = WordTable({"text": text}, "fr.toml")
    if fine:
        table.placeholders("text", text, ("{Cap}",), ("{}",))
    else:
        with pytest.raises(RarsError, match=r"^fr.toml: text: "):
            table.placeholders("text", text, ("{Cap}",), ("{}",))
