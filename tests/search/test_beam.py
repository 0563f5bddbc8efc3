"""The beam finds what enumeration finds, in the same order, and nothing that is not in the catalogue."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rars.search.beam import NOTHING, Begun, Guide, beam_search, items_of
from rars.search.evidence import Ancestry, Evidence
from rars.search.routing import admit_leaves
from tests.model.small import Example, retriever

pytestmark = pytest.mark.usefixtures("float64")


def setting(seed=0, family="t5", mode="feedback", **kinds):
    example = Example(seed, latent=mode is not None, **kinds)
    model = retriever(
        example.vocabulary.slots, family, example.categories, mode or "", prior_dim=6
    ).eval()
    longest = max(map(len, example.tokens))
    tokens, mask = (
        torch.zeros(7, longest, dtype=torch.long),
        torch.zeros(7, longest, dtype=torch.long),
    )
    for row, ids in enumerate(example.tokens):
        tokens[row, : len(ids)] = torch.tensor(ids)
        mask[row, : len(ids)] = 1
    return example, model, tokens, mask, torch.tensor(example.vectors)


@torch.no_grad()
def search(example, model, tokens, present, vectors, width, **guide):
    encoded = model.encoder(tokens, present)
    return beam_search(
        model,
        example.tree,
        example.vocabulary,
        Begun.of(model, encoded),
        projected=vectors,
        width=width,
        guide=Guide(**guide),
    )


@torch.no_grad()
def enumerate_all(example, model, query):
    """log p of every identifier of the catalogue, one plain sequence at a time."""
    tokens = torch.tensor(example.tokens[query])[None]
    encoded = model.encoder(tokens, torch.ones_like(tokens))
    memory = model.decoder.memory(encoded.states, encoded.mask)
    first = model.think(memory).inputs
    found = {}
    for sid in sorted({tuple(row) for row in example.codes.tolist()}):
        code = [c for c in sid if c >= 0]
        inputs = first
        for depth, value in enumerate(code[: len(sid) - 1]):
            inputs = torch.cat([inputs, model.code_inputs[depth].weight[value][None, None]], dim=1)
        hidden, _ = model.decoder.sequence(inputs, memory)
        ended = len(code) < len(sid) and example.vocabulary.ends[len(code)]
        steps = [*code, example.vocabulary.sizes[len(code)]] if ended else code
        total = 0.0
        for depth, value in enumerate(steps):
            row = model.logits(
                depth,
                hidden[:, model.latent_rows + depth],
                torch.tensor(example.vectors[query])[None],
            )
            total += torch.log_softmax(row, -1)[0, value].item()
        found[sid] = total
    return sorted(found.items(), key=lambda pair: -pair[1])


@pytest.mark.parametrize("family", ["t5", "mt5", "umt5"])
@pytest.mark.parametrize("mode", ["feedback", "slots", None])
@pytest.mark.parametrize("ragged", [False, True])
def test_a_wide_beam_equals_enumeration(family, mode, ragged):
    example, model, *inputs = setting(family=family, mode=mode, ragged=ragged)
    found = search(example, model, *inputs, width=1000)
    for query in range(7):
        expected = enumerate_all(example, model, query)
        leaves = found.leaves[query][found.leaves[query] != NOTHING]
        paths = [tuple(p) for p in example.tree.paths(example.tree.depth, leaves).tolist()]
        assert paths == [sid for sid, _ in expected]
        np.testing.assert_allclose(
            found.scores[query][: len(paths)], [score for _, score in expected], atol=1e-6
        )


@pytest.mark.parametrize("mask", [(1, 1, 1), (0, 1, 0), (0, 0, 0)])
@pytest.mark.parametrize("normaliser", ["depth", "children"])
def test_evidence_is_added_at_every_masked_depth(mask, normaliser):
    # Eq. rars-score, against enumeration with prefix maxima taken over all items below a prefix.
    example, model, *inputs = setting()
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(7, len(example.codes)))
    tree = example.tree
    evidence = [Evidence.from_dense(Ancestry.of(tree), row[tree.order]) for row in scores]
    guide = {"evidence": evidence, "mask": tuple(map(bool, mask)), "weight": 2.0}
    found = search(example, model, *inputs, width=1000, normaliser=normaliser, **guide)
    plain = search(example, model, *inputs, width=1000, normaliser=normaliser)
    for query in range(7):
        base = dict(zip(plain.leaves[query].tolist(), plain.scores[query].tolist(), strict=True))
        expected = {}
        for leaf, score in base.items():
            sid = tree.paths(3, [leaf])[0]
            for depth in range(3):
                below = (example.codes[:, : depth + 1] == sid[: depth + 1]).all(axis=1)
                score += mask[depth] * 2.0 * scores[query][below].max()
            expected[leaf] = score
        assert found.leaves[query].tolist() == sorted(expected, key=lambda leaf: -expected[leaf])
        np.testing.assert_allclose(found.scores[query], sorted(expected.values(), reverse=True))
        np.testing.assert_allclose(
            found.model[query].sum(-1) + found.evidence[query].sum(-1), found.scores[query]
        )


def test_children_normaliser_makes_probabilities_of_all_identifiers_sum_to_one():
    example, model, *inputs = setting()
    found = search(example, model, *inputs, width=1000, normaliser="children")
    np.testing.assert_allclose(np.exp(found.scores).sum(axis=1), 1.0)


def test_a_prefix_with_one_identifier_below_is_not_decoded(monkeypatch):
    """Its codes have probability one among their siblings; over a whole depth, or as logits, they do not."""
    example, model, *inputs = setting()
    rows = []
    plain = model.decoder.step

    def counted(inputs, cache, memory):
        rows.append(inputs.shape[1])
        return plain(inputs, cache, memory)

    monkeypatch.setattr(model.decoder, "step", counted)
    every = [example.tree.n_nodes(depth) for depth in (1, 2)]
    search(example, model, *inputs, width=1000)
    assert rows == every
    rows.clear()
    search(example, model, *inputs, width=1000, normaliser="children")
    several = [
        int((np.diff(example.tree.item_ranges(depth, np.arange(n)), axis=0) > 1).sum())
        for depth, n in zip((1, 2), every, strict=True)
    ]
    assert rows == several
    assert several[1] < every[1]
    rows.clear()
    search(example, model, *inputs, width=1000, normaliser="children", score="logit")
    assert rows == every


def test_only_admitted_identifiers_are_found_and_their_scores_do_not_change():
    example, model, *inputs = setting()
    whole = search(example, model, *inputs, width=1000)
    leaves = [
        np.random.default_rng(q).choice(example.tree.n_leaves, 5, replace=False) for q in range(7)
    ]
    query = np.repeat(np.arange(7), 5)
    admitted = admit_leaves(example.tree, query, np.concatenate(leaves))
    found = search(example, model, *inputs, width=1000, admitted=admitted)
    for q in range(7):
        kept = [leaf for leaf in whole.leaves[q] if leaf in set(leaves[q].tolist())]
        assert found.leaves[q][found.leaves[q] != NOTHING].tolist() == kept
        place = [whole.leaves[q].tolist().index(leaf) for leaf in kept]
        np.testing.assert_allclose(found.scores[q][:5], whole.scores[q][place])


def test_a_query_that_admits_nothing_finds_nothing():
    example, model, *inputs = setting()
    admitted = admit_leaves(example.tree, np.array([0]), np.array([0]))
    found = search(example, model, *inputs, width=5, admitted=admitted)
    assert (found.leaves[0] != NOTHING).sum() == 1
    assert (found.leaves[1:] == NOTHING).all()


@pytest.mark.parametrize("width", [1, 3, 10])
def test_results_are_distinct_legal_and_at_most_the_beam(width):
    # A beam wider than the legal roots must return fewer results, never an illegal one.
    example, model, *inputs = setting()
    found = search(example, model, *inputs, width=width)
    for leaves in found.leaves:
        kept = leaves[leaves != NOTHING]
        assert len(kept) == len(set(kept.tolist())) <= width
        assert (kept < example.tree.n_leaves).all()


def test_a_query_searched_alone_or_in_a_batch_gets_the_same():
    example, model, *inputs = setting()
    together = search(example, model, *inputs, width=5)
    alone = search(example, model, *(part[3:4] for part in inputs), width=5)
    np.testing.assert_array_equal(together.leaves[3], alone.leaves[0])


def test_leaves_expand_to_items_and_k_counts_items():
    example, *_ = setting(items=200, codes=3)
    leaf = int(np.diff(example.tree.buckets).argmax())
    items, place = items_of(example.tree, np.array([leaf, NOTHING]), 100)
    assert items.tolist() == example.tree.items_below(example.tree.depth, leaf).tolist()
    assert not place.any()
    following = np.array([leaf, (leaf + 1) % example.tree.n_leaves])
    assert len(items_of(example.tree, following, 2)[0]) == 2


def test_items_that_share_an_identifier_are_ordered_by_evidence():
    example, *_ = setting(items=200, codes=3)
    scores = np.random.default_rng(0).normal(size=200)
    evidence = Evidence.from_dense(Ancestry.of(example.tree), scores[example.tree.order])
    leaf = int(np.diff(example.tree.buckets).argmax())
    items, _ = items_of(example.tree, np.array([leaf]), 100, evidence)
    assert (np.diff(scores[items]) <= 0).all()
