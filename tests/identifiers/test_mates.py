"""Pairs, partners and triplets drawn for a batch, against going through the judgments one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rars.data.judgments import Judgments
from rars.identifiers.hit_rate import hit_rate
from rars.identifiers.mates import NONE, Mates


class Judged:
    """A dataset as far as mates look at it."""

    def __init__(self, pairs, n_items=8):
        query, item, grade = (np.array(one) for one in zip(*pairs, strict=True))
        self._judgments = Judgments.merged(query, item, grade.astype(float))
        self.n_items = n_items

    def judged(self, split):
        return self._judgments


pairs = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 7), st.integers(0, 3)), min_size=1, max_size=24
)


def truth(world):
    """Per query, grade by item; unjudged and irrelevant ones left out."""
    found: dict[int, dict[int, float]] = {}
    known = world.judged("train")
    for query, item, grade in zip(known.query, known.item, known.grade, strict=True):
        if grade > 0:
            found.setdefault(int(query), {})[int(item)] = float(grade)
    return found


@given(pairs, st.integers(0, 100))
def test_partners_are_of_the_same_query_and_the_grade_that_is_asked_for(listed, seed):
    world = Judged(listed)
    known, mates = truth(world), Mates.of(world)
    rows, rng = np.repeat(np.arange(8), 4), np.random.default_rng(seed)
    place = mates.drawn(rows, rng)
    for kind in ("mates", "peers", "others"):
        found = getattr(mates, kind)(place, rng)
        for row, at, other in zip(rows, place, found, strict=True):
            if at == NONE:
                assert not any(row in items for items in known.values())
                assert other == NONE
                continue
            items = known[int(mates.query[at])]
            assert mates.item[at] == row
            assert items[int(row)] == mates.grade[at]
            fits = {
                "mates": {one for one in items if one != row},
                "peers": {one for one in items if one != row and items[one] == items[int(row)]},
                "others": {one for one in items if items[one] != items[int(row)]},
            }[kind]
            if other == NONE:
                assert not fits
            else:
                assert mates.query[other] == mates.query[at]
                assert int(mates.item[other]) in fits


@given(pairs)
def test_neighbours_are_all_items_exact_for_one_query(listed):
    world = Judged(listed)
    best = max((grade for items in truth(world).values() for grade in items.values()), default=0)
    expected = {
        (one, other)
        for items in truth(world).values()
        for one in items
        for other in items
        if one != other and items[one] == items[other] == best
    }
    found = Mates.of(world).exact().neighbours()
    assert sorted(expected) == list(zip(*(part.tolist() for part in found), strict=True))


def test_every_partner_is_drawn_about_equally_often():
    mates = Mates.of(Judged([(0, item, 1) for item in range(4)]))
    rng = np.random.default_rng(0)
    place = mates.drawn(np.zeros(6000, dtype=np.int64), rng)
    counts = np.bincount(mates.item[mates.mates(place, rng)], minlength=4)
    assert counts[0] == 0
    assert counts[1:].min() > 1800


@given(pairs, st.integers(0, 100), st.integers(1, 4))
def test_the_hit_rate_is_that_of_counting_neighbours_one_by_one(listed, seed, k):
    world = Judged(listed)
    points = np.random.default_rng(seed).normal(size=(8, 3)).astype(np.float32)
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    found = hit_rate(world, points, "test", k)
    item, other = Mates.of(world).exact().neighbours()
    shares = []
    for one in np.unique(item):
        order = [at for at in np.argsort(-(unit @ unit[one]), kind="stable") if at != one]
        wanted = other[item == one]
        shares.append(np.isin(wanted, order[:k]).mean())
    assert (found is None) == (not shares)
    if shares:
        assert abs(found - np.mean(shares)) < 1e-9
