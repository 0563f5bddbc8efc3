"""The projected prior: a softmax over identifiers, divided along the tree, alike in training and search."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.model import prior, reached
from rars.model.prior import PriorMeasure, SemanticPrior
from rars.objectives import full_sid
from rars.objectives.common import Context
from rars.search.beam import NOTHING, Begun, Guide, beam_search
from rars.search.exact import exact_search
from rars.training.loop import TrainingModel
from rars.training.packing import pack
from rars.tree import END, PrefixTree, SidVocabulary
from tests.model.small import Example, retriever, terms

DIM = 6


pytestmark = pytest.mark.usefixtures("float64")


def words_of(vocabulary, seed=0):
    """Random codewords; END, where it is a choice, has a zero row."""
    rng = np.random.default_rng(seed)
    found = []
    for slots, size in zip(vocabulary.slots, vocabulary.sizes, strict=True):
        rows = rng.normal(size=(slots, DIM))
        rows[size:] = 0.0
        found.append(rows)
    return found


def softmax_of_identifiers(codes, words, vector, sharpness):
    """p0 by the definition: every distinct identifier, its reconstruction, one softmax."""
    sids = sorted({tuple(row) for row in codes.tolist()})
    similar = [
        sum(words[depth][code] @ vector for depth, code in enumerate(sid) if code != END)
        for sid in sids
    ]
    weight = np.exp(sharpness * (np.array(similar) - max(similar)))
    return dict(zip(sids, weight / weight.sum(), strict=True))


@given(st.integers(0, 10_000), st.booleans(), st.floats(0.1, 30))
@settings(max_examples=40, deadline=None)
def test_log_shares_are_subtree_sums_of_the_softmax(seed, ragged, sharpness):
    example = Example(seed, items=40, codes=4, ragged=ragged)
    words, tree = words_of(example.vocabulary, seed), example.tree
    measure = PriorMeasure(tree, example.vocabulary, words, sharpness)
    shares = measure.log_shares(example.vectors)
    for query, vector in enumerate(example.vectors[:2]):
        whole = softmax_of_identifiers(example.codes, words, vector, sharpness)
        for depth in range(tree.depth):
            for node, path in enumerate(tree.paths(depth + 1, np.arange(tree.n_nodes(depth + 1)))):
                below = sum(p for sid, p in whole.items() if sid[: depth + 1] == tuple(path))
                above = sum(p for sid, p in whole.items() if sid[:depth] == tuple(path[:-1]))
                if below > 1e-250:  # beyond that the oracle itself underflows
                    expected = np.log(below) - np.log(above)
                    assert shares[depth][query, node] == pytest.approx(expected, abs=1e-8)


def test_a_sharp_measure_of_a_large_catalogue_stays_finite_in_single_precision():
    rng = np.random.default_rng(0)
    tree = PrefixTree.build(rng.integers(0, 16, (5000, 4)))
    vocabulary = SidVocabulary.of(tree)
    words = [100 * w.astype(np.float32) for w in words_of(vocabulary)]
    shares = PriorMeasure(tree, vocabulary, words, 50.0).log_shares(
        rng.normal(size=(3, DIM)).astype(np.float32)
    )
    for share in shares:
        assert share.dtype == np.float32
        assert np.isfinite(share).all()
        assert share.max() <= 0


def model_with_prior(example, *, own_part=True):
    model = retriever(example.vocabulary.slots, categories=example.categories, dropout_rate=0.0)
    model.prior = SemanticPrior(DIM, example.vocabulary.slots, projected=True)
    words = words_of(example.vocabulary)
    with torch.no_grad():
        for depth, rows in enumerate(words):
            model.prior.codewords(depth).copy_(torch.from_numpy(rows))
        model.prior.sharpness.fill_(1.7)
        if own_part:
            model.prior.scales.copy_(torch.tensor([0.5, 1.5, 0.8]))
        else:
            for table in model.code_outputs:
                table.weight.zero_()
    return model.eval(), words


def guided(example, model):
    prior = model.prior.of_nodes(
        model.prior.measure(example.tree, example.vocabulary), torch.tensor(example.vectors)
    )
    return Guide(normaliser="children", prior=prior)


def begun(example, model):
    batch = pack(example.data(), np.arange(7))
    with torch.no_grad():
        return Begun.of(model, model.encoder(batch.tokens, batch.mask))


@pytest.mark.parametrize("ragged", [False, True])
def test_a_model_without_a_part_of_its_own_is_the_reconstruction_retriever(ragged):
    example = Example(ragged=ragged)
    model, words = model_with_prior(example, own_part=False)
    found = beam_search(
        model,
        example.tree,
        example.vocabulary,
        begun(example, model),
        width=1000,
        guide=guided(example, model),
    )
    for query, vector in enumerate(example.vectors):
        expected = softmax_of_identifiers(example.codes, words, vector, 1.7)
        leaves = found.leaves[query][found.leaves[query] != NOTHING]
        paths = [tuple(p) for p in example.tree.paths(3, leaves).tolist()]
        assert len(paths) == len(expected)
        np.testing.assert_allclose(
            np.exp(found.scores[query][: len(paths)]), [expected[p] for p in paths], atol=1e-9
        )
        assert (np.diff(found.scores[query][: len(paths)]) <= 0).all()


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("ragged", [False, True])
def test_training_and_search_see_the_same_probabilities(ragged, local, large, monkeypatch):
    # The packed likelihood of all pairs is the sum of what an unpruned search gives their identifiers.
    # In a large catalogue a batch asks for the shares of its own nodes, instead of a pass over all.
    if large:
        monkeypatch.setattr(prior, "LARGE", 0)
        monkeypatch.setattr(PriorMeasure, "log_shares", None)
        monkeypatch.setattr(reached, "RULED", 4)
    example = Example(ragged=ragged)
    model, _ = model_with_prior(example)
    measure = model.prior.measure(example.tree, example.vocabulary)
    data = example.data(projected=example.vectors, measure=measure, local=local, with_siblings=True)
    batch = pack(data, np.arange(7))
    assert batch.projected is None
    with torch.no_grad():
        packed = full_sid.loss(
            model(batch),
            batch,
            Context(normaliser="children"),
            full_sid.FullSidSettings(per_token=False),
        ).sum
    inputs = (model, example.tree, example.vocabulary, begun(example, model))
    monkeypatch.undo()
    wide = beam_search(*inputs, width=1000, guide=guided(example, model))
    exact = exact_search(*inputs, width=1000, guide=guided(example, model))
    np.testing.assert_array_equal(wide.leaves, exact.leaves)
    np.testing.assert_allclose(wide.scores, exact.scores, atol=1e-9)
    total = 0.0
    for query, item, _ in example.pairs:
        leaf = example.tree.leaves_of([item])[0]
        total -= wide.scores[query][wide.leaves[query] == leaf].item()
    assert packed.item() == pytest.approx(total, abs=1e-6)


def test_scales_learn_through_a_packed_pass():
    example = Example()
    model, _ = model_with_prior(example)
    measure = model.prior.measure(example.tree, example.vocabulary)
    data = example.data(projected=example.vectors, measure=measure, with_siblings=True)
    batch = pack(data, np.arange(7))
    context = Context(normaliser="children")

    def loss():
        return full_sid.loss(model(batch), batch, context, full_sid.FullSidSettings()).mean

    (gradient,) = torch.autograd.grad(loss(), [model.prior.scales])
    for depth in range(3):
        with torch.no_grad():
            model.prior.scales[depth] += 1e-5
            above = loss().item()
            model.prior.scales[depth] -= 2e-5
            below = loss().item()
            model.prior.scales[depth] += 1e-5
        assert gradient[depth].item() == pytest.approx((above - below) / 2e-5, rel=1e-4)


def test_beside_the_prior_the_decoder_learns_as_if_there_were_none():
    example = Example()
    model, _ = model_with_prior(example)
    batch = pack(example.data(with_siblings=True), np.arange(7))
    beside = TrainingModel(model, terms("full-sid"), normaliser="children", alone=True)
    loss, _ = beside(batch, seed=0)
    loss.backward()
    found = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    assert not any(name.startswith("prior.") for name in found)
    model.zero_grad()
    model.prior = None
    expected, _ = TrainingModel(model, terms("full-sid"), normaliser="children")(batch, seed=0)
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), abs=1e-12)
    for name, parameter in model.named_parameters():
        if name in found:
            torch.testing.assert_close(found[name], parameter.grad)
