"""Tables show the numbers they were given, in every medium; figures and the page can be made."""

from __future__ import annotations

import re
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
    text = tables.markdown(main.tables(found_of(main.STUDY, SETTING))[0])
    for label, key, rule in (
        ("Base / AR only", "base", "ar"),
        ("RARS / all levels", "rars", "all"),
        ("RARS, own rate / AR only", "rars-own", "ar"),
    ):
        cells = row_of(text, label)
        for cell, measure in zip(
            cells, ("Recall@5", "Recall@10", "Recall@100", "nDCG@10", "nDCG@100"), strict=True
        ):
            values = [per_query(key, rule, seed).values[measure].mean() for seed in range(3)]
            mean, spread = re.findall(r"\d+\.\d\d", cell)[:2]
            assert float(mean) == pytest.approx(100 * np.mean(values), abs=0.0051)
            assert float(spread) == pytest.approx(100 * np.std(values, ddof=1), abs=0.0051)


def test_the_best_of_each_column_is_bold_once():
    table = main.tables(found_of(main.STUDY, SETTING))[0]
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
    assert row_of(tables.markdown(made[0]), "RARS / AR only") == ["—"] * 5


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
