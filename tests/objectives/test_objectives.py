"""Each objective equals its equation, computed naively parent by parent, and obeys the paper's identities."""

from __future__ import annotations

import dataclasses
import math

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
    sampled_tree,
    tree,
)
from rars.objectives import siblings as competition
from rars.objectives.category_contrast import ContrastSettings
from rars.objectives.common import Context, Ground
from rars.objectives.full_sid import FullSidSettings
from rars.objectives.sampled_tree import SampledSettings
from rars.objectives.siblings import tree_head
from rars.objectives.tree import TreeSettings
from rars.training.packing import pack
from tests.model.small import Example, retriever

pytestmark = pytest.mark.usefixtures("float64")

WHOLE, PER_TOKEN, NONE = FullSidSettings(), FullSidSettings(per_token=True), NoSettings()


def ready(seed=0, siblings="all", n_siblings=32, **kinds):
    example = Example(seed, **kinds)
    model = retriever(example.vocabulary.slots, "t5", example.categories, dropout_rate=0.0)
    head = TreeHead(16, example.vocabulary.slots, rank=6)
    with torch.no_grad():
        for values in head.parameters():
            values.normal_()
    batch = pack(example.data(), np.arange(len(example.tokens)))
    settings = TreeSettings(siblings=siblings, n_siblings=n_siblings)
    context = Context(head=head, categories=model.categories)
    return example, model, batch, model(batch), context, settings


def head_score(head, depth, pooled, path, slot):
    """Eq. tree-score for one child, with loops."""
    gate = torch.ones(head.rank)
    if path:
        gate = 1 + torch.tanh(sum(head.prefixes[j][code] for j, code in enumerate(path)))
    context = head.depths[depth].weight @ pooled * gate
    child = head.embeddings(depth)[slot]
    return child @ context / math.sqrt(head.rank) + head.biases[depth][slot]


def mass_below(example, query, prefix):
    pairs = [(i, rho) for q, i, rho in example.pairs if q == query]
    total = sum(rho for _, rho in pairs)
    return sum(rho for i, rho in pairs if tuple(example.codes[i][: len(prefix)]) == prefix) / total


def naive_tree_loss(example, pooled, head, choose):
    """Eq. tree-loss by its definition: every query, depth, parent and child in turn."""
    loss = 0.0
    catalogue = {tuple(c) for c in example.codes.tolist()}
    for query in range(len(example.tokens)):
        relevant = {tuple(example.codes[i]) for q, i, _ in example.pairs if q == query}
        for depth in range(example.codes.shape[1]):
            for parent in {sid[:depth] for sid in relevant}:
                children = sorted({sid[depth] for sid in relevant if sid[:depth] == parent})
                legal = sorted({sid[depth] for sid in catalogue if sid[:depth] == parent})
                score = {v: head_score(head, depth, pooled[query], parent, v) for v in legal}
                kept = choose(children, legal, score)
                log_z = torch.logsumexp(torch.stack([score[v] for v in kept]), 0)
                mass = mass_below(example, query, parent)
                for v in children:
                    share = mass_below(example, query, (*parent, v)) / mass
                    loss = loss + mass * share * (math.log(share) - (score[v] - log_z))
    return loss / len(example.tokens)


def high(most):
    def choose(children, legal, score):
        rivals = sorted((v for v in legal if v not in children), key=lambda v: -score[v].item())
        return children + rivals[:most]

    return choose


CHOICES = {
    "all": (TreeSettings().n_siblings, lambda children, legal, score: legal),
    "none": (TreeSettings().n_siblings, lambda children, legal, score: children),
    "high": (2, high(2)),
}


@pytest.mark.parametrize("siblings", CHOICES)
@pytest.mark.parametrize("way", ["dense", "ragged"])
@pytest.mark.parametrize("seed", [0, 1])
def test_tree_loss_equals_its_equation(siblings, way, seed, monkeypatch):
    monkeypatch.setattr(competition, "_DENSE_FROM", 0.0 if way == "dense" else 2.0)
    most, choose = CHOICES[siblings]
    example, _, batch, found, context, settings = ready(seed, siblings, most)
    expected = naive_tree_loss(example, found.encoded.pooled, context.head, choose)
    assert tree.loss(found, batch, context, settings).mean.item() == pytest.approx(
        expected.item(), abs=1e-9
    )


def test_the_tree_loss_can_read_the_decoders_first_state():
    example, _, batch, found, context, settings = ready(siblings="all")
    settings = settings.model_copy(update={"state": "decoder"})
    expected = naive_tree_loss(example, found.first, context.head, CHOICES["all"][1])
    assert tree.loss(found, batch, context, settings).mean.item() == pytest.approx(expected.item())


def test_the_first_state_is_what_the_first_code_is_predicted_from():
    _, model, batch, found, _, _ = ready()
    expected = model.code_outputs[0](found.first)[batch.refinements[0].query]
    torch.testing.assert_close(found.logits[0], expected)


def test_weights_of_depths_weigh_each_depths_part_of_the_sum():
    _, _, batch, found, context, settings = ready(siblings="all")

    def total(*depths):
        changed = settings.model_copy(update={"depths": depths})
        return tree.loss(found, batch, context, changed).mean.item()

    count = len(batch.trees)
    alone = [total(*(float(at == one) for at in range(count))) for one in range(count)]
    assert all(part > 0 for part in alone)
    assert total() == total(1.0) == pytest.approx(sum(alone))
    assert total(0.5, 3.0) == pytest.approx(0.5 * alone[0] + 3 * alone[1] + sum(alone[2:]))


@pytest.mark.parametrize("pull", [0.0, 0.25])
def test_a_weaker_pull_trains_the_head_as_before_and_the_encoder_less(pull):
    _, model, batch, found, context, settings = ready(siblings="all")
    head, encoder = list(context.head.parameters()), list(model.encoder.parameters())

    def gradients(of, by):
        loss = tree.loss(found, batch, context, settings.model_copy(update={"pull": by})).mean
        return torch.autograd.grad(loss, of, retain_graph=True, allow_unused=True)

    for one, other in zip(gradients(head, pull), gradients(head, 1.0), strict=True):
        torch.testing.assert_close(one, other)
    reached = 0
    for one, other in zip(gradients(encoder, pull), gradients(encoder, 1.0), strict=True):
        if other is not None:
            torch.testing.assert_close(
                torch.zeros_like(other) if one is None else one, pull * other
            )
            reached += int(other.abs().max() > 0)
    assert reached, "the tree loss reaches the encoder"


def test_a_tied_head_reads_and_trains_the_decoders_code_tables():
    example, model, batch, found, context, settings = ready(siblings="all")
    tied = settings.model_copy(update={"start": "tied", "rank": 6})
    head = tree_head(model, tied, Ground()).to(found.first.dtype)
    own = {id(one) for one in head.parameters()}
    assert not own & {id(one) for one in model.parameters()}, "the tables stay the model's"
    expected = naive_tree_loss(example, found.encoded.pooled, head, CHOICES["all"][1])
    loss = tree.loss(found, batch, dataclasses.replace(context, head=head), tied).mean
    assert loss.item() == pytest.approx(expected.item())
    tables = [one.weight for one in model.code_outputs]
    assert all(float(g.abs().max()) > 0 for g in torch.autograd.grad(loss, tables))


def test_dense_and_ragged_gradients_agree(monkeypatch):
    _, _, batch, found, context, settings = ready(siblings="high", n_siblings=2)
    gradients = []
    for share in (0.0, 2.0):
        monkeypatch.setattr(competition, "_DENSE_FROM", share)
        loss = tree.loss(found, batch, context, settings).mean
        gradients.append(
            torch.autograd.grad(loss, list(context.head.parameters()), retain_graph=True)
        )
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("way", [0.0, 2.0])
def test_random_siblings_are_legal_rivals_and_as_many_as_asked(way, monkeypatch):
    monkeypatch.setattr(competition, "_DENSE_FROM", way)
    _, _, batch, found, context, settings = ready(siblings="random", n_siblings=1)
    generator = torch.Generator().manual_seed(0)
    seeded = dataclasses.replace(context, generator=generator)
    drawn = tree.loss(found, batch, seeded, settings).mean
    none = tree.loss(found, batch, context, TreeSettings(siblings="none")).mean
    everyone = tree.loss(found, batch, context, TreeSettings(siblings="all")).mean
    assert none < drawn < everyone


def test_with_all_siblings_the_tree_loss_is_the_divergence_of_whole_paths():
    # Eq. global-kl: local divergences weighted by parent mass add up to KL(mu_L || p_tree).
    example, _, batch, found, context, settings = ready(siblings="all")
    path_log_p, path_mass = _path_distributions(batch, found, context, settings)
    expected = (path_mass * (path_mass.log() - path_log_p)).sum() / len(example.tokens)
    torch.testing.assert_close(tree.loss(found, batch, context, settings).mean, expected)


def test_grouped_is_tree_plus_entropy_under_matched_parameters():
    # The decoder's own logits stand in for the head's, normalised over all choices in both losses.
    example, _, batch, found, context, _settings = ready()
    everything = tuple(
        dataclasses.replace(
            step,
            legal_start=torch.arange(len(step.mass) + 1) * logits.shape[1],
            legal=torch.arange(logits.shape[1]).repeat(len(step.mass)),
        )
        for step, logits in zip(batch.refinements, found.logits, strict=True)
    )
    full = dataclasses.replace(batch, refinements=everything)
    leaves = [
        mass_below(example, q, tuple(sid))
        for q in range(len(example.tokens))
        for sid in {tuple(example.codes[i]) for p, i, _ in example.pairs if p == q}
    ]
    entropy = -sum(m * math.log(m) for m in leaves) / len(example.tokens)
    tree_like = decoder_soft.loss(found, full, context, NONE).mean.item()
    assert grouped.loss(found, batch, context, WHOLE).mean.item() == pytest.approx(
        tree_like + entropy
    )


def test_decoder_soft_equals_its_equation():
    example, _, batch, found, context, _settings = ready()
    expected = 0.0
    for depth, step in enumerate(batch.refinements):
        for n in range(len(step.mass)):
            legal = step.legal[step.legal_start[n] : step.legal_start[n + 1]]
            log_p = torch.log_softmax(found.logits[depth][n, legal], 0)
            for e in torch.nonzero(step.parent == n).flatten():
                at = (legal == step.slot[e]).nonzero().item()
                share = step.share[e]
                expected = expected + step.mass[n] * share * (share.log() - log_p[at])
    expected = expected / len(example.tokens)
    torch.testing.assert_close(decoder_soft.loss(found, batch, context, NONE).mean, expected)


def test_full_sid_mean_over_codes_is_the_sum_over_their_number():
    _, _, batch, found, context, _settings = ready()
    per_token = full_sid.loss(found, batch, context, PER_TOKEN).mean
    assert per_token.item() * 3 == pytest.approx(
        full_sid.loss(found, batch, context, WHOLE).mean.item()
    )


def test_the_tree_loss_reaches_head_and_encoder_and_never_the_decoder():
    _, model, batch, found, context, settings = ready(siblings="high", n_siblings=2)
    tree.loss(found, batch, context, settings).mean.backward()
    assert all(p.grad is not None for p in context.head.parameters())
    for name, parameter in model.named_parameters():
        touched = parameter.grad is not None and bool(parameter.grad.abs().max() > 0)
        if not name.startswith("encoder.stack"):
            assert not touched, name
    assert model.encoder.stack.block[0].layer[0].SelfAttention.q.weight.grad.abs().max() > 0


def test_a_single_positive_reduces_to_a_deterministic_path():
    example, model, _, _, context, _settings = ready(siblings="all")
    example.relevance = dataclasses.replace(
        example.relevance,
        row=np.arange(7),
        item=example.relevance.item[:7],
        mass=np.ones(7),
    )
    batch = pack(example.data(), np.arange(7))
    found = model(batch)
    assert all((step.share == 1).all() for step in batch.refinements)
    torch.testing.assert_close(
        grouped.loss(found, batch, context, WHOLE).mean,
        full_sid.loss(found, batch, context, WHOLE).mean,
    )


def test_sampled_gradients_have_the_explicit_mean_and_the_gini_variance():
    # Eq. gradient-variance, by drawing many targets at one branching root.
    _example, _, batch, _found, _context, _settings = ready(siblings="all")
    step = batch.refinements[0]
    query = int(torch.bincount(step.parent).argmax())
    edges = torch.nonzero(step.parent == query).flatten()
    share = step.share[edges]
    generator = torch.Generator().manual_seed(0)
    draws = torch.stack([sampled_tree.draw(step, generator)[query] for _ in range(20_000)])
    frequency = torch.bincount(draws - edges[0], minlength=len(edges)) / len(draws)
    torch.testing.assert_close(frequency, share, atol=0.015, rtol=0)

    scores = torch.randn(len(edges), requires_grad=True)
    explicit = torch.autograd.grad(-(share * scores.log_softmax(0)).sum(), scores)[0]
    one_hot = torch.nn.functional.one_hot(draws - edges[0], len(edges)).double()
    sampled = scores.softmax(0).detach() - one_hot
    torch.testing.assert_close(sampled.mean(0), explicit, atol=0.015, rtol=0)
    variance = (sampled - explicit).square().sum(1).mean()
    torch.testing.assert_close(variance, 1 - share.square().sum(), atol=0.02, rtol=0)


@pytest.mark.parametrize("one_path", [False, True])
def test_expected_sampled_loss_is_the_tree_loss_up_to_the_entropy_of_the_targets(one_path):
    _, _, batch, found, context, settings = ready(siblings="all")
    entropy = sum(
        -(step.mass[step.parent] * step.share * step.share.log()).sum()
        for step in batch.refinements
    ) / len(batch.weight)
    generator = torch.Generator().manual_seed(1)
    context = dataclasses.replace(context, generator=generator)
    drawn_settings = SampledSettings(siblings="all", one_path=one_path)
    with torch.no_grad():
        drawn = [
            sampled_tree.loss(found, batch, context, drawn_settings).mean.item()
            for _ in range(3000)
        ]
        explicit = tree.loss(found, batch, context, settings).mean + entropy
    error = np.std(drawn) / math.sqrt(len(drawn))
    assert np.mean(drawn) == pytest.approx(explicit.item(), abs=4 * error)


def test_tree_head_gradients_by_finite_differences():
    _example, _model, batch, found, context, settings = ready(siblings="all", queries=3, items=20)
    pooled = found.encoded.pooled.detach().requires_grad_()

    def loss(pooled, *values):
        with torch.no_grad():
            for parameter, value in zip(context.head.parameters(), values, strict=True):
                parameter.copy_(value)
        stand_in = dataclasses.replace(found.encoded, pooled=pooled)
        return tree.loss(
            dataclasses.replace(found, encoded=stand_in), batch, context, settings
        ).mean

    values = [p.detach().clone() for p in context.head.parameters()]
    analytic = torch.autograd.grad(loss(pooled, *values), [pooled, *context.head.parameters()])
    step = 1e-6
    rng = np.random.default_rng(0)
    for which, target in enumerate([pooled.detach(), *values]):
        at = tuple(rng.integers(0, n) for n in target.shape)
        ends = []
        for sign in (1, -1):
            moved = [pooled.detach().clone(), *(v.clone() for v in values)]
            moved[which][at] += sign * step
            ends.append(loss(*moved).item())
        assert analytic[which][at].item() == pytest.approx(
            (ends[0] - ends[1]) / (2 * step), abs=1e-6
        )


def test_category_losses_equal_their_equations():
    example, model, batch, found, context, _settings = ready()
    nodes, parents = example.categories.nodes, example.categories.parents
    cls = 0.0
    for query, item, _ in example.pairs:
        for level in range(2):
            node = nodes[item, level]
            if node < 0:
                continue
            above = nodes[item, level - 1] if level else 0
            scores = model.categories.logits(level, found.latents[:, level])[query]
            children = np.flatnonzero(parents[level] == above)
            log_r = torch.log_softmax(scores[children], 0)
            cls = cls - log_r[int(np.flatnonzero(children == node)[0])]
    found_cls = category_class.loss(found, batch, context, NONE).mean
    torch.testing.assert_close(found_cls, cls / len(example.pairs))

    con, rows = 0.0, 0
    for level in range(2):
        positive = [
            sorted({nodes[i, level] for q, i, _ in example.pairs if q == query} - {-1})
            for query in range(7)
        ]
        present = sorted({node for p in positive for node in p})
        for query, own in enumerate(positive):
            if own:
                state = found.latents[query, level]
                cosine = model.categories.similarities(level, state[None], torch.tensor(present))[0]
                log_s = torch.log_softmax(cosine / 0.1, 0)
                con = con - sum(log_s[present.index(node)] for node in own) / len(own)
                rows += 1
    found_con = category_contrast.loss(found, batch, context, ContrastSettings()).mean
    torch.testing.assert_close(found_con, con / 7)
    per_level = category_contrast.loss(found, batch, context, ContrastSettings(per_level=True))
    torch.testing.assert_close(per_level.mean, con / rows)


def test_a_uniqueness_suffix_can_be_left_out_of_the_tree_loss():
    _, _, batch, found, context, settings = ready(siblings="all")
    short = dataclasses.replace(batch, trees=batch.trees[:2])
    expected = tree.loss(found, short, context, settings).mean
    found_loss = tree.loss(found, batch, dataclasses.replace(context, tree_depths=2), settings).mean
    torch.testing.assert_close(found_loss, expected)


def _path_distributions(batch, found, context, settings):
    """log p_tree and mu of every complete relevant path, queries concatenated."""
    log_p = [
        competition.log_probabilities(d, step, found.encoded.pooled, context, settings)
        for d, step in enumerate(batch.refinements)
    ]
    last = batch.refinements[-1]
    total = log_p[-1]
    at = last.parent
    for depth in range(len(batch.refinements) - 1, 0, -1):
        edge = batch.refinements[depth].edge[at]
        total = total + log_p[depth - 1][edge]
        at = batch.refinements[depth - 1].parent[edge]
    return total, last.mass[last.parent] * last.share
