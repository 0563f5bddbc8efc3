"""Training never mixes devices: every tensor it makes is where the batch and the model are.

There may be no second device here. The ``meta`` device has shapes and no values, and an operation that mixes
a CPU tensor with one of it raises: so the code that packs, decodes and measures losses is run with everything
moved there. What decides by values cannot run on it: ``stand_ins`` names these operations.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from rars.model.batch import moved
from rars.objectives import TERMS, sampled_tree
from rars.objectives import siblings as competition
from rars.objectives.common import Context, divergence
from rars.training import mixing
from rars.training.candidates import Mined, packed_lists, with_relevant
from rars.training.loop import TrainingModel
from rars.training.packing import pack, pack_lists
from tests.model.small import Example, retriever, terms
from tests.model.test_prior import model_with_prior

META = torch.device("meta")


def tensors(value):
    """Every tensor in a nested dataclass."""
    if isinstance(value, torch.Tensor):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from tensors(getattr(value, field.name))
    elif isinstance(value, tuple | list):
        for part in value:
            yield from tensors(part)
    elif isinstance(value, dict):
        yield from tensors(tuple(value.values()))


class Words(nn.Module):
    """In place of the library's encoder, which looks at the values of masks: its word embeddings alone."""

    def __init__(self, stack):
        super().__init__()
        self.words = stack.get_input_embeddings()

    def get_input_embeddings(self):
        return self.words

    def forward(self, attention_mask, input_ids=None, inputs_embeds=None):
        states = self.words(input_ids) if inputs_embeds is None else inputs_embeds
        return SimpleNamespace(last_hidden_state=states * attention_mask[:, :, None])


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch):
    """The few operations whose result has a shape that follows from values.

    ``repeat_interleave``: on meta, the sum of counts is what it was on the CPU. ``bincount``: the groups
    asked for are all there are. Which child a ``draw`` chooses: the first.
    """
    known = {}
    real, counting = torch.repeat_interleave, torch.bincount

    def counted(values, counts, **rest):
        if counts.device != META:
            known.setdefault(tuple(counts.shape), int(counts.sum()))
            return real(values, counts, **rest)
        assert values.device == META
        return values.new_empty(known[tuple(counts.shape)])

    def binned(values, minlength=0):
        return counting(values, minlength=minlength) if values.device != META else _zeros(minlength)

    def drawn(step, generator):
        assert generator.device == torch.device("cpu")
        return _zeros(len(step.mass))

    monkeypatch.setattr(torch, "repeat_interleave", counted)
    monkeypatch.setattr(torch, "bincount", binned)
    monkeypatch.setattr(sampled_tree, "draw", drawn)


def _zeros(count):
    return torch.zeros(count, dtype=torch.long, device=META)


def of_meta(example, *, normaliser="depth", mode="feedback", prior_dim=0, listed=("full-sid",)):
    """A batch with lists of candidates and a model on meta, and the same pass on the CPU."""
    data = example.data(**({"projected": example.vectors} if prior_dim else {}))
    rng = np.random.default_rng(1)
    query = np.repeat(np.arange(7), 4)
    mined = Mined(query, rng.integers(0, 60, len(query)), np.tile(np.arange(4), 7))
    lists = packed_lists(data, example.relevance, with_relevant(example.relevance, mined, 2))
    chosen = np.array([4, 0, 6])
    batch = replace(pack(data, chosen), candidates={"one": pack_lists(lists, chosen)})
    model = retriever(example.vocabulary.slots, "t5", example.categories, mode, prior_dim=prior_dim)
    model.encoder.stack = Words(model.encoder.stack)
    trained = TrainingModel(model, terms(*listed), normaliser=normaliser)
    for step in (*batch.refinements, *batch.candidates["one"].refinements):
        _ = step.legal_parent  # its counts are known from here on
    return trained.to(META), moved(batch, META)


def test_a_moved_batch_leaves_no_tensor_behind():
    _, batch = of_meta(Example())
    found = list(tensors(batch))
    assert len(found) > 50
    assert {one.device for one in found} == {META}


def test_mixing_devices_is_noticed_here():
    """Otherwise the tests below could not fail."""
    with pytest.raises(RuntimeError):
        torch.zeros(3) + torch.zeros(3, device=META)
    with pytest.raises(RuntimeError):
        torch.zeros(3, device=META).index_add(0, torch.zeros(3, dtype=torch.long), torch.zeros(3))


@pytest.mark.parametrize("mode", ["feedback", "slots"])
@pytest.mark.parametrize("prior_dim", [0, 6])
@pytest.mark.parametrize("ragged", [False, True])
def test_a_pass_and_the_logits_of_candidates_stay_on_the_device(mode, prior_dim, ragged):
    trained, batch = of_meta(Example(ragged=ragged), mode=mode, prior_dim=prior_dim)
    found = trained.model(batch)
    assert {one.device for one in tensors(found)} == {META}
    alone = trained.model(batch, alone=True)
    assert {one.device for one in tensors(alone)} == {META}
    lists = batch.candidates["one"]
    logits = trained.model.candidate_logits(found, lists, batch.projected)
    assert {one.device for one in logits} == {META}


@pytest.mark.parametrize("normaliser", ["depth", "children"])
def test_scores_of_candidates_stay_on_the_device(normaliser):
    trained, batch = of_meta(Example(ragged=True), normaliser=normaliser)
    lists = batch.candidates["one"]
    for found in trained._scores(trained.model(batch), lists, batch.projected):
        assert found.device == META
        assert found.shape == lists.edge.shape


BY_VALUES = {"position-aware", "margin-ranking", "prefix-ranking"}
"""Which pairs and siblings these take depends on values, and a tensor of meta has none."""


@pytest.mark.parametrize("normaliser", ["depth", "children"])
@pytest.mark.parametrize("name", sorted(TERMS.keys() - BY_VALUES))
def test_every_loss_and_its_gradient_stay_on_the_device(name, normaliser, monkeypatch):
    monkeypatch.setattr(competition, "_DENSE_FROM", 0.0)  # the flat way chooses by values
    own = {"rank": 4, "n_siblings": 2} if name.endswith("tree") else {}
    example = Example()
    trained, batch = of_meta(example, normaliser=normaliser, listed=("full-sid",))
    trained = TrainingModel(trained.model, terms(name, **own), normaliser=normaliser).to(META)
    loss, means = trained(batch, seed=0)
    assert {loss.device, *(one.device for one in means.values())} == {META}
    loss.backward()
    graded = [one.grad for one in trained.parameters() if one.grad is not None]
    assert graded
    assert {one.device for one in graded} == {META}


@pytest.mark.parametrize("siblings", ["high", "random", "none", "all"])
def test_every_choice_of_siblings_stays_on_the_device(siblings, monkeypatch):
    monkeypatch.setattr(competition, "_DENSE_FROM", 0.0)
    trained, batch = of_meta(Example())
    listed = terms("full-sid", "tree", rank=4, siblings=siblings, n_siblings=2)
    loss, _ = TrainingModel(trained.model, listed).to(META)(batch, seed=0)
    assert loss.device == META


def test_the_flat_way_to_siblings_stays_on_the_device_up_to_its_choice(monkeypatch):
    """Which of the legal children are rivals is decided by values; without rivals nothing is."""
    monkeypatch.setattr(competition, "_DENSE_FROM", 2.0)
    trained, batch = of_meta(Example())
    listed = terms("full-sid", "tree", rank=4, siblings="none")
    loss, _ = TrainingModel(trained.model, listed).to(META)(batch, seed=0)
    assert loss.device == META


def test_a_prior_over_identifiers_stays_on_the_device():
    """``mixing`` packs held-out queries and decodes them with and without the prior, where the model is."""
    example = Example(queries=7)
    model, _ = model_with_prior(example)
    measure = model.prior.measure(example.tree, example.vocabulary)
    data = example.data(projected=example.vectors, measure=measure, with_siblings=True)
    batch = pack(data, np.arange(7))
    for step in batch.refinements:
        _ = step.legal_parent
    model.encoder.stack = Words(model.encoder.stack)
    (part,) = mixing._parts(model.to(META), data)
    assert {one.device for one in tensors(part)} == {META}
    depths = len(model.slots)
    scales, own = torch.ones(2, depths, device=META)
    mixed = part.mixed(scales, own)
    total = TERMS["grouped"].loss(mixed, part.batch, Context(normaliser="children"), mixing._WHOLE)
    assert total.sum.device == META


def test_the_divergence_stays_on_the_device():
    _, batch = of_meta(Example())
    step = batch.refinements[0]
    assert divergence(step, torch.empty_like(step.share)).device == META
