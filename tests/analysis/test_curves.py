"""Loss curves are drawn of any journal: whatever terms, phases and measurements it has."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest

from rars.analysis import curves, figures
from rars.config import Recipe
from rars.errors import RarsError


@pytest.fixture
def drawn(monkeypatch):
    """What was drawn: the title of every panel and how many points its lines have."""
    real, seen = figures.figure, []

    @contextmanager
    def watched(path, panels, **rest):
        with real(path, panels, **rest) as axes:
            yield axes
            seen.extend((a.get_title(), [len(line.get_xdata()) for line in a.lines]) for a in axes)

    monkeypatch.setattr(figures, "figure", watched)
    return seen


def journal(folder, lines):
    path = folder / "journal.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def step(number, per_epoch=4, **terms):
    return {
        "step": number,
        "epoch": number / per_epoch,
        "loss": sum(terms.values()),
        "learning_rate": 1e-3,
        **terms,
    }


def test_every_term_has_a_panel_and_the_rates_have_the_last(tmp_path, drawn):
    lines = [step(n, leaf=3.0 / n, tree=-0.5) for n in range(1, 101)]
    path = tmp_path / "figures" / "curves.png"
    found = curves.draw(journal(tmp_path, lines), path, {"leaf": "Leaf", "tree": "Tree"})
    assert path.read_bytes().startswith(b"\x89PNG")
    assert found == {"plot": str(path), "steps": 100, "last": lines[-1], "clipped": None}
    assert drawn == [("Leaf", [100, 50]), ("Tree", [100, 50]), ("learning rate", [100])]


def test_the_gradients_panel_says_how_many_steps_were_clipped(tmp_path, drawn):
    lines = [
        step(n, leaf=1.0) | {"gradient_norm": float(n), "clipped": float(n > 3)}
        for n in range(1, 5)
    ]
    found = curves.draw(journal(tmp_path, lines), tmp_path / "curves.png", {"leaf": "Leaf"})
    assert found["clipped"] == 0.25
    assert drawn[1][0] == "gradient norm (25 % clipped)"


def test_phases_with_terms_of_their_own_each_draw_what_they_have(tmp_path, drawn):
    lines = [step(n, leaf=1.0) | {"phase": "first"} for n in range(1, 5)]
    lines += [{"step": 4, "epoch": 1, "validation": 0.25, "phase": "first"}]
    lines += [step(n, leaf=0.5, tree=2.0) | {"phase": "second"} for n in range(5, 8)]
    terms = {"leaf": "Leaf", "tree": "Tree", "never": "Never"}
    found = curves.draw(journal(tmp_path, lines), tmp_path / "curves.svg", terms)
    assert [title for title, _ in drawn] == ["Leaf", "Tree", "rate, validation recall"]
    assert [points[0] for _, points in drawn] == [7, 3, 7]
    assert found["steps"] == 7


def test_a_single_step_and_a_journal_without_terms_are_drawn(tmp_path, drawn):
    curves.draw(journal(tmp_path, [step(1, leaf=1.0)]), tmp_path / "one.png", {"leaf": "Leaf"})
    curves.draw(journal(tmp_path, [step(1)]), tmp_path / "none.png", {"leaf": "Leaf"})
    assert [title for title, _ in drawn] == ["Leaf", "learning rate", "learning rate"]


@pytest.mark.parametrize("lines", [[], [{"step": 0, "epoch": 0, "validation": 0.5}]])
def test_a_journal_without_steps_is_refused_and_nothing_is_drawn(tmp_path, lines):
    path = journal(tmp_path, lines)
    with pytest.raises(RarsError, match="has no training steps to draw"):
        curves.draw(path, tmp_path / "curves.png", {"leaf": "Leaf"})
    with pytest.raises(RarsError, match=r"nowhere\.jsonl has no training steps"):
        curves.draw(tmp_path / "nowhere.jsonl", tmp_path / "curves.png", {})
    assert not (tmp_path / "curves.png").exists()


def test_titles_name_every_term_of_every_phase():
    listed = '[{name="a"}, {name="b", terms=[{term="grouped"}, {term="tree", name="fine"}]}]'
    found = curves.titles(Recipe.resolve("rars", changes=[f"training.phases={listed}"]))
    assert list(found) == [
        *("full-sid", "tree", "category-class", "category-contrast", "grouped", "fine")
    ]
    assert found["fine"] == f"{found['tree']} (fine)"


def test_the_journal_of_a_run_is_drawn(run_of, tmp_path, drawn):
    run = run_of("rars")
    terms = curves.titles(run.recipe())
    found = curves.draw(run.folder / "journal.jsonl", tmp_path / "curves.png", terms)
    assert len(drawn) == len(terms) + 2
    assert found["steps"] == run.manifest()["steps"]["model"]["steps"]
