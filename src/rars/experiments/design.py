"""What an experiment consists of: conditions, contrasts, studies.

Owns: what a study file says (which systems, which comparisons, how the table looks) and how a setting turns a
recipe's name into a resolved recipe. Ignores how runs are trained and where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from rars.config import SIZES, IdentifierSettings, Recipe, parts, recipe_names
from rars.data import Dataset
from rars.errors import RarsError
from rars.evaluation import comparison
from rars.systems import PLAIN as PLAIN
from rars.tree import PrefixTree

if TYPE_CHECKING:
    from rars.evaluation.tables import Table
    from rars.experiments.results import Results

RATE = "training.learning_rate"

FIVE = ("Recall@5", "Recall@10", "Recall@100", "nDCG@10", "nDCG@100")
"""The columns of the paper's main table."""
PRIMARY = ("Recall@100", "nDCG@10")
RULE_LABELS = {"ar": "AR only", "all": "all levels"}
"""The retrieval rules that most studies look at, and what tables call them."""

MULTILINGUAL = {
    "t5:t5-base": "t5:google/mt5-base",
    "sentence-transformers:google-bert/bert-base-uncased": (
        "sentence-transformers:google-bert/bert-base-multilingual-cased"
    ),
}
"""What stands for a model that reads English alone, where queries are in another language."""

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Condition:
    """One way to train a system, and the retrieval rules it is measured under.

    ``key`` is short and unique in a study; ``seeded`` is False for a system that no training seed changes;
    ``split`` is that of the queries it is measured on.
    """

    key: str
    label: str
    recipe: Recipe
    rules: tuple[str, ...] = ("ar", "all")
    seeded: bool = True
    split: str = "test"


class Point(NamedTuple):
    """What a row of a table shows: a condition under a rule, on all queries or a named subset of them."""

    key: str
    rule: str
    subset: str = "all"

    def __str__(self) -> str:
        return " ".join(part for part in self if part)


Contrast = comparison.Contrast[Point]
Delta = comparison.Difference[Point]


@dataclass(frozen=True)
class Setting:
    """What all conditions of an experiment have in common.

    ``rates`` holds the learning rates chosen on validation queries, by recipe name; the one of ``base`` is
    used for every condition, unless a condition asks for another. Empty: nothing was chosen. A change
    ``RECIPE:section.key=value`` is one recipe's own, and wins over everything. ``systems`` are the rows asked
    for, all of them if empty; ``language`` is that of the queries, where they have one.
    """

    size: str
    changes: tuple[str, ...] = ()
    rates: Mapping[str, float] = field(default_factory=dict)
    protocol: str | None = None
    systems: tuple[str, ...] = ()
    language: str = ""

    def __post_init__(self) -> None:
        if self.size not in SIZES:
            raise RarsError(f"There is no size {self.size!r}; choose one of {', '.join(SIZES)}.")
        for text in self.changes:
            if (owner := _owner(text)) is not None and owner not in recipe_names():
                raise RarsError(f"--set {text}: there is no recipe {owner!r}.")
            if (term := _term(text)) is not None and term not in parts("objective term"):
                known = ", ".join(parts("objective term"))
                raise RarsError(f"--set {text}: there is no term {term!r}; there is {known}.")

    def recipe(self, name: str, *changes: str, rate_of: str | None = "base") -> Recipe:
        """The recipe of a condition. What the condition itself changes wins over ``--set`` options.

        >>> Setting("tiny", rates={"base": 2e-3}).recipe("rars").training.learning_rate
        0.002
        """
        chosen = self.rates.get(rate_of) if rate_of is not None else None
        rate = [] if chosen is None else [f"{RATE}={chosen}"]
        plain = Recipe.resolve(name, size=self.size, protocol=self.protocol)
        listed = {one.name for one in plain.objective.terms}
        # A setting of a term concerns the conditions that have the term, one of a system those that use it.
        common = [
            text
            for text in self.changes
            if _owner(text) is None
            and _term(text) in (None, *listed)
            and _system(text) in (None, *plain.own)
        ]
        own = [text.partition(":")[2] for text in self.changes if _owner(text) == name]
        given = [*rate, *common, *changes, *own]
        local = [] if self.english else _elsewhere(plain, given)
        return Recipe.resolve(
            name, size=self.size, protocol=self.protocol, changes=[*local, *given]
        )

    @property
    def english(self) -> bool:
        """Whether models that read English alone will do: the queries are English, or do not say."""
        return self.language in ("", "en", "us")

    def asked(self, name: str) -> bool:
        """Whether a system's row was asked for."""
        return not self.systems or name in self.systems

    @property
    def rate_is_given(self) -> bool:
        """Whether ``--set`` fixes the learning rate, so that none is chosen."""
        return any(
            _owner(text) is None and text.partition("=")[0].strip() == RATE for text in self.changes
        )

    @property
    def depth(self) -> int:
        """How many codes the identifiers of the default condition have."""
        return depth_of(self.recipe("base").identifiers)


@dataclass(frozen=True)
class Study:
    """A table of the paper: what is compared and how it is shown.

    ``tuned``    the recipes whose own best learning rate the study needs
    ``subsets``  named parts of the test queries, as row numbers of the dataset
    ``on_tree``  the same, of the dataset and the tree of the first condition's identifiers
    ``systems``  the rows that ``--systems`` may choose among; none: it cannot
    """

    name: str
    title: str
    conditions: Callable[[Setting], list[Condition]]
    contrasts: Callable[[Setting], list[Contrast]]
    tables: Callable[[Results], list[Table]]
    measures: tuple[str, ...] = FIVE
    draw: Callable[[Results, Path], None] | None = None
    tuned: tuple[str, ...] = ("base",)
    subsets: Callable[[Dataset], dict[str, Ints]] | None = None
    on_tree: Callable[[Dataset, PrefixTree], dict[str, Ints]] | None = None
    systems: tuple[str, ...] = ()


def against(
    reference: Condition,
    systems: Iterable[Condition],
    *,
    rules: Iterable[str] = tuple(RULE_LABELS),
    measures: tuple[str, ...] = PRIMARY,
    subset: str = "all",
) -> list[Contrast]:
    """Every system minus the reference under each rule; the tests of one rule are one family."""
    listed = list(systems)
    part = "" if subset == "all" else f", {subset}"
    return [
        Contrast(
            f"{system.label} − {reference.label}, {RULE_LABELS.get(rule, rule)}{part}",
            Point(system.key, rule, subset),
            Point(reference.key, rule, subset),
            measures,
            rule,
        )
        for rule in rules
        for system in listed
    ]


def _elsewhere(recipe: Recipe, given: Iterable[str]) -> list[str]:
    """Changes of a recipe for other languages than English; a model that was asked for stays."""
    asked = {text.partition("=")[0].strip() for text in given}
    used = {"model.backbone": recipe.model.backbone}
    used["identifiers.embedder"] = recipe.identifiers.embedder
    used |= {f"{name}.embedder": getattr(one, "embedder", "") for name, one in recipe.own.items()}
    return [
        f"{key}={MULTILINGUAL[model]}"
        for key, model in used.items()
        if model in MULTILINGUAL and key not in asked
    ]


def _owner(change: str) -> str | None:
    """The recipe that a change is for, if it is one's: of ``tiger:training.epochs=3``, ``tiger``."""
    key = change.partition("=")[0]
    name, colon, _ = key.partition(":")
    return name.strip() if colon else None


def _system(change: str) -> str | None:
    """The comparison system whose settings a change concerns, if it is one's."""
    first = change.partition("=")[0].strip().partition(".")[0]
    return first if first in parts("system") else None


def _term(change: str) -> str | None:
    """The loss term that a ``--set`` option concerns, if it is one's."""
    words = change.partition("=")[0].strip().split(".")
    return words[2] if words[:2] == ["objective", "terms"] and len(words) > 2 else None


def depth_of(settings: IdentifierSettings) -> int:
    """The number of codes in an identifier, the suffix that tells equal ones apart included.

    >>> depth_of(IdentifierSettings(learner="hierarchical-kmeans"))
    4
    """
    if not parts("learner")[settings.learner].takes_sizes:
        raise RarsError(
            f"Depth masks need identifiers with fixed codebooks, not learner {settings.learner!r}."
        )
    return len(settings.sizes) + bool(parts("collision policy")[settings.collisions].adds_code)


def mask(depth: int, off: int | None = None) -> str:
    """The rule with compatibility at every depth but ``off`` (counted from 1).

    >>> mask(4, off=2), mask(3)
    ('1011', 'all')
    """
    if off is None:
        return "all"
    return "".join("0" if at == off else "1" for at in range(1, depth + 1))
