"""Learners side by side on one page: what is measured, what is written, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rars import Dataset
from rars.data.shop import make_shop
from rars.errors import RarsError
from rars.experiments import learners
from rars.experiments.learners import Measured, compare_learners

QUICK = ("DSI-naive", "DSI-semantic")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learners")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RARS_CACHE", str(folder / "cache"))
        for locale in ("en", "es"):
            make_shop(folder / locale, size="tiny", locale=locale)
        yield folder


def test_learners_of_two_datasets_are_measured_and_written(home):
    said = []
    outcome = compare_learners(
        [home / "en", home / "es"], out=home / "out", learners=QUICK, say=said.append
    )
    assert not outcome.failures
    assert [len(rows) for rows in outcome.measured.values()] == [2, 2]
    for rows in outcome.measured.values():
        naive, dsi = rows
        assert (naive.sizes, naive.shared) == ((10,) * 3, 0.0)
        assert 0 < dsi.untrained_recall <= 1
        assert 0 < dsi.hit_rate <= 1
        assert naive.untrained_recall is None
        assert naive.hit_rate is None
        assert dsi.identifiers == dsi.items
        assert all(0 <= one <= 1 for one in (*dsi.branching, *naive.branching))
    folder = outcome.folder
    stored = json.loads((folder / "results.json").read_text())
    assert stored["learners"].keys() == outcome.measured.keys()
    for name in ("table.md", "table.tex", "report.html"):
        text = (folder / name).read_text()
        assert all(label in text for label in QUICK)
    assert (folder / "figure.png").read_bytes()[:4] == b"\x89PNG"
    made = {
        path: path.stat().st_mtime_ns for path in (home / "out").glob("identifiers-*/recipe.toml")
    }
    assert len(made) == 4
    compare_learners([home / "en"], out=home / "out", learners=QUICK)
    assert all(path.stat().st_mtime_ns == at for path, at in made.items()), (
        "nothing is learned twice"
    )


def test_mistakes_are_named_before_anything_is_learned(home, tmp_path):
    with pytest.raises(RarsError, match="no row 'magic'; choose of residual k-means"):
        compare_learners([home / "en"], out=tmp_path, learners=["magic"])
    with pytest.raises(RarsError, match="needs --data"):
        compare_learners([], out=tmp_path)
    few = Dataset.load(home / "en")
    with pytest.raises(RarsError, match="is in memory"):
        compare_learners([few.with_queries(np.arange(3))], out=tmp_path)
    assert not list(tmp_path.glob("identifiers-*"))


def test_numbers_of_equal_depths_are_written_once():
    one = Measured(
        label="digits",
        learner="naive",
        policy="share",
        sizes=(10, 10, 10),
        items=4,
        identifiers=4,
        collided=0.0,
        shared=0.0,
        largest=1,
        gini=0.0,
        perplexity=(9.6, 8.2, 9.9),
        hit_rate=None,
        untrained_recall=0.125,
        branching=(1.0, 0.5, 0.0),
        mean_depth=1.25,
        seconds=0.1,
    )
    (block,) = learners.table("a shop", [one], "test").blocks
    texts = [cell.text for cell in block.rows[0].cells]
    assert texts[0] == "3 x 10"
    assert texts[5:9] == ["10 / 8 / 10", "—", "12.5", "100 / 50 / 0"]
