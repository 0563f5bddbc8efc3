"""What is said before long work knows what is learned: clusters in seconds, networks in minutes."""

from __future__ import annotations

import pytest

from rars.config import Recipe
from rars.identifiers import choosing, tuned
from rars.pipeline import costs
from rars.progress import SILENT
from rars.scale import INLINE, cores, cost
from rars.scale.local import Local
from rars.search import cells
from tests.evaluation.worlds import make_dataset


@pytest.fixture
def dataset(tmp_path):
    judged = [("q1", "i1", 3.0)]
    return make_dataset(tmp_path / "data", [f"i{n}" for n in range(40)], ["q1"], judged)


def work(dataset, recipe, *changes):
    resolved = Recipe.resolve(recipe, size="tiny", changes=list(changes))
    assert "network" in costs.identifying(resolved)
    return costs.amounts(dataset, resolved)["network"]


def test_a_network_is_work_where_one_is_learned(dataset):
    assert work(dataset, "base") == 0
    rqvae = "identifiers.learner=rqvae"
    plain = work(dataset, "base", rqvae)
    assert plain > 0
    assert work(dataset, "base", rqvae, "identifiers.rqvae.epochs=600") == pytest.approx(2 * plain)
    # As measured, in epochs of a plain network: 1.0, 1.9, 2.7 and 3.0 (``benchmarks.learners``).
    tiger = work(dataset, "tiger")
    assert 1.5 < work(dataset, "merge") / tiger < 2.3
    assert 2.2 < work(dataset, "cat-id2") / tiger < 3.2
    assert 2.5 < work(dataset, "forge") / tiger < 3.6


def test_an_rqvae_of_ten_thousand_items_is_expected_to_take_minutes(dataset):
    recipe = Recipe.resolve("base", size="tiny", changes=["identifiers.learner=rqvae"])
    amount = costs.amounts(dataset, recipe)["network"] * 10_000 / dataset.n_items
    assert 100 < cost.stage("network", amount).seconds < 500


def test_a_model_is_timed_on_a_few_texts(dataset, monkeypatch):
    """The bundled embedder's line over characters would be wrong by as much as models differ."""
    monkeypatch.setattr(cores, "free", lambda: 1)
    monkeypatch.setattr(choosing, "embedding_seconds", lambda *_: 900.0)
    monkeypatch.setattr(tuned, "tuning_seconds", lambda *_: tuned.Seconds(4100.0, 900.0))
    name = "identifiers.embedder=package:some_model"

    def seconds(*changes, engine=INLINE):
        recipe = Recipe.resolve("practical", changes=list(changes))
        stages = costs.identifying(recipe)
        return costs.say(stages, dataset, recipe, engine, SILENT)["seconds"]

    assert seconds() < 800
    assert 890 < seconds(name) < 1800
    assert 4990 < seconds(name, "identifiers.tune=true") < 5900
    # Workers share the embedding alone.
    assert 4290 < seconds(name, "identifiers.tune=true", engine=Local(4)) < 4990


def test_queries_made_of_items_cost_their_vectors(dataset, monkeypatch):
    """Of the bundled embedder by their characters, of a model by trying some; nothing where none are read."""
    practical = Recipe.resolve("practical", size="tiny")
    assert costs.made_queries(dataset, practical, epochs=2) == 2 * dataset.n_items
    unread = ("model.prior=off", "model.vector_tokens=0", "model.aligned_codes=false")
    unread += ("objective.prior=inside",)
    assert costs.made_queries(dataset, Recipe.resolve("practical", changes=unread), epochs=2) == 0
    each = costs.seconds_a_query(dataset, "use", slowness=1.0)
    assert 0 < each < 0.001
    assert costs.seconds_a_query(dataset, "use", slowness=3.0) == pytest.approx(3 * each)
    monkeypatch.setattr("rars.identifiers.open_embedder", lambda name: name)
    tried = []
    monkeypatch.setattr(
        choosing, "seconds_a_text", lambda texts, model: tried.append((texts, model)) or 0.005
    )
    monkeypatch.setattr(cores, "free", lambda: 5)  # they are shared by batches
    assert costs.seconds_a_query(dataset, "package:some_model", slowness=3.0) == 0.001
    ((texts, model),) = tried
    assert model == "package:some_model"
    assert len(texts) == dataset.n_items


def test_vectors_take_disk_by_items_and_none_where_they_are_there(dataset, monkeypatch):
    """A long text has no longer vector; what a model embedded before is not written again."""

    def disk(*changes):
        recipe = Recipe.resolve("practical", changes=list(changes))
        return costs.say(("embed",), dataset, recipe, INLINE, SILENT)["disk"]

    assert disk() == dataset.n_items * 512 * 4
    monkeypatch.setattr(choosing, "embedding_seconds", lambda *_: 900.0)
    assert disk("identifiers.embedder=package:some_model") == dataset.n_items * 512 * 4
    monkeypatch.setattr(choosing, "embedding_seconds", lambda *_: 0.0)
    assert disk("identifiers.embedder=package:some_model") == 0


def test_an_index_of_many_items_puts_their_vectors_into_cells(dataset):
    """Work that small catalogues do not have, by the width of the vectors; half of the bytes as float16."""

    def work(*changes, width=64):
        recipe = Recipe.resolve("practical", changes=list(changes))
        return costs.amounts(dataset, recipe, width)

    assert work()["cells"] == 0
    assert work("search.candidates=cells")["cells"] > 0
    narrow, wide = (work("search.candidates=cells", width=width)["cells"] for width in (64, 128))
    assert narrow < wide < 2 * narrow, "a part of it does not depend on the width"
    assert work()["vectors"] == pytest.approx(dataset.n_items * 64 * 4 / 1e6)
    assert work("search.vectors=float16")["vectors"] == pytest.approx(work()["vectors"] / 2)
    digits = costs.amounts(dataset, Recipe.resolve("dsi-naive", size="tiny"))
    assert digits["vectors"] == digits["cells"] == 0


def test_finding_cells_grows_more_slowly_than_pairs_of_rows_and_cells():
    """Held against every cell ten million vectors would take ten times as long."""
    sizes = (10_000, 250_000, 10_000_000)
    few, some, many = (cells.work(size, 64) / size for size in sizes)
    assert few < some < many < 10 * some
    against_all = 2 * cells.usual_cells(10_000_000) * (64 + cells._COMPARED)
    assert many < 0.5 * against_all
