"""The index on disk and in change: opened it answers as before, and a changed catalogue needs no rebuild."""

from __future__ import annotations

import dataclasses
import shutil

import numpy as np
import pyarrow as pa
import pytest

from rars.errors import RarsError
from rars.search.evidence import (
    Attributes,
    Constraint,
    EvidenceIndex,
    Mention,
    building,
    combine,
    default_extractors,
    growth,
)
from rars.search.evidence.growth import Grown
from rars.search.evidence.lists import Moves
from rars.search.evidence.text import Finds
from rars.tree import PrefixTree
from tests.search.evidence.catalogue import CORNER, item, make_catalogue
from tests.search.evidence.conftest import random_tree

QUERIES = ["acme black 10 Ah", "ソニー 黒", "gold toe navy", "30 x 40 poster", "phone case", ""]


def assert_same(one, other):
    assert one.words.postings.terms.array().equals(other.words.postings.terms.array())
    assert one.keys.terms.array().equals(other.keys.terms.array())
    for name in ("starts", "positions", "counts"):
        for left, right in ((one.words.postings, other.words.postings), (one.keys, other.keys)):
            np.testing.assert_array_equal(getattr(left, name), getattr(right, name))
    np.testing.assert_array_equal(one.words.lengths, other.words.lengths)


@pytest.mark.parametrize("mmap", [True, False])
def test_a_saved_index_answers_as_before(corner, tmp_path, mmap):
    corner.save(tmp_path / "evidence")
    opened = EvidenceIndex.load(tmp_path / "evidence", corner.tree, mmap=mmap)
    assert isinstance(opened.keys.positions, np.memmap) is mmap
    assert_same(opened, corner)
    for query in QUERIES:
        one, other = corner.compatibility(query), opened.compatibility(query)
        np.testing.assert_array_equal(one.dense(), other.dense())
        assert one.explain(3) == other.explain(3)
        np.testing.assert_array_equal(corner.bm25(query).dense(), opened.bm25(query).dense())


def test_an_index_of_other_identifiers_is_refused(corner, tmp_path):
    corner.save(tmp_path / "evidence")
    with pytest.raises(RarsError, match="other identifiers"):
        EvidenceIndex.load(tmp_path / "evidence", random_tree(corner.tree.n_items, seed=9))


def test_a_broken_index_is_refused(corner, tmp_path):
    corner.save(tmp_path / "evidence")
    file = tmp_path / "evidence" / "keys-positions.npy"
    file.write_bytes(file.read_bytes()[:-4])
    with pytest.raises(RarsError, match="keys-positions.npy has"):
        EvidenceIndex.load(tmp_path / "evidence", corner.tree)


def test_identifiers_of_another_catalogue_are_refused(tmp_path):
    dataset = make_catalogue(tmp_path / "shop", CORNER)
    with pytest.raises(RarsError, match=r"has \d+ items, but the identifiers are of 3"):
        EvidenceIndex.build(dataset, random_tree(3))


def test_blocks_do_not_show(tmp_path, monkeypatch):
    dataset = make_catalogue(tmp_path / "shop", CORNER)
    tree = random_tree(dataset.n_items)
    whole = EvidenceIndex.build(dataset, tree)
    monkeypatch.setattr(building, "BLOCK", 7)
    seen = []
    in_blocks = EvidenceIndex.build(
        dataset, tree, advance=lambda done, total: seen.append((done, total))
    )
    assert_same(in_blocks, whole)
    assert seen[0] == (7, dataset.n_items)
    assert seen[-1] == (dataset.n_items, dataset.n_items)


def test_a_catalogue_without_optional_columns_is_indexed(tmp_path):
    dataset = make_catalogue(tmp_path / "shop", [{"title": "Black mug"}, {"title": "Red mug"}])
    index = EvidenceIndex.build(dataset, PrefixTree.build([[0], [1]]))
    assert index.compatibility("black").of([0, 1]).tolist() == [1.0, -0.2]


def test_any_score_can_be_evidence(corner):
    scores = np.random.default_rng(0).normal(size=corner.tree.n_items)
    evidence = corner.dense(scores)
    np.testing.assert_array_equal(evidence.of(np.arange(corner.tree.n_items)), scores)
    mixed = combine([(1.0, corner.compatibility("acme black")), (0.5, evidence)])
    expected = corner.compatibility("acme black").of([0, 5]) + 0.5 * scores[[0, 5]]
    np.testing.assert_allclose(mixed.of([0, 5]), expected)
    assert mixed.explain(0)[0] == ("brand", "acme", True)


# -- a catalogue that changes -------------------------------------------------------------------------


def test_a_changed_catalogue_gives_the_index_of_a_fresh_build(tmp_path):
    before = make_catalogue(tmp_path / "before", CORNER)
    index = EvidenceIndex.build(before, random_tree(len(CORNER)))
    new = [item("Zeta lamp 60 W teal", "Zeta", "teal"), item("ゼータ 照明", "ゼータ")]
    # Rows 2 and 5 go, one item is put first and one last, and every identifier is another.
    origin = np.array([-1, *(row for row in range(len(CORNER)) if row not in (2, 5)), -1])
    changed = [new[0], *(CORNER[row] for row in origin[1:-1]), new[1]]
    after = make_catalogue(tmp_path / "after", changed)
    tree = random_tree(after.n_items, seed=4)
    assert_same(index.changed(after, tree, origin), EvidenceIndex.build(after, tree))


def test_adding_and_removing_again_leaves_no_trace(tmp_path):
    before = make_catalogue(tmp_path / "before", CORNER)
    tree = random_tree(len(CORNER))
    index = EvidenceIndex.build(before, tree)
    after = make_catalogue(tmp_path / "after", [*CORNER, item("Zeta lamp", "Zeta")])
    grown = index.changed(after, random_tree(after.n_items), np.array([*range(len(CORNER)), -1]))
    assert grown.read("zeta lamp").constraints
    shrunk = grown.changed(before, tree, np.arange(len(CORNER)))
    assert_same(shrunk, index)
    assert not shrunk.read("zeta lamp").constraints


def test_a_change_of_a_large_catalogue_shares_its_postings(tmp_path, monkeypatch):
    """Files of before are linked, not written again; what is read is what a fresh build has."""
    monkeypatch.setattr(growth, "SHARED", 0)
    items = CORNER * 8
    before = make_catalogue(tmp_path / "before", items)
    tree = random_tree(len(items))
    index = EvidenceIndex.build(before, tree)
    index.save(tmp_path / "v1")
    # Two rows go, one item comes, and those that stay keep their order in the tree.
    stays = np.setdiff1d(np.arange(len(items)), [2, 5])
    after = make_catalogue(
        tmp_path / "after", [*(items[row] for row in stays), item("Zeta lamp teal", "Zeta", "teal")]
    )
    codes = tree.paths(tree.depth, tree.leaves_of(np.arange(len(items))))
    grown_tree = PrefixTree.build(np.concatenate([codes[stays], codes[7:8]]))
    origin = np.append(stays, -1)
    opened = EvidenceIndex.load(tmp_path / "v1", tree)
    opened.changed(after, grown_tree, origin).save(tmp_path / "v2", tmp_path / "v1")
    for name in ("words-positions", "words-counts", "keys-positions", "keys-text"):
        one, other = (tmp_path / v / f"{name}.npy" for v in ("v1", "v2"))
        assert one.stat().st_ino == other.stat().st_ino, name
    shutil.rmtree(tmp_path / "v1")
    grown = EvidenceIndex.load(tmp_path / "v2", grown_tree)
    assert isinstance(grown.keys, Grown)
    assert grown.fits()
    fresh = EvidenceIndex.build(after, grown_tree)
    every = np.arange(after.n_items)
    for query in [*QUERIES, "zeta lamp teal"]:
        assert str(grown.read(query).constraints) == str(fresh.read(query).constraints)
        for name in ("compatibility", "bm25"):
            one, other = getattr(grown, name)(query), getattr(fresh, name)(query)
            np.testing.assert_array_equal(one.of(every), other.of(every), err_msg=query)
            assert [one.explain(row) for row in every] == [other.explain(row) for row in every]
        some = np.sort(np.random.default_rng(0).permutation(after.n_items)[:20])
        np.testing.assert_array_equal(
            grown.bm25_sum(query).at(some).scores, fresh.bm25_sum(query).at(some).scores
        )
    grown.save(tmp_path / "alone")  # also without the folder of before
    assert EvidenceIndex.load(tmp_path / "alone", grown_tree).fits()
    moves = np.load(tmp_path / "v2" / "moves.npy")
    broken = dataclasses.replace(grown.keys, moves=Moves(moves[::-1], after.n_items))
    assert not dataclasses.replace(grown, keys=broken).fits()


# -- other extractors ---------------------------------------------------------------------------------


LAPTOPS = [
    item(
        "Notebook one", t_memory="DDR3-SDRAM", b_touchscreen="true", n_weight="1.7", shoe_size="41"
    ),
    item("Notebook two", t_memory="DDR4-SDRAM", b_touchscreen="false", t_product_colour="Silver"),
    item("Notebook with a touchscreen cloth", t_finish="stainless steel"),
    *[item(f"Cable {n}", b_cable="true" if n == 0 else "false") for n in range(20)],
]


@pytest.fixture
def laptops(tmp_path):
    dataset = make_catalogue(tmp_path / "laptops", LAPTOPS)
    extractors = (*default_extractors(), Attributes())
    return EvidenceIndex.build(dataset, random_tree(len(LAPTOPS)), extractors=extractors)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("ddr3 sdram notebook", [0]),
        ("touchscreen notebook", [0]),
        ("stainless steel notebook", [2]),
        ("silver notebook", [1]),
        ("size 41", [0]),
        ("1.7 notebook", []),
    ],
)
def test_a_catalogue_can_use_its_own_attributes(laptops, query, rows):
    evidence = laptops.compatibility(query)
    matched = [row for row in range(len(LAPTOPS)) if evidence.explain(row)[0].matched]
    assert matched == rows


def test_an_ordinary_word_is_no_attribute_and_a_denied_one_no_constraint(laptops):
    assert laptops.read("usb cable").constraints == ()
    assert laptops.read("notebook without touchscreen").constraints == ()
    assert laptops.read("false true no").constraints == ()


def test_attributes_can_be_chosen_by_name(tmp_path):
    dataset = make_catalogue(tmp_path / "laptops", LAPTOPS)
    only = (Attributes(["t_memory"]),)
    index = EvidenceIndex.build(dataset, random_tree(len(LAPTOPS)), extractors=only)
    assert index.read("stainless steel ddr3 sdram").constraints[0].text == "ddr3 sdram"
    assert len(index.read("stainless steel ddr3 sdram").constraints) == 1


class Lengths:
    """An extractor of one's own: titles by their number of characters."""

    name = "length"
    columns = ("title",)

    def items(self, rows):
        sizes = [len(title) for title in rows["title"].to_pylist()]
        keys = sorted(set(sizes))
        code = np.array([keys.index(size) for size in sizes], dtype=np.int32)
        return Finds([f"length {key}" for key in keys], code, np.arange(len(sizes), dtype=np.int32))

    def mentions(self, folded, tokens, known):
        return [
            Mention(
                token.start,
                token.end,
                (Constraint("length", token.text, (f"length {token.text}",)),),
            )
            for token in tokens
            if token.text.isdigit()
        ]


def test_an_extractor_of_ones_own_is_built_saved_and_asked_for(tmp_path):
    dataset = make_catalogue(tmp_path / "shop", [item("abc"), item("abcdef")])
    tree = PrefixTree.build([[1], [0]])
    index = EvidenceIndex.build(dataset, tree, extractors=[Lengths()])
    assert index.compatibility("6").of([0, 1]).tolist() == [-0.2, 1.0]
    index.save(tmp_path / "evidence")
    opened = EvidenceIndex.load(tmp_path / "evidence", tree, extractors=[Lengths()])
    assert opened.compatibility("6").of([0, 1]).tolist() == [-0.2, 1.0]
    with pytest.raises(RarsError, match="needs the extractor 'length'"):
        EvidenceIndex.load(tmp_path / "evidence", tree)
    with pytest.raises(RarsError, match="built with the extractors length"):
        EvidenceIndex.load(tmp_path / "evidence", tree, extractors=default_extractors())


def test_known_extractors_are_found_by_name(laptops, tmp_path):
    laptops.save(tmp_path / "evidence")
    opened = EvidenceIndex.load(tmp_path / "evidence", laptops.tree)
    assert [one.name for one in opened.extractors] == ["brand", "color", "quantity", "attribute"]
    assert dataclasses.astuple(opened.read("touchscreen").constraints[0])[0] == "attribute"


def test_null_brands_and_maps_are_empty():
    rows = pa.table(
        {
            "brand": pa.array([None, "Acme"]),
            "title": pa.array(["a", "b"]),
            "attributes": pa.array([None, [("x", "y")]], pa.map_(pa.string(), pa.string())),
        }
    )
    assert default_extractors()[0].items(rows).row.tolist() == [1]
    assert Attributes().items(rows).row.tolist() == [1]
