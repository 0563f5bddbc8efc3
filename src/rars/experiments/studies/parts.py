"""What each part of hybrid search brings: the same runs, searched with one part left out at a time.

Not a table of the paper. The runs are those of ``rivals`` (``practical``, weights fitted on validation
queries); nothing is trained for it that ``rivals`` has trained. The weights that are left stay as they are,
so a difference is what a part brings beside the others, not what a search without it could be fitted to.
"""

from __future__ import annotations

from rars.evaluation.report import differences
from rars.evaluation.tables import Table
from rars.experiments.design import PRIMARY, Condition, Contrast, Point, Setting, Study
from rars.experiments.layout import measured
from rars.experiments.results import Results
from rars.experiments.studies import rivals

WHOLE = "hybrid"
LEFT = {
    "hybrid-model": "without the model",
    "hybrid-bm25": "without words (BM25)",
    "hybrid-dense": "without sentence vectors",
    "hybrid-paper": "without the paper's compatibility",
    "hybrid-neighbours": "without memory",
    "hybrid-letters": "without letters",
    "ar": "the model alone",
}


def conditions(setting: Setting) -> list[Condition]:
    """The run of ``rivals``, under each rule."""
    own = rivals.practical(setting)
    return [Condition(own.key, own.label, own.recipe, (WHOLE, *LEFT))]


def contrasts(setting: Setting) -> list[Contrast]:
    """Hybrid search minus itself with a part fewer."""
    whole = Point(rivals.OWN, WHOLE)
    return [
        Contrast(f"hybrid − {label}", whole, Point(rivals.OWN, rule), PRIMARY, "parts")
        for rule, label in LEFT.items()
    ]


def tables(results: Results) -> list[Table]:
    """All ways to search, then the differences."""
    listed = {WHOLE: "hybrid", **LEFT}
    whole = measured(
        results,
        "parts",
        "Hybrid search and its parts",
        ("Search",),
        [((label,), Point(rivals.OWN, rule)) for rule, label in listed.items()],
        measures=rivals.SHOWN,
    )
    return [whole, differences("parts-differences", "What each part brings", results.deltas)]


STUDY = Study(
    name="parts",
    title="Hybrid search with one part left out at a time",
    conditions=conditions,
    contrasts=contrasts,
    tables=tables,
    tuned=(),
)
