"""Base and RARS over the epochs of their training, and what one choice of regime changes for RARS and Base.

Validation quality is measured twenty times on the way. One thing is changed at a time: what a batch is made
of, where the tree head starts, how much its loss weighs, where gradients are clipped; and, beyond the paper,
what the head reads and pulls, which depths count, the tree loss before all others, soft targets on the
decoder beside it. ``--systems`` chooses among the lines; the final checkpoints are tested against the same
without that change.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rars.evaluation.report import differences
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.experiments import drawing
from rars.experiments.courses import MEASURED
from rars.experiments.design import (
    PRIMARY,
    Condition,
    Contrast,
    Point,
    Setting,
    Study,
    against,
)
from rars.experiments.layout import measured
from rars.experiments.results import Results

UNCLIPPED = 1e9
MEASUREMENTS = 20
TREE = '{term="tree",weight=0.5}'


@dataclass(frozen=True)
class Line:
    """One way to train: the recipe, what the figure calls it, and what is changed.

    ``against``  the line it is held against; the recipe as it is, if not said
    """

    recipe: str
    label: str
    changes: tuple[str, ...] = ()
    against: str = ""


LINES = {
    "base": Line("base", "Base"),
    "rars": Line("rars", "RARS"),
    "base-queries": Line("base", "Base, whole queries", ("training.batching=queries",)),
    "rars-queries": Line("rars", "RARS, whole queries", ("training.batching=queries",)),
    "rars-unit": Line("rars", "RARS, head at unit scale", ("objective.terms.tree.start=unit",)),
    "rars-codebooks": Line(
        "rars", "RARS, head from codebooks", ("objective.terms.tree.start=codebooks",)
    ),
    "rars-fast": Line("rars", "RARS, head ten times as fast", ("training.head_factor=10",)),
    "rars-light": Line("rars", "RARS, tree weight 0.1", ("objective.terms.tree.weight=0.1",)),
    "rars-heavy": Line("rars", "RARS, tree weight 2", ("objective.terms.tree.weight=2",)),
    "base-clip": Line("base", "Base, clipped at 1", ("training.clip=1",)),
    "rars-clip": Line("rars", "RARS, clipped at 1", ("training.clip=1",)),
    "base-unclipped": Line("base", "Base, not clipped", (f"training.clip={UNCLIPPED:g}",)),
    "rars-unclipped": Line("rars", "RARS, not clipped", (f"training.clip={UNCLIPPED:g}",)),
    "rars-tied": Line("rars", "RARS, tied head", ("objective.terms.tree.start=tied",)),
    "rars-state": Line(
        "rars", "RARS, head on the decoder's state", ("objective.terms.tree.state=decoder",)
    ),
    "rars-pull": Line("rars", "RARS, three tenths of the pull", ("objective.terms.tree.pull=0.3",)),
    "rars-depths": Line(
        "rars", "RARS, first two depths alone", ("objective.terms.tree.depths=[1,1,0,0]",)
    ),
    "rars-first": Line(
        "rars",
        "RARS, tree loss first",
        ('training.phases=[{name="tree",epochs=3,terms=[{term="tree"}]},{name="all"}]',),
    ),
    "grouped": Line("grouped", "grouped targets", against="base"),
    "rars-grouped": Line(
        "grouped", "RARS, grouped targets", (f"objective.terms.tree={TREE}",), against="grouped"
    ),
    "soft": Line("decoder-soft", "soft targets on the decoder", against="base"),
    "rars-soft": Line(
        "decoder-soft", "RARS and soft targets", (f"objective.terms.tree={TREE}",), against="soft"
    ),
}


def conditions(setting: Setting) -> list[Condition]:
    """Every line asked for, at Base's rate, AR-only retrieval."""
    asked = any(text.startswith("training.evaluations=") for text in setting.changes)
    often = () if asked else (f"training.evaluations={MEASUREMENTS}",)
    return [
        Condition(key, line.label, setting.recipe(line.recipe, *often, *line.changes), ("ar",))
        for key, line in LINES.items()
        if setting.asked(key)
    ]


def contrasts(setting: Setting) -> list[Contrast]:
    """Each line minus what it is held against, and RARS minus Base."""
    listed = {one.key: one for one in conditions(setting)}
    made: list[Contrast] = []
    for key, one in listed.items():
        line = LINES[key]
        other = "base" if key == "rars" else line.against or line.recipe
        if other != key and other in listed:
            made += against(listed[other], [one], rules=("ar",), measures=PRIMARY)
    return made


def tables(results: Results) -> list[Table]:
    """The final checkpoints on test queries, the best epochs on validation queries, and the differences."""
    listed = [
        ((line.label,), Point(key, "ar"))
        for key, line in LINES.items()
        if key in results.conditions
    ]
    final = measured(
        results, "regime", "Final checkpoints, test queries", ("Training",), listed, rule="ar"
    )
    rows = tuple(
        Row((results.label(key), str(seed)), tuple(map(Cell, _best(results, key, seed))))
        for key, by_seed in results.courses.items()
        for seed in by_seed
    )
    best = Table(
        "regime-courses",
        "On validation queries: the best epoch, and the last",
        ("Training", "Seed"),
        tuple(f"{name}: {which}" for name in MEASURED for which in ("best (epoch)", "last")),
        (Block(rows),),
    )
    made = [final, *([best] if rows else [])]
    return [*made, differences("regime-differences", "Paired differences", results.deltas)]


def _best(results: Results, key: str, seed: int) -> list[str]:
    course, cells = results.courses[key][seed], []
    for name in MEASURED:
        epoch, value = course.best(name)
        cells += [f"{100 * value:.1f} ({epoch:g})", f"{100 * course.values[name][-1]:.1f}"]
    return cells


def draw(results: Results, path: Path) -> None:
    """Validation quality over the epochs, one line a way to train."""
    drawing.courses(results.labelled_courses, path)


STUDY = Study(
    name="regime",
    title="Base and RARS over the epochs of their training, one choice of regime changed at a time",
    conditions=conditions,
    contrasts=contrasts,
    tables=tables,
    draw=draw,
    tuned=("base",),
    systems=tuple(LINES),
)
