"""A tiny RQ-VAE is trained for real: what it starts from, trains for, revives and keeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch.nn import functional

from rars import unfinished
from rars.errors import RarsError
from rars.identifiers.keys import distinct
from rars.identifiers.learner import Scene
from rars.identifiers.rqvae import RqvaeSettings, fit_rqvae
from rars.identifiers.rqvae_network import (
    Network,
    Objective,
    assigned,
    exported,
    revive,
    start_codebooks,
    train_epoch,
)
from rars.unfinished import Unfinished

from .worlds import families

SIZES = (16, 16, 16)


def settings(**more):
    small = {"hidden": (64,), "dim": 8, "epochs": 30, "batch": 256, "lr": 1e-2, "evaluate_every": 5}
    return RqvaeSettings.model_validate(small | more)


SMALL = settings()


def scene_of(vectors, seed=42, advance=None):
    return Scene(dataset=None, vectors=vectors, sizes=SIZES, seed=seed, advance=advance)


@pytest.fixture(scope="module")
def vectors():
    return families(800)


@pytest.fixture(scope="module")
def trained(vectors):
    return fit_rqvae(scene_of(vectors, seed=1), SMALL)


def network_of(vectors, seed=0):
    network = Network([vectors.shape[1], *SMALL.hidden, SMALL.dim], SIZES, seed)
    start_codebooks(network, vectors, seed)
    return network


def step_of(network, vectors, count, chosen=SMALL):
    return network.step(scene_of(vectors), np.arange(count), chosen)


def loss_of(step, chosen):
    return Objective(step.scene, chosen)(step)


def one_epoch(network, optimizer, vectors, chosen, rng):
    scene = scene_of(vectors)
    train_epoch(network, optimizer, Objective(scene, chosen), chosen, rng, scene=scene)


def test_it_rebuilds_items_far_better_than_random_codes(vectors, trained):
    codes = trained.encode(vectors)
    shuffled = np.random.default_rng(0).permutation(codes)
    error = ((trained.decode(codes) - vectors) ** 2).mean()
    assert error < 0.5 * ((trained.decode(shuffled) - vectors) ** 2).mean()
    assert error < 0.5 * vectors.var()
    assert distinct(codes) > 300


def test_training_is_the_same_for_the_same_seed_and_leaves_the_global_generator_alone(vectors):
    brief = settings(epochs=3)
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one = fit_rqvae(scene_of(vectors, seed=1), brief)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(6)
    two = fit_rqvae(scene_of(vectors, seed=1), brief)
    other = fit_rqvae(scene_of(vectors, seed=2), brief)
    for mine, same in zip(one.tensors().values(), two.tensors().values(), strict=True):
        assert np.array_equal(mine, same)
    assert not np.array_equal(one.codebooks[0], other.codebooks[0])


def test_the_start_has_xavier_weights_zero_biases_and_kmeans_codebooks(vectors):
    network = network_of(vectors)
    first = network.encoder[0]
    expected = (2 / (first.in_features + first.out_features)) ** 0.5
    assert abs(float(first.weight.detach().std()) / expected - 1) < 0.15
    assert not first.bias.any()
    with torch.no_grad():
        residual = network.encoder(torch.from_numpy(vectors))
        for book in network.codebooks:
            code = assigned(residual, book, None)
            assert len(code.unique()) == len(book), "k-means leaves no code without items"
            left = residual - book[code]
            assert left.square().mean() < residual.square().mean()
            residual = left


# --- what it trains for --------------------------------------------------------------------------


def test_the_loss_is_reconstruction_plus_the_mean_of_codebook_and_commitment_terms(vectors):
    network = network_of(vectors)
    step = step_of(network, vectors, 100)
    batch = torch.from_numpy(vectors[:100])
    with torch.no_grad():
        residual = latent = network.encoder(batch)
        parts = []
        for book, code in zip(network.codebooks, step.codes, strict=True):
            distance = (residual - book[code]).square().mean()
            parts.append(distance + 0.25 * distance)
            residual = residual - book[code]
        rebuilt = functional.mse_loss(network.decoder(latent - residual), batch)
    assert torch.allclose(loss_of(step, SMALL), rebuilt + sum(parts) / 3, rtol=1e-5)
    weighed = settings(terms={"codebook": {"weight": 0.5}, "reconstruction": {"weight": 3}})
    expected = 3 * rebuilt + 0.5 * sum(parts) / 3
    assert torch.allclose(loss_of(step, weighed), expected, rtol=1e-5)


def test_a_step_shows_a_term_what_the_network_does(vectors):
    network = network_of(vectors)
    rows = np.array([3, 50, 7])
    step = network.step(scene_of(vectors), rows, SMALL)
    assert step.rows is rows
    assert np.array_equal(step.batch.numpy(), vectors[rows])
    last = step.residual(2) - step.words[2]
    assert torch.equal(step.residual(0), step.latent)
    assert torch.allclose(step.latent - sum(step.words), last, atol=1e-6)
    for depth, (book, code) in enumerate(zip(network.codebooks, step.codes, strict=True)):
        assert torch.equal(step.words[depth], book[code])
    assert torch.allclose(step.quantised, sum(step.words), atol=1e-6)
    assert torch.equal(step.rebuilt, network.decoder(step.quantised))


def test_the_commitment_weight_pulls_on_the_encoder_and_only_there(vectors):
    # A quantiser of a peer ignored this option for a year.
    network = network_of(vectors)
    gradients = {}
    for weight in (0.0, 4.0):
        chosen = settings(terms={"codebook": {"commitment": weight}})
        network.zero_grad()
        loss = loss_of(step_of(network, vectors, 64, chosen), chosen)
        loss.backward()
        gradients[weight] = (
            loss.item(),
            network.encoder[0].weight.grad.clone(),
            network.codebooks[0].grad.clone(),
        )
    assert gradients[4.0][0] > gradients[0.0][0]
    assert not torch.allclose(gradients[0.0][1], gradients[4.0][1])
    assert torch.equal(gradients[0.0][2], gradients[4.0][2])


def test_gradients_pass_straight_through_the_codes(vectors):
    network = network_of(vectors)
    alone = settings(terms=[{"term": "reconstruction"}])
    loss_of(step_of(network, vectors, 64, alone), alone).backward()
    assert network.encoder[0].weight.grad.abs().sum() > 0
    assert all(book.grad is None for book in network.codebooks)


def test_terms_are_named_once_and_known():
    assert [one.term for one in SMALL.terms] == ["codebook", "reconstruction"]
    assert settings(terms=SMALL.model_dump(mode="json")["terms"]) == SMALL
    twice = [{"term": "codebook"}, {"term": "codebook", "name": "other", "commitment": 1}]
    assert [one.name for one in settings(terms=twice).terms] == ["codebook", "other"]
    with pytest.raises(ValidationError, match="two terms are called 'codebook'"):
        settings(terms=[{"term": "codebook"}, {"term": "codebook"}])
    with pytest.raises(ValidationError, match="at least 1 item"):
        settings(terms={"codebook": False, "reconstruction": False})
    with pytest.raises(RarsError, match="no quantisation term 'magic'; choose one of codebook"):
        settings(terms=[{"term": "magic"}])
    with pytest.raises(RarsError, match=r"no setting 'terms\.codebook\.strength'"):
        settings(terms={"codebook": {"strength": 1}})


# --- the loop ------------------------------------------------------------------------------------


def test_the_last_depth_is_balanced_while_training(vectors):
    network = network_of(vectors)
    with torch.no_grad():
        network.codebooks[2][1:] += 50  # nearest-code assignment would now use code 0 alone
    step = step_of(network, vectors, 256)
    assert len(step.codes[2].unique()) > 8
    nearest, _ = network.quantise(step.latent)
    assert len(nearest[2].unique()) == 1


def test_a_revived_code_stays_where_it_was_put():
    # With stale optimiser state the old momentum carries it away at once, and it dies again.
    book = torch.nn.Parameter(torch.zeros(4, 2))
    optimizer = torch.optim.AdamW([book], lr=0.1, weight_decay=0.0)
    for _ in range(5):
        optimizer.zero_grad()
        (book * torch.tensor([[1.0], [1.0], [1.0], [100.0]])).sum().backward()
        optimizer.step()
    dead = torch.tensor([False, False, False, True])
    pool = torch.full((3, 2), 7.0)
    revive(book, dead, pool, optimizer, np.random.default_rng(0))
    kept = optimizer.state[book]["exp_avg"][:3].clone()
    assert kept.abs().min() > 0, "the other codes keep their state"
    for _ in range(3):
        optimizer.zero_grad()
        (book[:3] * 0).sum().backward()
        optimizer.step()
    assert torch.equal(book[3].detach(), torch.tensor([7.0, 7.0]))


def test_codes_nobody_used_for_an_epoch_come_back(vectors):
    network = network_of(vectors)
    with torch.no_grad():
        network.codebooks[0][3:] = 1e3
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    used = []
    for chosen in (settings(revive=False), SMALL):
        one_epoch(network, optimizer, vectors, chosen, np.random.default_rng(0))
        with torch.no_grad():
            latent = network.encoder(torch.from_numpy(vectors))
            used.append(len(assigned(latent, network.codebooks[0], None).unique()))
    assert used[0] <= 3
    assert used[1] > 8


def every_epoch(vectors, chosen, seed):
    """The quantiser after each epoch of the same training, from 1."""
    network = network_of(vectors, seed)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=chosen.lr, weight_decay=chosen.weight_decay
    )
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(chosen.epochs):
        one_epoch(network, optimizer, vectors, chosen, rng)
        found.append(exported(network))
    return found


@pytest.mark.parametrize(("seed", "every"), [(0, 1), (1, 1), (2, 1), (2, 4)])
def test_the_epoch_with_the_fewest_collisions_of_the_second_half_is_kept(vectors, seed, every):
    chosen = settings(epochs=10, evaluate_every=every, lr=3e-3)
    after = every_epoch(vectors, chosen, seed)
    apart = [distinct(one.encode(vectors)) for one in after]
    assert np.argmax(apart) == 0, "an encoder that has learned nothing tells items apart, too"
    measured = [epoch for epoch in range(6, 11) if epoch % every == 0 or epoch == 10]
    best = max(measured, key=lambda epoch: apart[epoch - 1])
    kept = fit_rqvae(scene_of(vectors, seed), chosen)
    same = [np.array_equal(kept.codebooks[0], one.codebooks[0]) for one in after]
    assert np.flatnonzero(same).tolist() == [best - 1]


def test_fewer_items_than_codes_and_memory_maps_are_fine(tmp_path):
    np.save(tmp_path / "v.npy", families(10))
    vectors = np.load(tmp_path / "v.npy", mmap_mode="r")
    seen = []
    quantizer = fit_rqvae(
        scene_of(vectors, advance=lambda *at: seen.append(at)), settings(epochs=2)
    )
    assert quantizer.sizes == SIZES
    assert quantizer.encode(vectors).shape == (10, 3)
    assert seen == [(1, 2), (2, 2)]


def test_plain_arrays_give_the_codes_that_training_measured(vectors):
    network = network_of(vectors)
    with torch.no_grad():
        codes, _ = network.quantise(network.encoder(torch.from_numpy(vectors)))
    assert np.array_equal(exported(network).encode(vectors), torch.stack(codes, 1).numpy())


@pytest.mark.parametrize("at", [1, 4, 6, 8])
def test_a_killed_training_goes_on_to_the_same_bits(vectors, tmp_path, at, monkeypatch):
    monkeypatch.setattr(unfinished, "_SHARE", np.inf)  # kept after every epoch
    chosen = settings(epochs=8, evaluate_every=2, revive=True)
    wanted = fit_rqvae(scene_of(vectors, seed=3), chosen)

    def kill(done, total):
        if done == at:
            raise KeyboardInterrupt

    def place():
        return Unfinished.of("test", "rqvae", cache=tmp_path, seconds=0.0)

    with pytest.raises(KeyboardInterrupt), place() as kept:
        fit_rqvae(replace(scene_of(vectors, seed=3, advance=kill), kept=kept), chosen)
    seen = []
    with place() as kept:
        again = scene_of(vectors, seed=3, advance=lambda n, _: seen.append(n))
        found = fit_rqvae(replace(again, kept=kept), chosen)
    assert seen == list(range(at + 1, 9))
    for one, other in zip(found.codebooks, wanted.codebooks, strict=True):
        assert np.array_equal(one, other)
    for one, other in ((found.encoder, wanted.encoder), (found.decoder, wanted.decoder)):
        assert all(map(np.array_equal, one.weights, other.weights))
