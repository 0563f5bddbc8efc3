"""The steps of the work as plain functions over a dataset, a recipe and a run.

Each reports progress through ``tell`` and prints nothing. Names are imported when they are first asked for,
so that a program loads only what it uses.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rars.pipeline.catalogue import (
        add,
        apply,
        difference,
        log,
        prune,
        remove,
        rollback,
        update,
    )
    from rars.pipeline.comparison import compare
    from rars.pipeline.evaluation import Evaluation, Evaluations, evaluate, verify
    from rars.pipeline.identification import Identified, identify
    from rars.pipeline.indexing import index, tune
    from rars.pipeline.listing import recipe_difference, recipes
    from rars.pipeline.reporting import Reported, report
    from rars.pipeline.studies import (
        ambiguity,
        analyze,
        inspect,
        plot,
        representation,
        settings_of,
        studies_by_title,
        walk,
    )
    from rars.pipeline.training import Trained, train
    from rars.pipeline.tuning import Tuned, tune_catalogue

_HOMES = {
    "catalogue": ("add", "apply", "difference", "log", "prune", "remove", "rollback", "update"),
    "comparison": ("compare",),
    "evaluation": ("Evaluation", "Evaluations", "evaluate", "verify"),
    "identification": ("Identified", "identify"),
    "indexing": ("index", "tune"),
    "listing": ("recipe_difference", "recipes"),
    "reporting": ("Reported", "report"),
    "studies": (
        "ambiguity",
        "analyze",
        "inspect",
        "plot",
        "representation",
        "settings_of",
        "studies_by_title",
        "walk",
    ),
    "training": ("Trained", "train"),
    "tuning": ("Tuned", "tune_catalogue"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Evaluation",
    "Evaluations",
    "Identified",
    "Reported",
    "Trained",
    "Tuned",
    "add",
    "ambiguity",
    "analyze",
    "apply",
    "compare",
    "difference",
    "evaluate",
    "identify",
    "index",
    "inspect",
    "log",
    "plot",
    "prune",
    "recipe_difference",
    "recipes",
    "remove",
    "report",
    "representation",
    "rollback",
    "settings_of",
    "studies_by_title",
    "train",
    "tune",
    "tune_catalogue",
    "update",
    "verify",
    "walk",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rars.pipeline' has no attribute {name!r}")
    return getattr(import_module(f"rars.pipeline.{_HOME[name]}"), name)
