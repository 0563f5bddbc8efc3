"""Learners of identifiers side by side, on one or more datasets, before any retriever is trained.

Owns: which learners, what is measured of each, and the page: one table a dataset, one figure for all. Ignores
how identifiers are learned and measured (``rars.identifiers``, ``rars.analysis``) and who runs the tasks.

Judgments of the split that is measured are never those a learner sees: learners read training queries alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rars import __version__, disk
from rars.analysis import ambiguity, figures, health
from rars.data import Dataset
from rars.errors import RarsError
from rars.evaluation import tables
from rars.evaluation.report import NOTHING
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.experiments import folders, page
from rars.experiments.design import Condition, Setting
from rars.experiments.drawing import COLORS
from rars.experiments.grid import Grid
from rars.experiments.order import Say, writable
from rars.experiments.processes import Failure, Watch, run_all
from rars.identifiers import Identifiers, item_vectors
from rars.tree import PrefixTree

NAME = "identifiers"
TITLE = "Identifier learners side by side, before any training"

ROWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "residual k-means": ("base", ()),
    "RQ-VAE": (
        "base",
        ("identifiers.learner=rqvae", "identifiers.sizes=[256, 256, 256, 256]"),
    ),
    "hierarchical k-means": (
        "base",
        ("identifiers.learner=hierarchical-kmeans", "identifiers.sizes=[20, 20, 20]"),
    ),
    "DSI-naive": ("dsi-naive", ()),
    "DSI-semantic": ("dsi-semantic", ()),
    "TIGER": ("tiger", ()),
    "Hi-Gen": ("hi-gen", ()),
    "MERGE": ("merge", ()),
    "CAT-ID2": ("cat-id2", ()),
    "FORGE": ("forge", ()),
    "HG-Rec": ("hgrec", ()),
}
"""Label -> the recipe whose identifiers are made, and what is changed in it."""


@dataclass(frozen=True)
class Measured:
    """What is known of one learner's identifiers on one dataset; shares are fractions of 1.

    ``collided``, ``shared``  items that shared an identifier before and after the collision policy
    ``perplexity``            of the codes, per depth
    ``branching``             queries whose relevance divides, per depth
    ``mean_depth``            tau, where relevance divides on average
    """

    label: str
    learner: str
    policy: str
    sizes: tuple[int, ...]
    items: int
    identifiers: int
    collided: float
    shared: float
    largest: int
    gini: float
    perplexity: tuple[float, ...]
    hit_rate: float | None
    untrained_recall: float | None
    branching: tuple[float, ...]
    mean_depth: float
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class LearnerOutcome:
    """All that was measured, per dataset, and where it was written."""

    folder: Path
    measured: Mapping[str, Sequence[Measured]]
    tables: list[Table]
    failures: list[Failure]
    payload: dict[str, Any]

    def _repr_html_(self) -> str:
        """What a notebook shows: the tables."""
        return tables.html(*self.tables)


def compare_learners(
    datasets: Sequence[Dataset | Path | str],
    *,
    out: Path | str,
    size: str = "tiny",
    protocol: str | None = None,
    learners: Sequence[str] = (),
    jobs: int = 1,
    split: str = "test",
    changes: Sequence[str] = (),
    watch: Watch | None = None,
    say: Say | None = None,
) -> LearnerOutcome:
    """Learn what is missing, measure everything, and write tables, figure and page to ``out/identifiers``.

    ``learners`` are labels of ``ROWS``; empty: all. ``changes`` concern all of them, such as
    ``"identifiers.rqvae.epochs=50"``.
    """
    started = time.perf_counter()
    home, speak = Path(out), say or (lambda text: None)
    writable(home)
    setting = Setting(size, tuple(changes), protocol=protocol)
    conditions = _conditions(setting, learners)
    loaded = [one if isinstance(one, Dataset) else Dataset.load(one) for one in datasets]
    _check(loaded, split)
    grids = [Grid.of(home, dataset, conditions, [0]) for dataset in loaded]
    failures: list[Failure] = []
    for dataset, grid in zip(loaded, grids, strict=True):
        speak(f"{dataset.name}: {dataset.n_items:,} items, {len(conditions)} learners.")
        for name in sorted({one.recipe.identifiers.embedder for one in conditions}):
            item_vectors(dataset, name)  # so that no learner's time has the embedding in it
        failures += run_all(grid.identify_tasks(), jobs, watch)
    found: dict[str, list[Measured]] = {}
    for dataset, grid in zip(loaded, grids, strict=True):
        speak(f"{dataset.name}: measuring on {split} queries.")
        found[_named(dataset, found)] = [
            _measured(dataset, cell.condition.label, cell.identifiers, split)
            for cell in grid.cells
            if cell.identifiers is not None and folders.identified(cell.identifiers)
        ]
    payload = {
        "experiment": NAME,
        "title": TITLE,
        "rars": __version__,
        "data": {
            "name": " and ".join(found),
            "digest": disk.digest_json([one.digest for one in loaded]),
            "items": sum(one.n_items for one in loaded),
        },
        "queries": {},
        "split": split,
        "size": size,
        "seeds": 1,
        "changes": list(changes),
        "learners": {name: [one.as_dict() for one in rows] for name, rows in found.items()},
        "failures": [str(one) for one in failures],
        "seconds": round(time.perf_counter() - started, 1),
        "findings": [],
        "learning_rate_given": False,
        "runs": [],
    }
    return _written(home / NAME, found, payload, failures)


def _conditions(setting: Setting, learners: Sequence[str]) -> list[Condition]:
    for one in learners:
        if one not in ROWS:
            raise RarsError(f"There is no row {one!r}; choose of {', '.join(ROWS)}.")
    return [
        Condition(label, label, setting.recipe(recipe, *changes), (), seeded=False)
        for label, (recipe, changes) in ROWS.items()
        if not learners or label in learners
    ]


def _check(datasets: Sequence[Dataset], split: str) -> None:
    if not datasets:
        raise RarsError(f"rars experiment {NAME} needs --data DIR.")
    for dataset in datasets:
        if dataset.folder is None:
            raise RarsError(f"{dataset.where} is in memory; save it first (Dataset.save).")
        if not len(dataset.positives(split)[0]):
            raise RarsError(f"{dataset.where} has no {split} query with a relevant item.")


def _named(dataset: Dataset, taken: Mapping[str, object]) -> str:
    name, at = dataset.name, 2
    while name in taken:
        name, at = f"{dataset.name} ({at})", at + 1
    return name


def _measured(dataset: Dataset, label: str, folder: Path, split: str) -> Measured:
    found = Identifiers.load(folder / "identifiers")
    known = found.health()
    profile = ambiguity.profile(dataset, PrefixTree.build(found.codes), split)
    return Measured(
        label=label,
        learner=found.settings.learner,
        policy=found.settings.collisions,
        sizes=found.sizes,
        items=known.items,
        identifiers=known.distinct,
        collided=found.report["before"] / known.items,
        shared=known.collision_rate,
        largest=max(known.leaves),
        gini=known.gini,
        perplexity=tuple(one.perplexity for one in known.depths),
        hit_rate=health.embedding_hit_rate(dataset, found, split),
        untrained_recall=health.untrained(dataset, found, split),
        branching=tuple(row.ambiguous_queries for row in profile.rows),
        mean_depth=profile.mean_depth,
        seconds=float(folders.steps(folder)["identifiers"]["seconds"]),
    )


# -- the page --------------------------------------------------------------------------------------

COLUMNS = (
    "codes",
    "collide",
    "share",
    "largest",
    "Gini",
    "perplexity",
    "hit rate@50",
    "recall@100",
    "queries that branch",
    "tau",
    "seconds",
)
CAPTION = (
    "collide, share: items that share an identifier before and after the collision policy, %; largest: items "
    "of one identifier at the most; Gini: of items per identifier; perplexity: codes per depth if all were "
    "used alike; hit rate@50, recall@100: of the vectors that identifiers stand for, untrained, %; queries "
    "that branch: {split} queries whose relevance divides at each depth, %; tau: where relevance divides "
    "on average; seconds: learning and resolving collisions, vectors being there."
)


def table(name: str, rows: Sequence[Measured], split: str) -> Table:
    """The learners of one dataset."""
    made = [
        Row(
            (one.label,),
            (
                Cell(_short(one.sizes, "{}")),
                Cell(f"{100 * one.collided:.1f}"),
                Cell(f"{100 * one.shared:.1f}"),
                Cell(f"{one.largest:,}"),
                Cell(f"{one.gini:.3f}"),
                Cell(_short(one.perplexity, "{:.0f}")),
                _per_cent(one.hit_rate),
                _per_cent(one.untrained_recall),
                Cell(_short([100 * part for part in one.branching], "{:.0f}")),
                Cell(f"{one.mean_depth:.2f}"),
                Cell(f"{one.seconds:,.0f}"),
            ),
        )
        for one in rows
    ]
    key = "".join(letter if letter.isalnum() else "-" for letter in name.lower())
    caption = CAPTION.format(split=split)
    return Table(f"{NAME}-{key}", name, ("learner",), COLUMNS, (Block(tuple(made)),), caption)


def _short(values: Sequence[float], form: str) -> str:
    """Values with slashes between them; equal neighbours, such as the depths of random digits, once."""
    texts = [form.format(one) for one in values]
    if len(texts) > 2 and len(set(texts)) == 1:
        return f"{len(texts)} x {texts[0]}"
    return " / ".join(texts)


def _per_cent(value: float | None) -> Cell:
    return NOTHING if value is None else Cell(f"{100 * value:.1f}")


def draw(found: Mapping[str, Sequence[Measured]], path: Path) -> None:
    """One panel a measure, one row a learner, one colour a dataset."""
    labels = list(dict.fromkeys(one.label for rows in found.values() for one in rows))
    panels: dict[str, Callable[[Measured], float | None]] = {
        "embedding hit rate@50 (%)": lambda one: one.hit_rate and 100 * one.hit_rate,
        "untrained recall@100 (%)": lambda one: one.untrained_recall and 100 * one.untrained_recall,
        "Gini of items per identifier": lambda one: one.gini,
        "where relevance divides (tau)": lambda one: one.mean_depth,
        "seconds": lambda one: max(one.seconds, 0.01),
    }
    height = 1.4 + 0.32 * len(labels)
    with figures.figure(path, panels=len(panels), width=3.3, height=height) as axes:
        for axis, (title, value) in zip(axes, panels.items(), strict=True):
            for (name, rows), color in zip(found.items(), COLORS * len(found), strict=False):
                points = [(value(one), labels.index(one.label)) for one in rows]
                points = [(x, y) for x, y in points if x is not None]
                axis.plot(
                    *zip(*points, strict=True), "o", color=color, label=name, ms=6, alpha=0.85
                )
            axis.set(yticks=range(len(labels)), yticklabels=labels, ylim=(len(labels) - 0.5, -0.5))
            axis.tick_params(axis="y", labelleft=axis is axes[0], left=False)
            axis.grid(axis="x", color="#E5E7EB")
            axis.set_xlabel(title, fontsize=9)
        axes[-1].set_xscale("log")
        axes[0].legend(fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncol=len(found))


def _written(
    folder: Path,
    found: Mapping[str, Sequence[Measured]],
    payload: dict[str, Any],
    failures: list[Failure],
) -> LearnerOutcome:
    made = [table(name, rows, payload["split"]) for name, rows in found.items() if rows]
    if not made:
        raise RarsError(f"No identifiers could be made: {failures[0]}.")
    disk.write_json(folder / "results.json", payload)
    text = [f"# {TITLE}", "", *(tables.markdown(one) + "\n" for one in made)]
    disk.write_text(folder / "table.md", "\n".join(text))
    disk.write_text(folder / "table.tex", "\n".join(map(tables.latex, made)))
    draw({name: rows for name, rows in found.items() if rows}, folder / "figure.png")
    said = [str(one) for one in failures]
    html = page.report(payload, made, [folder / "figure.png"], [], None, said)
    disk.write_text(folder / "report.html", html)
    return LearnerOutcome(folder, found, made, failures, payload)
