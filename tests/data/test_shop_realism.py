"""A shop is as untidy as its dial says, each part by its own share; at 0 it is the tidy shop of before."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.data import Dataset
from rars.data.checking import check_folder
from rars.data.shop import LOCALES, SIZES, make, make_shop
from rars.data.shop.draws import Draw, key, uniforms
from rars.data.shop.facts import Facts, make_facts
from rars.data.shop.families import roots
from rars.data.shop.gaps import FIELDS, filled, with_gaps
from rars.data.shop.grading import EXACT, SUBSTITUTE, Query, grade, judge, misses, truth
from rars.data.shop.index import Index
from rars.data.shop.intents import draw_intent
from rars.data.shop.items import item_rows, told
from rars.data.shop.lexicon import lexicon
from rars.data.shop.numbers import number_of, typed
from rars.data.shop.offers import abbreviated, cut, habits, offered, padded, read_habits, shouted
from rars.data.shop.pooling import shown
from rars.data.shop.raters import NEXT, effort, misjudged
from rars.data.shop.realism import ALL, DEFAULT, TIDY, Realism
from rars.data.shop.themes import NO_THEME, read_themes, themes
from rars.data.shop.world import WORDS, world
from rars.data.words import words
from rars.errors import RarsError

TABLES = ("items", "queries", "judgments", "truth", "intents")

TIDY_DIGESTS = {
    "en": "52d8f67b1536c55b22fcf7b754c97430",
    "es": "bec55fc92192063cb8e4adad677046c5",
    "ja": "20ff0c247b85014657531d8668ba5c6d",
}
"""Of all rows of the five tables of the small shop, seed 0, before there was a dial."""


@pytest.mark.parametrize("locale", LOCALES)
def test_realism_0_is_the_shop_of_before(tmp_path: Path, locale: str) -> None:
    make_shop(tmp_path / "shop", size="small", locale=locale, realism=0)
    digest = hashlib.sha256()
    for table in TABLES:
        rows = pq.read_table(tmp_path / "shop" / f"{table}.parquet").to_pylist()
        digest.update(json.dumps(rows, ensure_ascii=False).encode())
    assert digest.hexdigest()[:32] == TIDY_DIGESTS[locale]
    facts = json.loads((tmp_path / "shop" / "dataset.json").read_text())
    assert "realism" not in facts
    assert "complements" not in facts


def test_tiny_is_tidy_and_all_else_is_not() -> None:
    assert SIZES["tiny"].realism == 0
    assert {size.realism for name, size in SIZES.items() if name != "tiny"} == {DEFAULT}
    assert make.parse_size(5000).realism == DEFAULT


@pytest.fixture(scope="module", params=LOCALES)
def small(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("untidy") / request.param
    make_shop(folder, size="small", locale=request.param)
    return Dataset.load(folder)


def test_an_untidy_shop_says_so_and_passes_the_check_of_datasets(small: Dataset) -> None:
    assert small.facts["realism"] == DEFAULT
    assert small.facts["complements"] == pytest.approx(1 - DEFAULT * ALL.beside)
    assert small.folder is not None
    check_folder(small.folder)


def test_an_untidy_vocabulary_has_a_long_tail(small: Dataset) -> None:
    columns = small.items(["title", "text"]).to_pydict()
    texts = [f"{a} {b or ''}" for a, b in zip(*columns.values(), strict=True)]
    counts = Counter(word for text in texts for word in words(text))
    once = sum(count == 1 for count in counts.values()) / len(counts)
    assert 0.25 < once < 0.7  # 0.2 or less in the tidy shop of this size


def test_every_query_has_an_exact_item_among_the_judged(small: Dataset) -> None:
    judged = small.judgments
    best = np.zeros(small.n_queries)
    np.maximum.at(best, judged.query, judged.grade)
    assert (best == EXACT).all()


@pytest.mark.parametrize("dial", [DEFAULT, 1.0])
def test_chunks_and_blocks_change_nothing_in_an_untidy_shop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dial: float
) -> None:
    make_shop(tmp_path / "whole", size="tiny", realism=dial)
    monkeypatch.setattr(make, "CHUNK", 70)
    monkeypatch.setattr(make, "QUERY_BLOCK", 7)
    make_shop(tmp_path / "cut", size="tiny", realism=dial)
    for table in TABLES:
        whole, cut = (pq.read_table(tmp_path / n / f"{table}.parquet") for n in ("whole", "cut"))
        assert whole.equals(cut), table


def test_items_are_written_a_chunk_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make, "CHUNK", 100)
    make_shop(tmp_path / "shop", size=450)
    file = pq.ParquetFile(tmp_path / "shop" / "items.parquet")
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert sizes == [100, 100, 100, 100, 50]


def test_a_larger_untidy_shop_begins_with_the_same_items(tmp_path: Path) -> None:
    make_shop(tmp_path / "small", size=200)
    make_shop(tmp_path / "large", size=400)
    small, large = (pq.read_table(tmp_path / n / "items.parquet") for n in ("small", "large"))
    assert large.slice(0, 200).equals(small)


@pytest.mark.parametrize("dial", [-0.1, 1.5, float("nan")])
def test_an_impossible_dial_leaves_nothing_behind(tmp_path: Path, dial: float) -> None:
    with pytest.raises(RarsError, match="The realism of a shop is between 0 and 1, not"):
        make_shop(tmp_path / "shop", size="tiny", realism=dial)
    assert list(tmp_path.iterdir()) == []


@given(st.floats(0, 1), st.floats(0, 1))
def test_every_share_grows_with_the_dial(one: float, other: float) -> None:
    low, high = Realism.at(min(one, other)), Realism.at(max(one, other))
    for share in fields(Realism):
        assert 0 <= getattr(low, share.name) <= getattr(high, share.name) <= 1
    assert all(getattr(ALL, share.name) > 0 for share in fields(Realism)), "a part without a share"


# -- families --------------------------------------------------------------------------------------


def slow_root(seed: int, position: int, share: float) -> int:
    one = np.array([position])
    if position == 0 or uniforms(key(seed, "copy"), one)[0] >= share:
        return position
    return slow_root(seed, int(uniforms(key(seed, "copied"), one)[0] * position), share)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**31), st.lists(st.integers(0, 10**7), max_size=20), st.floats(0, 0.95))
def test_roots_are_those_of_a_walk_back(seed: int, positions: list[int], share: float) -> None:
    found = roots(seed, np.array(positions, dtype=np.int64), share)
    assert found.tolist() == [slow_root(seed, position, share) for position in positions]


def test_a_few_families_are_large_and_most_are_small() -> None:
    found = roots(3, np.arange(20_000), 0.4)
    sizes = np.unique(found, return_counts=True)[1]
    assert len(sizes) == pytest.approx(12_000, rel=0.03)
    assert np.median(sizes) == 1
    assert sizes.max() > 50


def test_a_copy_is_the_same_product_with_at_most_one_other_value() -> None:
    facts = make_facts(5, 0, 4_000, Realism.at(1.0))
    copies = np.flatnonzero(facts.root != np.arange(4_000))
    first = facts.root[copies]
    assert len(copies) > 1_000
    for column in ("leaf", "brand", "line", "features", "theme", "numbered"):
        values = getattr(facts, column)
        assert np.array_equal(values[copies], values[first]), column
    changed = (facts.values[copies] != facts.values[first]).sum(axis=1)
    assert set(np.unique(changed).tolist()) == {0, 1}


# -- the long tail ---------------------------------------------------------------------------------


def test_no_two_products_share_a_number() -> None:
    places = [*range(30_000), *range(49_990_000, 50_000_000)]
    assert len({number_of(place).replace("-", "") for place in places}) == len(places)


@given(st.integers(0, 5 * 10**7), st.integers(0, 2**32))
def test_a_typed_number_keeps_its_letters_and_digits(place: int, stream: int) -> None:
    number = number_of(place)
    text = typed(number, Draw(stream))
    assert text.upper().replace("-", "").replace(" ", "") == number.replace("-", "")


def test_decorated_goods_show_motifs_and_others_are_for_somebody() -> None:
    facts = make_facts(0, 0, 5_000, Realism.at(1.0))
    has = facts.theme != NO_THEME
    assert has.mean() == 1.0
    for leaf, theme in zip(facts.leaf.tolist(), facts.theme.tolist(), strict=True):
        assert (themes().all[theme].kind == "motif") == (leaf in themes().decorated)
    assert len(np.unique(facts.theme)) > 0.8 * len(themes().all)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"phone_case", "watch_strap"', '"phone_booth", "watch_strap"', "no leaf 'phone_booth'"),
        ('title = "for {}"', 'title = "for"', "saying.circle.en.title: 'for' lacks {}"),
        ('en = ["fox", "vixen"], ', "", "motifs.fox.en: is missing"),
        ('en = ["fox", "vixen"]', 'en = ["fox"]', "motifs.fox.en: holds 1 texts"),
        ('"Also searched for: {}."', '"Also searched."', "aside.en: 'Also searched.' lacks {}"),
    ],
)
def test_a_wrong_file_of_themes_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = (WORDS / "themes.toml").read_text()
    assert text.count(old) == 1
    (tmp_path / "themes.toml").write_text(text.replace(old, new))
    with pytest.raises(RarsError) as error:
        read_themes(tmp_path / "themes.toml")
    assert message in str(error.value)


# -- titles ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("locale", LOCALES)
def test_titles_tell_what_is_said_of_them(locale: str) -> None:
    """What pools are made by, without writing titles, is what titles hold."""
    realism = Realism(copies=0.4, themed=0.7, numbered=0.5)
    facts = make_facts(1, 0, 600, realism)
    titles = item_rows(facts, locale, 1, 0, realism)["title"].to_pylist()
    for leaf in np.unique(facts.leaf).tolist():
        rows = facts.rows_of(leaf)
        said = told(facts, rows, leaf, 1)
        for place, row in enumerate(rows.tolist()):
            title = titles[row]
            assert said.number[place] == (
                bool(facts.numbered[row]) and number_of(int(facts.root[row])) in title
            )
            assert said.brand[place] == (world().brands[facts.brand[row]].name in title) or (
                world().leaves[leaf].device_slot is not None
            )
            if facts.theme[row] != NO_THEME:
                phrase = themes().in_title(int(facts.theme[row]), locale)
                assert said.theme[place] == (phrase in title)


@pytest.mark.parametrize("locale", LOCALES)
def test_untidy_titles_come_in_the_share_asked_for(locale: str) -> None:
    titles = item_rows(make_facts(0, 0, 3_000), locale, 0, 0)["title"].to_pylist()
    assert offered(titles, locale, 0, 0, TIDY) is titles
    untidy = offered(titles, locale, 0, 0, Realism(untidy=0.5))
    changed = np.mean([a != b for a, b in zip(titles, untidy, strict=True)])
    assert 0.25 < changed <= 0.52  # a title without a short form stays as it is
    slipped = offered(titles, locale, 0, 0, Realism(misspelt=0.3))
    wrong = np.mean([a != b for a, b in zip(titles, slipped, strict=True)])
    assert 0.1 < wrong < 0.33  # a Japanese word without kana cannot slip
    assert all(untidy)
    assert all(slipped)


def test_styles_of_titles() -> None:
    draw = Draw(key("style"))
    title = "Casimbo Ceramic Mug without Lid, Black, 350 ml"
    assert shouted(title, "en", draw) == title.upper()
    assert abbreviated(title, "en", draw) == "Casimbo Cer Mug w/o Lid, BLK, 350 ml"
    assert title.startswith(cut(title, "en", draw))
    assert cut("Red Mug", "en", draw) == "Red Mug"
    longer = padded(title, "en", draw)
    assert title in longer
    assert longer.replace(title, "").strip() in habits("en").phrases
    assert shouted("水筒 750ml", "ja", draw) == "水筒 ７５０ml"


def test_a_wrong_file_of_offers_is_refused(tmp_path: Path) -> None:
    text = (WORDS / "offers.toml").read_text().replace("[es.short]", "[es.shorts]")
    (tmp_path / "offers.toml").write_text(text)
    with pytest.raises(RarsError, match=r"offers.toml: es.short: is missing"):
        read_habits(tmp_path / "offers.toml")


# -- gaps ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIELDS)
def test_fields_are_missing_in_their_share(name: str) -> None:
    column = pa.array(["x"] * 20_000)
    assert with_gaps(column, name, 0, 0, 0.0) is column
    found = with_gaps(column, name, 0, 0, 0.04)
    assert found.null_count / 20_000 == pytest.approx(0.04 * FIELDS[name], rel=0.12)
    assert found.slice(5_000).equals(with_gaps(column.slice(5_000), name, 0, 5_000, 0.04))


def test_some_items_leave_out_more_attributes_than_others() -> None:
    items = np.repeat(np.arange(4_000), 10)
    there = filled(0, items, np.tile(np.arange(10), 4_000), 0.04)
    kept = np.bincount(items, there)
    assert kept.mean() == pytest.approx(6.0, abs=0.2)  # 0 to 80 % are left out
    assert kept.std() > 2
    assert filled(0, items, items, 0.0).all()


# -- queries and judgments -------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1, 2_000, 2**28]))
def test_the_index_divides_as_a_pass_over_the_items_does(stream: int, room: int) -> None:
    realism = Realism.at(DEFAULT)
    index = Index(FACTS, room)
    draw = Draw(stream)
    for _ in range(3):  # so that bits are dropped and made again
        intent = draw_intent(FACTS, draw, realism)
        exact, substitutes = index.divided(intent)
        rows = FACTS.rows_of(intent.leaf)
        missed = misses(intent, FACTS, rows)
        assert exact.tolist() == rows[missed == 0].tolist()
        assert substitutes.tolist() == rows[missed == 1].tolist()


FACTS: Facts = make_facts(2, 0, 3_000, Realism.at(DEFAULT))


def test_a_query_can_name_one_product() -> None:
    draw = Draw(key("named"))
    named = replace(TIDY, named=1.0)
    found = [draw_intent(FACTS, draw, named) for _ in range(500)]
    products = [one for one in found if one.conditions and one.conditions[-1].kind == "product"]
    assert len(products) / 500 == pytest.approx(FACTS.numbered.mean(), abs=0.08)
    for intent in products:
        exact, substitutes = Index(FACTS).divided(intent)
        assert set(FACTS.root[exact].tolist()) == {intent.conditions[-1].target}
        assert (FACTS.brand[substitutes] == FACTS.brand[exact[0]]).all()


def test_a_pool_shows_what_titles_tell() -> None:
    index, draw = Index(FACTS), Draw(key("pool"))
    shares: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(300):
        intent = draw_intent(FACTS, draw, Realism.at(DEFAULT))
        known = truth(intent, index, draw)
        query = Query("mug", intent, known)
        pool = shown(query, FACTS, 10, lexicon("en"), 2, draw)
        assert len(np.unique(pool.rows)) == len(pool.rows) <= 10
        assert np.array_equal(pool.grades, grade(intent, FACTS, pool.rows))
        assert pool.grades[0] == EXACT
        assert (pool.grades == SUBSTITUTE).sum() <= max(1, 0.5 * len(known.of(EXACT)))
        if any(one.kind == "theme" for one in intent.conditions):
            for inside in (True, False):
                exact = known.of(EXACT)
                rows = exact[np.isin(exact, pool.rows) == inside]
                if len(rows):
                    shares[inside].append(told(FACTS, rows, intent.leaf, 2).theme.mean())
    assert np.mean(shares[True]) > np.mean(shares[False])


def test_effort_is_uneven_but_usual_on_average() -> None:
    found = np.array([effort(0.8, Draw(key("effort", i))) for i in range(4_000)])
    assert found.mean() == pytest.approx(1.0, abs=0.06)
    assert np.median(found) == pytest.approx(np.exp(-0.32), abs=0.05)
    assert effort(0.0, Draw(1)) == 1.0


def test_raters_err_in_their_share_and_never_on_strangers() -> None:
    draw = Draw(key("err"))
    index = Index(FACTS)
    before, after, near = [], [], []
    for _ in range(300):
        intent = draw_intent(FACTS, draw)
        judged = judge(Query("mug", intent, truth(intent, index, draw)), FACTS, draw)
        kin = FACTS.leaf[judged.rows] == intent.leaf
        found = misjudged(judged, kin, 0.2, draw)
        assert found.rows is judged.rows
        assert found.grades[0] == judged.grades[0] == EXACT
        before += judged.grades[1:].tolist()
        after += found.grades[1:].tolist()
        near += kin[1:].tolist()
    changed = np.array(before) != np.array(after)
    may = np.array(near) | (np.array(before) > 0)
    assert not changed[~may].any()
    assert changed[may].mean() == pytest.approx(0.2, abs=0.03)
    assert all(b == NEXT[a] for a, b in zip(before, after, strict=True) if a != b)


def test_complements_follow_the_dial_unless_told_otherwise(tmp_path: Path) -> None:
    make_shop(tmp_path / "own", size=600, realism=0.5)
    make_shop(tmp_path / "all", size=600, realism=0.5, complements=1.0)
    own, every = (Dataset.load(tmp_path / name).judgments.grade for name in ("own", "all"))
    assert (own == 1).sum() < 0.3 * (every == 1).sum()
