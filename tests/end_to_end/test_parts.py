"""Parts from outside the package: an objective, a learner, a rule and a dense system; nothing is patched.

Each is an object put into the plain dict of its room, and a recipe that names it; the package does the rest:
it trains, resumes, evaluates, compares and explains them like its own.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from rars import Recipe, Retriever, compare, evaluate, train
from rars.baselines import SYSTEMS, SystemPart
from rars.baselines.bm25 import catalogue_texts
from rars.config import Section
from rars.data import Dataset
from rars.data.shop import make_shop
from rars.data.words import words
from rars.identifiers.learners import LEARNERS, Learner
from rars.identifiers.nearest import nearest
from rars.identifiers.quantisation import TERMS as QUANTISATION
from rars.identifiers.quantisation import QuantisationTerm
from rars.identifiers.rqvae import RqvaeSettings, fit_rqvae
from rars.objectives import TERMS
from rars.objectives.common import ListRequest, Term, Total
from rars.search.rules import RULES, Rule, RulePart

# -- an objective: a margin over items mined from the model's own beam -----------------------------


class MarginSettings(Section):
    """The toy objective's own settings."""

    margin: float = 1.0
    source: str = "beam"


def margin_loss(found, batch, context, settings):
    """Relevant candidates above the others of their query, by a margin of log-probability."""
    lists, score = context.candidates, context.scores.sum(dim=1)
    above = (lists.query[:, None] == lists.query) & (lists.mass[:, None] > 0) & (lists.mass == 0)
    short = torch.relu(settings.margin - (score[:, None] - score))
    return Total(short[above].sum(), max(1, int(above.sum())))


MARGIN = Term(
    about="relevant items above those the beam finds",
    title="margin",
    loss=margin_loss,
    settings=MarginSettings,
    candidates=lambda settings: ListRequest(source=settings.source, count=4),
)

# -- a learner: an RQ-VAE with a loss of its own that reads the catalogue's categories -------------


class AisleSettings(Section):
    """The toy learner's own settings."""

    pull: float = 2.0


def same_aisle(step, settings):
    """Items of one top category lie close together."""
    aisle = torch.from_numpy(np.asarray(step.scene.categories.nodes[step.rows, 0]))
    same = (aisle[:, None] == aisle) & (aisle >= 0)
    apart = torch.cdist(step.latent, step.latent)
    return (apart * same).sum() / same.sum().clamp(min=1)


def fit_aisles(scene, settings):
    terms = [{"term": "codebook"}, {"term": "reconstruction"}]
    small = {"hidden": (32,), "dim": 8, "epochs": 6, "batch": 128}
    pulled = {"term": "same-aisle", "weight": settings.pull}
    return fit_rqvae(scene, RqvaeSettings.model_validate(small | {"terms": [*terms, pulled]}))


AISLES = Learner(
    about="an RQ-VAE that keeps aisles together",
    settings=AisleSettings,
    fit=fit_aisles,
    defaults={"sizes": (16, 16, 16), "collisions": "suffix"},
    takes_sizes=True,
    needs_vectors=True,
    needs_categories=True,
)

# -- a rule: words decide the first code, the model the others -------------------------------------


class FirstWordsSettings(Section):
    """The toy rule's own settings."""

    weight: float = 4.0


def first_words(settings, depth):
    mask = (True, *(False,) * (depth - 1))
    return Rule("first-words", mask, settings.weight, {"bm25": 1.0}, routed=False)


# -- a dense system: words hashed into a few numbers -----------------------------------------------


class HashedSettings(Section):
    """The toy system's own settings."""

    dim: int = 64


@dataclass(frozen=True)
class Hashed:
    vectors: np.ndarray
    dim: int

    def search(self, texts, k=100, *, advance=None):
        return nearest(hashed(texts, self.dim), self.vectors, k, cosine=True)


def hashed(texts, dim):
    found = np.zeros((len(texts), dim), dtype=np.float32)
    for row, text in enumerate(texts):
        for word in words(text or ""):
            found[row, int(hashlib.sha256(word.encode()).hexdigest(), 16) % dim] += 1
    return found


def learn_nothing(own, dataset, folder, held, *, seed=0, advance=None):
    return {}


def open_hashed(own, dataset, folder, facts, *, advance=None):
    dim = own["hashed"].dim
    return Hashed(hashed(catalogue_texts(dataset).to_pylist(), dim), dim)


# -- together --------------------------------------------------------------------------------------

RECIPES = {
    "margin": """
        name = "margin"
        extends = "base"
        [objective.terms.margin]
        term = "margin"
        weight = 0.2
        margin = 0.5
    """,
    "aisles": """
        name = "aisles"
        extends = "base"
        [identifiers]
        learner = "aisles"
        [identifiers.aisles]
        pull = 3.0
    """,
    "first-words": """
        name = "first-words"
        extends = "base"
        [search]
        rule = "first-words"
        [search.first-words]
        weight = 6.0
    """,
    "hashed": """
        name = "hashed"
        system = "hashed"
        [hashed]
        dim = 128
    """,
}
QUICK = ["training.epochs=2", "training.pairs=64", "model.vocabulary=400"]


@pytest.fixture(scope="module", autouse=True)
def _parts(tmp_path_factory):
    """One line in the table of each room; taken out again for the tests that follow."""
    rule = RulePart("words first, then the model", first_words, FirstWordsSettings)
    system = SystemPart("hashed words", HashedSettings, ("hashed",), learn_nothing, open_hashed)
    term = QuantisationTerm("aisles together", Section, same_aisle, needs_categories=True)
    added = [
        (TERMS, "margin", MARGIN),
        (QUANTISATION, "same-aisle", term),
        (LEARNERS, "aisles", AISLES),
        (RULES, "first-words", rule),
        (SYSTEMS, "hashed", system),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RARS_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        for table, name, part in added:
            table[name] = part
        yield
    for table, name, _ in added:
        del table[name]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    make_shop(folder / "shop", size="tiny")
    for name, text in RECIPES.items():
        (folder / f"{name}.toml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def runs(home):
    shop = Dataset.load(home / "shop")
    made = {}
    for name in RECIPES:
        few = [] if name in ("hashed", "aisles") else ["identifiers.sizes=[16, 16, 16]"]
        changes = [] if name == "hashed" else [*QUICK, *few]
        recipe = Recipe.resolve(home / f"{name}.toml", size="tiny", changes=changes)
        made[name] = train(shop, recipe, home / name)
    return made


def test_all_four_are_trained_evaluated_and_compared(home, runs):
    found = compare({name: home / name for name in RECIPES}, reference="hashed")
    assert set(found.systems) == set(RECIPES)
    assert {one.system for one in found.differences} == {"margin", "aisles", "first-words"}
    for row in found.systems.values():
        assert 0 < row["Recall@100"].mean <= 1


def test_the_objective_has_its_setting_its_journal_and_its_mined_items(home, runs):
    assert {"margin", "full-sid"} <= set(runs["margin"].losses)
    recipe = Recipe.read(home / "margin" / "recipe.toml")
    assert recipe.objective.named("margin").own.margin == 0.5
    assert (home / "margin" / "candidates" / "training-margin").is_dir()


def test_the_learner_read_categories_and_its_setting(home, runs):
    recipe = Recipe.read(home / "aisles" / "recipe.toml")
    assert recipe.identifiers.own.pull == 3.0
    assert Retriever.load(home / "aisles").tree.depth == 4  # three codes, and a suffix


def test_the_rule_is_the_recipes_own_and_words_decide_the_first_code_alone(home, runs):
    [found] = evaluate(home / "first-words")
    assert found.rule == "first-words"
    hits = Retriever.load(home / "first-words").search("lamp", k=5, explain=True)
    for hit in hits:
        first, *others = (step.evidence for step in hit.explanation.steps)
        assert not any(others)
    assert max(hit.explanation.steps[0].evidence for hit in hits) > 0
    assert first >= 0


def test_the_dense_system_is_opened_with_its_setting(home, runs):
    assert Recipe.read(home / "hashed" / "recipe.toml").own["hashed"].dim == 128
    [found] = evaluate(home / "hashed")
    assert found.mean("Recall@100") > 0.4  # 300 items: chance finds a third
