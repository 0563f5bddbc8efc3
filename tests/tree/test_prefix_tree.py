"""The tree holds exactly the catalogue's prefixes, and every array read agrees with a dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rars.errors import RarsError
from rars.tree import END, PrefixTree, SidVocabulary
from rars.tree import prefix_tree as module
from tests.tree.oracle import code_matrices, prefix, prefixes


@given(code_matrices())
def test_nodes_are_exactly_the_prefixes_of_the_catalogue(codes):
    tree = PrefixTree.build(codes)
    for depth in range(codes.shape[1] + 1):
        nodes = np.arange(tree.n_nodes(depth))
        assert [tuple(p) for p in tree.paths(depth, nodes).tolist()] == prefixes(codes, depth)


@given(code_matrices())
def test_no_item_is_lost_and_a_range_holds_exactly_its_items(codes):
    tree = PrefixTree.build(codes)
    for depth in range(codes.shape[1] + 1):
        for node, path in enumerate(prefixes(codes, depth)):
            expected = [i for i in range(len(codes)) if prefix(codes[i], depth) == path]
            assert sorted(tree.items_below(depth, node).tolist()) == expected
    np.testing.assert_array_equal(tree.identifiers(np.arange(len(codes))), codes)


@given(code_matrices())
def test_items_that_share_a_sid_share_a_leaf_in_catalogue_order(codes):
    tree = PrefixTree.build(codes)
    for leaf in range(tree.n_leaves):
        items = tree.items_below(tree.depth, leaf).tolist()
        assert items == sorted(items)
        assert len({prefix(codes[i], tree.depth) for i in items}) == 1


def test_equal_rows_in_another_order_are_not_taken_for_sorted():
    codes = np.array([[1, 2], [1, 2], [0, 3]])
    grown = PrefixTree.build(codes, np.array([1, 0]))
    assert grown.order.tolist() == PrefixTree.build(codes).order.tolist() == [2, 0, 1]


@given(code_matrices(), st.data())
def test_a_tree_grown_from_sorted_rows_is_that_of_all_rows(codes, data):
    """Of rows that stand where they stood, and of any others: what is not in order is put into it."""
    some = data.draw(st.lists(st.integers(0, len(codes) - 1), unique=True))
    old = PrefixTree.build(codes).order
    first = old[old < data.draw(st.integers(0, len(codes)))]
    for known in (first, old[np.isin(old, some)], np.array(some, dtype=np.int32)):
        grown, whole = PrefixTree.build(codes, known), PrefixTree.build(codes)
        assert grown.order.dtype == whole.order.dtype
        for one, other in zip(_arrays(grown), _arrays(whole), strict=True):
            np.testing.assert_array_equal(one, other)


def _arrays(tree):
    return (tree.order, tree.buckets, *tree.children, *tree.codes)


@given(code_matrices())
def test_children_are_the_legal_continuations_of_the_full_prefix(codes):
    # Peers constrain by the previous token or the position; here only the whole prefix counts.
    tree = PrefixTree.build(codes)
    for depth in range(codes.shape[1]):
        nodes = np.arange(tree.n_nodes(depth))
        owner, child = tree.expand(depth, nodes)
        found = [tuple(p) for p in tree.paths(depth + 1, child).tolist()]
        assert found == prefixes(codes, depth + 1)
        np.testing.assert_array_equal(tree.parents(depth + 1, child), nodes[owner])
        np.testing.assert_array_equal(np.bincount(owner), tree.n_children(depth, nodes))


@given(code_matrices(), st.lists(st.integers(-1, 5), max_size=5))
def test_find_knows_every_prefix_and_answers_none_for_any_other(codes, wanted):
    # Peers fall back to unconstrained output on an unknown prefix.
    tree = PrefixTree.build(codes)
    for depth in range(codes.shape[1] + 1):
        for node, path in enumerate(prefixes(codes, depth)):
            assert tree.find(path) == node
    known = tuple(wanted) in {p for d in range(tree.depth + 1) for p in prefixes(codes, d)}
    assert (tree.find(wanted) is not None) == known


@given(code_matrices())
def test_long_identifiers_that_do_not_fit_a_key_give_the_same_tree(codes):
    tree = PrefixTree.build(codes)
    order = np.lexsort(codes.T[::-1]).astype(np.int32)
    slow = PrefixTree._from_sorted(order, codes[order])
    for one, other in zip(_arrays(tree), _arrays(slow), strict=True):
        np.testing.assert_array_equal(one, other)


def test_very_long_identifiers_take_the_long_way():
    codes = np.random.default_rng(0).integers(0, 2**20, (50, 6))
    assert module._packed(codes)[0] is None
    tree = PrefixTree.build(codes)
    np.testing.assert_array_equal(tree.identifiers(np.arange(50)), codes)


def test_saved_trees_load_memory_mapped_and_equal(tmp_path):
    codes = np.random.default_rng(1).integers(0, 8, (200, 3))
    tree = PrefixTree.build(codes)
    tree.save(tmp_path / "tree")
    loaded = PrefixTree.load(tmp_path / "tree")
    assert isinstance(loaded.order, np.memmap)
    for one, other in zip(_arrays(tree), _arrays(loaded), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_changed_file_is_refused(tmp_path):
    PrefixTree.build([[0, 1], [1, 0]]).save(tmp_path / "tree")
    path = tmp_path / "tree" / "order.npy"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(RarsError, match="order.npy has changed"):
        PrefixTree.load(tmp_path / "tree")


def test_a_truncated_file_is_refused_even_without_the_digest_check(tmp_path):
    PrefixTree.build([[0, 1], [1, 0]]).save(tmp_path / "tree")
    path = tmp_path / "tree" / "buckets.npy"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(RarsError, match="buckets.npy has .* bytes"):
        PrefixTree.load(tmp_path / "tree", verify=False)


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        (np.zeros((0, 4), dtype=int), "shape"),
        (np.zeros(4, dtype=int), "shape"),
        ([[0.5, 1.0]], "whole numbers"),
        ([[0, -2]], "0 or more"),
        ([[0, END, 1]], "item 0 goes on after its end"),
    ],
)
def test_impossible_identifiers_are_named(codes, words):
    with pytest.raises(RarsError, match=words):
        PrefixTree.build(codes)


def test_a_node_takes_one_byte_for_its_code_where_256_codes_suffice():
    tree = PrefixTree.build(np.random.default_rng(2).integers(0, 256, (5000, 4)))
    assert all(codes.dtype == np.uint8 for codes in tree.codes)


@given(code_matrices())
@example(np.array([[0, END]]))  # a depth without any code
def test_every_code_of_the_tree_has_a_slot_of_its_own(codes):
    vocabulary = SidVocabulary.of(PrefixTree.build(codes))
    for depth, slots in enumerate(vocabulary.slots):
        choices = np.unique(codes[:, depth])
        if not vocabulary.ends[depth]:
            choices = choices[choices != END]
        found = vocabulary.slot(choices, depth)
        assert len(np.unique(found)) == len(choices)
        assert ((found >= 0) & (found < slots)).all()


@given(code_matrices())
def test_end_is_a_choice_exactly_where_some_identifiers_end_and_others_go_on(codes):
    lengths = (codes != END).sum(axis=1)
    expected = tuple(
        bool((lengths == d).any() and (lengths > d).any()) for d in range(codes.shape[1])
    )
    assert SidVocabulary.of(PrefixTree.build(codes)).ends == expected


def test_vocabulary_keeps_room_for_codes_no_item_has():
    vocabulary = SidVocabulary.of(PrefixTree.build([[0, 1], [1, 0]]), sizes=(256, 256))
    assert vocabulary.slots == (256, 256)


def _arrays(tree):
    return [tree.order, tree.buckets, *tree.children, *tree.codes]
