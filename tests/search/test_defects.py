"""Faults seen in other constrained decoders: each test fails on the faulty behaviour it names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from rars.search.beam import NOTHING, Guide, beam_search, items_of
from rars.search.evidence import Ancestry, Evidence
from rars.search.exact import exact_search
from rars.tree import PrefixTree
from tests.search.worlds import QUERIES, World

BOTH = pytest.mark.parametrize("how", [beam_search, exact_search])


pytestmark = pytest.mark.usefixtures("float64")


def identifiers(world, found, query):
    leaves = found.leaves[query][found.leaves[query] != NOTHING]
    return [tuple(path) for path in world.tree.paths(world.tree.depth, leaves).tolist()]


def prefer(world, *path):
    """Make the model all but certain of a path of codes, whether the catalogue has it or not."""
    for depth, code in enumerate(path):
        table = world.model.code_outputs[depth]
        torch.nn.init.zeros_(table.weight)
        table.register_forward_hook(
            lambda _, __, out, code=code: out + 1e9 * torch.eye(out.shape[-1])[code]
        )


@BOTH
def test_a_constraint_is_the_whole_prefix_not_the_last_code_or_the_depth(how):
    """Defect: what may follow is looked up by the previous code, or by position alone.

    (0, 5, 1) and (1, 5, 2) are there. By the previous code 2 may follow 5, by position any of the last codes
    may; only by the whole prefix is (0, 5, 2) impossible, and the model wants nothing else.
    """
    codes = np.array([[0, 5, 1], [1, 5, 2], [0, 3, 3], [1, 3, 4]])
    world = World(codes, 0)
    prefer(world, 0, 5, 2)
    found = world.search(how, width=100)
    for query in range(QUERIES):
        assert set(identifiers(world, found, query)) == {tuple(row) for row in codes.tolist()}


class DeadEnd:
    """Admits prefixes, but nothing below them."""

    def __init__(self, last):
        self.last = last

    def allows(self, depth, query, node):
        return np.full(len(node), depth < self.last)


@BOTH
@pytest.mark.parametrize("last", [0, 1, 2])
def test_a_prefix_without_continuation_ends_the_path(how, last):
    """Defect: a prefix that the constraint does not know lets every token through."""
    world = World(np.random.default_rng(0).integers(0, 4, (40, 3)), 1)
    found = world.search(how, Guide(admitted=DeadEnd(last)), width=10)
    assert (found.leaves == NOTHING).all()


@BOTH
@pytest.mark.parametrize("size", [1e3, 1e7, 1e12])
def test_no_score_makes_an_illegal_identifier_possible(how, size):
    """Defect: a finite mask (-1e6) that very low log-probabilities or very high bonuses outweigh.

    The model finds all legal codes all but impossible, and the evidence of the legal items is far below that
    of nothing. One query may use three identifiers where the others have more, so whatever stands for "not
    allowed" competes with its three: still they are found, and nothing else.
    """
    codes = np.array([[a, b] for a in (0, 2, 3) for b in (0, 2)])
    world = World(codes, 2)
    prefer(world, 1, 1)
    world.allowed[0, 3:] = False
    evidence = [Evidence.from_dense(Ancestry.of(world.tree), np.full(6, -size))] * QUERIES
    guide = replace(world.guide, evidence=evidence, mask=(True, True), weight=size)
    found = world.search(how, guide, width=3)
    assert identifiers(world, found, 0) == [(0, 0), (0, 2), (2, 0)]
    for query in range(QUERIES):
        assert set(identifiers(world, found, query)) <= set(map(tuple, codes.tolist()))
        assert len(identifiers(world, found, query)) == 3
        assert np.isfinite(found.scores[query]).all()


@BOTH
def test_a_beam_wider_than_the_tree_returns_fewer_never_illegal_or_repeated_ones(how):
    """Defect: a beam wider than the legal roots is filled up with -inf beams, which then grow children."""
    codes = np.array([[0, 0, 1], [0, 0, 2], [7, 3, 0]])  # two roots for a beam of 100
    world = World(codes, 3)
    found = world.search(how, width=100)
    for query in range(QUERIES):
        assert sorted(identifiers(world, found, query)) == sorted(map(tuple, codes.tolist()))
        live = found.leaves[query] != NOTHING
        assert np.isfinite(found.scores[query][live]).all()
        assert (found.scores[query][~live] == -np.inf).all()


def test_queries_of_one_batch_with_few_and_many_identifiers_do_not_fill_each_other_up():
    """The same defect in a batch: the query with more candidates sets the width for all."""
    world = World(np.random.default_rng(4).integers(0, 5, (60, 3)), 4)
    world.allowed[:] = False
    world.allowed[0, :2] = world.allowed[2, :] = True
    found = world.search(beam_search, width=30)
    assert (found.leaves != NOTHING).sum(axis=1).tolist() == [2, 0, min(30, world.tree.n_leaves)]


def test_generation_settings_of_a_checkpoint_change_nothing():
    """Defect: an inherited generation_config (sampling, top_k, temperature) changes a beam search."""
    world = World(np.random.default_rng(5).integers(0, 5, (60, 3)), 5)
    before = world.search(beam_search, width=10)
    for part in (world.model.encoder.stack, *world.model.decoder.blocks):
        for holder in (part, getattr(part, "config", part)):
            for name, value in {"do_sample": True, "top_k": 1, "temperature": 9.0}.items():
                setattr(holder, name, value)
    torch.manual_seed(99)
    after = world.search(beam_search, width=10)
    np.testing.assert_array_equal(before.leaves, after.leaves)
    np.testing.assert_array_equal(before.scores, after.scores)


def test_items_that_share_an_identifier_are_all_found():
    """Defect: of items with the same identifier all but one are lost."""
    codes = np.array([[0, 1], [2, 0], [0, 1], [0, 1]])
    tree = PrefixTree.build(codes)
    every = np.arange(tree.n_leaves)
    items, _ = items_of(tree, every, 10)
    assert sorted(items.tolist()) == [0, 1, 2, 3]
    assert items_of(tree, every, 2)[0].tolist() == [0, 2]


@pytest.mark.parametrize("rule", ["ar", "all", "hybrid"])
def test_no_item_is_listed_twice(retriever, rule):
    """Defect: duplicates in a ranking are counted twice and push recall above 1."""
    torch.set_default_dtype(torch.float32)
    for hits in retriever.search_many(["black bottle", "shoes"], 1000, rule=rule):
        ids = [hit.item_id for hit in hits]
        assert len(ids) == len(set(ids))


def test_codes_never_meet_the_text_vocabulary():
    """Defect: codes appended to a text vocabulary get ids beside its table (tokenizer 32100, model 32128).

    Codes have tables of their own: an encoder of 50 words and codes up to 4000 do not touch.
    """
    world = World(np.array([[4000, 1], [0, 3999]]), 6)
    assert world.model.encoder.stack.get_input_embeddings().num_embeddings == 50
    found = world.search(beam_search, width=5)
    assert sorted(identifiers(world, found, 0)) == [(0, 3999), (4000, 1)]
