"""The tables that several studies share: measures by condition, paired differences, pairs of Base and RARS.

Owns: how a number is written (per cent, mean over seeds, sample standard deviation, interval over queries)
and which of a column is best. Ignores the medium (``rars.experiments.tables``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rars.evaluation.report import p_value
from rars.evaluation.statistics import Estimate
from rars.experiments.collecting import Delta, Found
from rars.experiments.design import FIVE, Point
from rars.experiments.tables import Block, Cell, Mark, Row, Table

RULES = {"ar": "AR only", "all": "all levels"}
NOTHING = Cell("—")


def short(measure: str) -> str:
    """A measure as the paper's column heads call it.

    >>> short("Recall@100"), short("nDCG@10"), short("MRR@100")
    ('R@100', 'N@10', 'MRR')
    """
    if measure == "MRR@100":
        return "MRR"
    return measure.replace("Recall", "R").replace("nDCG", "N")


def cell(found: Found, point: Point, measure: str) -> Cell:
    """Mean over seeds, its spread and its interval, in per cent."""
    scores = found.scores.get(point)
    if scores is None:
        return NOTHING
    summary = scores.summary(measure)
    spread = "" if summary.sd is None else f"{100 * summary.sd:.2f}"
    return Cell(f"{100 * summary.mean:.2f}", spread, ends(found.intervals[point, measure]))


def rows(
    found: Found, listed: Iterable[tuple[tuple[str, ...], Point]], measures: Sequence[str]
) -> list[Row]:
    """One row per point."""
    return [
        Row(labels, tuple(cell(found, point, name) for name in measures))
        for labels, point in listed
    ]


def ranked(blocks: Sequence[Block], *, second: bool = False) -> tuple[Block, ...]:
    """The same blocks with the best value of every column marked (and the second best)."""
    listed = [row for block in blocks for row in block.rows]
    width = len(listed[0].cells) if listed else 0
    marks = [_marks([row.cells[at].text for row in listed], second) for at in range(width)]
    made, at = [], 0
    for block in blocks:
        marked = []
        for row in block.rows:
            cells = tuple(
                replace(one, mark=marks[column][at]) for column, one in enumerate(row.cells)
            )
            marked.append(replace(row, cells=cells))
            at += 1
        made.append(replace(block, rows=tuple(marked)))
    return tuple(made)


def measured(
    found: Found,
    key: str,
    title: str,
    heads: tuple[str, ...],
    listed: Sequence[tuple[tuple[str, ...], Point]],
    *,
    rule: str | None = None,
    measures: Sequence[str] = FIVE,
) -> Table:
    """The commonest table: one row per point, one column per measure, the best of each in bold."""
    blocks = ranked([Block(tuple(rows(found, listed, measures)))])
    columns = tuple(map(short, measures))
    return Table(key, title, heads, columns, blocks, values_caption(found, rule))


def differences(key: str, title: str, deltas: Sequence[Delta]) -> Table:
    """Paired differences: over queries with interval and p-values, and over seeds if there are several."""
    several = any(len(one.per_seed) > 1 for one in deltas)
    columns = ("Δ", "95 % interval", "p", "p (Holm)", "over seeds")[: None if several else -1]
    made, before = [], ""
    for one in deltas:
        name = one.contrast.name
        labels = ("" if name == before else name, short(one.measure))
        made.append(Row(labels, _difference(one)[: len(columns)]))
        before = name
    caption = caption_of_tests(deltas, seeds=several)
    return Table(key, title, ("Difference", "Measure"), columns, (Block(tuple(made)),), caption)


def caption_of_tests(deltas: Sequence[Delta], *, seeds: bool = True) -> str:
    """What the tests are."""
    sizes = Counter(one.contrast.family for one in deltas)
    counts = sorted(set(sizes.values()))
    families = " or ".join(map(str, counts)) + " tests"
    if len(sizes) > 1:
        families = f"each family of {families} ({len(sizes)} families)"
    spread = "Over seeds: mean ± sample standard deviation of the differences within each seed. "
    several = any(len(one.per_seed) > 1 for one in deltas)
    of = "each query's mean over seeds" if several else "each query"
    return (
        f"Differences in percentage points of {of}; paired 95 % query-bootstrap "
        "intervals; two-sided paired sign randomisation, 10,000 draws; Holm's correction over "
        f"{families if sizes else 'no tests'}. {spread if seeds else ''}Bold: corrected p < 0.05."
    )


def values_caption(found: Found, rule: str | None = None, *, best: bool = True) -> str:
    """What the values are."""
    count = found.counts.get("all", 0)
    seeds = max((len(scores.seeds) for scores in found.scores.values()), default=0)
    under = {"ar": " of AR-only retrieval", "all": " of all-level retrieval"}.get(rule or "", "")
    runs = f"mean ± sample standard deviation over {seeds} seeds" if seeds > 1 else "one seed"
    bold = " Bold: the best of a column." if best else ""
    return f"Values{under} in %, {runs}, on {count:,} test queries.{bold}"


def signed(value: float, digits: int = 2) -> str:
    """A difference in percentage points; zero has no sign.

    >>> signed(0.0123), signed(-0.004), signed(-1e-9)
    ('+1.23', '−0.40', '0.00')
    """
    text = f"{100 * value:+.{digits}f}"
    return text[1:] if not float(text) else text.replace("-", "−")


def ends(one: Estimate) -> tuple[str, str]:
    """The ends of an interval in per cent."""
    return f"{100 * one.low:.1f}", f"{100 * one.high:.1f}"


def _difference(one: Delta) -> tuple[Cell, ...]:
    estimate, seeds = one.estimate, one.seeds
    spread = "" if seeds.sd is None else f"{100 * seeds.sd:.2f}"
    return (
        Cell(signed(estimate.mean), mark="best" if one.significant else ""),
        Cell(f"[{signed(estimate.low)}, {signed(estimate.high)}]"),
        Cell(p_value(one.p)),
        Cell(p_value(one.p_holm)),
        Cell(signed(seeds.mean), spread),
    )


def _marks(texts: list[str], second: bool) -> list[Mark]:
    """Marks by the written value: two numbers that read the same are equally good."""
    values = sorted({float(text) for text in texts if text != NOTHING.text}, reverse=True)
    known: dict[float, Mark] = {}
    if len(values) > 1:
        known[values[0]] = "best"
        if second:
            known[values[1]] = "second"
    return [known.get(float(text), "") if text != NOTHING.text else "" for text in texts]
