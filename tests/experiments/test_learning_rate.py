"""The rate is chosen on validation queries, never at the end of a list without looking further."""

from __future__ import annotations

import numpy as np
import pytest

from rars.data import Dataset
from rars.errors import RarsError
from rars.evaluation import Truth, measure, stored
from rars.evaluation.ranking import Ranking
from rars.experiments.design import Setting
from rars.experiments.learning_rate import Curve, RateSearch, choose, notes, table
from rars.systems import Ranked
from tests.evaluation.worlds import make_dataset


@pytest.fixture
def dataset(tmp_path) -> Dataset:
    """Validation query qN has the ten items iN0..iN9 to find."""
    items = [f"i{q}{n}" for q in range(2) for n in range(10)]
    judged = [(f"q{q}", f"i{q}{n}", 3.0) for q in range(2) for n in range(10)]
    return make_dataset(
        tmp_path / "data",
        items,
        ["q0", "q1", "t"],
        [*judged, ("t", "i00", 3.0)],
        splits=["validation", "validation", "test"],
    )


def write_run(cell, dataset, found):
    """A stored validation run that finds ``found`` of the ten items of each query."""
    truth = Truth.of(dataset, "validation")
    lists = [list(range(10 * q, 10 * q + found)) for q in range(2)]
    ranking = Ranking.of(truth.queries, Ranked.of_lists(lists))
    files = stored.Files.of(cell.folder / "results", "validation", "ar")
    stored.store(files, ranking, measure(ranking, truth), dataset, "validation", rule="ar")


def worker(dataset, recall, asked):
    """Stands in for training: recall in tenths by rate; None fails."""

    def work(grid):
        for cell in grid.cells:
            rate = cell.recipe.training.learning_rate
            asked.append((cell.recipe.name, rate, cell.seed))
            if recall(rate) is not None:
                write_run(cell, dataset, recall(rate))

    return work


def test_the_best_rate_is_found_and_remembered(tmp_path, dataset):
    search = RateSearch(tmp_path / "work", dataset, Setting("tiny"))
    asked = []
    recall = {5e-4: 2, 1e-3: 4, 2e-3: 7, 4e-3: 3}.get
    curves = choose(search, ["base", "rars"], worker(dataset, recall, asked))
    assert curves["base"].best == 2e-3
    assert curves["base"].mean(1e-3) == pytest.approx(0.4)
    assert "the same best rate" in notes(list(curves.values()))[-1]
    assert {rate for name, rate, _ in asked if name == "base"} == {5e-4, 1e-3, 2e-3, 4e-3}
    again = choose(search, ["base", "rars"], worker(dataset, recall, asked := []))
    assert asked == []
    assert again["base"].as_dict() == curves["base"].as_dict()


def test_a_best_rate_at_the_end_is_looked_beyond(tmp_path, dataset):
    search = RateSearch(tmp_path / "work", dataset, Setting("tiny"), seeds=2, rates=(1e-3, 2e-3))
    asked = []
    recall = {1e-3: 1, 2e-3: 3, 4e-3: 6, 8e-3: 5}.get
    curve = choose(search, ["base"], worker(dataset, recall, asked))["base"]
    assert curve.best == 4e-3
    assert curve.rates == [1e-3, 2e-3, 4e-3, 8e-3]
    assert curve.as_dict()["at_the_end"] is False
    assert {seed for _, _, seed in asked} == {0, 1}


def test_a_choice_that_stays_at_the_end_is_said_so(tmp_path, dataset):
    search = RateSearch(tmp_path / "work", dataset, Setting("tiny"), rates=(1e-3, 2e-3))
    rising = lambda rate: min(9, round(rate / 1e-3))  # noqa: E731
    curve = choose(search, ["base"], worker(dataset, rising, []))["base"]
    assert curve.best == 8e-3
    assert "may be better still" in notes([curve])[0]


def test_a_rate_that_training_fails_at_is_left_out_and_named(tmp_path, dataset):
    search = RateSearch(tmp_path / "work", dataset, Setting("tiny"))
    recall = {5e-4: 2, 1e-3: 4, 2e-3: 7}.get
    curve = choose(search, ["base"], worker(dataset, recall, []))["base"]
    assert (curve.best, curve.failed) == (2e-3, (4e-3,))
    assert "Training failed at 0.004" in notes([curve])[0]
    last = table([curve]).blocks[0].rows[-1]
    assert (last.labels, last.cells[0].text) == (("0.004",), "failed")
    assert (
        search.known("base") is None
    )  # a run that was killed, not one that diverged, may end well now
    lost = RateSearch(tmp_path / "lost", dataset, Setting("tiny"))
    with pytest.raises(RarsError, match="none of the learning rates"):
        choose(lost, ["base"], worker(dataset, lambda rate: None, []))


def test_other_settings_have_a_choice_of_their_own(tmp_path, dataset):
    given = [
        RateSearch(tmp_path, dataset, Setting("tiny")),
        RateSearch(tmp_path, dataset, Setting("tiny", ("training.epochs=3",))),
        RateSearch(tmp_path, dataset, Setting("tiny"), seeds=2),
        RateSearch(tmp_path, dataset, Setting("tiny"), rates=(1e-3,)),
    ]
    assert len({one.path("base") for one in given}) == len(given)


def test_of_equal_rates_the_smallest_is_used():
    curve = Curve("base", {2e-3: (0.5,), 1e-3: (0.5,), 4e-3: (0.1,), 5e-4: (0.2,)}, 3)
    assert curve.best == 1e-3
    assert np.isclose(curve.mean(1e-3), 0.5)
