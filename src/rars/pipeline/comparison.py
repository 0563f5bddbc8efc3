"""Several systems on the same queries, with paired tests.

Owns: what can be compared (run folders, evaluations, and systems made on the spot by name), how each is
called, and that nothing is measured before all of it can be compared. Ignores the statistics
(``rars.evaluation.comparison``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rars.baselines import SYSTEMS
from rars.config import Recipe, recipe_list
from rars.errors import RarsError, expected
from rars.evaluation import Comparison, PerQuery
from rars.evaluation import compare as paired
from rars.evaluation.measures import MEASURES
from rars.identifiers import Identifiers
from rars.pipeline.evaluation import Evaluation, Planned, evaluate, planned
from rars.pipeline.training import train
from rars.progress import SILENT, Tell
from rars.runs import Run
from rars.systems import Categories, check_texts

Compared = Run | Evaluation | PerQuery | str | Path
PRIMARY = ("Recall@100", "nDCG@10")


def compare(
    systems: Mapping[str, Compared] | Sequence[Compared],
    *,
    rules: Sequence[str] | None = None,
    split: str = "test",
    reference: str | None = None,
    measures: Sequence[str] = PRIMARY,
    categories: Categories = None,
    tell: Tell = SILENT,
) -> Comparison:
    """Compare every system with ``reference``, or (without one) every pair; Holm-corrected over the table.

    A system is a run folder, an evaluation, or the name of one that is made on the spot for the dataset and
    the embedder of the first run (``bm25``, ``dense``, ``fusion``). A mapping gives them names of its own.
    ``categories`` is that of ``evaluate``.
    """
    _check(systems, rules, reference, measures)
    named = systems if isinstance(systems, Mapping) else {_name(one): one for one in systems}
    asked = {"rules": rules, "split": split, "categories": categories}
    plans = {name: _planned(one, named.values(), asked, tell) for name, one in named.items()}
    _check_plans(plans, reference, measures)
    found: dict[str, PerQuery] = {}
    for name, plan in plans.items():
        if isinstance(plan, PerQuery):
            found[name] = plan
        elif isinstance(plan, _Short):
            found[name] = plan.measured(tell)
        else:
            values = (one.per_query for one in plan.measured(tell))
            found |= dict(zip(_labels(name, plan), values, strict=True))
    return paired(found, measures=list(measures), reference=reference)


def _check(systems: object, rules: object, reference: object, measures: object) -> None:
    """Refuse what is no system, before any is opened."""
    if not isinstance(systems, Mapping | Sequence) or isinstance(systems, str | bytes):
        raise expected("systems", "a list of systems or a mapping of names to systems", systems)
    for one in systems.values() if isinstance(systems, Mapping) else systems:
        if not isinstance(one, Run | Evaluation | PerQuery | str | Path):
            raise expected("A system", "a run folder, an evaluation, or a name such as 'bm25'", one)
    if isinstance(systems, Mapping):
        check_texts("systems", list(systems), each="A name")
    if rules is not None:
        check_texts("rules", rules, "a list of names of rules", each="A name")
    if not isinstance(reference, str | None):
        raise expected("reference", "text or None", reference)
    check_texts("measures", measures, "a list of names of measures", each="A name")


def _name(one: Compared) -> str:
    if isinstance(one, PerQuery):
        raise RarsError("Measures without a run need a name: compare({'name': measures, ...}).")
    if isinstance(one, Evaluation):
        return f"{one.run} {one.rule}"
    return str(one.folder) if isinstance(one, Run) else str(one)


@dataclass(frozen=True)
class _Short:
    """A system that is made on the spot, with its usual settings, for the dataset and embedder of a run."""

    name: str
    beside: Run
    split: str

    def measured(self, tell: Tell) -> PerQuery:
        with TemporaryDirectory() as folder:
            run = make_beside(self.name, self.beside, folder, tell=tell)
            [found] = evaluate(run, split=self.split, tell=tell)
        return found.per_query


def make_beside(name: str, beside: Run, folder: str | Path, *, tell: Tell = SILENT) -> Run:
    """Make a comparison system with its usual settings, for the dataset and the embedder of a run."""
    recipe = Recipe.resolve(name)
    # One with a model of its own (DPR, MPNet) keeps it.
    if getattr(recipe.own.get("dense"), "embedder", "") == "use":
        recipe = Recipe.resolve(name, changes=[f"dense.embedder={_embedder(beside)}"])
    return train(beside.dataset(), recipe, folder, tell=tell).run


def _embedder(run: Run) -> str:
    """What opens the embedder of a run, as it was fine-tuned where it was."""
    known = run.recipe()
    if not known.generative:
        return str(getattr(known.own.get("dense"), "embedder", "use"))
    return Identifiers.load(run.folder / "identifiers", verify=False).embedder_name


def _planned(
    one: Compared, beside: object, asked: Mapping[str, Any], tell: Tell
) -> PerQuery | _Short | Planned:
    if isinstance(one, PerQuery):
        return one
    if isinstance(one, Evaluation):
        return one.per_query
    if is_short(one):
        return _Short(str(one), _first_run(beside), asked["split"])
    return planned(one, **asked, tell=tell)


def _labels(name: str, plan: PerQuery | _Short | Planned) -> list[str]:
    """What the columns of a system are called: by its name, and by its rules where there are several."""
    rules = plan.rules if isinstance(plan, Planned) else ()
    return [f"{name} {rule}" for rule in rules] if len(rules) > 1 else [name]


def _check_plans(
    plans: Mapping[str, PerQuery | _Short | Planned],
    reference: str | None,
    measures: Sequence[str],
) -> None:
    """Refuse what the statistics would refuse when everything is measured."""
    labels = [label for name, plan in plans.items() for label in _labels(name, plan)]
    if reference is not None and reference not in labels:
        raise RarsError(f"The reference {reference!r} is not among {', '.join(labels)}.")
    known = {one.name for one in MEASURES}
    fresh = {name: one for name, one in plans.items() if not isinstance(one, _Short)}
    for name, plan in fresh.items():
        names = known if isinstance(plan, Planned) else set(plan.names)
        if missing := [one for one in measures if one not in names]:
            raise RarsError(
                f"{missing[0]} was not measured for {name}; there is {', '.join(sorted(names))}."
            )
    for name, plan in list(fresh.items())[1:]:
        first = next(iter(fresh))
        if not np.array_equal(fresh[first].queries, plan.queries):
            raise RarsError(f"{first} and {name} were not measured on the same queries.")


def is_short(one: object) -> bool:
    """Whether a name stands for a system made on the spot; a run folder of that name comes first."""
    return isinstance(one, str) and one in _shorts() and not (Path(one) / "manifest.json").exists()


@cache
def _shorts() -> frozenset[str]:
    """The recipes of all systems that are no generative ones."""
    return frozenset(one.name for one in recipe_list() if one.system in SYSTEMS)


def _first_run(beside: object) -> Run:
    assert hasattr(beside, "__iter__")
    for one in beside:
        if isinstance(one, Evaluation):
            return Run.open(one.run)
        if isinstance(one, Run | str | Path) and not is_short(one):
            return Run.of(one)
    raise RarsError("Name at least one run folder: it says which dataset to compare on.")
