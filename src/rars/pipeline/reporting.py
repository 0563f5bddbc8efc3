"""Everything known about a run on one page: a file without outside parts, light or dark, good on paper.

Owns: which parts the page has, that it shows what is there and says which command adds what is missing.
Measuring that takes no time (identifiers, where relevance branches, loss curves) is done for the page; what
takes longer (evaluations, studies) is read from the run's results, whole and with its digests, or left out.
Ignores the look (``templates/run.html``) and how anything is measured.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rars import __version__, artifacts, disk, places
from rars.analysis import curves, health
from rars.analysis.studies import STUDIES
from rars.analysis.study import Scene
from rars.analysis.writing import KIND as STUDY_KIND
from rars.analysis.writing import section as study_section
from rars.data import Dataset
from rars.errors import RarsError
from rars.evaluation import stored
from rars.evaluation.markup import templates
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.identifiers import Identifiers
from rars.pipeline.choices import Choices
from rars.pipeline.showing import check_file
from rars.pipeline.studies import allowed, mixed
from rars.progress import SILENT
from rars.runs import Run
from rars.tree import PrefixTree

OWN = "ambiguity"
"""The study that is made for the page."""


@dataclass
class _Part:
    """A part of the page: a title, sentences, tables, pictures (PNG in base64), and HTML of its own."""

    key: str
    title: str
    said: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    pictures: list[tuple[str, str]] = field(default_factory=list)
    body: str = ""


@dataclass(frozen=True)
class Reported:
    """A page that was written: where, the parts it has, and the commands that would add more."""

    run: str
    page: Path
    parts: tuple[str, ...]
    missing: dict[str, str]

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "run": self.run,
            "page": str(self.page),
            "parts": list(self.parts),
            "missing": self.missing,
        }


def report(
    run: Run | str | Path, *, out: str | Path | None = None, split: str = "test"
) -> Reported:
    """Write all that is known about a run as one page: its ``results/report.html``, or ``out``."""
    run = Run.of(run)
    path = run.results / "report.html" if out is None else places.named(out, "A page")
    check_file(path, ".html", ".htm")
    dataset = run.dataset()
    page = _Page(run, dataset, split)
    page.collect()
    template = templates("rars.pipeline", "rars.analysis", "rars.evaluation")
    text = template.get_template("run.html").render(
        name=run.folder.name or str(run.folder),
        facts=_facts(run, dataset),
        parts=page.parts,
        missing=page.missing,
        damaged=page.damaged,
        version=__version__,
        recipe=(run.folder / "recipe.toml").read_text(encoding="utf-8"),
    )
    with allowed(run, path):
        disk.write_text(path, text)
    return Reported(str(run.folder), path, tuple(one.key for one in page.parts), page.missing)


class _Page:
    """What is found of a run, part by part."""

    def __init__(self, run: Run, dataset: Dataset, split: str) -> None:
        self.run, self.dataset, self.split = run, dataset, split
        self.parts: list[_Part] = []
        self.missing: dict[str, str] = {}
        self.damaged: list[str] = []
        self.generative = run.recipe().generative

    def collect(self) -> None:
        """Everything, in the order of the page."""
        home = self.run.folder
        self._tuning()
        if self.generative and "identifiers" in self.run.manifest()["steps"]:
            self._identifiers()
        if self.generative and (home / "journal.jsonl").exists():
            self._training()
        self._evaluations()
        if self.generative:
            for name in STUDIES:
                if name != OWN:
                    self._study(name)

    def _tuning(self) -> None:
        try:
            found = Choices.read(self.run.folder)
        except RarsError as error:
            self.damaged.append(str(error))
            return
        if found is None:
            return
        said = "Chosen by rars tune." if found.done else "rars tune is not finished."
        self.parts.append(_Part("tuning", "How it was tuned", [said], found.tables()))

    def _identifiers(self) -> None:
        found = Identifiers.load(self.run.folder / "identifiers")
        measured = found.health()
        parted = mixed(self.dataset, found, self.split)
        before, after = found.report.get("before", 0), found.report.get("after", 0)
        said = (
            f"Learned by {found.settings.learner}. Items sharing an identifier: {before:,} before, "
            f"{after:,} after the policy {found.settings.collisions!r}."
        )
        picture = _drawn(lambda path: health.draw(measured, path))
        self.parts.append(
            _Part(
                "identifiers",
                "Identifiers",
                [said],
                [measured.table(), *parted.tables()],
                [("Codes used, prefixes and shared identifiers", picture)],
            )
        )
        tree = PrefixTree.build(found.codes)
        scene = Scene(self.dataset.name, self.dataset, tree, self.run)
        study = STUDIES[OWN]
        try:
            result = study.run([scene], study.asked(split=self.split), SILENT)
        except RarsError as error:  # a split without judgments has nothing to branch
            self.damaged.append(str(error))
            return
        with TemporaryDirectory() as folder:
            for figure in result.figures():
                figure.draw(Path(folder) / f"{figure.name}.png")
            self.parts.append(
                _Part(OWN, study.title, body=study_section(study, result, Path(folder)))
            )

    def _training(self) -> None:
        source = self.run.folder / "journal.jsonl"
        try:
            titles = curves.titles(self.run.recipe())
            picture = _drawn(lambda path: curves.draw(source, path, titles))
        except RarsError:  # a run that has only begun has no step to draw
            return
        step = self.run.manifest()["steps"].get("model")
        said = (
            "The model is not finished."
            if step is None
            else f"{step['steps']:,} steps in {step['seconds']:,.0f} s."
        )
        self.parts.append(_Part("training", "Training", [said], [], [("Loss curves", picture)]))

    def _evaluations(self) -> None:
        found = []
        for path in sorted(self.run.results.glob("*-*.json")):
            split, _, rule = path.stem.rpartition("-")
            if (why := stored.damage(stored.Files.of(self.run.results, split, rule))) is not None:
                self.damaged.append(why)
                continue
            found.append(disk.read_json(path))
        if found:
            self.parts.append(_Part("evaluation", "How good it is", tables=[_measures(found)]))
        known = {one["rule"] for one in found}
        wanted = [rule for rule in ("ar", "all") if rule not in known] if self.generative else []
        if wanted or not found:
            rules = f" --rule {','.join(wanted)}" if wanted else ""
            self.missing[
                f"measures {'under ' + ' and '.join(wanted) if wanted else ''}".strip()
            ] = f"rars evaluate {self.run.folder}{rules}"

    def _study(self, name: str) -> None:
        study, folder = STUDIES[name], self.run.results / name
        if not folder.is_dir():
            self.missing[study.title] = f"rars analyze {self.run.folder} {name}"
            return
        try:
            opened = artifacts.opening(folder, kind=STUDY_KIND)
            text = (opened.folder / "section.html").read_text(encoding="utf-8")
        except (RarsError, OSError) as error:
            self.damaged.append(str(error))
            self.missing[study.title] = f"rars analyze {self.run.folder} {name}"
            return
        self.parts.append(_Part(name, study.title, body=text))


def _measures(found: list[dict[str, Any]]) -> Table:
    """One row an evaluation, one column a measure."""
    names = tuple(dict.fromkeys(name for one in found for name in one["measures"]))
    rows = tuple(
        Row(
            (one["split"], one["rule"], f"{one['queries']:,}"),
            tuple(_cell(one["measures"].get(name)) for name in names),
        )
        for one in found
    )
    return Table(
        "evaluation", "", ("split", "rule", "queries"), names, (Block(rows),), "Values in %."
    )


def _cell(value: dict[str, float] | None) -> Cell:
    if value is None:
        return Cell("—")
    low, high = f"{100 * value['low']:.1f}", f"{100 * value['high']:.1f}"
    return Cell(f"{100 * value['mean']:.1f}", interval=(low, high))


def _facts(run: Run, dataset: Dataset) -> dict[str, str]:
    recipe, manifest = run.recipe(), run.manifest()
    return {
        "recipe": recipe.name,
        "dataset": dataset.name,
        "items": f"{dataset.n_items:,}",
        "queries": f"{dataset.n_queries:,}",
        "judgments": f"{len(dataset.judgments):,}",
        "made with": f"rars {manifest.get('rars', '')}, Python {manifest.get('python', '')}",
    }


def _drawn(draw: Callable[[Path], Any]) -> str:
    """A figure as the text of a PNG."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "figure.png"
        draw(path)
        return base64.b64encode(path.read_bytes()).decode()
