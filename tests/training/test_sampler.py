"""Batches are a pure function of seed and epoch, hold whole queries or drawn pairs, and leave none out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rars.training import packing
from rars.training.sampler import QueryRange, batches
from tests.model.small import Example

DATA = Example(queries=60, latent=False).data()
ALL = [QueryRange(0, 60)]


def queries_of(found):
    return np.concatenate([one.queries for one in found])


@given(pairs=st.integers(1, 200), seed=st.integers(0, 5), epoch=st.integers(0, 3))
def test_every_query_comes_up_exactly_once_an_epoch(pairs, seed, epoch):
    found = batches(DATA, ALL, pairs=pairs, seed=seed, epoch=epoch)
    assert sorted(queries_of(found).tolist()) == list(range(60))


@given(pairs=st.integers(1, 400), seed=st.integers(0, 5), at_least=st.integers(1, 3))
def test_every_drawn_pair_comes_up_exactly_once_an_epoch(pairs, seed, at_least):
    found = batches(DATA, ALL, pairs=pairs, seed=seed, epoch=0, batching="pairs", at_least=at_least)
    drawn = np.concatenate([one.pairs for one in found])
    assert sorted(drawn.tolist()) == list(range(int(DATA.n_pairs.sum())))
    for one in found:
        assert one.queries.tolist() == sorted(set(DATA.pairs.query[one.pairs].tolist()))
        assert len(one.queries) >= at_least
    if at_least == 1:
        sizes = [len(one.pairs) for one in found]
        assert max(sizes) - min(sizes) <= 1


def test_drawn_pairs_are_those_of_the_queries_taken():
    parts = [QueryRange(0, 40), QueryRange(40, 60, 10)]
    found = batches(DATA, parts, pairs=40, seed=0, epoch=0, batching="pairs")
    drawn = np.concatenate([one.pairs for one in found])
    queries = set(DATA.pairs.query[drawn].tolist())
    assert len(queries) == 50
    assert len(drawn) == len(set(drawn.tolist())) == DATA.n_pairs[sorted(queries)].sum()


def test_parts_of_a_batch_hold_its_queries_once_and_those_of_similar_length_together(monkeypatch):
    monkeypatch.setattr(packing, "_PART", 8)
    [one] = batches(DATA, ALL, pairs=10_000, seed=0, epoch=0, batching="pairs")
    parts = [part for rank in range(2) for part in one.parts(DATA, rank, 2)]
    assert sorted(np.concatenate(parts).tolist()) == one.queries.tolist()
    assert len(parts) == 8
    for rank in range(2):
        ends = [(DATA.lengths[p].min(), DATA.lengths[p].max()) for p in one.parts(DATA, rank, 2)]
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(ends))


@given(pairs=st.integers(5, 100), at_least=st.integers(1, 4))
def test_no_batch_has_too_few_queries(pairs, at_least):
    found = batches(DATA, ALL, pairs=pairs, seed=0, epoch=0, at_least=at_least)
    assert all(len(batch.queries) >= at_least for batch in found[:-1])


@pytest.mark.parametrize("batching", ["queries", "pairs"])
def test_the_same_seed_and_epoch_give_the_same_batches(batching):
    def listed(seed, epoch):
        given = {"pairs": 40, "seed": seed, "epoch": epoch, "batching": batching}
        return [
            (b.queries.tolist(), b.pairs is not None and b.pairs.tolist())
            for b in batches(DATA, ALL, **given)
        ]

    assert listed(1, 2) == listed(1, 2)
    assert listed(1, 2) != listed(1, 3)
    assert listed(1, 2) != listed(2, 2)


def test_pseudo_queries_are_drawn_from_the_rest_and_judged_ones_are_all_there():
    parts = [QueryRange(0, 40), QueryRange(40, 60, 10)]
    found = queries_of(batches(DATA, parts, pairs=40, seed=0, epoch=0))
    assert len(found) == len(set(found.tolist())) == 50
    assert set(range(40)) <= set(found.tolist())


def test_a_batch_stays_near_its_budget_of_pairs():
    for batch in batches(DATA, ALL, pairs=40, seed=0, epoch=0):
        assert DATA.n_pairs[batch.queries].sum() < 40 + 9


@pytest.mark.parametrize("batching", ["queries", "pairs"])
@given(at_most=st.integers(1, 40))
def test_fewer_batches_are_some_of_all_and_others_in_the_next_epoch(batching, at_most):
    def listed(epoch, **rest):
        found = batches(DATA, ALL, pairs=20, seed=0, epoch=epoch, batching=batching, **rest)
        return [one.queries.tolist() for one in found]

    for epoch in (0, 1):
        assert listed(epoch, at_most=at_most) == listed(epoch)[:at_most]
    assert listed(0, at_most=at_most) != listed(1, at_most=at_most)
