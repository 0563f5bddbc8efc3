from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from rars.config import RqvaeSettings
from rars.identifiers.keys import distinct
from rars.identifiers.rqvae import (
    Network,
    assigned,
    exported,
    fit_rqvae,
    revive,
    start_codebooks,
    train_epoch,
)

from .worlds import families

SMALL = RqvaeSettings(hidden=(64,), dim=8, epochs=30, batch=256, lr=1e-2, evaluate_every=5)
SIZES = (16, 16, 16)


@pytest.fixture(scope="module")
def vectors():
    return families(800)


@pytest.fixture(scope="module")
def trained(vectors):
    return fit_rqvae(vectors, SIZES, SMALL, seed=1)


def network_of(vectors, seed=0):
    network = Network([vectors.shape[1], *SMALL.hidden, SMALL.dim], SIZES, seed)
    start_codebooks(network, vectors, seed)
    return network


def test_it_rebuilds_items_far_better_than_random_codes(vectors, trained):
    codes = trained.encode(vectors)
    shuffled = np.random.default_rng(0).permutation(codes)
    error = ((trained.decode(codes) - vectors) ** 2).mean()
    assert error < 0.5 * ((trained.decode(shuffled) - vectors) ** 2).mean()
    assert error < 0.5 * vectors.var()
    assert distinct(codes) > 300


def test_training_is_the_same_for_the_same_seed_and_leaves_the_global_generator_alone(vectors):
    brief = SMALL.model_copy(update={"epochs": 3})
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one = fit_rqvae(vectors, SIZES, brief, seed=1)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(6)
    two = fit_rqvae(vectors, SIZES, brief, seed=1)
    other = fit_rqvae(vectors, SIZES, brief, seed=2)
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


def test_the_loss_is_reconstruction_plus_the_mean_of_codebook_and_commitment_terms(vectors):
    network = network_of(vectors)
    batch = torch.from_numpy(vectors[:100])
    loss, codes = network.loss(batch, SMALL)
    with torch.no_grad():
        residual = latent = network.encoder(batch)
        terms = []
        for book, code in zip(network.codebooks, codes, strict=True):
            distance = (residual - book[code]).square().mean()
            terms.append(distance + 0.25 * distance)
            residual = residual - book[code]
        rebuilt = functional.mse_loss(network.decoder(latent - residual), batch)
    assert torch.allclose(loss, rebuilt + sum(terms) / 3, rtol=1e-5)


def test_the_commitment_weight_pulls_on_the_encoder_and_only_there(vectors):
    # A quantiser of a peer ignored this option for a year.
    network = network_of(vectors)
    batch = torch.from_numpy(vectors[:64])
    gradients = {}
    for weight in (0.0, 4.0):
        network.zero_grad()
        loss, _ = network.loss(batch, SMALL.model_copy(update={"commitment": weight}))
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
    batch = torch.from_numpy(vectors[:64])
    loss, _ = network.loss(batch, SMALL.model_copy(update={"quantisation": 0.0}))
    loss.backward()
    assert network.encoder[0].weight.grad.abs().sum() > 0
    grads = [book.grad for book in network.codebooks]
    assert all(grad is None or not grad.any() for grad in grads)


def test_the_last_depth_is_balanced_while_training(vectors):
    network = network_of(vectors)
    with torch.no_grad():
        network.codebooks[2][1:] += 50  # nearest-code assignment would now use code 0 alone
    _, codes = network.loss(torch.from_numpy(vectors[:256]), SMALL)
    assert len(codes[2].unique()) > 8
    _, _, nearest = network.quantise(network.encoder(torch.from_numpy(vectors[:256])))
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
    for settings in (SMALL.model_copy(update={"revive": False}), SMALL):
        train_epoch(network, optimizer, vectors, settings, np.random.default_rng(0))
        with torch.no_grad():
            latent = network.encoder(torch.from_numpy(vectors))
            used.append(len(assigned(latent, network.codebooks[0], None).unique()))
    assert used[0] <= 3
    assert used[1] > 8


def test_the_epoch_with_the_fewest_collisions_is_kept(vectors, monkeypatch):
    from rars.identifiers import rqvae

    found = iter([3, 9, 5])
    done = []
    monkeypatch.setattr(rqvae, "distinct", lambda codes: next(found))
    monkeypatch.setattr(rqvae, "exported", lambda network: len(done))
    brief = SMALL.model_copy(update={"epochs": 6, "evaluate_every": 1})
    # Measured after epochs 4, 5 and 6: an encoder that has learned nothing must not win by chance.
    assert fit_rqvae(vectors, SIZES, brief, advance=lambda *at: done.append(at)) == 4
    assert next(found, "all used") == "all used"


def test_fewer_items_than_codes_and_memory_maps_are_fine(tmp_path):
    np.save(tmp_path / "v.npy", families(10))
    vectors = np.load(tmp_path / "v.npy", mmap_mode="r")
    seen = []
    brief = SMALL.model_copy(update={"epochs": 2})
    quantizer = fit_rqvae(vectors, SIZES, brief, advance=lambda *at: seen.append(at))
    assert quantizer.sizes == SIZES
    assert quantizer.encode(vectors).shape == (10, 3)
    assert seen == [(1, 2), (2, 2)]


def test_plain_arrays_give_the_codes_that_training_measured(vectors):
    network = network_of(vectors)
    with torch.no_grad():
        _, _, codes = network.quantise(network.encoder(torch.from_numpy(vectors)))
    assert np.array_equal(exported(network).encode(vectors), torch.stack(codes, 1).numpy())
