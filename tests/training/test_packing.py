"""A packed pass is exact: loss and gradient are those of one decoder row per pair, drawn or all of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rars.config import NoSettings
from rars.model.tree_head import TreeHead
from rars.objectives import (
    category_class,
    category_contrast,
    decoder_soft,
    full_sid,
    grouped,
    tree,
)
from rars.objectives.category_contrast import ContrastSettings
from rars.objectives.common import Context, PerToken
from rars.objectives.full_sid import FullSidSettings
from rars.objectives.tree import TreeSettings
from rars.training.packing import Drawn, Reads, pack
from rars.training.sampler import QueryRange, batches
from rars.tree import Relevance
from tests.model.small import Example, retriever

pytestmark = pytest.mark.usefixtures("float64")


def per_pair_loss(model, example):
    """The usual training: every (query, item) pair is a row of its own, decoded as a plain sequence."""
    total, count = 0.0, 0
    latent = model.latent_rows
    for query, item, _ in example.pairs:
        tokens = torch.tensor(example.tokens[query])[None]
        vectors = torch.tensor(example.vectors[query])[None]
        encoded = model.encoder(tokens, torch.ones_like(tokens))
        memory = model.decoder.memory(encoded.states, encoded.mask)
        inputs = model.think(memory).inputs
        code = [int(c) for c in example.codes[item] if c >= 0]
        for depth, value in enumerate(code[: len(model.slots) - 1]):
            inputs = torch.cat([inputs, model.code_inputs[depth].weight[value][None, None]], dim=1)
        hidden, _ = model.decoder.sequence(inputs, memory)
        sizes = example.vocabulary.sizes
        steps = [*code, sizes[len(code)]] if len(code) < len(model.slots) else code
        for depth, value in enumerate(steps):
            logits = model.logits(depth, hidden[:, latent + depth], vectors)
            total = total - torch.log_softmax(logits, -1)[0, value]
        count += 1
    return total / count


@pytest.mark.parametrize("family", ["t5", "mt5", "umt5"])
@pytest.mark.parametrize("mode", ["feedback", "slots", None])
@pytest.mark.parametrize("ragged", [False, True])
def test_packed_loss_and_gradients_equal_per_pair_training(family, mode, ragged):
    example = Example(ragged=ragged, latent=mode is not None)
    model = retriever(
        example.vocabulary.slots,
        family,
        example.categories,
        mode or "",
        prior_dim=6,
        dropout_rate=0.0,
    )
    batch = pack(example.data(projected=example.vectors), np.arange(7))

    packed = full_sid.loss(model(batch), batch, Context(), FullSidSettings()).mean
    ours = torch.autograd.grad(packed, list(model.parameters()), allow_unused=True)
    direct = per_pair_loss(model, example)
    theirs = torch.autograd.grad(direct, list(model.parameters()), allow_unused=True)

    assert packed.item() == pytest.approx(direct.item(), abs=1e-9)
    for (name, _), one, other in zip(model.named_parameters(), ours, theirs, strict=True):
        if one is None or other is None:
            left = one if one is not None else other
            assert left is None or not left.abs().max(), name
        else:
            assert (one - other).abs().max() < 1e-6, name


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("siblings", ["high", "all", "none"])
def test_leaving_out_decided_prefixes_changes_no_loss_and_no_gradient(ragged, siblings):
    """With one identifier below a prefix, its legal children have nothing to compete with."""
    example = Example(ragged=ragged)
    model = retriever(example.vocabulary.slots, "t5", example.categories, dropout_rate=0.0)
    head = TreeHead(16, example.vocabulary.slots, rank=4)
    context = Context(normaliser="children", head=head)
    terms = {
        full_sid: FullSidSettings(),
        grouped: PerToken(),
        tree: TreeSettings(siblings=siblings, n_siblings=2),
        decoder_soft: NoSettings(),
    }
    weights = list(model.parameters()) + list(head.parameters())
    rows, results = [], []
    for skipped in (False, True):
        batch = pack(example.data(local=skipped), np.arange(7))
        found = model(batch)
        total = sum(
            one.loss(found, batch, context, settings).mean for one, settings in terms.items()
        )
        rows.append(int(batch.positions.shape[1]))
        results.append((total, torch.autograd.grad(total, weights, allow_unused=True)))
    assert rows[1] < rows[0]
    (whole, theirs), (short, ours) = results
    assert short.item() == pytest.approx(whole.item(), abs=1e-10)
    for one, other in zip(ours, theirs, strict=True):
        if one is not None and other is not None:
            torch.testing.assert_close(one, other, atol=1e-9, rtol=0)
        elif one is not None or other is not None:
            assert not (one if other is None else other).abs().max()


def test_a_batch_does_not_depend_on_its_neighbours():
    example = Example()
    model = retriever(example.vocabulary.slots, "t5", example.categories, dropout_rate=0.0)
    data = example.data()
    together = pack(data, np.array([3, 1]))
    alone = pack(data, np.array([1]))
    both, one = model(together), model(alone)
    for depth, step in enumerate(together.refinements):
        torch.testing.assert_close(both.logits[depth][step.query == 1], one.logits[depth])


def test_every_distinct_prefix_is_decoded_once():
    example = Example()
    data = example.data()
    for query in range(7):
        relevant = {tuple(example.codes[i]) for q, i, _ in example.pairs if q == query}
        prefixes = {sid[:d] for sid in relevant for d in range(1, 3)}
        assert data.n_rows[query] == len(prefixes) + 1 + 2
        assert pack(data, np.array([query])).positions.shape == (1, data.n_rows[query])


def test_targets_are_the_projected_relevance():
    example = Example()
    data = example.data()
    batch = pack(data, np.arange(7))
    for depth, step in enumerate(batch.refinements):
        assert float(step.mass.sum()) == pytest.approx(7)
        sums = torch.zeros(len(step.mass)).index_add(0, step.parent, step.share)
        torch.testing.assert_close(sums, torch.ones(len(step.mass)))
        assert float(step.pairs.sum()) == len(example.pairs)
        for n in range(len(step.mass)):
            node = example.tree.find(step.codes[n].tolist())
            _, children = example.tree.expand(depth, [node])
            legal = step.legal[step.legal_start[n] : step.legal_start[n + 1]]
            assert legal.tolist() == example.tree.codes[depth][children].tolist()


def test_query_weights_scale_a_querys_share_of_the_loss():
    example = Example(latent=False)
    model = retriever(example.vocabulary.slots, dropout_rate=0.0)
    weights = np.ones(7)
    weights[2] = 0.0
    weighted = pack(example.data(weight=weights), np.arange(7))
    without = pack(example.data(), np.array([0, 1, 3, 4, 5, 6]))
    context = Context()
    one = full_sid.loss(model(weighted), weighted, context, FullSidSettings()).mean
    other = full_sid.loss(model(without), without, context, FullSidSettings()).mean
    assert one.item() == pytest.approx(other.item())


def test_two_parts_of_a_batch_add_up_to_the_whole():
    example = Example()
    model = retriever(example.vocabulary.slots, "t5", example.categories, dropout_rate=0.0)
    data, whole = example.data(), np.arange(7)
    head = TreeHead(16, example.vocabulary.slots, rank=4)
    context = Context(categories=model.categories, head=head)
    drawn = np.array([0, 1, 4, 4, 9, 12, 13, 20, int(data.n_pairs.sum()) - 1])
    terms = {
        full_sid: FullSidSettings(),
        category_class: NoSettings(),
        category_contrast: ContrastSettings(),
        tree: TreeSettings(siblings="all"),
    }
    for batch in (Drawn(whole), Drawn(np.unique(data.pairs.query[drawn]), drawn)):
        mine = batch.queries
        parts = [pack(data, mine[:2], whole=batch), pack(data, mine[2:], whole=batch)]
        joined = pack(data, mine, whole=batch)
        for term, settings in terms.items():
            total = sum(term.loss(model(part), part, context, settings).mean for part in parts)
            expected = term.loss(model(joined), joined, context, settings).mean
            assert total.item() == pytest.approx(expected.item())


# -- drawn pairs -----------------------------------------------------------------------------------


def gradient(model, loss):
    found = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    return torch.cat([one.flatten() for one in found if one is not None])


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_drawn_pairs_alone_are_the_likelihood_and_the_category_targets(ragged, whole):
    """L_leaf and L_cls read the drawn pairs, each as often as drawn, whatever else is decoded."""
    example = Example(ragged=ragged)
    model = retriever(example.vocabulary.slots, "t5", example.categories, dropout_rate=0.0)
    data = example.data()
    drawn = np.sort(np.random.default_rng(1).choice(int(data.n_pairs.sum()), 9, replace=False))
    batch = Drawn(np.unique(data.pairs.query[drawn]), drawn)
    packed = pack(data, batch.queries, whole=batch, reads=Reads(whole=whole))
    relevance = example.relevance
    example.relevance = Relevance(  # the same queries with the drawn pairs alone
        np.arange(len(batch.queries)),
        np.searchsorted(batch.queries, relevance.row[drawn]),
        relevance.item[drawn],
        np.ones(9),
    )
    example.tokens = [example.tokens[q] for q in batch.queries]
    alone = pack(example.data(), np.arange(len(batch.queries)))
    context = Context(categories=model.categories)
    for term, settings in ((full_sid, FullSidSettings()), (category_class, NoSettings())):
        one = term.loss(model(packed), packed, context, settings).mean
        other = term.loss(model(alone), alone, context, settings).mean
        assert one.item() == pytest.approx(other.item(), abs=1e-10)
        torch.testing.assert_close(gradient(model, one), gradient(model, other))
    assert packed.n_pairs == 9
    rows = [len(step.row) for step in packed.refinements]
    assert rows == [len(step.row) for step in (packed.trees if whole else alone.refinements)]


def test_the_trees_of_drawn_pairs_are_whole():
    """L_tree and the positive sets of L_con read every relevant item of the queries present."""
    example = Example()
    model = retriever(example.vocabulary.slots, "t5", example.categories, dropout_rate=0.0)
    head = TreeHead(16, example.vocabulary.slots, rank=4, scale=1.0)
    context = Context(categories=model.categories, head=head)
    data = example.data()
    drawn = np.array([0, 7, 8, 20])
    batch = Drawn(np.unique(data.pairs.query[drawn]), drawn)
    packed = pack(data, batch.queries, whole=batch)
    everything = pack(data, batch.queries)
    for term, settings in (
        (tree, TreeSettings(siblings="all")),
        (category_contrast, ContrastSettings()),
    ):
        one = term.loss(model(packed), packed, context, settings).mean
        other = term.loss(model(everything), everything, context, settings).mean
        assert one.item() == pytest.approx(other.item(), abs=1e-10)
    assert pack(data, batch.queries, whole=batch, reads=Reads(trees=False)).trees == ()


def test_over_an_epoch_the_gradient_of_drawn_pairs_is_that_of_whole_queries():
    """Every pair is drawn once, so the mean over equal batches is the mean over all pairs."""
    example = Example(queries=8)
    example.relevance = replace_pairs(example, pairs=6)
    model = retriever(example.vocabulary.slots, "t5", example.categories, dropout_rate=0.0)
    data = example.data()
    whole = pack(data, np.arange(8))
    expected = gradient(
        model, full_sid.loss(model(whole), whole, Context(), FullSidSettings()).mean
    )
    for seed in range(3):
        listed = batches(data, [QueryRange(0, 8)], pairs=12, seed=seed, epoch=0, batching="pairs")
        assert [len(one.pairs) for one in listed] == [12] * 4
        found = []
        for one in listed:
            batch = pack(data, one.queries, whole=one)
            loss = full_sid.loss(model(batch), batch, Context(), FullSidSettings()).mean
            found.append(gradient(model, loss))
        torch.testing.assert_close(torch.stack(found).mean(0), expected, atol=1e-7, rtol=0)


def test_drawing_a_pair_adds_the_variance_of_its_equation_at_a_branching_parent():
    """Eq. gradient-variance: at the root, one drawn pair has gradient p - e_v, with variance 1 - |mu|^2."""
    example = Example(queries=1, latent=False)
    rng = np.random.default_rng(0)
    items = rng.choice(60, 8, replace=False)
    example.relevance = Relevance.of(np.zeros(8, int), items, np.ones(8))
    model = retriever(example.vocabulary.slots, dropout_rate=0.0)
    data = example.data()

    def at_root(drawn):
        batch = pack(data, np.array([0]), whole=drawn)
        found = model(batch)
        loss = full_sid.loss(found, batch, Context(), FullSidSettings()).mean
        return torch.autograd.grad(loss, found.logits[0])[0][0]

    explicit = at_root(Drawn(np.array([0])))
    drawn = torch.stack([at_root(Drawn(np.array([0]), np.array([pair]))) for pair in range(8)])
    torch.testing.assert_close(drawn.mean(0), explicit)
    share = pack(data, np.array([0])).refinements[0].share
    assert len(share) > 1
    variance = (drawn - explicit).square().sum(1).mean()
    assert variance.item() == pytest.approx(1 - float(share.square().sum()))


def replace_pairs(example, pairs):
    """Equally many relevant items a query."""
    rng = np.random.default_rng(3)
    queries = len(example.tokens)
    items = np.concatenate([rng.choice(60, pairs, replace=False) for _ in range(queries)])
    return Relevance.of(np.repeat(np.arange(queries), pairs), items, np.ones(len(items)))
