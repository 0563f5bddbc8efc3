"""The promises of the four policies, on catalogues that hypothesis makes as crowded as it likes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rars.config import IdentifierSettings
from rars.errors import RarsError
from rars.identifiers.collisions import cap, repair, suffix
from rars.identifiers.keys import sharing
from rars.identifiers.placement import settle
from rars.identifiers.policies import Crowd, resolve

WIDTH = 5


@st.composite
def catalogues(draw):
    """Codes (n, 2) with few prefixes, and a distance of every item to each of the last codes."""
    count = draw(st.integers(1, 30))
    prefix = draw(hnp.arrays(np.int32, (count, 1), elements=st.integers(0, 2)))
    # whole numbers on purpose: ties and equal items must be no problem
    distances = draw(hnp.arrays(np.float64, (count, WIDTH), elements=st.integers(0, 9)))
    if draw(st.booleans()):
        distances[:, draw(st.integers(1, WIDTH - 1)) :] = np.inf
    codes = np.column_stack([prefix, distances.argmin(axis=1).astype(np.int32)])
    return codes, distances


@given(catalogues())
def test_a_suffix_is_always_unique_lossless_and_inside_its_codebook(world):
    codes, _ = world
    longer, (*none, width) = suffix(codes)
    assert not any(none), "identifiers of one length all end at the same depth"
    assert sharing(longer) == 0
    assert np.array_equal(longer[:, :-1], codes)
    assert longer[:, -1].min() == 0
    assert longer[:, -1].max() == width - 1, "sized to the data: no overflow, no spare code"
    for row in range(len(codes)):
        earlier = (codes[:row] == codes[row]).all(axis=1).sum()
        assert longer[row, -1] == earlier, "counted in catalogue order"


@given(catalogues())
@settings(deadline=None)
def test_repair_never_leaves_more_collisions_and_never_leaves_the_prefix(world):
    codes, distances = world
    repaired = repair(codes, lambda rows: distances[rows])
    assert repaired.shape == codes.shape
    assert np.array_equal(repaired[:, :-1], codes[:, :-1])
    assert ((repaired[:, -1] >= 0) & (repaired[:, -1] < WIDTH)).all()
    assert sharing(repaired) <= sharing(codes)
    for prefix, count in zip(*np.unique(codes[:, 0], return_counts=True), strict=True):
        inside = codes[:, 0] == prefix
        assert sharing(repaired[inside]) <= sharing(codes[inside])
        if count <= WIDTH:
            assert sharing(repaired[inside]) == 0, "where there is room, all are told apart"


def test_repair_moves_the_item_with_the_smaller_detour():
    codes = np.array([[0, 0], [0, 0], [0, 2]], dtype=np.int32)
    distances = np.array([[0.0, 4.0, 0.1, 9.0], [0.0, 1.0, 0.1, 9.0], [9.0, 9.0, 0.0, 9.0]])
    repaired = repair(codes, lambda rows: distances[rows])
    # code 2 would be nearest for both, but another item has it
    assert repaired.tolist() == [[0, 0], [0, 1], [0, 2]]


def test_repair_keeps_items_close_to_their_codewords():
    rng = np.random.default_rng(0)
    points, codewords = rng.normal(size=(400, 4)), rng.normal(size=(256, 4))
    distances = ((points[:, None] - codewords) ** 2).sum(axis=2)
    prefix = rng.integers(8, size=400)
    codes = np.column_stack([prefix, distances.argmin(axis=1)]).astype(np.int32)
    repaired = repair(codes, lambda rows: distances[rows])
    assert sharing(codes) > 0
    assert sharing(repaired) == 0
    rank = (distances < distances[np.arange(400), repaired[:, -1], None]).sum(axis=1)
    assert rank.max() < 10, "nobody is sent to a far-away code"


def test_repair_asks_for_distances_of_colliding_items_only():
    codes = np.array([[0, 1], [0, 1], [1, 0], [2, 0], [3, 0]], dtype=np.int32)
    asked: list[int] = []

    def distances_of(rows):
        asked.extend(rows.tolist())
        return np.tile(np.arange(4.0), (len(rows), 1))

    repair(codes, distances_of)
    assert set(asked) == {0, 1}


@given(catalogues(), st.integers(1, 3))
def test_a_cap_is_never_exceeded_and_the_nearest_stay(world, limit):
    codes, distances = world
    _, counts = np.unique(codes[:, 0], return_counts=True)
    if (counts > limit * WIDTH).any():
        with pytest.raises(RarsError, match="raise the cap"):
            cap(codes, lambda rows: distances[rows], limit)
        return
    capped = cap(codes, lambda rows: distances[rows], limit)
    assert np.array_equal(capped[:, :-1], codes[:, :-1])
    _, counts = np.unique(capped, axis=0, return_counts=True)
    assert counts.max() <= limit
    own = distances[np.arange(len(codes)), codes[:, -1]]
    for row in np.flatnonzero(capped[:, -1] != codes[:, -1]):
        stayed = (codes == codes[row]).all(axis=1) & (capped == codes).all(axis=1)
        assert stayed.sum() >= limit
        assert (own[stayed] <= own[row]).all()


@given(catalogues())
def test_a_cap_nobody_exceeds_changes_nothing(world):
    codes, distances = world
    assert cap(codes, lambda rows: distances[rows], len(codes)) is codes


@given(
    st.data(),
    catalogues(),
    st.integers(0, 30),
    st.integers(1, 2),
    st.sampled_from(["nearest", "emptiest"]),
)
def test_settling_is_one_item_after_the_other(data, world, known, limit, full):
    codes, distances = world
    known = min(known, len(codes))
    kept, moving, costs = codes[:known], codes[known:].copy(), distances[known:]
    # the own code need not be the nearest, and an item may have none
    own = hnp.arrays(np.int32, len(moving), elements=st.integers(-1, WIDTH - 1))
    moving[:, -1] = data.draw(own)
    taken: dict[tuple[int, int], int] = {}
    for prefix, last in kept.tolist():
        taken[prefix, last] = taken.get((prefix, last), 0) + 1
    expected = []
    for row, (prefix, own) in enumerate(moving.tolist()):

        def order(code, row=row, own=own):
            return (code != own, costs[row, code], code)

        free = [code for code in range(WIDTH) if taken.get((prefix, code), 0) < limit]
        everywhere = range(WIDTH)
        if free:
            code = min(free, key=order)
        elif full == "nearest":
            code = min(everywhere, key=order)
        else:
            code = min(everywhere, key=lambda code: (taken[prefix, code], code))
        taken[prefix, code] = taken.get((prefix, code), 0) + 1
        expected.append(code)
    found = settle(kept, moving, lambda rows: costs[rows], limit=limit, full=full)
    assert found.tolist() == expected


@given(st.integers(1, 4), st.integers(0, 60), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_who_shares_no_first_codes_is_nobodys_sibling(depth, known, new, seed):
    """With and without those who are left out, identifiers of any depth, shorter ones among them."""
    from rars.identifiers import placement

    rng = np.random.default_rng(seed)
    kept, moving = (rng.integers(-1, 4, (n, depth)).astype(np.int32) for n in (known, new))
    kept[:, -1:] = kept[:, -1:].clip(0)
    costs = rng.random((new, 4))
    cells = placement._CELLS
    try:
        found = []
        for placement._CELLS in (cells, 1):  # with no room for a table nobody is left out
            found.append(settle(kept, moving, lambda rows: costs[rows], limit=1, full="nearest"))
    finally:
        placement._CELLS = cells
    assert np.array_equal(*found)


@given(catalogues())
def test_settling_in_small_portions_is_the_same(world):
    from rars.identifiers import placement

    codes, distances = world
    whole = settle(codes[:0], codes, lambda rows: distances[rows], limit=1, full="nearest")
    before, placement._CELLS = placement._CELLS, 1
    try:
        portions = settle(codes[:0], codes, lambda rows: distances[rows], limit=1, full="nearest")
    finally:
        placement._CELLS = before
    assert np.array_equal(whole, portions)


def test_resolve_reports_before_and_after():
    codes = np.array([[0, 0], [0, 0], [0, 1], [1, 1]], dtype=np.int32)
    distances = np.array([[0.0, 1, 2], [0, 1, 2], [1, 0, 2], [1, 0, 2]])

    def report(policy, **options):
        chosen = IdentifierSettings(collisions=policy, sizes=(2, 3), **options)
        found = resolve(Crowd(codes, (2, 3), lambda rows: distances[rows], chosen))
        return found.before, found.after, found.moved, found.sizes

    assert report("share") == (2, 2, 0, (2, 3))
    assert report("suffix") == (2, 0, 0, (2, 3, 2))
    assert report("ordered-suffix") == (2, 0, 0, (2, 3, 2)), "nothing is wanted: catalogue order"
    assert report("suffix", suffixes=1) == (2, 2, 0, (2, 3, 1)), "no room: items share"
    assert report("repair") == (2, 0, 1, (2, 3))
    assert report("repair-suffix") == (2, 0, 1, (2, 3, 1)), "the suffix finds nothing left to do"
    assert report("cap", cap=1) == (2, 0, 1, (2, 3))
    assert report("cap", cap=2) == (2, 2, 0, (2, 3))
