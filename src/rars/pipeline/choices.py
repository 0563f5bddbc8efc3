"""What ``rars tune`` chose for a catalogue: kept in the run folder as it is chosen, and shown as tables.

Owns: ``tuning.json``, in which every choice stands as soon as it is made, with its numbers and its reason, so
that a killed command goes on after the last one; and what a person sees of it. Ignores how choices are made
(``rars.pipeline.tuning``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rars import artifacts, disk
from rars.errors import RarsError
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.identifiers.choosing import ChosenEmbedder
from rars.identifiers.loss_curve import CurvePoint, LossCurve, named
from rars.runs import TUNING
from rars.search.rules import PARTS

KIND = "tuning"
STEPS = ("embedder", "tuned", "identifiers", "sizes", "epochs", "training", "weights", "validation")
"""In the order in which they are made."""
TITLES = {
    "embedder": "embedder",
    "tuned": "fine-tuning",
    "sizes": "identifiers",
    "training": "training",
    "weights": "hybrid search",
}
_PARTS = {"sizes": ("identifiers", "sizes"), "training": ("epochs", "training")}
"""What a choice is made of, where that is more than one step."""
MEASURES = ("nDCG@10", "Recall@100")


@dataclass
class Choices:
    """The choices of one run, written to its folder one by one."""

    folder: Path
    asked: dict[str, Any]
    made: dict[str, Any]

    @classmethod
    def begin(cls, folder: Path, asked: Mapping[str, Any]) -> Choices:
        """Those that are there already, if they were made for the same catalogue and options; else none."""
        found = cls.read(folder)
        if found is None:
            return cls(folder, dict(asked), {})
        for name, what in (("data", "another dataset"), ("options", "other options")):
            if found.asked[name] != asked[name]:
                raise RarsError(f"{folder} was tuned for {what}; choose another --out.")
        # A run may be given more or less time when it goes on.
        return cls(folder, dict(asked), found.made)

    @classmethod
    def read(cls, folder: Path) -> Choices | None:
        """What was chosen in a run; None where nothing was."""
        path = folder / TUNING
        if not path.exists():
            return None
        told = disk.read_json(path)
        with artifacts.understood(path):
            if told["kind"] != KIND or not set(told["made"]) <= set(STEPS):
                raise RarsError(f"{path} does not say what was tuned.")
            return cls(folder, dict(told["asked"]), dict(told["made"]))

    def keep(self, step: str, chosen: Mapping[str, Any], seconds: float) -> None:
        """Write down a choice; from now on it is not made again."""
        self.made[step] = {**chosen, "seconds": round(seconds, 1)}
        told = {"kind": KIND, "asked": self.asked, "made": self.made}
        disk.write_json(self.folder / TUNING, told)

    @property
    def seconds(self) -> float:
        """What all steps took, those of earlier calls included."""
        return float(sum(one["seconds"] for one in self.made.values()))

    @property
    def done(self) -> bool:
        """Whether nothing is left to choose."""
        return STEPS[-1] in self.made

    # -- what people see ---------------------------------------------------------------------------

    @property
    def embedder(self) -> ChosenEmbedder:
        """The embedder and why."""
        return ChosenEmbedder.read(self.made["embedder"])

    @property
    def sizes(self) -> tuple[int, ...]:
        """Codes per depth."""
        return tuple(self.made["sizes"]["sizes"])

    @property
    def curve(self) -> LossCurve | None:
        """The identifiers' loss curve, where one was made."""
        told = self.made["identifiers"].get("curve")
        if told is None:
            return None
        points = (
            CurvePoint(tuple(one["sizes"]), one["recall"], one["reordered"])
            for one in told["points"]
        )
        facts = (self.made["identifiers"]["items"], told["queries"], told["on"], 100, 1000)
        return LossCurve(*facts, told["exact"], tuple(points))

    def tables(self) -> list[Table]:
        """What was chosen and why; then what each choice was made of."""
        found = [self._choices()]
        if "embedder" in self.made and self.embedder.tried:
            found.append(self.embedder.table())
        if "identifiers" in self.made and (curve := self.curve) is not None:
            found.append(curve.table())
        if self.made.get("sizes", {}).get("compared"):
            found.append(_compared(self.made["sizes"]["compared"]))
        if "validation" in self.made:
            found.append(_measured(self.made["validation"]))
        return found

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Of every choice: what it is about, what was chosen, why, and the minutes it took."""
        found = []
        for step, title in TITLES.items():
            if step in self.made:
                parts = _PARTS.get(step, (step,))
                spent = sum(self.made[part]["seconds"] for part in parts)
                found.append((title, self._said(step), self.made[step]["why"], f"{spent / 60:.1f}"))
        return found

    @property
    def caption(self) -> str:
        """How long it took, and what it was chosen on."""
        spent = f"{self.seconds / 60:.1f} of {self.asked['minutes']:g} minutes"
        return f"{spent}; chosen on {self.asked['on']}."

    def _choices(self) -> Table:
        rows = tuple(Row(tuple(row[:3]), (Cell(row[3]),)) for row in self.rows())
        labels = ("", "chosen", "why")
        title = "What was chosen"
        return Table(
            "tuning", title, labels, ("minutes",), (Block(rows),), self.caption, described=2
        )

    def _said(self, step: str) -> str:
        one = self.made[step]
        if step == "embedder":
            return str(one["name"])
        if step == "tuned":
            return "yes" if one["tune"] else "no"
        if step == "sizes":
            return named(one["sizes"])
        if step == "training":
            return f"{one['epochs']} of {self.made['epochs']['epochs']} epochs"
        return _weighed(one["settings"])


def _weighed(settings: Mapping[str, Any]) -> str:
    """The weights of hybrid search, then what it goes without.

    >>> _weighed({"bm25": 0.41237, "letters": 0.0, "weight": 1000.0, "bound": True})
    'bm25 0.412, weight 1000, bound; without letters'
    """
    numbers = {name: float(f"{value:.3g}") for name, value in settings.items() if value}
    said = [name if settings[name] is True else f"{name} {x:g}" for name, x in numbers.items()]
    without = [name for name in PARTS if settings.get(name) == 0]
    return ", ".join(said) + (f"; without {', '.join(without)}" if without else "")


def _compared(found: Sequence[Mapping[str, Any]]) -> Table:
    """One row for each of the sizes that were tried."""
    rules = [name for name in ("ar", "hybrid") if name in found[0]]
    rows = tuple(
        Row(
            (named(one["sizes"]),),
            (*(Cell(f"{100 * one[rule][name]:.1f}") for rule in rules for name in MEASURES),),
        )
        for one in found
    )
    return Table(
        "sizes",
        "Sizes compared",
        ("codes",),
        MEASURES * len(rules),
        (Block(rows),),
        "After one epoch each, on validation queries, values in %.",
        groups=tuple((_rule(rule), len(MEASURES)) for rule in rules),
    )


def _measured(found: Mapping[str, Any]) -> Table:
    """What the finished run finds."""
    rows = tuple(
        Row((_rule(rule),), tuple(Cell(f"{100 * one[name]:.1f}") for name in MEASURES))
        for rule, one in found["rules"].items()
    )
    caption = (
        f"{found['queries']:,} validation queries, values in %; the choices were made on them."
    )
    return Table("validation", "What it finds", ("",), MEASURES, (Block(rows),), caption)


def _rule(rule: str) -> str:
    return {"ar": "model alone", "hybrid": "hybrid"}.get(rule, rule)
