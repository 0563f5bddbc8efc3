"""Tables show the numbers they were given, in every medium; figures and the page can be made."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest
from rich.console import Console

from rars.evaluation import tables
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.experiments import learning_rate, page
from rars.experiments.design import Setting
from rars.experiments.findings import findings
from rars.experiments.learning_rate import Curve
from rars.experiments.studies import STUDIES, geometry, main
from tests.experiments.made_up import found_of, per_query

SETTING = Setting("tiny", rates={"base": 2e-3, "rars": 1e-3})
PLAIN = Setting("tiny")


@cache
def numbers_of(rates):
    """Of the main study, whose many tests take a while."""
    return found_of(main.STUDY, SETTING if rates else PLAIN)


def main_numbers(setting):
    return numbers_of(bool(setting.rates))


SMALL = Table(
    "small",
    "A & B",
    ("Model",),
    ("R@5", "N@10"),
    (
        Block((Row(("a_1",), (Cell("1.00", "0.10", ("0.5", "1.5"), "best"), Cell("<2"))),)),
        Block((Row(("b|2",), (Cell("3.00", mark="second"), Cell("—"))),), "more"),
    ),
    "100 % of it.",
    (("US", 2),),
)


def test_latex_is_booktabs_with_escaped_text():
    lines = tables.latex(SMALL).splitlines()
    assert r"\begin{tabular}{lrr}" in lines
    assert r" & \multicolumn{2}{c}{US}\\" in lines
    assert r"\cmidrule(lr){2-3}" in lines
    assert r"a\_1 & \textbf{1.00}\,\textpm{}\,0.10 & $<$2\\" in lines
    assert r"\multicolumn{3}{l}{\emph{more}}\\" in lines
    assert r"b|2 & \underline{3.00} & ---\\" in lines
    assert r"\caption{100 \% of it.}" in lines
    assert [line for line in lines if line in (r"\toprule", r"\midrule", r"\bottomrule")] == [
        *(r"\toprule", r"\midrule", r"\midrule", r"\bottomrule")
    ]


def test_markdown_keeps_its_columns():
    text = tables.markdown(SMALL)
    listed = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in listed} == {4}
    assert r"| a\_1 | **1.00** ± 0.10<br><sub>[0.5, 1.5]</sub> | \<2 |" in listed
    assert tables.INTERVALS in text


def test_the_terminal_shows_every_value():
    console = Console(width=90, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(tables.terminal(SMALL))
    shown = console.export_text()
    for value in ("a_1", "1.00 ±0.10", "0.5–1.5", "b|2", "3.00", "100 % of it."):
        assert value in shown


def test_a_notebook_shows_every_value_escaped_and_brings_its_style():
    shown = SMALL._repr_html_()
    parser = Outside()
    parser.feed(shown)
    assert parser.open == []
    assert parser.loads == []
    for value in (
        "A &amp; B",
        "<b>1.00</b>",
        "± 0.10",
        "[0.5, 1.5]",
        "&lt;2",
        "<u>3.00</u>",
        "more",
    ):
        assert value in shown
    assert '<th colspan="2">US</th>' in shown
    assert tables.INTERVALS in shown
    assert "<style>" in shown


def row_of(text, label):
    (line,) = [one for one in text.splitlines() if one.startswith(f"| {label} |")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_the_main_table_holds_the_means_of_the_seeds():
    text = tables.markdown(main.tables(main_numbers(SETTING))[0])
    for label, key, rule in (
        ("Base / AR only", "base", "ar"),
        ("RARS / all levels", "rars", "all"),
        ("RARS, own rate / AR only", "rars-own", "ar"),
    ):
        cells = row_of(text, label)[1:]  # after what it is made of
        for cell, measure in zip(
            cells, ("Recall@5", "Recall@10", "Recall@100", "nDCG@10", "nDCG@100"), strict=True
        ):
            values = [per_query(key, rule, seed).values[measure].mean() for seed in range(3)]
            mean, spread = re.findall(r"\d+\.\d\d", cell)[:2]
            assert float(mean) == pytest.approx(100 * np.mean(values), abs=0.0051)
            assert float(spread) == pytest.approx(100 * np.std(values, ddof=1), abs=0.0051)


def test_the_best_of_each_column_is_bold_once():
    table = main.tables(main_numbers(SETTING))[0]
    listed = [row for block in table.blocks for row in block.rows]
    for column in range(5):
        marks = {row.cells[column].mark: float(row.cells[column].text) for row in listed}
        values = sorted((float(row.cells[column].text) for row in listed), reverse=True)
        assert (marks["best"], marks["second"]) == (values[0], values[1])


def test_gains_over_base_are_the_difference_of_the_two_columns():
    found = found_of(geometry.STUDY, SETTING)
    for row in geometry.STUDY.tables(found)[0].blocks[0].rows:
        for at in (0, 3):
            base, rars, gain = (float(row.cells[at + i].text.replace("−", "-")) for i in range(3))
            assert gain == pytest.approx(rars - base, abs=0.011)


def test_a_condition_that_failed_altogether_leaves_a_dash():
    missing = tuple(("rars", seed) for seed in range(3))
    made = main.tables(found_of(main.STUDY, SETTING, missing=missing))
    assert row_of(tables.markdown(made[0]), "RARS / AR only")[1:] == ["—"] * 5


PAPER = (
    "BM25 DPR MPNet Sentence-T5 Sentence-mT5 BGE-M3 LaSER DSI,naive DSI,semantic TIGER Hi-Gen LTRGR "
    "RIPOR MERGE CaLIR CAT-ID² FORGE HGRec"
)


def test_the_main_table_has_the_papers_rows_in_its_order():
    """Eighteen published systems in three blocks, then Base and RARS under both rules."""
    table = main.tables(main_numbers(PLAIN))[0]
    listed = {block.title: [row.labels[0] for row in block.rows] for block in table.blocks}
    published = [label for title in list(listed)[:3] for label in listed[title]]
    assert " ".join(one.split(" (")[0].replace(" ", "") for one in published) == PAPER
    assert list(listed)[:3] == ["Sparse retrieval", "Dense retrieval", "Generative retrieval"]
    assert listed[main.CONTROLLED] == [
        *("Base / AR only", "RARS / AR only", "Base / all levels", "RARS / all levels")
    ]
    rows = {row.labels[0]: row for block in table.blocks for row in block.rows}
    texts = [
        [cell.text for cell in rows[one].cells] for one in ("CaLIR (arXiv'26)", "Base / AR only")
    ]
    assert texts[0] == texts[1]
    assert rows["MPNet (NeurIPS'20)"].labels[1] == "all-mpnet-base-v2, zero-shot"
    assert rows["RARS / AR only"].labels[1] == "tiny, from nothing; use vectors"
    assert rows["TIGER (NeurIPS'23)"].labels[1] == "tiny, from nothing; use vectors"


@pytest.mark.parametrize(("language", "dashes"), [("en", "Sentence-mT5"), ("ja", "Sentence-T5")])
def test_a_system_for_other_languages_is_a_row_of_dashes(language, dashes):
    setting = Setting("paper", language=language)
    table = main.tables(found_of(main.STUDY, setting))[0]
    rows = {row.labels[0].split(" (")[0]: row for block in table.blocks for row in block.rows}
    empty = [name for name, row in rows.items() if {cell.text for cell in row.cells} == {"—"}]
    assert empty == [dashes]
    wanted = {
        "en": ("t5-base", "bert-base-uncased"),
        "ja": ("mt5-base", "bert-base-multilingual-cased"),
    }
    backbone, encoder = wanted[language]
    assert rows["TIGER"].labels[1].startswith(f"{backbone}, pretrained")
    assert rows["DPR"].labels[1].startswith(encoder)


def test_only_the_rows_asked_for_are_made():
    setting = Setting("tiny", systems=("tiger", "calir"), rates={"base": 1e-3})
    assert [one.key for one in main.conditions(setting)] == ["tiger", "base"]
    table = main.tables(found_of(main.STUDY, setting))[0]
    labels = [row.labels[0] for block in table.blocks for row in block.rows]
    assert labels == ["TIGER (NeurIPS'23)", "CaLIR (arXiv'26)"]


def test_increments_are_differences_of_differences():
    """Against the values of each query: (RARS all - RARS ar) - (Base all - Base ar), seed by seed."""
    found = main_numbers(PLAIN)
    one = found.delta("Scoring increments, RARS − Base", "nDCG@10")

    def value(key, rule, seed):
        return per_query(key, rule, seed).values["nDCG@10"]

    each = [
        (value("rars", "all", s) - value("rars", "ar", s))
        - (value("base", "all", s) - value("base", "ar", s))
        for s in range(3)
    ]
    assert one.estimate.mean == pytest.approx(np.mean(each))
    assert one.per_seed == pytest.approx([part.mean() for part in each])
    assert one.estimate.low < one.estimate.mean < one.estimate.high
    gap = found.delta("RARS, all levels − BM25", "Recall@100")
    assert len(gap.per_seed) == 3  # BM25 has one run, which every seed is compared with
    bm25 = per_query("bm25", "plain", 0).values["Recall@100"].mean()
    rars = [per_query("rars", "all", s).values["Recall@100"].mean() for s in range(3)]
    assert gap.per_seed == pytest.approx([one - bm25 for one in rars])


def test_weights_that_cannot_be_had_are_dashes_and_a_sentence():
    found = found_of(main.STUDY, Setting("tiny"), missing=(("mpnet", 0),))
    why = "Embedder 'x' cannot be loaded: it is nowhere."
    made = main.tables(replace(found, lacking={"mpnet": why}))[0]
    assert row_of(tables.markdown(made), "MPNet (NeurIPS'20)")[1:] == ["—"] * 5
    assert f"Without numbers: MPNet (NeurIPS'20): {why}" in made.caption


def test_nq320k_shares_weights_and_shows_the_gain_over_the_best_other():
    study = STUDIES["nq320k"]
    table = study.tables(found_of(study, Setting("tiny")))[0]
    rows = {
        row.labels[0]: [cell.text for cell in row.cells] for b in table.blocks for row in b.rows
    }
    assert list(rows)[:5] == ["TIGER", "MERGE", "CaLIR", "RARS", "Improv. (Δ)"]
    for at, gain in enumerate(rows["Improv. (Δ)"]):
        others = max(float(rows[one][at]) for one in ("TIGER", "MERGE", "CaLIR"))
        assert float(gain.replace("−", "-")) == pytest.approx(
            float(rows["RARS"][at]) - others, abs=0.011
        )
    trained = {one.key: one.rules for one in study.conditions(Setting("tiny"))}
    assert trained["base"] == ("ar", "all")
    recipe = Setting("paper", protocol="nq320k").recipe("base")
    assert (recipe.training.epochs, recipe.training.pairs) == (100, 512)


def test_several_datasets_stand_side_by_side():
    """A row that one dataset lacks is dashes there; what describes a row is said where it differs."""

    def table(*rows, groups=()):
        made = tuple(Row(labels, (Cell(a), Cell(b))) for labels, a, b in rows)
        return Table(
            "t",
            "T",
            ("Model", "Made of"),
            ("R", "N"),
            (Block(made, "one"),),
            groups=groups,
            described=1,
        )

    en = table((("a", "t5"), "1", "2"), (("b", "x"), "3", "4"))
    es = table((("a", "mt5"), "5", "6"), (("c", ""), "7", "8"))
    found = tables.together({"en": en, "es": es})
    assert found.groups == (("en", 2), ("es", 2))
    assert found.columns == ("R", "N", "R", "N")
    rows = [(row.labels, [cell.text for cell in row.cells]) for row in found.blocks[0].rows]
    assert rows == [
        (("a", "t5 / mt5"), ["1", "2", "5", "6"]),
        (("b", "x"), ["3", "4", "—", "—"]),
        (("c", ""), ["—", "—", "7", "8"]),
    ]
    assert r"\multicolumn{2}{c}{es}" in tables.latex(found)
    grouped = table((("a", "t5"), "1", "2"), groups=(("Full", 1), ("Seen", 1)))
    assert tables.together({"x": grouped, "y": grouped}).groups[:2] == (
        ("x, Full", 1),
        ("x, Seen", 1),
    )
    assert tables.together({"en": en}) is en


def test_tests_of_several_datasets_stand_below_one_another():
    one = main.tables(main_numbers(SETTING))[1]
    found = tables.together({"en": one, "es": one})
    assert found.columns == one.columns
    assert [block.title for block in found.blocks] == ["en", "es"]


@pytest.mark.parametrize("seeds", [1, 3])
def test_differences_show_a_spread_over_seeds_where_there_are_several(seeds):
    made = main.tables(found_of(main.STUDY, SETTING, seeds=seeds))[1]
    assert ("over seeds" in made.columns) == (seeds > 1)
    assert ("mean over seeds" in made.caption) == (seeds > 1)
    assert all(len(row.cells) == len(made.columns) for block in made.blocks for row in block.rows)


class Outside(HTMLParser):
    """Collects what a page would load, and whether its tags close."""

    def __init__(self):
        super().__init__()
        self.loads, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.loads += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


CURVES = [Curve("base", {1e-3: (0.3,), 2e-3: (0.4,), 4e-3: (0.2,)}, 9)]


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_makes_its_tables_figure_and_page(name, tmp_path):
    study = STUDIES[name]
    found = found_of(study, SETTING)
    made = study.tables(found)
    for table in made:
        assert (
            len({len(row.labels) for b in table.blocks for row in b.rows} | {len(table.labels)})
            == 1
        )
        assert {len(row.cells) for b in table.blocks for row in b.rows} == {len(table.columns)}
        assert sum(count for _, count in table.groups) in (0, len(table.columns))
        assert tables.latex(table).count(r"\begin{") == tables.latex(table).count(r"\end{")
    pictures = []
    if study.draw is not None:
        study.draw(found, tmp_path / "figure.png")
        pictures = [tmp_path / "figure.png"]
    learning_rate.draw(CURVES, tmp_path / "rate.png")
    payload = {
        "experiment": name,
        "title": study.title,
        "rars": "0",
        "data": {"name": "<shop>", "digest": "0", "items": 3},
        "size": "tiny",
        "changes": [],
        "seeds": 3,
        "learning_rate_given": False,
        "findings": findings(found),
        "runs": [],
        "seconds": 1.0,
        **found.as_dict(),
    }
    html = page.report(payload, made, pictures, CURVES, tmp_path / "rate.png", ["one <failed>"])
    parser = Outside()
    parser.feed(html)
    assert parser.open == []
    assert all(one.startswith("data:image/png;base64,") for one in parser.loads)
    assert "&lt;shop&gt;" in html
    assert "one &lt;failed&gt;" in html
    for one in findings(found)[:3]:
        assert one.split(":")[0] in html
