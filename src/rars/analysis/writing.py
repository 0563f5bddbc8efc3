"""A study's results on disk: numbers, tables, figures and a section of HTML, all or nothing.

Owns: the folder of a study: ``results.json``, ``table.md``, ``table.tex``, every figure as PNG and SVG,
``section.html`` (to be put into a report) and ``report.html`` (the same as a page). Ignores what was measured
and who may write where (``rars.pipeline.studies``, ``rars.experiments.analyses``).
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rars import __version__, artifacts, disk
from rars.analysis.study import Interactive, Result, Scene, Study, StudySettings
from rars.evaluation import tables
from rars.evaluation.markup import templates

KIND = "study"
_PARTS = ("rars.analysis", "rars.evaluation")


@dataclass(frozen=True, eq=False)
class Analysed:
    """A study that was made: its typed result, and the folder that tells it."""

    study: Study
    settings: StudySettings
    scenes: Sequence[Scene]
    result: Result
    seconds: float
    folder: Path

    def as_dict(self) -> dict[str, Any]:
        """What ``results.json`` holds, and where it is."""
        return payload(self) | {"folder": str(self.folder)}

    def _repr_html_(self) -> str:
        """What a notebook shows: the tables."""
        return tables.html(*self.result.tables())


def write(made: Analysed) -> None:
    """Write the folder of a study; an older one of the same name is replaced as a whole."""
    result, study = made.result, made.study
    shown = list(result.tables())
    with artifacts.writing(made.folder, kind=KIND) as draft:
        draft.meta.update(study=study.name)
        disk.write_json(draft.folder / "results.json", payload(made))
        text = [f"# {study.title}", "", *(tables.markdown(one) + "\n" for one in shown)]
        disk.write_text(draft.folder / "table.md", "\n".join(text))
        disk.write_text(draft.folder / "table.tex", "\n".join(map(tables.latex, shown)))
        for figure in result.figures():
            for ending in ("png", "svg"):
                figure.draw(draft.folder / f"{figure.name}.{ending}")
        text_of_section = section(study, result, draft.folder)
        disk.write_text(draft.folder / "section.html", text_of_section)
        page = templates(*_PARTS).get_template("study.html")
        whole = page.render(title=study.title, facts=_facts(made), section=text_of_section)
        disk.write_text(draft.folder / "report.html", whole)


def section(study: Study, result: Result, folder: Path) -> str:
    """The study as a section of HTML; the figures' PNGs are in ``folder``."""
    body = result.html() if isinstance(result, Interactive) else ""
    pictures = [
        {
            "title": one.title,
            "data": base64.b64encode((folder / f"{one.name}.png").read_bytes()).decode(),
        }
        for one in ([] if body else result.figures())
    ]
    template = templates(*_PARTS).get_template("section.html")
    return template.render(
        name=study.name,
        title=study.title,
        findings=[] if body else list(result.findings()),
        tables=list(result.tables()),
        pictures=pictures,
        body=body,
    )


def payload(made: Analysed) -> dict[str, Any]:
    """Everything about a study as plain JSON values."""
    return {
        "study": made.study.name,
        "title": made.study.title,
        "rars": __version__,
        "settings": made.settings.model_dump(mode="json"),
        "data": [
            {
                "scene": one.name,
                "name": one.dataset.name,
                "digest": one.dataset.digest,
                "items": one.dataset.n_items,
                "run": None if one.run is None else str(one.run.folder),
                "other": None if one.other is None else str(one.other.folder),
            }
            for one in made.scenes
        ],
        "results": made.result.as_dict(),
        "findings": list(made.result.findings()),
        "seconds": round(made.seconds, 2),
    }


def _facts(made: Analysed) -> dict[str, Any]:
    data = ", ".join(f"{one.name} ({one.dataset.n_items:,} items)" for one in made.scenes)
    changed = made.settings.model_dump(mode="json", exclude_defaults=True)
    said = ", ".join(f"{key} = {value}" for key, value in changed.items())
    return {
        "study": made.study.name,
        "data": data,
        "queries": made.settings.split,
        **({"changed settings": said} if said else {}),
        "rars": __version__,
    }
