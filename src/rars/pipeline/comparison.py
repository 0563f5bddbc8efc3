"""Several systems on the same queries, with paired tests.

Owns: what can be compared (run folders, evaluations, and systems made on the spot by name) and how each is
called. Ignores the statistics (``rars.evaluation.comparison``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rars.baselines import SYSTEMS
from rars.config import Recipe
from rars.errors import RarsError, expected
from rars.evaluation import Comparison, PerQuery
from rars.evaluation import compare as paired
from rars.pipeline.evaluation import Evaluation, evaluate
from rars.pipeline.training import train
from rars.progress import SILENT, Tell
from rars.runs import Run
from rars.systems import check_texts

Compared = Run | Evaluation | PerQuery | str | Path
PRIMARY = ("Recall@100", "nDCG@10")


def compare(
    systems: Mapping[str, Compared] | Sequence[Compared],
    *,
    rules: Sequence[str] | None = None,
    split: str = "test",
    reference: str | None = None,
    measures: Sequence[str] = PRIMARY,
    tell: Tell = SILENT,
) -> Comparison:
    """Compare every system with ``reference``, or (without one) every pair; Holm-corrected over the table.

    A system is a run folder, an evaluation, or the name of one that is made on the spot for the dataset and
    the embedder of the first run (``bm25``, ``dense``, ``fusion``). A mapping gives them names of its own.
    """
    _check(systems, rules, reference, measures)
    named = systems if isinstance(systems, Mapping) else {_name(one): one for one in systems}
    found: dict[str, PerQuery] = {}
    for name, one in named.items():
        for label, values in _measured(name, one, named.values(), rules, split, tell):
            found[label] = values
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


def _measured(
    name: str,
    one: Compared,
    beside: object,
    rules: Sequence[str] | None,
    split: str,
    tell: Tell,
) -> Iterator[tuple[str, PerQuery]]:
    if isinstance(one, PerQuery):
        yield name, one
    elif isinstance(one, Evaluation):
        yield name, one.per_query
    elif _is_short(one):
        yield name, _made(str(one), _first_run(beside), split, tell)
    else:
        found = evaluate(one, rules=rules, split=split, tell=tell)
        for each in found:
            yield (f"{name} {each.rule}" if len(found) > 1 else name), each.per_query


def _is_short(one: object) -> bool:
    """Whether a name stands for a system made on the spot; a run folder of that name comes first."""
    return isinstance(one, str) and one in SYSTEMS and not (Path(one) / "manifest.json").exists()


def _first_run(beside: object) -> Run:
    assert hasattr(beside, "__iter__")
    for one in beside:
        if isinstance(one, Evaluation):
            return Run.open(one.run)
        if isinstance(one, Run | str | Path) and not _is_short(one):
            return Run.of(one)
    raise RarsError("Name at least one run folder: it says which dataset to compare on.")


def _made(name: str, beside: Run, split: str, tell: Tell) -> PerQuery:
    """A comparison system with its usual settings, for the dataset and the embedder of a run."""
    known = beside.recipe()
    dense = known.own.get("dense")
    embedder = known.identifiers.embedder if known.generative else getattr(dense, "embedder", "use")
    uses = SYSTEMS[name].uses
    changes = [f"dense.embedder={embedder}"] if "dense" in uses else []
    with TemporaryDirectory() as folder:
        run = train(beside.dataset(), Recipe.resolve(name, changes=changes), folder, tell=tell).run
        [found] = evaluate(run, split=split, tell=tell)
    return found.per_query
