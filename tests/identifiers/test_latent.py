"""Latent steps equal those done one by one; the losses of the two views equal plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from rars.config import FitSettings
from rars.errors import RarsError
from rars.identifiers.embedders import open_embedder
from rars.identifiers.latent import LatentModel, spread
from rars.identifiers.latent_tuning import (
    LatentEncoder,
    Weights,
    divergence,
    rationales,
    tuned_name,
    two_views,
)
from rars.identifiers.towers import Held, PairBatch, Pairs, embedded, tune

from .language_models import language_model
from .worlds import judged_shop

TITLES = ["red mug", "blue mug", "desk lamp", "red lamp"]
WORDS = " ".join([*TITLES, "kitchen cups office lights"])


@pytest.fixture(scope="module", params=["causal", "t5", "untied"])
def folder(request, tmp_path_factory):
    return language_model(tmp_path_factory.mktemp(request.param), WORDS, request.param)


@pytest.fixture(scope="module")
def model(folder):
    return LatentModel.open(str(folder), steps=3).eval()


def ids(model, text):
    return [*model.tokenizer(text, add_special_tokens=False)["input_ids"], model.end]


def states(model, text, inputs):
    """All last states of one text alone, without cache or padding, of embeddings (1, n, width)."""
    library, read = model.model, torch.tensor([ids(model, text)])
    if not model.two_stacks:
        return library.model(inputs_embeds=inputs).last_hidden_state[0]
    memory = library.encoder(input_ids=read).last_hidden_state
    return library.decoder(inputs_embeds=inputs, encoder_hidden_states=memory).last_hidden_state[0]


def begin(model, text):
    """What the steps begin from: the text's embeddings, or the decoder's start."""
    rows = [[model.model.config.decoder_start_token_id]] if model.two_stacks else [ids(model, text)]
    return model.model.get_input_embeddings()(torch.tensor(rows))


def logits(model, text, inputs):
    """Of the last place of one text alone, by the library's own forward."""
    if not model.two_stacks:
        return model.model(inputs_embeds=inputs).logits[0, -1]
    read = torch.tensor([ids(model, text)])
    return model.model(input_ids=read, decoder_inputs_embeds=inputs).logits[0, -1]


@torch.no_grad()
def test_steps_equal_reading_the_whole_again_each_time(model):
    """In a batch of unequal lengths, with its padding and cache, each text goes the way it goes alone."""
    texts = ["red mug", "lamp", "blue desk lamp mug"]
    found = model.trajectory(texts)
    table = model.model.get_input_embeddings().weight
    for row, text in enumerate(texts):
        inputs = begin(model, text)
        for step in range(3):
            state = states(model, text, inputs)[-1]
            torch.testing.assert_close(found[row, step], state, atol=1e-5, rtol=1e-4)
            weights = logits(model, text, inputs).softmax(dim=-1)
            expected = sum(weights[v] * table[v] for v in range(len(table)))
            inputs = torch.cat([inputs, expected[None, None]], dim=1)
    vectors = model.vectors(texts)
    torch.testing.assert_close(vectors.norm(dim=-1), torch.ones(3))
    mean = found.mean(dim=1)
    torch.testing.assert_close(vectors, mean / mean.norm(dim=-1, keepdim=True))


@torch.no_grad()
def test_a_rationale_is_read_to_the_ends_of_its_parts(model):
    texts, reasons = ["red mug", "lamp"], [["kitchen", "cups cups", "red", "mug"], ["office"]]
    found = model.explicit(texts, reasons)
    assert found.shape == (2, 3, 16)
    for row, (text, parts) in enumerate(zip(texts, reasons, strict=True)):
        tokens = [] if model.two_stacks else ids(model, text)[:-1]
        ends = []
        start = [model.model.config.decoder_start_token_id] if model.two_stacks else []
        tokens = [*start, *tokens]
        for part in parts:
            tokens += model.tokenizer(part, add_special_tokens=False)["input_ids"]
            ends.append(len(tokens) - 1)
        tokens.append(model.end)
        ends[-1] = len(tokens) - 1
        wanted = [ends[0], ends[2], ends[3]] if row == 0 else [ends[0]] * 3
        inputs = model.model.get_input_embeddings()(torch.tensor([tokens]))
        alone = states(model, text, inputs)[wanted]
        torch.testing.assert_close(found[row], alone, atol=1e-5, rtol=1e-4)


def test_places_are_evenly_spread_and_end_with_the_last():
    for count in range(1, 12):
        for steps in range(1, 6):
            found = spread(range(count), steps).tolist()
            assert len(found) == steps
            assert found == sorted(found)
            assert found[-1] == count - 1
            if count <= steps:
                assert found[:count] == list(range(count))
            elif steps > 1:
                gaps = np.diff(found)
                assert found[0] == 0
                assert gaps.max() - gaps.min() <= 1


def hand_made():
    """Two queries that want one item each among three, with trajectories of two steps."""
    pairs = Pairs(np.array([0, 1]), np.array([0, 2]), np.ones(2, np.float32))
    batch = PairBatch.of(pairs, np.arange(2), extra=np.array([1]))
    random = torch.Generator().manual_seed(3)
    latent, explicit = (torch.randn(2, 2, 4, generator=random) for _ in range(2))
    return batch, latent, explicit, torch.randn(3, 4, generator=random)


def test_two_views_equal_plain_loops():
    batch, latent, explicit, items = hand_made()
    weights = Weights(output=10, explicit=0.7, trajectory=0.1, trajectory_temperature=0.5)

    def shares(vector, temperature):
        raw = [
            math.exp(float(torch.cosine_similarity(vector, one, dim=0)) / temperature)
            for one in items
        ]
        return [one / sum(raw) for one in raw]

    def kl(p, q):
        return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))

    total = 0.0
    for query, wanted in enumerate((0, 2)):
        own = shares(latent[query].mean(dim=0), 0.2)
        taught = shares(explicit[query, 1], 0.2)
        total += -math.log(own[wanted]) - 0.7 * math.log(taught[wanted]) + 10 * kl(taught, own)
        for step in range(2):
            pair = (shares(one[query, step], 0.5) for one in (explicit, latent))
            total += 0.1 * kl(*pair) / 2
    found = two_views(latent, explicit, items, batch, 0.2, weights)
    assert float(found) == pytest.approx(total / 2, rel=1e-5)


def test_the_explicit_view_learns_from_its_own_loss_alone():
    batch, latent, explicit, items = hand_made()
    explicit.requires_grad_()
    latent.requires_grad_()
    two_views(latent, explicit, items, batch, 0.2, Weights(explicit=0)).backward()
    assert explicit.grad.abs().max() == 0
    assert latent.grad.abs().max() > 0


def test_equal_views_diverge_by_nothing():
    scores = torch.randn(3, 5)
    assert float(divergence(scores, scores + 4)) == pytest.approx(0, abs=1e-6)
    assert float(divergence(scores, scores.flip(-1))) > 0


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    paths = [["kitchen", "cups"], ["kitchen", "cups"], ["office", "lights"], None]
    judged = [("q0", "i0", 1), ("q0", "i3", 3), ("q1", "i1", 3), ("q2", "i2", 3)]
    folder = tmp_path_factory.mktemp("world") / "data"
    splits = ["train"] * 3
    return judged_shop(folder, TITLES, ["red", "blue", "lamp"], judged, splits, category=paths)


def test_a_rationale_is_the_path_of_the_best_item_or_its_title(world):
    assert rationales(world) == {0: ["red lamp"], 1: ["kitchen", "cups"], 2: ["office", "lights"]}


@pytest.mark.parametrize("precision", [None, "bf16"])
def test_training_brings_queries_to_their_items_and_the_views_together(
    folder, world, tmp_path, precision
):
    towers = LatentEncoder.of(world, f"latent:{folder}", Weights(), steps=2)
    towers.precision = precision
    rows, batch = np.arange(3), PairBatch.of(Pairs.of(world), np.arange(4))
    before = float(towers.loss(batch, 0.1).detach())

    def quality(found):
        scores = embedded(towers.queries, rows) @ embedded(towers.items, np.arange(4)).T
        return float(scores[rows, [3, 1, 2]].mean() - scores[rows, [2, 0, 1]].mean())

    settings = FitSettings(epochs=12, learning_rate=0.01, batch=4, temperature=0.1)
    report = tune(towers, world, settings, Held(rows, quality))
    assert report["quality"][report["epoch"]] > report["quality"][0] + 0.3
    assert float(towers.loss(batch, 0.1).detach()) < 0.6 * before
    towers.save(tmp_path)
    opened = open_embedder(tuned_name(tmp_path))
    towers.precision = None  # what is searched is as exact as the weights
    wanted = embedded(towers.items, np.arange(4))
    np.testing.assert_allclose(opened.embed(TITLES), wanted, atol=1e-5)
    assert opened.embed([]).shape == (0, 16)
    assert opened.digest != open_embedder(f"latent:{folder}").digest


def test_a_model_that_cannot_be_had_is_one_sentence(tmp_path):
    with pytest.raises(RarsError, match="Embedder 'latent:.*' cannot be loaded"):
        open_embedder(f"latent:{tmp_path}")
