"""What each part of the practical recipe brings: the recipe against itself with one part left out.

Not a table of the paper. ``untrained`` is the same model before its first step (one epoch at a rate that
changes nothing), so it says what training adds to the prior it starts from; how much prior and decoder count
is learned on validation queries there too.
"""

from __future__ import annotations

from rars.evaluation.report import differences
from rars.evaluation.tables import Table
from rars.experiments.design import FIVE, PRIMARY, Condition, Contrast, Point, Setting, Study
from rars.experiments.layout import measured
from rars.experiments.results import Results

WHOLE = "practical"
PARTS = {
    "untrained": ("untrained start", ("training.learning_rate=1e-12", "training.epochs=1")),
    "no-fit": ("without fitted identifiers", ("identifiers.fit=false",)),
    "no-prior": ("without the prior", ("model.prior=off",)),
    "no-aligned": ("without aligned tables", ("model.aligned_codes=false",)),
    "no-pseudo": ("without pseudo-queries", ("training.pseudo.share=0",)),
    "neither": (
        "without aligned tables and pseudo-queries",
        ("model.aligned_codes=false", "training.pseudo.share=0"),
    ),
    "no-tree": ("without the tree loss", ("objective.terms.tree=false",)),
}
RULE_LABELS = {"ar": "AR only", "hybrid": "hybrid"}


def conditions(setting: Setting) -> list[Condition]:
    """The whole recipe, and one part fewer at a time."""
    made = [Condition(WHOLE, "practical", setting.recipe(WHOLE), tuple(RULE_LABELS))]
    for key, (label, changes) in PARTS.items():
        made.append(Condition(key, label, setting.recipe(WHOLE, *changes), tuple(RULE_LABELS)))
    return made


def contrasts(setting: Setting) -> list[Contrast]:
    """Practical minus each; and aligned tables where no pseudo-query stands in for them."""
    compared = [(f"practical − {label}", WHOLE, key) for key, (label, _) in PARTS.items()]
    compared.append(("aligned tables without pseudo-queries", "no-pseudo", "neither"))
    return [
        Contrast(f"{title}, {name}", Point(one, rule), Point(other, rule), PRIMARY, rule)
        for rule, name in RULE_LABELS.items()
        for title, one, other in compared
    ]


def tables(results: Results) -> list[Table]:
    """One table for each rule, then the differences."""
    labels = {WHOLE: "practical", **{key: label for key, (label, _) in PARTS.items()}}
    made = [
        measured(
            results,
            f"practical-{rule}",
            f"The practical recipe and its parts, {name}",
            ("System",),
            [((label,), Point(key, rule)) for key, label in labels.items()],
            rule=rule,
            measures=FIVE,
        )
        for rule, name in RULE_LABELS.items()
    ]
    return [*made, differences("practical-differences", "What each part brings", results.deltas)]


STUDY = Study(
    name="practical",
    title="The practical recipe with one part left out at a time",
    conditions=conditions,
    contrasts=contrasts,
    tables=tables,
    tuned=(),
)
