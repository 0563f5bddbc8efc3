"""Every language can say everything, and says the same."""

from __future__ import annotations

import re
import shutil
import tomllib
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rars.data.shop import LOCALES, slips
from rars.data.shop.draws import Draw, key
from rars.data.shop.facts import make_facts
from rars.data.shop.items import item_rows
from rars.data.shop.lexicon import Lexicon, lexicon, read_lexicon
from rars.data.shop.world import WORDS, read_world, world
from rars.errors import RarsError

# How many base units (mAh, GB, W, cm, ml, g, mm) one unit of this name is.
UNITS = {
    "battery": {"mah": 1, "ah": 1000},
    "storage": {"gb": 1, "tb": 1000, "gigas": 1, "teras": 1000, "ギガ": 1, "テラ": 1000},
    "power": {"w": 1, "watts": 1, "kw": 1000, "vatios": 1, "ワット": 1},
    "length": {
        **{"cm": 1, "centimeters": 1, "centímetros": 1, "センチ": 1, "mm": 0.1},
        **{"m": 100, "metros": 100, "メートル": 100},
    },
    "diameter": {"cm": 1, "centimeters": 1, "centímetros": 1, "センチ": 1, "mm": 0.1},
    "volume": {
        **{"ml": 1, "cc": 1, "cl": 10, "ミリリットル": 1},
        **{"l": 1000, "liter": 1000, "litros": 1000, "リットル": 1000},
    },
    "weight": {
        **{"g": 1, "grams": 1, "gramos": 1, "グラム": 1},
        **{"kg": 1000, "kilo": 1000, "kilos": 1000, "キロ": 1000},
    },
    "thickness": {"mm": 1, "ミリ": 1, "cm": 10},
}


def read_quantity(name: str, text: str) -> float:
    """A reader of quantities written apart from the writer: number, then unit."""
    text = unicodedata.normalize("NFKC", text).casefold().replace(",", ".")
    found = re.search(r"(\d+(?:\.\d+)?)\s*([^\W\d_]*)", text)
    assert found is not None, text
    return float(found[1]) * UNITS.get(name, {}).get(found[2], 1)


@pytest.mark.parametrize("locale", LOCALES)
def test_all_ways_to_write_a_quantity_mean_the_same_number(locale: str) -> None:
    words = lexicon(locale)
    seen = 0
    for leaf in world().leaves:
        for field in (field for field in leaf.fields if field.is_quantity):
            for value in field.values:
                ways = words.quantities[field.name].ways_to_type(value)
                numbers = [read_quantity(field.name, way) for way in ways]
                assert numbers == pytest.approx([numbers[0]] * len(ways)), ways
                seen += len(ways)
    assert seen > 500


def test_unit_variants_include_those_people_use() -> None:
    ways = lexicon("en").quantities["battery"].ways_to_type("10000")
    assert {"10000mah", "10 Ah"} <= set(ways)
    assert "0,75 l" in lexicon("es").quantities["volume"].ways_to_type("750")


@pytest.mark.parametrize("locale", LOCALES)
def test_every_leaf_value_and_feature_has_words(locale: str) -> None:
    words = lexicon(locale)
    for leaf in world().leaves:
        entry = words.leaves[leaf.index]
        assert entry.category
        assert entry.names
        assert len(entry.asked) >= 3
        assert len(entry.uses) >= 2
        assert words.departments[leaf.department]
        assert words.middles[leaf.middle]
        for field in leaf.fields:
            assert words.sentences[field.name]
            assert all(words.value(field.name, value) for value in field.values)
        assert all(words.features[feature].noun for feature in leaf.features)


@pytest.mark.parametrize("locale", ["es", "ja"])
def test_features_are_translated_not_copied(locale: str) -> None:
    words, english = lexicon(locale), lexicon("en")
    same = [key for key, word in words.features.items() if word.noun == english.features[key].noun]
    international = {"gps", "wifi", "chip", "flash", "alcohol", "cable", "gluten", "aloe_vera"}
    assert set(same) <= international


@pytest.mark.parametrize("locale", LOCALES)
def test_a_word_never_means_two_values_of_one_leaf(locale: str) -> None:
    words = lexicon(locale)
    for leaf in world().leaves:
        for field in (field for field in leaf.fields if field.name in words.values):
            said = Counter(
                text for value in field.values for text in _ways(words, field.name, value)
            )
            assert [text for text, count in said.items() if count > 1] == [], (leaf.key, field.name)


def _ways(words: Lexicon, field: str, value: str) -> set[str]:
    word = words.values[field][value]
    return {slips.same_text(text) for text in (*word.forms, *word.asked)}


@pytest.mark.parametrize("locale", LOCALES)
def test_no_template_shows_through(locale: str) -> None:
    rows = item_rows(make_facts(3, 0, 4000), locale, 3, 0)
    for text in (*rows["title"].to_pylist(), *rows["text"].to_pylist()):
        assert text == text.strip()
        assert text
        assert not re.search(r"[{}#*]|\(\)|（）|  |, ,|None", text), text


def test_spanish_adjectives_agree_with_the_noun() -> None:
    titles = " ".join(item_rows(make_facts(0, 0, 5000), "es", 0, 0)["title"].to_pylist()).lower()
    assert "botella de agua negra" in titles
    assert "calcetines negros" in titles
    assert "zapatillas de correr negras" in titles
    assert "botella de agua negro" not in titles


def test_unknown_locale_is_a_clear_mistake() -> None:
    with pytest.raises(RarsError, match="Unknown locale 'fr'; choose one of en, es, ja"):
        lexicon("fr")


def keys_of(table: dict[str, Any], place: str = "") -> set[str]:
    """Every key of a word file, but for those by which a language says what others need no words for."""
    found = set()
    for name, value in table.items():
        if place in ("agreeing", "modifiers", "shoe_sizes"):
            continue
        if place.startswith("features.") and name in ("with", "without"):
            continue
        here = f"{place}.{name}".strip(".")
        found |= {here} | (keys_of(value, here) if isinstance(value, dict) else set())
    return found


def test_every_language_has_the_same_keys() -> None:
    tables = {
        locale: tomllib.loads((WORDS / f"{locale}.toml").read_text(encoding="utf-8"))
        for locale in LOCALES
    }
    keys = {locale: keys_of(table) for locale, table in tables.items()}
    assert len(keys["en"]) > 1000
    assert keys["es"] == keys["en"] == keys["ja"]


def test_every_word_file_belongs_to_a_language_or_the_world() -> None:
    assert {path.stem for path in WORDS.iterdir()} == {
        *LOCALES,
        *("leaves", "makers", "themes", "offers"),
    }


def test_the_world_is_as_large_as_the_documentation_says() -> None:
    earth = world()
    assert len(earth.departments) == 14
    assert len({(leaf.department, leaf.middle) for leaf in earth.leaves}) == 43
    assert len(earth.leaves) == 111
    assert len(earth.brands) == 116
    assert len(earth.line_names) == 288
    assert sum(map(len, earth.devices.values())) == 47


@pytest.mark.parametrize(
    ("locale", "old", "new", "message"),
    [
        ("en", 'yes = "yes"', "", "yes: is missing"),
        ("en", 'yes = "yes"', "yes = true", "yes: must be a text, not true or false"),
        ("en", 'yes = "yes"', 'yes = "yes"\nyess = "y"', "yess: is unknown"),
        ("en", 'yes = "yes"', "yes = yes", "is not readable TOML"),
        ("en", "decimal_comma = false", "decimal_comma = 0", "must be true or false, not a number"),
        ("en", 'for = "for {}"', 'for = "for"', "for: 'for' lacks {}"),
        ("en", 'for = "for {}"', 'for = "for {} {x}"', "for: 'for {} {x}' has {x}; allowed are {}"),
        ("en", '"Ideal for {use}."', '"Ideal for {us}."', "openers: 'Ideal for {us}.' has {us}"),
        ("en", '"Limited stock."', '"Limited {stock."', "closers: 'Limited {stock.' has a lone"),
        ("en", '["The color is {}."', '["The color."', "sentences.color: 'The color.' lacks {} or"),
        ("en", '"#mah"', '"mah"', "quantities.battery.typed: 'mah' needs one #"),
        ("en", "[values.tip]", "[values.tipp]", "values.tip: is missing"),
        ("en", 'say = "black"', "say = []", "values.color.black.say: holds 0 forms, needed are 2"),
        ("en", '"stage", "variety"', '"stag", "variety"', "adjectives: there is no field 'stag'"),
        ("es", '"{un}" =', '"un" =', "agreeing.un: is not a word in braces"),
        ("es", '["un", "una", "unos", "unas"]', '["un", "una"]', "agreeing.{un}: holds 2 forms"),
        ("ja", '37 = "23.5"', "", "shoe_sizes.37: is missing"),
        ("ja", '37 = "23.5"', "37 = 23.5", "shoe_sizes.37: must be a text, not a number"),
    ],
)
def test_a_broken_language_file_is_named_with_its_key(
    tmp_path: Path, locale: str, old: str, new: str, message: str
) -> None:
    broken = changed(tmp_path, f"{locale}.toml", old, new)
    with pytest.raises(RarsError, match=f"{locale}.toml.*{re.escape(message)}") as caught:
        read_lexicon(broken, locale)
    assert "\n" not in str(caught.value)


def changed(folder: Path, name: str, old: str, new: str) -> Path:
    """All word files in a folder, one of them with a change."""
    shutil.copytree(WORDS, folder, dirs_exist_ok=True)
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    return folder / name


@pytest.mark.parametrize("locale", LOCALES)
def test_a_name_never_means_two_leaves(tmp_path: Path, locale: str) -> None:
    # Otherwise a query by that name would be judged by one leaf while the person meant the other.
    taken = lexicon(locale).leaves[0].asked[0]
    other = lexicon(locale).leaves[-1].asked[0]
    broken = changed(
        tmp_path, f"{locale}.toml", f'asked = ["{other}"', f'asked = ["{taken.upper()}"'
    )
    with pytest.raises(
        RarsError, match=r"leaves.ring_binder.asked: .* is also a name of smartphone"
    ):
        read_lexicon(broken, locale)


@pytest.mark.parametrize(("locale", "mark"), [("en", "(m)"), ("es", ""), ("ja", "(p)")])
def test_a_name_carries_the_marks_of_its_language(tmp_path: Path, locale: str, mark: str) -> None:
    text = (WORDS / f"{locale}.toml").read_text(encoding="utf-8")
    names = re.search(r'names = \["([^"]+)"', text)
    assert names is not None
    bare = names[1].split(" (")[0]
    broken = changed(
        tmp_path, f"{locale}.toml", f'["{names[1]}"', f'["{bare} {mark}"'.replace(' "', '"')
    )
    with pytest.raises(RarsError, match=r"leaves.smartphone.names: .* needs one of the marks"):
        read_lexicon(broken, locale)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (
            "leaves",
            "storage = [128, 256, 64, 512]",
            "storag = [128]",
            "smartphone.storag: is unknown",
        ),
        ("leaves", "[128, 256, 64, 512]", '["128"]', "smartphone.storage: must hold numbers"),
        ("leaves", "[128, 256, 64, 512]", "[]", "smartphone.storage: is empty"),
        ("leaves", 'model = "@phone"', 'model = "@fone"', "smartphone.model: names no family of"),
        ("leaves", 'color = "@tech"', 'color = "@tek"', "smartphone.color: there is no set 'tek'"),
        (
            "leaves",
            '["dual_sim", "stylus"',
            '["dual_sim", "a", "b", "c", "d"',
            "smartphone.has: holds",
        ),
        ("leaves", 'goes_with = ["phone_case"', 'goes_with = ["case"', "'case' does not exist"),
        ("leaves", "phones.phone_case]", "audio.earbuds]", "is not readable TOML"),
        ("leaves", "phones.phone_case]", "audio.tea]", "tea: the leaf is in another category too"),
        ("leaves", '  "phone_case", "t_shirt"', '  "t_shirt"', "the leaf 'phone_case' is missing"),
        ("leaves", "volume = [0.5, 3000]", "volume = [3000, 0.5]", "readable.volume: must be a sm"),
        ("leaves", 'devices = ["model", "fits"]', 'devices = ["model", "pack"]', "of two kinds"),
        ("leaves", 'unwanted = ["silicone_oil"', 'unwanted = ["lid"', "unwanted: 'lid' does not"),
        ("makers", "[brands.toys]", "[brands.toy]", "brands.toys: is missing"),
        (
            "makers",
            "Quentix = ",
            "Ordeva = ",
            "brands.electronics.Ordeva: the brand is there twice",
        ),
        (
            "makers",
            '"Gamenta One"',
            '"Gamento One"',
            "devices.console: 'Gamento One' is not a brand",
        ),
        ("makers", 'marks = ["2"', 'marks = ["X"', "lines.marks: 'X' is there twice"),
    ],
)
def test_a_broken_world_is_named_with_its_key(
    tmp_path: Path, name: str, old: str, new: str, message: str
) -> None:
    changed(tmp_path, f"{name}.toml", old, new)
    with pytest.raises(RarsError, match=f"{name}.toml.*{re.escape(message)}") as caught:
        read_world(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_missing_word_file_is_a_clear_mistake(tmp_path: Path) -> None:
    with pytest.raises(RarsError, match=r"The word file .*en.toml does not exist."):
        read_lexicon(tmp_path / "en.toml", "en")


@given(st.text(alphabet="abcdeñé 0123456789", min_size=1, max_size=40), st.integers(0, 2**40))
def test_a_slip_leaves_numbers_alone(text: str, seed: int) -> None:
    slipped = slips.mistype(text, Draw(seed))
    assert re.findall(r"\d", slipped) == re.findall(r"\d", text)
    assert abs(len(slipped) - len(text)) <= 1


def test_slips_change_most_words_and_are_repeatable() -> None:
    slipped = [slips.mistype("headphones", Draw(key("slip", i))) for i in range(100)]
    assert slipped == [slips.mistype("headphones", Draw(key("slip", i))) for i in range(100)]
    assert sum(text != "headphones" for text in slipped) > 90
    assert len(set(slipped)) > 10


def test_japanese_slips_keep_the_reading() -> None:
    seen = {slips.mistype_kana("モバイルバッテリー", Draw(key("kana", i))) for i in range(50)}
    assert seen == {"モバイルバッテリ", "モバイルバツテリー", "もばいるばってりー"}
