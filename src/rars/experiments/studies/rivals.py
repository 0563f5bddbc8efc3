"""The practical recipe against what a search team would build instead.

Not a table of the paper. Every system that adds scores up has its weights fitted on the same validation
queries, by the same likelihood. Fusions add up the words and vectors that ``hybrid`` has in its beam, and
``fusion-judged`` also what was relevant to similar training queries, ``fusion-letters`` likeness of letters
beside that. ``--set dense.embedder=X --set identifiers.embedder=X`` gives all of them other vectors.
"""

from __future__ import annotations

from rars.config import parts
from rars.evaluation.report import differences
from rars.evaluation.tables import Table
from rars.experiments.design import PLAIN, PRIMARY, Condition, Contrast, Point, Setting, Study
from rars.experiments.layout import measured, weights
from rars.experiments.results import Results

RIVALS = {
    "bm25": "BM25",
    "dense": "dense, zero-shot",
    "dense-tuned": "dense, fitted",
    "fusion": "BM25 + dense",
    "fusion-tuned": "BM25 + fitted dense",
    "fusion-judged": "BM25 + fitted dense + memory",
    "fusion-letters": "BM25 + fitted dense + memory + letters",
}
OWN = "practical"
SHOWN = ("Recall@10", "Recall@100", "nDCG@10")
"""Few columns: datasets stand side by side."""
RULES = {"ar": "practical, the model alone", "hybrid": "practical, hybrid"}


def conditions(setting: Setting) -> list[Condition]:
    """The rows asked for; of the practical recipe, with weights of its own choosing."""
    made = [_rival(setting, name) for name in RIVALS if setting.asked(name)]
    if setting.asked(OWN):
        made.append(practical(setting))
    return made


def practical(setting: Setting) -> Condition:
    """The practical recipe, with weights of its own choosing."""
    recipe = setting.recipe(OWN, "search.tune=true", rate_of=None)
    return Condition(OWN, OWN, recipe, tuple(RULES))


def _rival(setting: Setting, name: str) -> Condition:
    recipe = setting.recipe(name)
    trains = bool(parts("system")[recipe.system].trains(recipe.own))
    return Condition(name, RIVALS[name], recipe, (PLAIN,), seeded=trains)


def contrasts(setting: Setting) -> list[Contrast]:
    """Hybrid search minus each of the others."""
    if not setting.asked(OWN):
        return []
    return [
        Contrast(f"hybrid − {label}", Point(OWN, "hybrid"), Point(name, PLAIN), PRIMARY, "rivals")
        for name, label in RIVALS.items()
        if setting.asked(name)
    ]


def tables(results: Results) -> list[Table]:
    """All systems, then the differences."""
    known = results.conditions
    listed = [
        ((label, weights(known[name].recipe)), Point(name, PLAIN))
        for name, label in RIVALS.items()
        if name in known
    ]
    if OWN in known:
        made_of = weights(known[OWN].recipe)
        listed += [((label, made_of), Point(OWN, rule)) for rule, label in RULES.items()]
    whole = measured(
        results,
        "rivals",
        "The practical recipe and what would be built instead",
        ("System", "Weights"),
        listed,
        measures=SHOWN,
    )
    return [whole, differences("rivals-differences", "Hybrid search minus each", results.deltas)]


STUDY = Study(
    name="rivals",
    title="The practical recipe against BM25, dense search and their fusions",
    conditions=conditions,
    contrasts=contrasts,
    tables=tables,
    tuned=(),
    systems=(*RIVALS, OWN),
)
