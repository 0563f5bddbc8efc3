"""The loss curve is what one gets by clustering, ranking and counting for every size on its own."""

from __future__ import annotations

import numpy as np
import pytest

from rars.errors import RarsError
from rars.identifiers.kmeans import fit_residual_kmeans
from rars.identifiers.loss_curve import USUAL, CurvePoint, LossCurve, loss_curve

RNG = np.random.default_rng(0)
ITEMS = RNG.normal(size=(700, 12)).astype(np.float32)
QUERIES = RNG.normal(size=(9, 12)).astype(np.float32)
ITEMS[600:] = ITEMS[:100]  # ties
PAIRS = (np.array([0, 0, 3, 3, 3, 8, 5]), np.array([4, 600, 7, 12, 650, 3, 90]))
FAMILIES = {256: (2, 3, 4), 512: (1, 2)}


def ranked(scores, among=None):
    """Items by score, equal ones in catalogue order."""
    rows = range(len(scores)) if among is None else sorted(among)
    return sorted(rows, key=lambda row: (-scores[row], row))


def recall(lists, k):
    """The mean over queries of the share of positives among the first k."""
    each = []
    for query in sorted(set(PAIRS[0].tolist())):
        wanted = {int(i) for q, i in zip(*PAIRS, strict=True) if q == query}
        each.append(len(wanted & set(lists[query][:k])) / len(wanted))
    return float(np.mean(each))


def test_every_point_is_what_its_sizes_give_on_their_own():
    found = loss_curve(QUERIES, ITEMS, PAIRS, families=FAMILIES, k=20, reach=60, iterations=5)
    exact = QUERIES @ ITEMS.T
    assert found.exact == pytest.approx(recall([ranked(row) for row in exact], 20))
    assert [one.name for one in found.points] == [
        "2 x 256",
        "3 x 256",
        "4 x 256",
        "1 x 512",
        "2 x 512",
    ]
    for one in found.points:
        quantizer = fit_residual_kmeans(ITEMS, one.sizes, iterations=5)
        codes = quantizer.encode(ITEMS)
        scores = quantizer.similarities(QUERIES, codes)
        lists = [ranked(row) for row in scores]
        again = [ranked(own, some[:60]) for own, some in zip(exact, lists, strict=True)]
        assert one.recall == pytest.approx(recall(lists, 20)), one.name
        assert one.reordered == pytest.approx(recall(again, 20)), one.name


def test_more_codes_come_nearer_and_reordering_never_loses_what_is_reached():
    found = loss_curve(QUERIES, ITEMS, PAIRS, families={256: (1, 4, 12)}, k=700, reach=700)
    assert found.exact == 1.0
    assert all(one.recall == one.reordered == 1.0 for one in found.points)
    near = loss_curve(QUERIES, ITEMS, PAIRS, families={256: (12,)}, k=20, reach=60)
    assert near.points[0].recall == pytest.approx(near.exact, abs=0.2)


def test_codebooks_larger_than_the_catalogue_are_left_out():
    found = loss_curve(QUERIES, ITEMS[:300], ([0], [4]), families={256: (4,), 1024: (4,)})
    assert [one.sizes[0] for one in found.points] == [256]


def test_without_pairs_there_is_no_curve():
    with pytest.raises(RarsError, match="no judged pairs"):
        loss_curve(QUERIES, ITEMS, ([], []))


def curve(items=100_000, **recalls):
    """A curve from names such as _8x256."""
    points = []
    for name, value in recalls.items():
        steps, width = (int(part) for part in name.strip("_").split("x"))
        points.append(CurvePoint((width,) * steps, value, value))
    return LossCurve(items, 10, "queries", 100, 1000, 0.572, tuple(points))


def test_a_step_has_to_bring_a_point():
    flat = curve(_2x256=0.3, _4x256=0.384, _6x256=0.39, _12x256=0.40)
    assert flat.proposed().sizes == USUAL
    assert "no further step brings a point" in flat.sentence()
    steep = curve(_2x256=0.3, _4x256=0.384, _6x256=0.415, _8x256=0.448, _12x256=0.48)
    assert steep.proposed().name == "8 x 256"
    assert "8 steps a search instead of 4" in steep.sentence()
    assert "+6.4 points over 4 x 256" in steep.sentence()


def test_wide_codes_are_proposed_where_there_are_items_for_them():
    recalls = {"_4x256": 0.384, "_8x256": 0.448, "_4x1024": 0.453}
    assert curve(**recalls).proposed().name == "4 x 1024"
    assert "no further step" in curve(**recalls).sentence()
    assert curve(items=8_000, **recalls).proposed().name == "8 x 256"


def test_identifiers_are_never_proposed_shorter_than_usual():
    assert curve(_2x256=0.5, _4x256=0.5, _6x256=0.5).proposed().sizes == USUAL


def test_the_table_has_a_row_for_each_size_and_marks_what_is_proposed():
    table = curve(_4x256=0.384, _8x256=0.448).table()
    labels = [row.labels[0] for block in table.blocks for row in block.rows]
    assert labels == ["exact vectors", "4 x 256", "8 x 256 (proposed)"]
    assert [cell.text for cell in table.blocks[0].rows[2].cells] == [
        "44.8",
        "78.3",
        "+6.4",
        "2 x",
        "44.8",
    ]
