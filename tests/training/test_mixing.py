"""Scales of prior and decoder: the most likely ones on held-out queries, whatever they were before."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rars.model.prior import OWN_PART_BESIDE
from rars.objectives import grouped
from rars.objectives.common import Context, PerToken
from rars.training import mixing
from rars.training.mixing import mix
from rars.training.packing import pack
from tests.model.small import Example
from tests.model.test_prior import model_with_prior

pytestmark = pytest.mark.usefixtures("float64")


@pytest.fixture
def example():
    return Example(queries=40)


def held_out(example, model):
    measure = model.prior.measure(example.tree, example.vocabulary)
    return example.data(projected=example.vectors, measure=measure, with_siblings=True)


def likelihood(model, data):
    batch = pack(data, np.arange(len(data)))
    with torch.no_grad():
        context = Context(normaliser="children")
        return grouped.loss(model(batch), batch, context, PerToken()).mean.item()


def test_no_scale_nearby_makes_held_out_relevance_likelier(example, monkeypatch):
    monkeypatch.setattr(mixing, "_CAUTION", 0.0)
    model, _ = model_with_prior(example)
    data = held_out(example, model)
    mix(model, data, "children")
    best = likelihood(model, data)
    for side in (model.prior.scales, model.prior.own):
        assert (side > 0).all()
        for depth in range(len(side)):
            kept = side[depth].item()
            for factor in (0.9, 1.1):
                with torch.no_grad():
                    side[depth] = factor * kept
                assert likelihood(model, data) >= best - 1e-9
            with torch.no_grad():
                side[depth] = kept


def test_what_the_scales_were_before_does_not_matter(example):
    model, _ = model_with_prior(example)
    data = held_out(example, model)
    mix(model, data, "children")
    first = model.prior.scales.tolist(), model.prior.own.tolist()
    with torch.no_grad():
        model.prior.scales.fill_(7.0)
        model.prior.own.fill_(3.0)
    mix(model, data, "children")
    assert (model.prior.scales.tolist(), model.prior.own.tolist()) == first


def test_a_prior_that_knows_nothing_is_hushed(example):
    model, _ = model_with_prior(example)
    rng = np.random.default_rng(3)
    example.vectors = 20 * rng.normal(size=example.vectors.shape)
    mix(model, held_out(example, model), "children")
    assert model.prior.scales.max() < 0.3


def test_a_single_query_moves_the_scales_less_than_it_would(monkeypatch):
    example = Example(queries=1)
    model, _ = model_with_prior(example)
    data, moved = held_out(example, model), []
    for caution in (0.0, 1.0):
        monkeypatch.setattr(mixing, "_CAUTION", caution)
        mix(model, data, "children")
        start = torch.tensor([[1.0], [OWN_PART_BESIDE]])
        found = torch.stack([model.prior.scales, model.prior.own])
        moved.append((found / start).log().abs().max().item())
    assert moved[1] < moved[0] / 2


def test_queries_are_taken_in_parts(example, monkeypatch):
    model, _ = model_with_prior(example)
    data = held_out(example, model)
    mix(model, data, "children")
    whole = model.prior.scales.clone()
    monkeypatch.setattr(mixing, "_BATCH", 3)
    mix(model, data, "children")
    torch.testing.assert_close(model.prior.scales.data, whole, atol=1e-5, rtol=1e-4)
