"""A comparison pairs systems by query, declares its family, and can be read everywhere."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from rich.console import Console

from rars.errors import RarsError
from rars.evaluation import PerQuery, compare, estimates, holm, sign_test
from rars.evaluation import report as layout

N = 120


@pytest.fixture(scope="module")
def systems():
    rng = np.random.default_rng(0)
    base = rng.beta(1, 2, size=N)
    shifts = {"BM25 & co": 0.0, "dense_1": 0.002, "hybrid|2": 0.08}
    return {
        name: PerQuery(
            np.arange(N, dtype=np.int32),
            {
                "Recall@5": np.clip(base + shift + rng.normal(0, 0.03, N), 0, 1),
                "Loss@L1-L2": np.clip(0.5 - shift + rng.normal(0, 0.03, N), 0, 1),
            },
            left_out=4,
        )
        for name, shift in shifts.items()
    }


def test_differences_are_those_of_the_statistics(systems):
    found = compare(systems, reference="BM25 & co", draws=500, seed=3)
    assert [(d.system, d.reference, d.measure) for d in found.differences] == [
        ("dense_1", "BM25 & co", "Recall@5"),
        ("dense_1", "BM25 & co", "Loss@L1-L2"),
        ("hybrid|2", "BM25 & co", "Recall@5"),
        ("hybrid|2", "BM25 & co", "Loss@L1-L2"),
    ]
    delta = np.hstack(
        [systems[name].matrix() - systems["BM25 & co"].matrix() for name in ("dense_1", "hybrid|2")]
    )
    p = sign_test(delta, draws=500, seed=3)
    assert [d.p for d in found.differences] == pytest.approx(p.tolist())
    assert [d.p_holm for d in found.differences] == pytest.approx(holm(p).tolist())
    assert [d.estimate for d in found.differences] == estimates(delta, draws=500, seed=3)
    mean = found.systems["dense_1"]["Recall@5"].mean
    assert mean == pytest.approx(systems["dense_1"].mean("Recall@5"))


def test_the_family_is_what_was_declared(systems):
    whole = compare(systems, draws=500)
    each = compare(systems, draws=500, family="measure")
    for measure in whole.measures:
        p = [d.p for d in each.differences if d.measure == measure]
        assert [d.p_holm for d in each.differences if d.measure == measure] == holm(p).tolist()
    assert [d.p_holm for d in whole.differences] == holm([d.p for d in whole.differences]).tolist()
    assert len(whole.differences) == 6  # three pairs, two measures


def test_letters_name_who_is_beaten_and_less_loss_is_better(systems):
    found = compare(systems, draws=2000)
    for measure in found.measures:
        assert found.beaten("hybrid|2", measure) == ("BM25 & co", "dense_1")
        assert found.beaten("BM25 & co", measure) == ()
    backwards = compare(dict(reversed(systems.items())), draws=2000)
    assert set(backwards.beaten("hybrid|2", "Recall@5")) == {"BM25 & co", "dense_1"}


def test_a_result_can_be_stored_as_json(systems):
    found = compare(systems, reference="dense_1", draws=100)
    stored = json.loads(json.dumps(found.as_dict()))
    assert (stored["queries"], stored["left_out"], stored["family"]) == (N, 4, "table")
    assert (
        stored["systems"]["dense_1"]["Recall@5"]["low"]
        < stored["systems"]["dense_1"]["Recall@5"]["high"]
    )
    assert set(stored["differences"][0]) == {
        "system", "reference", "measure", "mean", "low", "high", "p", "p_holm",
    }  # fmt: skip


def test_systems_of_different_queries_are_not_compared(systems):
    other = systems["dense_1"].of(np.arange(50))
    with pytest.raises(
        RarsError, match="BM25 & co and other were not measured on the same queries"
    ):
        compare({**systems, "other": other})
    with pytest.raises(RarsError, match="The reference 'gone' is not among"):
        compare(systems, reference="gone")
    with pytest.raises(RarsError, match="MRR@100 was not measured"):
        compare(systems, measures=["MRR@100"])


def test_one_system_alone_is_a_table_without_tests(systems):
    found = compare({"only": systems["dense_1"]}, draws=100)
    assert found.differences == ()
    text = layout.markdown(found)
    assert "Difference" not in text
    assert "**" not in text  # the best of one is no news
    assert "4 without a relevant item left out" in text


def test_markdown_shows_values_letters_and_tests(systems):
    lines = layout.markdown(compare(systems, draws=2000)).splitlines()
    assert lines[0] == "|  | System | Recall@5 | Loss@L1-L2 |"
    assert lines[2].startswith("| a | BM25 & co | ")
    assert lines[4].startswith("| c | hybrid\\|2 | **")
    assert lines[4].count("<sup>ab</sup>") == 2
    tests = [line for line in lines if "hybrid\\|2 - BM25 & co | Recall@5" in line]
    assert len(tests) == 1
    assert tests[0].endswith("| \\<0.001 | 0.003 |")


def test_latex_escapes_names_and_balances_its_environments(systems):
    found = compare(systems, draws=2000)
    for text in (layout.latex(found, label="tab:x"), layout.latex_differences(found)):
        assert r"BM25 \& co" in text
        assert r"dense\_1" in text
        for name in ("table", "tabular"):
            assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") == 1
    assert r"\textsuperscript{ab}" in layout.latex(found)
    assert "$<$0.001" in layout.latex_differences(found)


def test_the_terminal_table_fits_eighty_columns(systems):
    wide = {
        name: PerQuery(one.queries, {f"Recall@{k}": one.values["Recall@5"] for k in range(95, 101)})
        for name, one in systems.items()
    }
    console = Console(file=io.StringIO(), width=80, color_system=None)
    console.print(layout.terminal(compare(wide, reference="BM25 & co", draws=2000)))
    text = console.file.getvalue()
    assert "…" not in text
    assert "ᵃ" in text
    assert "hybrid|2" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_more_systems_than_letters_are_refused(systems):
    many = {f"s{n}": systems["dense_1"] for n in range(26)}
    with pytest.raises(RarsError, match="at most 25 systems, not 26"):
        layout.markdown(compare(many, draws=10, reference="s0"))
