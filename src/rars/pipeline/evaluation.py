"""How good a run is, with intervals, and whether what it stored is still true.

Owns: which evaluations are made and which are found stored already, and that all of them are asked for
(``planned``) before the first is measured and written. Ignores measures and files (``rars.evaluation``) and
how a system answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rars.arrays import Ints
from rars.data import Dataset
from rars.errors import RarsError
from rars.evaluation import PerQuery
from rars.evaluation import stored as keeping
from rars.evaluation.tables import Block, Cell, Row, Table, html
from rars.evaluation.truth import Truth
from rars.pipeline.opening import open_system
from rars.progress import SILENT, Tell
from rars.runs import Run
from rars.systems import Categories, Query, System, check_texts, rank


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A run under one rule: every query's measures, and their means with 95 % intervals (``numbers``)."""

    run: str
    rule: str
    split: str
    per_query: PerQuery
    numbers: dict[str, Any]

    def mean(self, measure: str) -> float:
        """The mean of a measure over queries."""
        return self.per_query.mean(measure)


class Evaluations(list[Evaluation]):
    """Evaluations of one run; a notebook shows them as a table."""

    def table(self) -> Table:
        """One row a rule, one column a measure."""
        first = self[0]
        rows = tuple(
            Row(
                (one.rule,),
                tuple(
                    Cell(
                        f"{100 * value['mean']:.1f}",
                        interval=(f"{100 * value['low']:.1f}", f"{100 * value['high']:.1f}"),
                    )
                    for value in one.numbers["measures"].values()
                ),
            )
            for one in self
        )
        names = tuple(
            name.replace("Recall", "R").replace("nDCG", "N") for name in first.numbers["measures"]
        )
        caption = f"{first.numbers['queries']:,} {first.split} queries, values in %."
        return Table("evaluation", first.run, ("rule",), names, (Block(rows),), caption)

    def _repr_html_(self) -> str:
        return html(self.table()) if self else "nothing was evaluated"


def evaluate(
    run: Run | str | Path,
    *,
    rules: Sequence[str] | None = None,
    split: str = "test",
    eligible: bool = False,
    categories: Categories = None,
    tell: Tell = SILENT,
) -> Evaluations:
    """Measure a run under some rules, or under its own; run files, qrels and numbers stay in its results.

    ``eligible``    leaves out queries that the dataset does not call eligible (the paper's protocol on ESCI)
    ``categories``  how many of the model's categories a query searches, or ``all``; None as the recipe says
    """
    plan = planned(
        run, rules=rules, split=split, eligible=eligible, categories=categories, tell=tell
    )
    return plan.measured(tell)


@dataclass(frozen=True, eq=False)
class Planned:
    """Evaluations of a run that can be made: the system answers under each of the rules."""

    run: Run
    dataset: Dataset
    system: System
    rules: Sequence[str]
    split: str
    eligible: bool
    queries: Ints

    def measured(self, tell: Tell = SILENT) -> Evaluations:
        """Make them, or find them stored."""
        return Evaluations(_evaluated(self, rule, tell) for rule in self.rules)


def planned(
    run: Run | str | Path,
    *,
    rules: Sequence[str] | None = None,
    split: str = "test",
    eligible: bool = False,
    categories: Categories = None,
    tell: Tell = SILENT,
) -> Planned:
    """What ``evaluate`` would measure; whatever it would refuse is refused here, and nothing is written."""
    run = Run.of(run)
    if rules is not None:
        check_texts("rules", rules, "a list of names of rules", each="A name")
    dataset = run.dataset()
    queries = Truth.of(dataset, split, eligible=eligible).queries
    if not len(queries):
        raise RarsError(f"{dataset.where} has no {split} query with a relevant item.")
    system = _routed(open_system(run.folder), categories, run, tell)
    listed = _rules(system, rules, run, tell)
    for rule in listed:
        rank(system, [Query("a", 1, rule=rule)])  # one that the system does not have is refused
    return Planned(run, dataset, system, listed, split, eligible, queries)


def _routed(system: System, categories: Categories, run: Run, tell: Tell) -> System:
    if categories is None:
        return system
    if not hasattr(system, "with_categories"):
        tell.say(f"{run.folder} has no categories; --categories does not concern it.")
        return system
    found: System = system.with_categories(categories)
    return found


def _rules(system: System, asked: Sequence[str] | None, run: Run, tell: Tell) -> Sequence[str]:
    if asked is None:
        return system.rules[:1]
    if len(system.rules) == 1 and list(asked) != list(system.rules):
        tell.say(
            f"{run.folder} has one rule, {system.rules[0]}; --rule {','.join(asked)} does not concern it."
        )
        return system.rules
    return asked


def _evaluated(plan: Planned, rule: str, tell: Tell) -> Evaluation:
    """One evaluation, from the run's results where it is still that of the same system."""
    run = plan.run
    with tell.stage(f"{run.folder} {rule}") as advance:
        found, numbers = keeping.evaluated(
            plan.system,
            run.results,
            plan.dataset,
            plan.split,
            rule,
            eligible=plan.eligible,
            folder=run.folder,
            say=tell.say,
            advance=advance,
        )
    return Evaluation(str(run.folder), rule, plan.split, found, numbers)


def verify(run: Run | str | Path) -> dict[str, dict[str, float]]:
    """Check every digest of a run, and score its stored run files with an outside tool.

    Means and intervals are computed again; of the index, every version that can be gone back to is checked.
    """
    run = Run.of(run)
    dataset = run.dataset()
    open_system(run.folder)  # checks every part that it reads
    if run.recipe().generative:
        from rars.search.index import check_versions

        check_versions(run)
    checked = {}
    for numbers in sorted(run.results.glob("*-*.json")):
        split, _, rule = numbers.stem.rpartition("-")
        checked[numbers.stem] = keeping.verify(keeping.Files.of(run.results, split, rule), dataset)
    if not checked:
        raise RarsError(f"{run.folder} has no stored evaluation; run rars evaluate first.")
    return checked
