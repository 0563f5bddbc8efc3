"""Batches are a pure function of seed and epoch, hold whole queries, and leave none out."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rars.training.sampler import QueryRange, batches
from tests.model.small import Example

DATA = Example(queries=60, latent=False).data()
ALL = [QueryRange(0, 60)]


@given(pairs=st.integers(1, 200), seed=st.integers(0, 5), epoch=st.integers(0, 3))
def test_every_query_comes_up_exactly_once_an_epoch(pairs, seed, epoch):
    found = batches(DATA, ALL, pairs=pairs, seed=seed, epoch=epoch)
    assert sorted(np.concatenate(found).tolist()) == list(range(60))


@given(pairs=st.integers(5, 100), at_least=st.integers(1, 4))
def test_no_batch_has_too_few_queries(pairs, at_least):
    found = batches(DATA, ALL, pairs=pairs, seed=0, epoch=0, at_least=at_least)
    assert all(len(batch) >= at_least for batch in found[:-1])


def test_the_same_seed_and_epoch_give_the_same_batches():
    def listed(seed, epoch):
        return [b.tolist() for b in batches(DATA, ALL, pairs=40, seed=seed, epoch=epoch)]

    assert listed(1, 2) == listed(1, 2)
    assert listed(1, 2) != listed(1, 3)
    assert listed(1, 2) != listed(2, 2)


def test_pseudo_queries_are_drawn_from_the_rest_and_judged_ones_are_all_there():
    parts = [QueryRange(0, 40), QueryRange(40, 60, 10)]
    found = np.concatenate(batches(DATA, parts, pairs=40, seed=0, epoch=0))
    assert len(found) == len(set(found.tolist())) == 50
    assert set(range(40)) <= set(found.tolist())


def test_a_batch_stays_near_its_budget_of_pairs():
    for batch in batches(DATA, ALL, pairs=40, seed=0, epoch=0):
        assert DATA.n_pairs[batch].sum() < 40 + 9
