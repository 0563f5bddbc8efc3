"""The tables that several studies share: measures by condition, and what their captions say.

Owns: how the numbers of a study become rows. Ignores how a number is written (``rars.evaluation.report``) and
the medium (``rars.evaluation.tables``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath

from rars.config import Recipe
from rars.evaluation.report import NOTHING, ranked, short, value
from rars.evaluation.tables import Block, Cell, Row, Table
from rars.experiments.design import FIVE, Point
from rars.experiments.results import Results


def cell(results: Results, point: Point, measure: str) -> Cell:
    """A point on a measure: mean over seeds, its spread and its interval, in per cent."""
    scores = results.scores.get(point)
    if scores is None:
        return NOTHING
    return value(results.intervals[point, measure], scores.summary(measure))


def rows(
    results: Results, listed: Iterable[tuple[tuple[str, ...], Point]], measures: Sequence[str]
) -> list[Row]:
    """One row per point."""
    return [
        Row(labels, tuple(cell(results, point, name) for name in measures))
        for labels, point in listed
    ]


def measured(
    results: Results,
    key: str,
    title: str,
    heads: tuple[str, ...],
    listed: Sequence[tuple[tuple[str, ...], Point]],
    *,
    rule: str | None = None,
    measures: Sequence[str] = FIVE,
) -> Table:
    """A table of measures: one row per point, one column per measure, the best of each in bold."""
    blocks = ranked([Block(tuple(rows(results, listed, measures)))])
    columns = tuple(map(short, measures))
    return Table(key, title, heads, columns, blocks, values_caption(results, rule))


def weights(recipe: Recipe) -> str:
    """What a system is made of and which weights it starts from.

    >>> weights(Recipe.resolve("mpnet")), weights(Recipe.resolve("rars", size="tiny"))
    ('all-mpnet-base-v2, zero-shot', 'tiny, from nothing; use vectors')
    """
    if recipe.generative:
        kind, _, name = recipe.model.backbone.partition(":")
        start = f"{_model(name)}, pretrained" if name else f"{kind}, from nothing"
        tuned = "" if recipe.identifiers.tune is None else "fine-tuned "
        return f"{start}; {tuned}{_model(recipe.identifiers.embedder)} vectors"
    dense = recipe.own.get("dense")
    if dense is None:
        return "words"
    tuned = {"off": "zero-shot", "maps": "fitted maps"}.get(dense.tune, "fine-tuned")
    return f"{_model(dense.embedder)}, {tuned}"


def _model(name: str) -> str:
    """The last part of a model's name: of a folder, of a hub name, or of an embedder's."""
    return PurePath(name.rpartition(":")[2]).name


def lacking_caption(results: Results) -> str:
    """What a caption adds where rows have no run because their weights cannot be had."""
    said = " ".join(f"{one.rstrip('.')}." for one in results.lacking_sentences)
    return f" Without numbers: {said}" if said else ""


def values_caption(results: Results, rule: str | None = None, *, best: bool = True) -> str:
    """The caption of a table of measures: rule, seeds, queries."""
    count = results.counts.get("all", 0)
    seeds = max((len(scores.seeds) for scores in results.scores.values()), default=0)
    under = {"ar": " of AR-only retrieval", "all": " of all-level retrieval"}.get(rule or "", "")
    runs = f"mean ± sample standard deviation over {seeds} seeds" if seeds > 1 else "one seed"
    bold = " Bold: the best of a column." if best else ""
    return f"Values{under} in %, {runs}, on {count:,} test queries.{bold}"
