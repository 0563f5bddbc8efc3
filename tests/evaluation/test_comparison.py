"""A comparison pairs systems by query, declares its family, and can be read everywhere."""

from __future__ import annotations

import io
import json
from itertools import combinations

import numpy as np
import pytest
from rich.console import Console

from rars.errors import RarsError
from rars.evaluation import PerQuery, compare, estimates, holm, sign_test, tables
from rars.evaluation import report as layout
from rars.evaluation.comparison import Contrast, Scores, differences, intervals

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


@pytest.fixture(scope="module")
def seeded():
    """Three systems with three, three and two seeds, and one more that only seed 5 was trained for."""
    rng = np.random.default_rng(7)

    def runs(seeds, shift):
        made = [
            PerQuery(
                np.arange(N, dtype=np.int32),
                {name: np.clip(rng.random(N) + shift, 0, 1) for name in ("Recall@5", "nDCG@10")},
            )
            for _ in seeds
        ]
        return Scores(tuple(seeds), tuple(made))

    return {"a": runs((0, 1, 2), 0), "b": runs((0, 1, 2), 0.1), "c": runs((2, 0), 0.05),
            "lone": runs((5,), 0)}  # fmt: skip


def test_one_run_each_gives_to_the_last_bit_what_its_formulas_say(systems):
    """Written out plainly: all systems in one matrix, then all differences in one matrix."""
    names, order = ("Recall@5", "Loss@L1-L2"), list(systems)
    values = {one: np.stack([systems[one].values[m] for m in names], axis=1) for one in order}
    rows = estimates(np.hstack([values[one] for one in order]), draws=700, seed=3)
    pairs = [(later, earlier) for earlier, later in combinations(order, 2)]
    delta = np.hstack([values[a] - values[b] for a, b in pairs])
    paired, p = estimates(delta, draws=700, seed=3), sign_test(delta, draws=700, seed=3)
    for family in ("table", "measure"):
        found = compare(systems, family=family, draws=700, seed=3)
        assert [found.systems[one][m] for one in order for m in names] == rows
        assert [one.estimate for one in found.differences] == paired
        assert [one.p for one in found.differences] == p.tolist()
        corrected = (
            holm(p)
            if family == "table"
            else np.stack([holm(column) for column in p.reshape(-1, 2).T], axis=1).ravel()
        )
        assert [one.p_holm for one in found.differences] == corrected.tolist()


def test_several_seeds_give_to_the_last_bit_what_their_formulas_say(seeded):
    """Written out plainly: queries averaged over seeds, each contrast by itself, families corrected apart."""
    names = ("Recall@5", "nDCG@10")

    def averaged(one, seeds, measures):
        runs = [seeded[one].runs[seeded[one].seeds.index(seed)] for seed in seeds]
        return np.mean([np.stack([r.values[m] for m in measures], axis=1) for r in runs], axis=0)

    whole = np.hstack([averaged(one, seeded[one].seeds, names) for one in seeded])
    assert list(intervals(seeded, names).values()) == estimates(whole)
    contrasts = [
        Contrast("b - a", "b", "a", names, "x"),
        Contrast("c - a", "c", "a", ("nDCG@10",), "y"),
        Contrast("lone - a", "lone", "a", names, "y"),
        Contrast("c - b", "c", "b", names, "x"),
    ]
    shared = {"b - a": (0, 1, 2), "c - a": (2, 0), "c - b": (2, 0)}
    found = differences(seeded, contrasts)
    assert list(dict.fromkeys(one.contrast.name for one in found)) == list(shared)
    tests = {"x": [], "y": []}
    for contrast in (one for one in contrasts if one.name in shared):
        seeds = shared[contrast.name]
        ours, theirs = (
            averaged(one, seeds, contrast.measures) for one in (contrast.system, contrast.reference)
        )
        listed = [one for one in found if one.contrast == contrast]
        assert [one.measure for one in listed] == list(contrast.measures)
        assert [one.estimate for one in listed] == estimates(ours - theirs)
        assert [one.p for one in listed] == sign_test(ours - theirs).tolist()
        tests[contrast.family] += listed
        for one in listed:
            each = [
                float(averaged(contrast.system, [seed], [one.measure]).mean())
                - float(averaged(contrast.reference, [seed], [one.measure]).mean())
                for seed in seeds
            ]
            assert list(one.per_seed) == each
            assert (one.seeds.mean, one.seeds.sd) == (np.mean(each), np.std(each, ddof=1))
    for listed in tests.values():
        assert [one.p_holm for one in listed] == holm([one.p for one in listed]).tolist()


def test_systems_with_several_seeds_are_compared_and_show_their_spread(seeded):
    found = compare({"a": seeded["a"], "b": list(seeded["b"].runs)}, draws=500)
    assert found.seeds["b"]["nDCG@10"] == seeded["b"].summary("nDCG@10")
    assert found.as_dict()["differences"][0]["seeds"]["n"] == 3
    text = layout.markdown(found)
    assert f"± {100 * seeded['b'].summary('nDCG@10').sd:.2f}" in text
    assert "over seeds ± sample standard deviation" in text
    with pytest.raises(RarsError, match="a has no run"):
        compare({"a": []})


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
    found = compare(systems, draws=2000)
    lines = layout.markdown(found).splitlines()
    assert lines[0] == "|  | System | Recall@5 | Loss@L1-L2 |"
    assert lines[2].startswith("| a | BM25 & co | ")
    one = found.systems["hybrid|2"]["Recall@5"]
    assert lines[4].startswith(
        f"| c | hybrid\\|2 | **{100 * one.mean:.2f}**<sup>ab</sup>"
        f"<br><sub>[{100 * one.low:.1f}, {100 * one.high:.1f}]</sub> | **"
    )
    assert lines[4].count("<sup>ab</sup>") == 2
    tests = [line for line in lines if line.startswith("| hybrid\\|2 − BM25 & co | Recall@5 | **+")]
    assert len(tests) == 1
    assert tests[0].endswith("| \\<0.001 | 0.003 |")
    assert "Holm's correction over 6 tests" in lines[-1]


def test_latex_shows_the_same_tables_with_escaped_names(systems):
    first, second = map(tables.latex, layout.shown(compare(systems, draws=2000)))
    assert r"BM25 \& co" in first
    assert r"\textsuperscript{ab}" in first
    assert "$<$0.001" in second


def test_a_notebook_shows_both_tables_escaped(systems):
    renamed = {f"<{name}>": one for name, one in systems.items()}
    shown = compare(renamed, draws=2000)._repr_html_()
    assert "&lt;BM25 &amp; co&gt;" in shown
    assert "<BM25" not in shown
    assert shown.count("<table>") == 2
    assert "<sup>ab</sup>" in shown
    assert "<b>+" in shown  # a significant difference
    assert "http" not in shown


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
