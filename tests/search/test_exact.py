"""The exact scorer, a beam that never prunes, and one plain path at a time give the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.errors import RarsError
from rars.search import planning
from rars.search.beam import NOTHING, beam_search
from rars.search.evidence.parts import Bound
from rars.search.exact import exact_search
from rars.tree import END
from tests.search.worlds import QUERIES, World

pytestmark = pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")


pytestmark = pytest.mark.usefixtures("float64")


@st.composite
def catalogues(draw):
    """Identifiers of 1 to 4 codes, many of them shared or prefixes of others, and a seed for the rest."""
    depth = draw(st.integers(1, 4))
    size = draw(st.integers(1, 4))
    code = st.integers(0, size)
    rows = st.lists(code, min_size=depth, max_size=depth)
    codes = np.array(draw(st.lists(rows, min_size=1, max_size=25)), dtype=np.int64)
    if draw(st.booleans()):
        lengths = np.array(draw(st.lists(st.integers(1, depth), min_size=25, max_size=25)))
        codes[np.arange(depth) >= lengths[: len(codes), None]] = END
    return codes, draw(st.integers(0, 2**16))


def same(found, expected):
    leaves = found.leaves[found.leaves != NOTHING]
    assert sorted(leaves.tolist()) == sorted(expected)
    scores = found.scores[: len(leaves)]
    np.testing.assert_allclose(scores, sorted(expected.values(), reverse=True), atol=1e-6)
    np.testing.assert_allclose([expected[leaf] for leaf in leaves.tolist()], scores, atol=1e-6)


class _Row:
    def __init__(self, found, query):
        self.leaves, self.scores = found.leaves[query], found.scores[query]


@settings(max_examples=80, deadline=None)
@given(
    catalogues(),
    st.sampled_from(["depth", "children"]),
    st.sampled_from(["probability", "logit"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_exact_beam_and_enumeration_agree_on_any_small_tree(
    catalogue, normaliser, score, evidence, admitted, varied
):
    world = World(
        *catalogue,
        normaliser=normaliser,
        score=score,
        evidence=evidence,
        admitted=admitted,
        varied=varied,
    )
    exact = world.search(exact_search, width=1000, rows=5)
    beam = world.search(beam_search, width=1000)
    for query in range(QUERIES):
        expected = world.one_by_one(query)
        same(_Row(exact, query), expected)
        same(_Row(beam, query), expected)


CODES = np.random.default_rng(0).integers(0, 6, (150, 3))


def test_chunks_of_any_size_give_the_same():
    world = World(CODES, 1, evidence=True, admitted=True)
    whole = world.search(exact_search, rows=10_000)
    for rows in (1, 7, 64):
        found = world.search(exact_search, rows=rows)
        np.testing.assert_array_equal(found.leaves, whole.leaves)
        np.testing.assert_allclose(found.scores, whole.scores)


def test_the_terms_of_each_depth_are_those_of_the_beam():
    # --explain reads them.
    world = World(CODES, 2, evidence=True)
    exact, beam = world.search(exact_search, width=999), world.search(beam_search, width=999)
    np.testing.assert_array_equal(exact.leaves, beam.leaves)
    np.testing.assert_allclose(exact.model, beam.model, atol=1e-9)
    np.testing.assert_allclose(exact.evidence, beam.evidence, atol=1e-9)


def test_a_narrow_beam_never_scores_better_than_the_exact_search():
    world = World(CODES, 3, evidence=True)
    exact, beam = world.search(exact_search, width=5), world.search(beam_search, width=5)
    assert (exact.scores >= beam.scores - 1e-9).all()
    assert exact.leaves.shape == (QUERIES, 5)


def test_equal_scores_stand_in_the_order_of_the_tree():
    # With all tables zero every identifier of a depth has the same probability.
    world = World(CODES, 4)
    for table in world.model.code_outputs:
        torch.nn.init.zeros_(table.weight)
    for how in (exact_search, beam_search):
        assert world.search(how, width=20).leaves.tolist() == [list(range(20))] * QUERIES


def test_only_one_chunk_a_depth_is_alive(monkeypatch):
    # Bounded memory: however large the tree, no decoder call sees more rows than the chunk has.
    world = World(CODES, 5)
    seen = []
    step = world.model.decoder.step

    def spying(inputs, cache, memory):
        seen.append(inputs.shape[0] * inputs.shape[1])
        return step(inputs, cache, memory)

    monkeypatch.setattr(world.model.decoder, "step", spying)
    world.search(exact_search, rows=12)
    assert max(seen) <= 12
    # Every inner prefix is decoded once.
    assert sum(seen) == QUERIES * (world.tree.n_nodes(1) + world.tree.n_nodes(2))


RAGGED = np.array([[0, END, END], [0, 1, END], [0, 1, 2], [3, END, END], [3, 1, 1], [3, 1, 1]])


@pytest.mark.parametrize("how", [beam_search, exact_search])
def test_evidence_adds_nothing_where_an_identifier_ends(how):
    """Compatibility is of codes; the paper gives EOS none, nor what comes after it."""
    world = World(RAGGED, 6, evidence=True)
    guide = replace(world.guide, mask=(True,) * 3)
    found = world.search(how, guide, width=10)
    paths = world.tree.paths(3, found.leaves.ravel()).reshape(*found.leaves.shape, 3)
    assert (found.evidence[paths == END] == 0).all()
    assert (found.evidence[paths != END] != 0).all()


@pytest.mark.parametrize("how", [beam_search, exact_search])
def test_a_bound_comes_down_to_the_identifiers_own_evidence_also_where_it_ends(how):
    """Where it ends, a bound still counts the items that go on; without a step down it would keep them."""
    world = World(RAGGED, 7, evidence=True)
    evidence = [Bound.on(one) for one in world.guide.evidence]
    guide = replace(world.guide, evidence=evidence, mask=(True,) * 3, ends=True)
    found = world.search(how, guide, width=10)
    for query in range(QUERIES):
        for leaf, terms in zip(found.leaves[query], found.evidence[query], strict=True):
            own = world.scores[query][world.tree.items_below(3, int(leaf))].max()
            assert terms.sum() == pytest.approx(1.5 * own)


# -- the public face -----------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["ar", "all", "hybrid"])
def test_exact_search_of_a_run_equals_a_beam_over_everything(retriever, rule):
    torch.set_default_dtype(torch.float32)
    options = {"rule": rule, "categories": "all", "explain": True}
    exact = retriever.search("black bottle 0.75 l", 30, exact=True, **options)
    every = retriever.search("black bottle 0.75 l", len(retriever), **options)
    assert [hit.item_id for hit in exact] == [hit.item_id for hit in every[:30]]
    assert [h.score for h in exact] == pytest.approx([h.score for h in every[:30]], abs=1e-4)
    terms = [sum(step.term for step in hit.explanation.steps) for hit in exact]
    assert terms == pytest.approx([hit.score for hit in exact], abs=1e-6)


def test_exact_search_keeps_to_categories_and_restrictions(retriever):
    torch.set_default_dtype(torch.float32)
    path = " > ".join(retriever.search("bottle", 1)[0].category)
    for options in ({"category": path}, {"categories": 2, "rule": "all"}):
        texts = ["running shoes", "usb c cable 2 m"]
        exact = retriever.search_many(texts, 200, exact=True, **options)
        beam = retriever.search_many(texts, 200, **options)
        for one, other in zip(exact, beam, strict=True):
            assert {hit.item_id for hit in one} == {hit.item_id for hit in other}


def test_too_many_identifiers_for_an_exact_search_are_refused(retriever, monkeypatch):
    torch.set_default_dtype(torch.float32)
    monkeypatch.setattr(planning, "EXACT", 50)
    with pytest.raises(RarsError, match="would score 300 identifiers, and 50 is the most"):
        retriever.search("mug", exact=True)
    few = retriever.index.items.ids.to_pylist()[:20]
    assert len(retriever.search("mug", 30, exact=True, allow=few)) == 20
