"""The paper's main table: published systems, and Base and RARS under AR-only and all-level retrieval.

One protocol for all rows: the same catalogue, splits, pairs, measures and tests, and Base's learning rate
where a system's recipe has no schedule of its own. RARS is trained at its own best rate too, in a block by
itself. The row CaLIR is Base under AR-only retrieval: with one code base they are one system. Dense vectors
of the bundled embedder and their fusions with BM25 stand below, which the paper does not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rars.config import parts
from rars.evaluation.report import differences, ranked, short
from rars.evaluation.tables import Block, Row, Table
from rars.experiments.design import (
    FIVE,
    PRIMARY,
    RULE_LABELS,
    Condition,
    Contrast,
    Point,
    Setting,
    Study,
)
from rars.experiments.drawing import standings
from rars.experiments.layout import cell, lacking_caption, values_caption, weights
from rars.experiments.results import Results


@dataclass(frozen=True)
class System:
    """A row: the recipe, what the table calls it, and its block.

    ``english``  True: for English alone; False: for other languages alone; None: for all
    """

    recipe: str
    label: str
    block: str
    english: bool | None = None


SPARSE, DENSE, GENERATIVE, OWN = (
    "Sparse retrieval",
    "Dense retrieval",
    "Generative retrieval",
    "Beside the paper's rows",
)
CONTROLLED = "Controlled comparisons: training objective / retrieval rule"
OWN_RATE = "RARS at its own learning rate"

SYSTEMS = (
    System("bm25", "BM25 (FnT IR'09)", SPARSE),
    System("dpr", "DPR (EMNLP'20)", DENSE),
    System("mpnet", "MPNet (NeurIPS'20)", DENSE),
    System("sentence-t5", "Sentence-T5 (ACL'22)", DENSE, english=True),
    System("sentence-mt5", "Sentence-mT5 (COLING'24)", DENSE, english=False),
    System("bge-m3", "BGE-M3 (ACL'24)", DENSE),
    System("laser", "LaSER (SIGIR'26)", DENSE),
    System("dsi-naive", "DSI, naive (NeurIPS'22)", GENERATIVE),
    System("dsi-semantic", "DSI, semantic (NeurIPS'22)", GENERATIVE),
    System("tiger", "TIGER (NeurIPS'23)", GENERATIVE),
    System("hi-gen", "Hi-Gen (ICDM'24)", GENERATIVE),
    System("ltrgr", "LTRGR (AAAI'24)", GENERATIVE),
    System("ripor", "RIPOR (WWW'24)", GENERATIVE),
    System("merge", "MERGE (ACL'25)", GENERATIVE),
    System("calir", "CaLIR (arXiv'26)", GENERATIVE),
    System("cat-id2", "CAT-ID² (WSDM'26)", GENERATIVE),
    System("forge", "FORGE (KDD'26)", GENERATIVE),
    System("hgrec", "HGRec (ICML'26)", GENERATIVE),
    System("dense", "Dense, zero-shot", OWN),
    System("dense-tuned", "Dense, fitted", OWN),
    System("fusion", "BM25 + dense", OWN),
    System("fusion-tuned", "BM25 + dense, fitted", OWN),
)
MATCHED = {"base": "Base", "rars": "RARS"}
STANDS_FOR = {"calir": "base"}
"""Rows that are the runs of another recipe."""


def conditions(setting: Setting) -> list[Condition]:
    """One for each row asked for, Base and RARS under both rules, RARS at its own rate if that is another."""
    made = [
        _condition(setting, one)
        for one in SYSTEMS
        if shown(setting, one) and one.recipe not in STANDS_FOR
    ]
    made += [
        Condition(name, label, setting.recipe(name))
        for name, label in MATCHED.items()
        if matched(setting, name)
    ]
    if own_rate(setting):
        recipe = setting.recipe("rars", rate_of="rars")
        made.append(Condition("rars-own", OWN_RATE, recipe))
    return made


def contrasts(setting: Setting) -> list[Contrast]:
    """RARS minus Base, what scoring adds to each, the difference of these, and RARS minus every other row."""
    made = []
    if all(matched(setting, name) for name in MATCHED):
        made += _against_base("rars", "RARS", "matched")
        made += [
            Contrast(
                f"{label}: all levels − AR only",
                Point(name, "all"),
                Point(name, "ar"),
                PRIMARY,
                "scoring",
            )
            for name, label in MATCHED.items()
        ]
        made.append(
            Contrast(
                "Scoring increments, RARS − Base",
                Point("rars", "all"),
                Point("rars", "ar"),
                PRIMARY,
                "increments",
                beyond=(Point("base", "all"), Point("base", "ar")),
            )
        )
    if own_rate(setting):
        made += _against_base("rars-own", "RARS (own rate)", "own rate")
    if setting.asked("rars"):
        made += [
            Contrast(
                f"RARS, all levels − {_plain(one.label)}",
                Point("rars", "all"),
                point(setting, one),
                PRIMARY,
                "systems",
            )
            for one in SYSTEMS
            if shown(setting, one)
        ]
    return made


def tables(results: Results) -> list[Table]:
    """The paper's layout, then the paired differences."""
    setting = results.setting
    blocks = [_block(results, title) for title in (SPARSE, DENSE, GENERATIVE)]
    blocks.append(_controlled(results, MATCHED, CONTROLLED))
    blocks.append(_controlled(results, {"rars-own": "RARS, own rate"}, OWN_RATE))
    blocks.append(_block(results, OWN))
    caption = values_caption(results)
    if any(one.english is not None and setting.asked(one.recipe) for one in SYSTEMS):
        caption += " Sentence-T5 is for English, Sentence-mT5 for other languages."
    whole = Table(
        "main",
        "Retrieval results",
        ("Model", "Backbone and weights"),
        tuple(map(short, FIVE)),
        ranked([one for one in blocks if one.rows], second=True),
        f"{caption}{lacking_caption(results)}",
        described=1,
    )
    return [whole, differences("main-differences", "Paired differences", results.deltas)]


def draw(results: Results, path: Path) -> None:
    """Every system that has numbers, once, by blocks."""
    setting = results.setting
    listed: dict[str, dict[str, Point]] = {}
    for one in SYSTEMS:
        if shown(setting, one) and one.recipe not in STANDS_FOR:
            listed.setdefault(one.block, {})[_plain(one.label)] = point(setting, one)
    matched_rows = listed.setdefault("Controlled", {})
    for rule in RULE_LABELS:
        for key, label in (MATCHED | {"rars-own": "RARS, own rate"}).items():
            matched_rows[f"{label}, {RULE_LABELS[rule]}"] = Point(key, rule)
    blocks = {
        title: {
            name: {measure: results.intervals[at, measure] for measure in PRIMARY}
            for name, at in rows.items()
            if at in results.scores
        }
        for title, rows in listed.items()
    }
    # As in the table, what is ours stands last.
    order = sorted(blocks, key=lambda title: title == OWN)
    standings({title: blocks[title] for title in order if blocks[title]}, path)


# -- rows ------------------------------------------------------------------------------------------


def shown(setting: Setting, one: System) -> bool:
    """Whether a row is made: it was asked for by name, or all are and it is for the queries' language."""
    if setting.systems:
        return setting.asked(one.recipe)
    return one.english is None or not setting.language or one.english == setting.english


def matched(setting: Setting, name: str) -> bool:
    """Whether Base or RARS is trained: asked for, or for a row that it stands for."""
    wanted = [name, *(row for row, other in STANDS_FOR.items() if other == name)]
    return any(setting.asked(one) for one in wanted)


def point(setting: Setting, one: System) -> Point:
    """Where a row's numbers are."""
    recipe = setting.recipe(one.recipe)
    rule = recipe.search.rule if recipe.generative else "plain"
    return Point(STANDS_FOR.get(one.recipe, one.recipe), rule)


def own_rate(setting: Setting) -> bool:
    """Whether RARS is asked for and its own best rate is known and not Base's."""
    own = setting.rates.get("rars")
    return setting.asked("rars") and own is not None and own != setting.rates.get("base")


def _condition(setting: Setting, one: System) -> Condition:
    recipe = setting.recipe(one.recipe)
    seeded = recipe.generative or bool(parts("system")[recipe.system].trains(recipe.own))
    return Condition(one.recipe, one.label, recipe, (point(setting, one).rule,), seeded=seeded)


def _block(results: Results, title: str) -> Block:
    """The systems of a block; one that is not for this language is a row of dashes, as in the paper."""
    setting = results.setting
    made = []
    for one in SYSTEMS:
        if one.block != title or not setting.asked(one.recipe):
            continue
        made_of = weights(setting.recipe(one.recipe)) if shown(setting, one) else ""
        cells = tuple(cell(results, point(setting, one), name) for name in FIVE)
        made.append(Row((one.label, made_of), cells))
    return Block(tuple(made), title)


def _controlled(results: Results, names: dict[str, str], title: str) -> Block:
    made = [
        Row(
            (f"{label} / {RULE_LABELS[rule]}", weights(results.conditions[key].recipe)),
            tuple(cell(results, Point(key, rule), name) for name in FIVE),
        )
        for rule in RULE_LABELS
        for key, label in names.items()
        if key in results.conditions and (key not in MATCHED or results.setting.asked(key))
    ]
    return Block(tuple(made), title)


def _against_base(key: str, label: str, family: str) -> list[Contrast]:
    return [
        Contrast(
            f"{label} − Base, {RULE_LABELS[rule]}",
            Point(key, rule),
            Point("base", rule),
            FIVE,
            family,
        )
        for rule in RULE_LABELS
    ]


def _plain(label: str) -> str:
    """A label without where it was published."""
    return label.partition(" (")[0]


STUDY = Study(
    name="main",
    title="Sparse, dense and generative systems, and Base and RARS under both retrieval rules",
    conditions=conditions,
    contrasts=contrasts,
    tables=tables,
    measures=(*FIVE, "MRR@100"),
    tuned=("base", "rars"),
    systems=(*(one.recipe for one in SYSTEMS), *MATCHED),
    draw=draw,
)
