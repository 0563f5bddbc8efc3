"""What a query asks for: colours, brands, numbers and measures in three languages, and what it denies."""

from __future__ import annotations

import pytest

from rars.search.evidence.units import measure
from tests.search.evidence.catalogue import CORNER

CASES = [
    # colours, with synonyms, inflections and shades
    ("black mug", ["color black"]),
    ("off-white curtains", ["color white"]),
    ("grey t-shirt", ["color gray"]),
    ("navy blue dress", ["color navy"]),
    ("rose gold watch", ["color rosegold color gold"]),
    ("camisetas negras", ["color black"]),
    ("vestido azul marino", ["color navy"]),
    ("botella verde oliva", ["color olive"]),
    ("zapatos marrones", ["color brown"]),
    ("zapatos marrón", ["color brown"]),
    ("zapatos marron", ["color brown"]),
    ("黒 ケース", ["color black"]),
    ("黒いケース", ["color black"]),
    ("ブラックのケース", ["color black"]),
    ("ﾌﾞﾗｯｸ ケース", ["color black"]),
    ("ブルーヘッドホン", ["color blue"]),
    ("灰色帆布ポーチ", ["color gray"]),
    ("くろの水筒", ["color black"]),
    ("red and blue cap", ["color red", "color blue"]),
    # colours inside words, and words that only sound like one
    ("blackboard", []),
    ("redmi phone", []),
    ("bluetooth speaker", []),
    ("tangerines", []),
    ("green tea", []),
    ("aceite de oliva", []),
    ("赤ちゃん 帽子", []),
    ("お茶", []),
    ("緑茶", []),
    ("ブルートゥース イヤホン", []),
    ("ブルース ギター", []),
    ("グレープフルーツ", []),
    # brands
    ("sony headphones", ["brand sony"]),
    ("SONY ERICSSON phone", ["brand sony ericsson"]),
    ("sonya blade", []),
    ("ralph lauren shirt", ["brand ralph lauren"]),
    ("loréal lip balm", ["brand loréal"]),
    ("L'Oréal lip balm", ["brand loréal"]),
    ("loreal lip balm", ["brand loreal"]),
    ("no 7 cream", ["brand no 7"]),
    ("generic mug", []),
    ("phone case", []),
    ("case for sony phone", []),
    ("funda para acme", []),
    ("ソニー ヘッドホン", ["brand ソ ニ ー"]),
    ("ソニーのヘッドホン", ["brand ソ ニ ー"]),
    ("エヴェルノ 水筒", ["brand everno"]),
    ("Everno対応 ケース", []),
    # gold: a colour, a part of a brand, hardly ever the brand
    ("gold necklace", ["color gold"]),
    ("gold toe socks", ["brand gold toe"]),
    # 3M: mostly three metres here
    ("hdmi cable 3m", ["measure 3 meter"]),
    # numbers
    ("size 40 shoes", ["number 40"]),
    ("iphone 15", ["number 15"]),
    ("zapatillas nº 40", ["number 40"]),
    ("chanel no. 5", ["number 5"]),
    ("pack x10", ["number 10"]),
    ("5-pack", ["number 5"]),
    ("1,000 piece puzzle", ["number 1000"]),
    ("３個セット", ["number 3"]),
    ("usb3 n7 e27 802.11b", []),
    ("cheap, under $50", []),
    ("100% cotton", []),
    # measures
    ("10 Ah", ["measure 10 ampere_hour"]),
    ("10000 mAh", ["measure 10 ampere_hour"]),
    ("10,000mah", ["measure 10 ampere_hour"]),
    ("12 oz bottle", ["measure 12 ounce measure 12 fluid_ounce"]),
    ("12 fl. oz. bottle", ["measure 12 fluid_ounce"]),
    ("355 ml", ["measure 12 fluid_ounce"]),
    ('95" tv', ["measure 95 inch"]),
    ("95 inch tv", ["measure 95 inch"]),
    ("95-inch tv", ["measure 95 inch"]),
    ("televisor 95 pulgadas", ["measure 95 inch"]),
    ('"iphone 15" cover', ["number 15"]),
    ("2 in 1 charger", ["number 2", "number 1"]),
    ("12 in skillet", ["measure 12 inch"]),
    ("30 x 40 cm", ["measure 30 centimeter", "measure 40 centimeter"]),
    ("30×40cm", ["measure 30 centimeter", "measure 40 centimeter"]),
    ("2 x 500 ml", ["number 2", "measure 500 milliliter"]),
    ("1.5 l", ["measure 1.5 liter"]),
    ("1,5 litros", ["measure 1.5 liter"]),
    ("1½ inch", ["measure 1.5 inch"]),
    ("500cm", ["measure 5 meter"]),
    ("５００ミリリットル", ["measure 0.5 liter"]),
    ("50センチ幅", ["measure 0.5 meter"]),
    ("２リットル", ["measure 2 liter"]),
    ("13インチ ノート", ["measure 13 inch"]),
    ("2 kilos", ["measure 2000 gram"]),
    ("tripod 5 w/o bag", ["number 5"]),
    # denied mentions are no constraints, what stands beside a denial is
    ("mug without blue handle", []),
    ("mug without handle", []),
    ("no black", []),
    ("anything but navy", []),
    ("not red or blue, green", ["color green"]),
    ("headphones other than sony", []),
    ("shoes w/o 3 cm heel", []),
    ("mug without handle black", ["color black"]),
    ("bulb no dimmer 2700k", ["measure 2700 kelvin"]),
    ("laptop without windows 11", []),
    ("non-stick pan 28 cm", ["measure 28 centimeter"]),
    ("nickel-free black studs", ["color black"]),
    ("camiseta sin rayas negra", ["color black"]),
    ("camiseta que no sea negra", []),
    ("sin cable negro", ["color black"]),
    ("excepto rojo", []),
    ("500 ml o menos rojo", ["measure 500 milliliter", "color red"]),
    ("ケースなし 黒", ["color black"]),
    ("黒以外", []),
    ("赤や青以外 緑", ["color green"]),
    ("黒ケースなし", []),
    ("ソニー以外 ヘッドホン", []),
    ("取っ手不要 白", ["color white"]),
]


def expected_keys(text):
    """Turns ``measure 12 ounce measure 12 fluid_ounce`` into the two keys that the index uses."""
    if not text.startswith("measure"):
        return tuple(text.replace(" color", "|color").split("|"))
    parts = [part.split() for part in text.split("measure")[1:]]
    return tuple(f"measure {measure(float(value), unit)}" for value, unit in parts)


@pytest.mark.parametrize(("query", "wanted"), CASES)
def test_a_query_asks_for(corner, query, wanted):
    found = [constraint.keys for constraint in corner.read(query).constraints]
    assert found == [expected_keys(text) for text in wanted]


def matching(index, query, title):
    """Whether the item of this title matches every constraint of the query."""
    row = next(row for row, item in enumerate(CORNER) if item["title"].startswith(title))
    reasons = index.compatibility(query).explain(row)
    asked = [found for found in reasons if found.kind != "word"]
    assert asked
    return all(found.matched for found in asked)


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("10 Ah acme", "Acme power bank"),
        ("355 ml", "Lip balm"),
        ("340 g", "Lip balm"),
        ("40 x 30 poster", "Poster"),
        ("0.4 m", "Poster"),
        ('95"', "Televisor"),
        ("241 cm", "Televisor"),
        ("blue", "Shirt"),
        ("navy", "Crew socks"),
        ("red", "Generic mug"),
        ("sony", "ヘッドホン"),
        ("black", "ヘッドホン"),
        ("0,5 l", "Everno（エヴェルノ）"),
        ("エヴェルノ", "水筒 1L"),
        ("light blue", "水筒 1L"),
        ("green", "Botella"),
    ],
)
def test_an_item_has_what_its_fields_say(corner, query, title):
    assert matching(corner, query, title)


@pytest.mark.parametrize(
    ("query", "title"),
    [("navy", "HDMI cable 3 m, white"), ("sony", "Sony Ericsson"), ("10 mAh", "Acme power bank")],
)
def test_an_item_lacks_what_its_fields_do_not_say(corner, query, title):
    assert not matching(corner, query, title)


def test_said_twice_counts_once(corner):
    assert len(corner.read("black black 10 Ah 10000 mAh").constraints) == 2


def test_the_reason_shows_how_the_query_said_it(corner):
    found = corner.compatibility("Acme ブラック １０Ａｈ").explain(0)
    assert [(one.kind, one.text, one.matched) for one in found[:3]] == [
        ("brand", "acme", True),
        ("color", "ブラック", True),
        ("measure", "10ah", True),
    ]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "\x00\x01",
        "🙂🙂",
        "\udcff black",
        "مرحبا بالعالم",
        "a" * 10_000,
        "1" * 10_000,
        "1 " * 5_000,
    ],
)
def test_odd_queries_are_read_without_fuss(corner, query):
    evidence = corner.compatibility(query)
    assert evidence.prefix_maxima(1, [0]).shape == (1,)


def test_an_empty_query_scores_nothing(corner):
    evidence = corner.compatibility("")
    assert evidence.dense().tolist() == [0.0] * corner.tree.n_items
    assert evidence.explain(0) == []
