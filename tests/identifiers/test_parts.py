"""A learner, a loss term and an embedder from outside: one object and one entry each, and all works."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from rars.config import IdentifierSettings, NoSettings, Recipe, Section, checked, part
from rars.data import Dataset
from rars.data.shop import make_shop
from rars.errors import RarsError
from rars.identifiers import LEARNERS, Identifiers, Learner, catalogue_categories, learn_identifiers
from rars.identifiers.embedders import EMBEDDERS, EmbedderKind
from rars.identifiers.quantisation import TERMS, QuantisationTerm
from rars.identifiers.rqvae import RqvaeSettings, fit_rqvae

from .worlds import families, shop

TINY = {"hidden": (32,), "dim": 8, "epochs": 24, "batch": 128, "lr": 3e-3, "evaluate_every": 4}


class AisleSettings(Section):
    pull: float = 1.0


def same_aisle(step, settings):
    """How far items of one top category are apart in codeword space, against items of all."""
    node = torch.from_numpy(np.array(step.scene.categories.nodes[step.rows, 0], dtype=np.int64))
    node = node.to(step.latent.device)
    sums = step.latent.new_zeros(int(node.max()) + 1, step.latent.shape[1])
    sums = sums.index_add(0, node, step.latent)
    means = sums / torch.bincount(node, minlength=len(sums)).clamp_min(1)[:, None]
    inside = (step.latent - means[node]).square().mean()
    return inside / step.latent.var(0).mean()


def fit_aisles(scene, settings):
    terms = ({"term": "reconstruction"}, {"term": "codebook"})
    pull = {"term": "same-aisle", "weight": settings.pull}
    return fit_rqvae(scene, RqvaeSettings.model_validate(TINY | {"terms": (*terms, pull)}))


@pytest.fixture(autouse=True)
def toys(monkeypatch, tmp_path):
    monkeypatch.setenv("RARS_CACHE", str(tmp_path / "cache"))
    learner = Learner(
        about="an RQ-VAE that keeps aisles together",
        settings=AisleSettings,
        fit=fit_aisles,
        defaults={"sizes": (8, 8, 8), "collisions": "suffix"},
        needs_categories=True,
    )
    term = QuantisationTerm(
        about="items of an aisle are close", settings=NoSettings, loss=same_aisle, weight=2.0
    )
    monkeypatch.setitem(LEARNERS, "aisles", learner)
    monkeypatch.setitem(TERMS, "same-aisle", term)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop") / "tiny"
    make_shop(folder, size="tiny")
    return Dataset.load(folder)


def aisle_purity(dataset, identifiers):
    """How often an item has the most frequent top category among those with its first code."""
    node = catalogue_categories(dataset, 1, list, 0).nodes[:, 0]
    table = np.zeros((identifiers.sizes[0], node.max() + 1))
    np.add.at(table, (identifiers.codes[:, 0], node), 1)
    return table.max(axis=1).sum() / len(node)


def chosen(**table):
    return checked(IdentifierSettings, {"learner": "aisles", **table}, "identifiers")


def test_a_learner_from_outside_learns_by_a_loss_that_reads_categories(dataset, tmp_path):
    settings = chosen(aisles={"pull": 5})
    assert (settings.sizes, settings.collisions, settings.own.pull) == ((8, 8, 8), "suffix", 5)
    pulled = learn_identifiers(dataset, settings)
    loose = learn_identifiers(dataset, chosen(aisles={"pull": 0}))
    assert aisle_purity(dataset, pulled) > aisle_purity(dataset, loose) + 0.1
    pulled.save(tmp_path / "ids")
    opened = Identifiers.load(tmp_path / "ids")
    assert opened.settings == settings != loose.settings
    assert np.array_equal(opened.codes, pulled.codes)


def test_its_settings_are_checked_like_any_others():
    with pytest.raises(RarsError, match=r"no setting 'identifiers\.aisles\.push'"):
        chosen(aisles={"push": 1})
    with pytest.raises(RarsError, match=r"identifiers\.aisles\.pull: Input should be a valid"):
        chosen(aisles={"pull": "strong"})


def test_recipes_name_it(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[identifiers]\nlearner = "aisles"\n[identifiers.aisles]\npull = 3.0\n')
    recipe = Recipe.resolve(path, size="tiny")
    assert recipe.identifiers == chosen(aisles={"pull": 3})
    changed = Recipe.resolve(path, size="tiny", changes=["identifiers.aisles.pull=4"])
    assert changed.identifiers.own.pull == 4
    (tmp_path / "resolved.toml").write_text(changed.to_toml())
    assert Recipe.read(tmp_path / "resolved.toml") == changed


def test_a_recipe_adds_a_term_to_the_learner_there_is(dataset, monkeypatch):
    """No learner of its own is needed; categories are made because the term asks for them."""
    monkeypatch.setitem(
        TERMS, "same-aisle", QuantisationTerm("", NoSettings, same_aisle, 2.0, True)
    )
    plain = {"learner": "rqvae", "sizes": (8, 8, 8), "collisions": "suffix", "rqvae": TINY}
    added = plain | {"rqvae": TINY | {"terms": {"same-aisle": {"term": "same-aisle", "weight": 5}}}}
    settings = checked(IdentifierSettings, added, "identifiers")
    assert [one.term for one in settings.own.terms] == ["codebook", "reconstruction", "same-aisle"]
    kept = [
        learn_identifiers(dataset, checked(IdentifierSettings, one, "")) for one in (added, plain)
    ]
    assert aisle_purity(dataset, kept[0]) > aisle_purity(dataset, kept[1]) + 0.1
    again = IdentifierSettings.model_validate(settings.model_dump(mode="json"))
    assert again == settings


def test_what_a_learner_receives(dataset):
    seen = []

    def fit(scene, settings):
        seen.append(scene)
        return part("learner", "naive").fit(scene, settings)

    for needs in ({"needs_categories": True}, {"needs_vectors": True}, {}):
        LEARNERS["aisles"] = Learner(
            about="", settings=NoSettings, fit=fit, **{"needs_vectors": False, **needs}
        )
        vectors = families(dataset.n_items)
        learn_identifiers(dataset, chosen(sizes=(3, 4), seed=7), vectors=vectors, device="meta")
    assert [(s.categories is None, s.vectors is None) for s in seen] == [
        (False, True),
        (True, False),
        (True, True),
    ]
    assert {(s.sizes, s.seed, s.device) for s in seen} == {((3, 4), 7, "meta")}
    assert seen[0].categories.nodes.shape == (dataset.n_items, 3)


def test_categories_are_the_catalogue_s_own_or_else_induced(dataset, tmp_path):
    def asked():
        raise AssertionError("nobody needs vectors where there are paths")

    own = catalogue_categories(dataset, 2, asked, 0)
    assert own.nodes.shape == (dataset.n_items, 2)
    assert any(" > " in name for name in own.names[1])
    bare = shop(tmp_path / "bare", [f"item {n}" for n in range(300)])
    induced = catalogue_categories(bare, 2, lambda: families(300), 3)
    assert len(induced.names[0]) == 20
    again = catalogue_categories(bare, 2, lambda: families(300), 3)
    assert np.array_equal(induced.nodes, again.nodes)


def test_an_embedder_from_outside_is_named_and_gets_its_source_and_device(dataset, monkeypatch):
    opened = []

    def open_lengths(source, device):
        opened.append((source, device))
        vectors = families(1000, int(source))
        embed = lambda texts: vectors[[len(text) for text in texts]]  # noqa: E731
        return SimpleNamespace(dim=int(source), digest=f"lengths {source}", embed=embed)

    kind = EmbedderKind(about="", open=open_lengths, source="WIDTH")
    monkeypatch.setitem(EMBEDDERS, "lengths", kind)
    settings = IdentifierSettings.model_validate({"embedder": "lengths:12", "sizes": (16, 16)})
    learned = learn_identifiers(dataset, settings, device="some device")
    assert opened == [("12", "some device")]
    assert learned.embedder == "lengths 12"
    assert learned.quantizer.inputs == 12
    with pytest.raises(RarsError, match="choose use, .* or lengths:WIDTH"):
        learn_identifiers(dataset, settings.model_copy(update={"embedder": "lengths"}))
