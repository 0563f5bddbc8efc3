"""Several phases are one training: each has its own terms and schedule, a kill anywhere changes nothing."""

from __future__ import annotations

import json
import os
import signal
import time

import numpy as np
import pytest
import safetensors.numpy

from rars.config import Recipe
from rars.data import Dataset
from rars.data.shop import make_shop
from rars.errors import RarsError
from rars.objectives import TERMS
from rars.pipeline.training import train
from tests.command import Started
from tests.training import phases

BASE = """
extends = "base"
name = "several"

[identifiers]
sizes = [16, 16, 16]

[model]
vocabulary = 400
dropout = 0.1

[training]
epochs = 2
pairs = 96
checkpoint_seconds = 0
"""

TWO = (
    BASE
    + """
[[training.phases]]
name = "first"
keep = "best"

[[training.phases]]
name = "second"
epochs = 3
learning_rate = 2e-3

[[training.phases.terms]]
term = "grouped"

[[training.phases.terms]]
term = "tree"
rank = 8
"""
)

MINED = (
    BASE
    + """
[[objective.terms]]
term = "full-sid"

[[objective.terms]]
term = "margin"
weight = 0.1
margin = 2.0
source = "beam"
"""
)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("phases")
    make_shop(folder / "shop", size="tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RARS_CACHE", str(folder / "cache"))
        patch.setitem(TERMS, "margin", phases.TERM)
        yield folder


def trained(home, name, text, *changes):
    """A run of a recipe written as text; the one that is there already if there is one."""
    path, out = home / f"{name}.toml", home / name
    path.write_text(text, encoding="utf-8")
    recipe = Recipe.resolve(path, size="tiny", changes=changes)
    train(Dataset.load(home / "shop"), recipe, out)
    return out


def weights(out):
    return (out / "model" / "model.safetensors").read_bytes()


def journal(out):
    return [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def two(home):
    return trained(home, "two", TWO)


def killed(home, name, text, *moments):
    """Train in processes of their own, killed at one moment after the other; the last one ends.

    A moment is asked of the run folder, once the process now running has written to the journal.
    """
    path, out = home / f"{name}.toml", home / name
    path.write_text(text, encoding="utf-8")
    journal = out / "journal.jsonl"
    for moment in (*moments, None):
        known = journal.stat().st_mtime_ns if journal.exists() else 0
        process = Started(phases.train_file, home / "shop", out, path)
        while moment is not None and process.poll() is None:
            if journal.exists() and journal.stat().st_mtime_ns > known and moment(out):
                os.kill(process.pid, signal.SIGKILL)
                break
            time.sleep(0.005)
        _, said = process.communicate(timeout=120)
        assert process.returncode == (0 if moment is None else -signal.SIGKILL), said
    return out


def after(lines, phase=""):
    """The moment at which the journal has so many lines (of a phase)."""

    def moment(out):
        return (out / "journal.jsonl").read_text().count(
            f'"phase": "{phase}"' if phase else "\n"
        ) >= lines

    return moment


def test_each_phase_has_its_own_terms_epochs_and_steps(two):
    lines = journal(two)
    steps = [line["step"] for line in lines if "loss" in line]
    assert steps == list(range(1, len(steps) + 1)), "steps are counted through"
    first = [line for line in lines if line["phase"] == "first"]
    second = [line for line in lines if line["phase"] == "second"]
    assert lines == first + second
    losses = [line for line in first if "loss" in line]
    assert all({"full-sid", "category-class"} < line.keys() for line in losses)
    assert not any("tree" in line for line in first)
    assert all({"grouped", "tree"} < line.keys() and "full-sid" not in line for line in second)
    assert (first[-1]["epoch"], second[-1]["epoch"]) == (2.0, 5.0)
    assert [line["epoch"] for line in first if "validation" in line] == [1, 2]
    assert not any("validation" in line for line in second)
    assert max(line["learning_rate"] for line in second) > 1.5e-3
    assert json.loads((two / "manifest.json").read_text())["steps"]["model"]["steps"] == steps[-1]


def test_killed_in_either_phase_it_ends_in_the_same_weights(home, two):
    out = killed(home, "killed", TWO, after(2, "first"), after(2, "second"))
    assert weights(out) == weights(two)
    assert told(out) == told(two), "the journal tells of one uninterrupted run"


def test_killed_between_phases_it_ends_in_the_same_weights(home, two):
    """Without checkpoints inside a phase, the second begins again from what the first one kept."""
    text = TWO.replace("checkpoint_seconds = 0", "checkpoint_seconds = 600")
    out = killed(home, "between", text, after(2, "second"))
    assert weights(out) == weights(two)
    assert told(out) == told(two)


PATIENT = TWO.replace('keep = "best"', 'keep = "best"\npatience = 1\nepochs = 6')


def test_a_phase_that_ended_early_is_followed_by_the_next_killed_or_not(home):
    """The first phase stops when validation gets no better; the second starts from its best weights."""
    whole = trained(home, "patient", PATIENT)
    validated = [line["validation"] for line in journal(whole) if "validation" in line]
    assert len(validated) < 6, "it stopped"
    assert validated[-1] <= max(validated[:-1])
    out = killed(home, "patient-killed", PATIENT, after(3, "first"), after(2, "second"))
    assert weights(out) == weights(whole)
    assert told(out) == told(whole)


def told(out):
    kept = ("step", "phase", "loss", "epoch", "validation")
    return [{name: line.get(name) for name in kept} for line in journal(out)]


def test_a_fresh_start_forgets_the_phase_before(home):
    """Two phases of one kind: the second begins where the first began, or where it ended."""
    listed = '\n[[training.phases]]\nname = "first"\n[[training.phases]]\nname = "second"\n'
    goes_on = trained(home, "goes-on", BASE + listed)
    again = trained(home, "again", BASE + listed + 'start = "fresh"\n')

    def starts(out):
        lines = journal(out)
        return [
            next(one for one in lines if one["phase"] == p)["loss"] for p in ("first", "second")
        ]

    first, second = starts(again)
    assert second == pytest.approx(first, rel=0.1)
    assert starts(goes_on)[1] < 0.9 * first
    assert starts(goes_on)[0] == first


def test_one_phase_written_out_is_no_phases(home):
    plain = trained(home, "plain", BASE)
    one = trained(home, "one", BASE + '[[training.phases]]\nname = "only"\n')
    assert weights(plain) == weights(one)
    assert not any("phase" in line for line in journal(one))


def test_an_interrupted_phase_of_another_recipe_is_refused(home, two):
    before = weights(two)
    with pytest.raises(RarsError, match="belongs to another recipe"):
        trained(home, "two", TWO, "training.phases.second.epochs=4")
    assert weights(two) == before


@pytest.mark.parametrize("source", ["beam", "bm25", "random", "judged"])
def test_a_term_is_trained_on_candidates_of_every_source(home, source):
    out = trained(home, f"mined-{source}", MINED, f"objective.terms.margin.source={source}")
    values = [line["margin"] for line in journal(out)]
    assert np.isfinite(values).all()
    assert max(values) > 0
    lists = out / "candidates" / "training-margin"
    listed = json.loads((lists / "manifest.json").read_text())["meta"]
    assert listed["epoch"] == (1 if source == "beam" else 0), "lists of the model grow old"
    query, item = (np.load(lists / f"{name}.npy") for name in ("query", "item"))
    shop = Dataset.load(home / "shop")
    asked, row = np.unique(shop.positives("train")[0], return_inverse=True)
    own = set(zip(row.tolist(), shop.positives("train")[1].tolist(), strict=True))
    pairs = set(zip(query.tolist(), item.tolist(), strict=True))
    assert own < pairs
    counts = np.bincount([q for q, _ in pairs - own], minlength=len(asked))
    assert counts.max() <= 4
    assert source == "judged" or counts.mean() > 3


def test_a_setting_of_the_toy_term_matters(home):
    """Otherwise the tests above could not fail for a term that is never reached."""
    one = trained(home, "mined-random", MINED, "objective.terms.margin.source=random")
    other = trained(
        home,
        "mined-wide",
        MINED,
        "objective.terms.margin.source=random",
        "objective.terms.margin.margin=9",
    )
    assert journal(one)[0]["margin"] < journal(other)[0]["margin"]
    assert weights(one) != weights(other)


def test_a_killed_run_goes_on_with_the_lists_of_the_model_as_it_was(home):
    """Killed inside the epochs that share lists, and after they were made anew."""
    text = f"{MINED}refresh = 2\n".replace("epochs = 2", "epochs = 3")
    whole = trained(home, "beam", text)
    epoch = len(journal(whole)) // 3
    out = killed(home, "beam-killed", text, after(epoch + 2), after(2 * epoch + 2))
    assert weights(out) == weights(whole)
    for name in ("query", "item", "rank"):
        lists = [np.load(run / f"candidates/training-margin/{name}.npy") for run in (whole, out)]
        np.testing.assert_array_equal(*lists)


def test_what_a_term_trains_for_itself_is_not_kept(two):
    names = safetensors.numpy.load_file(two / "model" / "model.safetensors")
    assert not any("heads" in name and "categories" not in name for name in names)
