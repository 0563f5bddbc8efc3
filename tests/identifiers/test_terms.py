"""Every loss term of the systems against explicit loops, and doing what it is for on the tiny shop."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rars.config import IdentifierSettings, checked
from rars.data import Dataset
from rars.data.shop import make_shop
from rars.errors import RarsError
from rars.identifiers import catalogue_categories, contrast, item_vectors, learn_identifiers
from rars.identifiers.contrast import info_nce, supervised, symmetric
from rars.identifiers.grade_triplets import triplets
from rars.identifiers.keys import row_keys
from rars.identifiers.learner import Scene
from rars.identifiers.mates import NONE, Mates
from rars.identifiers.poincare import distance, exp
from rars.identifiers.quantisation import TERMS
from rars.identifiers.query_mates import QUERY
from rars.identifiers.rqvae import RqvaeSettings
from rars.identifiers.rqvae_network import (
    Network,
    Objective,
    start_codebooks,
    train_epoch,
    trained,
)

SIZES = (8, 8, 8)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop") / "tiny"
    make_shop(folder, size="tiny")
    return Dataset.load(folder)


@pytest.fixture(scope="module")
def vectors(dataset, tmp_path_factory):
    return np.asarray(item_vectors(dataset, cache=tmp_path_factory.mktemp("cache"))[0])


@pytest.fixture(scope="module")
def scene(dataset, vectors):
    categories = catalogue_categories(dataset, 3, lambda: vectors, 0)
    return Scene(dataset, vectors, categories, SIZES, 3)


def step_of(scene, count=40, curvature=0.0):
    network = Network([scene.points.shape[1], 16, 6], SIZES, 0, curvature)
    start_codebooks(network, scene.points, 0)
    return network.step(scene, np.arange(5, 5 + count), RqvaeSettings(), (1, 0))


def value(name, step, **own):
    term = TERMS[name]
    return float(term.started(step.scene, term.settings.model_validate(own))(step).detach())


def cosine(a, b):
    return float((a @ b / (a.norm() * b.norm())).detach())


def cross(scores, own):
    return -(scores[own] - np.log(np.exp(scores).sum()))


# --- the shared formulas -------------------------------------------------------------------------


def test_contrastive_losses_are_those_of_loops():
    one, other = torch.randn(
        2, 5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    scores = np.array([[cosine(a, b) for b in other] for a in one])
    expected = np.mean([cross(scores[i] / 0.1, i) for i in range(5)])
    assert float(info_nce(one, other, 0.1)) == pytest.approx(expected)
    both = [cross(scores[i] * 7, i) + cross(scores[:, i] * 7, i) for i in range(5)]
    assert float(symmetric(one, other, torch.tensor(7.0))) == pytest.approx(np.mean(both) / 2)


@pytest.mark.parametrize("strip", [1, 3, 7, 256])
def test_sums_over_all_other_rows_and_their_gradient_are_those_of_the_whole_matrix(
    strip, monkeypatch
):
    monkeypatch.setattr(contrast, "_STRIP", strip)
    rows = torch.randn(7, 4, dtype=torch.float64, requires_grad=True)
    scores = (3.0 * rows @ rows.T).masked_fill(torch.eye(7, dtype=torch.bool), -torch.inf)
    weights = torch.randn(7, dtype=torch.float64)
    expected = torch.logsumexp(scores, dim=1)
    found = contrast.others_logsumexp(rows, 3.0)
    torch.testing.assert_close(found, expected)
    [mine] = torch.autograd.grad(found @ weights, rows)
    [theirs] = torch.autograd.grad(expected @ weights, rows)
    torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("scale", [1.0, 45.0, 300.0])
def test_sums_over_other_rows_are_finite_however_sharp(scale):
    """Opposite rows at a small temperature: float32 alone would take the logarithm of nothing."""
    rows = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [-0.8, 0.6]], requires_grad=True)
    exact = rows.detach().double().requires_grad_()
    scores = (scale * exact @ exact.T).masked_fill(torch.eye(3, dtype=torch.bool), -torch.inf)
    expected = torch.logsumexp(scores, dim=1)
    found = contrast.others_logsumexp(rows, scale)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected.float(), rtol=1e-5, atol=1e-4)
    [mine] = torch.autograd.grad(found.sum(), rows)
    [theirs] = torch.autograd.grad(expected.sum(), exact)
    torch.testing.assert_close(mine, theirs.float(), rtol=1e-4, atol=1e-4)


def test_the_supervised_loss_is_that_of_loops():
    rows = torch.randn(7, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    labels = [0, 1, 0, 2, 1, 0, -1]
    each = []
    for i in range(7):
        others = [a for a in range(7) if a != i]
        total = sum(np.exp(cosine(rows[i], rows[a]) / 0.5) for a in others)
        partners = [a for a in others if labels[a] == labels[i] >= 0]
        if partners:
            logs = [cosine(rows[i], rows[p]) / 0.5 - np.log(total) for p in partners]
            each.append(-np.mean(logs))
    assert len(each) == 5
    once, none = torch.tensor(labels)[:, None], torch.full((7, 1), -1)
    assert float(supervised(rows, once, 0.5)) == pytest.approx(np.mean(each))
    assert float(supervised(rows, none, 0.5)) == 0
    twice = supervised(rows, torch.cat([once, none, once], dim=1), 0.5)
    assert float(twice) == pytest.approx(2 * np.mean(each))


# --- the terms, by their descriptions ------------------------------------------------------------


def test_query_mates_and_alignment_are_those_of_loops(scene):
    step, mates = step_of(scene), Mates.of(scene.dataset)
    place = mates.drawn(step.rows, step.random(QUERY))
    partner = mates.mates(place, step.random("a mate"))
    assert (place != NONE).sum() > 10
    rows = [
        row if at == NONE else mates.item[at] for row, at in zip(step.rows, partner, strict=True)
    ]
    other = step.look(np.array(rows))
    expected = 0.0
    for depth, weight in ((0, 1.0), (2, 0.5)):
        mine, theirs = step.residual(depth).detach(), other.residual(depth).detach()
        scores = np.array([[cosine(a, b) / 0.2 for b in theirs] for a in mine])
        short = mine.norm(dim=1).mean() / step.latent.detach().norm(dim=1).mean()
        expected += (
            weight * float(short) * np.mean([cross(scores[i], i) for i in range(len(scores))])
        )
    found = value("query-mates", step, levels=(1.0, 0.0, 0.5), temperature=0.2)
    assert found == pytest.approx(expected, rel=1e-4)

    near = []
    for row, at in zip(range(len(rows)), place, strict=True):
        if at == NONE:
            near.append(1.0)
            continue
        query, grade = mates.query[at], mates.grade[at]
        best = mates.grade[mates.query == query].max()
        items = mates.item[(mates.query == query) & (mates.grade == best)]
        asked = step.encode(torch.from_numpy(scene.points[items].mean(axis=0))[None])[0]
        near.append({3: 1.0, 2: 1 / 2, 1: 1 / 3}[int(grade)] * cosine(step.latent[row], asked))
    assert value("query-alignment", step) == pytest.approx(1 - np.mean(near), rel=1e-4)


def test_grade_triplets_are_of_one_query_and_their_loss_that_of_loops(scene):
    step, mates = step_of(scene), Mates.of(scene.dataset)
    grade = {(q, i): g for q, i, g in zip(mates.query, mates.item, mates.grade, strict=True)}
    found = triplets(mates, step.rows, step)
    assert len(found) > 5
    expected = 0.0
    for anchor, positive, negative in found:
        queries = [
            q for q, i in grade if i == anchor and {(q, positive), (q, negative)} <= grade.keys()
        ]
        assert any(grade[q, anchor] == grade[q, positive] > grade[q, negative] for q in queries), (
            "two of one grade, and one of a lower one"
        )
        assert anchor != positive
        seen = step.look(np.array([anchor, positive, negative])).residual(1).detach()
        near, far = (seen[0] - seen[1]).norm(), (seen[0] - seen[2]).norm()
        expected += max(0.0, float(near - far) + 0.2) / len(found)
    assert value("grade-triplets", step, levels=(0, 1)) == pytest.approx(expected, rel=1e-3)


def test_the_terms_of_cat_id2_are_those_of_loops(scene):
    step = step_of(scene, count=12)
    expected = 0.0
    for book, depth in zip(step.books, range(3), strict=True):
        near = -torch.cdist(step.residual(depth), book).square()
        use = torch.softmax(near, dim=1).mean(0).detach().numpy()
        expected += sum(one * np.log(one * len(use)) for one in use)
    # Codes that are used almost alike: single precision leaves a few 1e-8 of such a divergence open.
    assert value("cluster-scale", step) == pytest.approx(expected, rel=1e-3, abs=1e-7)

    unit = step.rebuilt.detach() / step.rebuilt.detach().norm(dim=1, keepdim=True)
    pairs = [
        np.exp(-float((unit[i] - unit[j]).square().sum()) / 0.5)
        for i in range(12)
        for j in range(12)
        if i != j
    ]
    assert value("dispersion", step) == pytest.approx(np.log(np.mean(pairs)), rel=1e-4)

    nodes, total = scene.categories.nodes[step.rows], 0.0
    for level in range(nodes.shape[1]):
        labels = torch.from_numpy(np.array(nodes[:, [level]], dtype=np.int64))
        total += float(supervised(step.latent.detach(), labels, 0.1))
    assert value("category-constraint", step) == pytest.approx(total, rel=1e-4)


def test_co_occurrence_pairs_average_three_symmetric_losses_with_scales_that_train(scene):
    step, mates = step_of(scene), Mates.of(scene.dataset).exact()
    place = mates.drawn(step.rows, step.random("an exact query"))
    partner = mates.mates(place, step.random("an exact mate"))
    known = np.flatnonzero(partner != NONE)
    other = step.look(mates.item[partner[known]])
    rebuilt, scale = step.rebuilt[known], torch.tensor(1 / 0.07)
    parts = (other.rebuilt, other.batch, step.batch[known])
    expected = np.mean([float(symmetric(rebuilt, one, scale).detach()) for one in parts])
    assert value("pair-contrast", step) == pytest.approx(expected, rel=1e-4)
    term = TERMS["pair-contrast"].started(scene, TERMS["pair-contrast"].settings())
    term(step).backward()
    assert term.scale.grad.abs().min() > 0


def test_the_hyperbolic_losses_are_squared_distances_of_the_ball(scene):
    step = step_of(scene, curvature=0.8)
    expected = 0.0
    for depth, word in enumerate(step.words):
        apart = distance(exp(step.residual(depth), 0.8), exp(word, 0.8), 0.8).square().mean()
        expected += 1.5 * float(apart.detach())
    assert value("hyperbolic-codebook", step, commitment=0.5) == pytest.approx(expected, rel=1e-4)
    whole = distance(exp(step.rebuilt, 0.8), exp(step.batch, 0.8), 0.8).square().mean()
    assert value("hyperbolic-reconstruction", step) == pytest.approx(
        float(whole.detach()), rel=1e-4
    )


def test_terms_draw_anew_at_every_step_and_alike_for_one_purpose(scene):
    network = Network([scene.points.shape[1], 16, 6], SIZES, 0)
    rows = np.arange(4)
    one, same, next_ = (network.step(scene, rows, None, at) for at in ((1, 0), (1, 0), (1, 4)))
    assert np.array_equal(one.random("a").random(5), same.random("a").random(5))
    assert not np.array_equal(one.random("a").random(5), next_.random("a").random(5))
    assert not np.array_equal(one.random("a").random(5), one.random("b").random(5))
    assert np.array_equal(one.look(np.array([9])).batch[0].numpy(), scene.points[9])


# --- what each is for ----------------------------------------------------------------------------

MATES, PURITY, EVEN = 0.2, 0.1, 0.4
"""Margins, about half of what this seed gained beforehand: 0.47, 0.22 and 0.9."""


@pytest.fixture(scope="module")
def learned(dataset, vectors):
    small = {"hidden": (64,), "dim": 16, "epochs": 20, "batch": 128, "evaluate_every": 10}

    def learn(*terms):
        listed = [{"term": "codebook"}, {"term": "reconstruction"}, *terms]
        chosen = {"learner": "rqvae", "sizes": (16, 16, 16), "collisions": "share"}
        settings = checked(
            IdentifierSettings, {**chosen, "rqvae": {**small, "terms": listed}}, "identifiers"
        )
        return learn_identifiers(dataset, settings, vectors=vectors)

    return {
        "plain": learn(),
        "mates": learn({"term": "query-mates", "weight": 0.05}),
        "categories": learn({"term": "category-constraint", "weight": 0.1}),
        "even": learn({"term": "cluster-scale", "weight": 1.0}),
    }


def test_query_mates_share_first_codes(dataset, learned):
    one, other = Mates.of(dataset).neighbours()

    def together(name):
        first = learned[name].codes[:, 0]
        return (first[one] == first[other]).mean()

    assert together("mates") > together("plain") + MATES


def test_prefixes_follow_categories(scene, learned):
    def purity(name):
        prefix = np.unique(row_keys(learned[name].codes[:, :1]), return_inverse=True)[1]
        node = scene.categories.nodes[:, 0]
        table = np.zeros((prefix.max() + 1, node.max() + 1))
        np.add.at(table, (prefix, node), 1)
        return table.max(axis=1).sum() / len(node)

    assert purity("categories") > purity("plain") + PURITY


def test_the_category_constraint_does_not_drive_latents_away(scene):
    """Asked of residuals it did: codebooks followed, the loss was never content, and all collapsed."""
    terms = [{"term": one} for one in ("codebook", "reconstruction", "category-constraint")]
    terms[-1]["weight"] = 0.01
    settings = RqvaeSettings.model_validate({"terms": terms, "batch": 128})
    network = Network([scene.points.shape[1], 64, 16], (16, 16, 16), 0)
    start_codebooks(network, scene.points, 0)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    objective, rng, far = Objective(scene, settings), np.random.default_rng(0), []
    for epoch in range(1, 61):
        train_epoch(network, optimizer, objective, settings, rng, scene=scene, epoch=epoch)
        if epoch % 20 == 0:
            step = network.step(scene, np.arange(len(scene.points)), None)
            far.append(float(step.latent.detach().norm(dim=1).mean()))
    assert far[2] < 1.2 * far[0]  # 1.5 times as far, and going on, of residuals


def test_a_training_that_diverges_says_so_at_once(scene):
    settings = RqvaeSettings.model_validate({"epochs": 50, "lr": 1e12})
    with pytest.raises(RarsError, match=r"diverged in epoch \d; lower identifiers\.rqvae\.lr"):
        trained(scene, settings)


def test_codes_are_used_more_evenly(learned):
    def perplexity(name):
        return learned[name].health().depths[0].perplexity

    assert perplexity("even") > perplexity("plain") + EVEN
