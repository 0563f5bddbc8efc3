"""A model on another device than the host's is searched by explicit copies alone, with the same answers."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from rars.errors import RarsError
from rars.search.engine import Engine
from rars.search.retriever import Retriever
from rars.systems import Query
from tests.search.devices import FAR, Far, elsewhere, moved

TEXTS = ["black bottle 0.75 l", "usb c cable"]


def far_away(retriever):
    ready = replace(retriever.ready, model=moved(copy.deepcopy(retriever.ready.model)))
    return replace(retriever, ready=ready, reader=replace(retriever.reader, ready=ready))


def test_the_other_device_is_one():
    """What this file relies on: mixing devices and reading without a copy fail, copies do not."""
    with elsewhere(), torch.inference_mode():
        here, there = torch.arange(3), torch.arange(3).to(FAR)
        assert isinstance(there, Far)
        assert (there + there).cpu().numpy().tolist() == [0, 2, 4]
        assert isinstance(torch.ones(2, device=there.device), Far)
        with pytest.raises(AssertionError, match="mixes devices"):
            there + here
        with pytest.raises(AssertionError, match="mixes devices"):
            there[here]
        with pytest.raises((TypeError, RuntimeError, AssertionError)):
            there.numpy()


@pytest.mark.parametrize("exact", [False, True])
def test_a_retriever_answers_the_same_from_another_device(retriever, exact):
    asked = [
        Query(text, 20, rule=rule, categories=categories, exact=exact)
        for text in TEXTS
        for rule, categories in (("ar", 3), ("all", "all"), ("hybrid", None))
    ]
    here = retriever.answer(asked)
    far = far_away(retriever)
    with elsewhere():
        there = far.answer(asked)
    for one, other in zip(here, there, strict=True):
        assert one.items.tolist() == other.items.tolist()
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-4)


def test_a_prior_answers_the_same_from_another_device(practical):
    retriever = Retriever.load(practical)
    here = retriever.rank_many(TEXTS, 20, rule="hybrid")
    far = far_away(retriever)
    with elsewhere():
        there = far.rank_many(TEXTS, 20, rule="hybrid")
    for (items, scores), (same, others) in zip(here, there, strict=True):
        assert items.tolist() == same.tolist()
        np.testing.assert_allclose(scores, others, atol=1e-4)


def test_validation_during_training_searches_a_model_on_another_device(retriever):
    engine = Engine(retriever.ready, retriever.tree, retriever.reader)
    here = engine.search(TEXTS, k=10)
    model = moved(copy.deepcopy(retriever.ready.model))
    with elsewhere():
        there = engine.search(TEXTS, k=10, model=model)
    assert [items.tolist() for items in here] == [items.tolist() for items in there]


def test_a_device_that_is_not_there_is_one_sentence(trained):
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(RarsError, match="The device 'cuda' cannot be used") as error:
        Retriever.load(trained, device="cuda")
    assert "\n" not in str(error.value)
    with pytest.raises(RarsError, match="The device 'warp' cannot be used"):
        Retriever.load(trained, device="warp")
    with pytest.raises(RarsError, match="int8 computes on the CPU alone, not on meta"):
        Retriever.load(trained, device="meta", precision="int8")
