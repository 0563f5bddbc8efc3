"""How numbers are written, and a comparison as tables.

Owns: percentages, signs, p-values, which value of a column is best, and the table of paired differences that
``rars compare`` and the experiments share. Ignores the medium (``rars.evaluation.tables``) and how the
numbers came about (``rars.evaluation.comparison``).

A letter after a value names a system that the row's system is significantly better than.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Group

from rars.errors import RarsError
from rars.evaluation import tables
from rars.evaluation.comparison import ALPHA, Comparison, Difference, larger_is_better
from rars.evaluation.statistics import DRAWS, LEVEL, Estimate, Seeds
from rars.evaluation.tables import LETTERS, Block, Cell, Mark, Row, Table

NOTHING = Cell("—")


def markdown(comparison: Comparison) -> str:
    """Both tables in Markdown."""
    return "\n".join(map(tables.markdown, shown(comparison)))


def terminal(comparison: Comparison) -> Group:
    """Both tables for a terminal."""
    return Group(*map(tables.terminal, shown(comparison)))


def html(comparison: Comparison) -> str:
    """Both tables for a notebook."""
    return tables.html(*shown(comparison))


def shown(comparison: Comparison) -> list[Table]:
    """The systems with the best of each column in bold, and the tests if there are any."""
    if len(comparison.systems) > len(LETTERS):
        raise RarsError(
            f"A table shows at most {len(LETTERS)} systems, not {len(comparison.systems)}."
        )
    lettered = dict(zip(comparison.systems, LETTERS, strict=False))
    made = []
    for system, row in comparison.systems.items():
        cells = []
        for measure, one in row.items():
            worse = "".join(lettered[name] for name in comparison.beaten(system, measure))
            found = value(one, comparison.seeds[system][measure])
            cells.append(replace(found, letters=worse))
        made.append(Row((lettered[system], system), tuple(cells)))
    least = [not larger_is_better(measure) for measure in comparison.measures]
    systems = Table(
        "comparison",
        "",
        ("", "System"),
        comparison.measures,
        ranked([Block(tuple(made))], least=least),
        _caption(comparison),
        intervals=f"Below each value: its {100 * comparison.level:g} % bootstrap interval over "
        f"queries, {comparison.draws:,} draws.",
    )
    if not comparison.differences:
        return [systems]
    tests = differences(
        "differences",
        "Paired differences",
        comparison.differences,
        head=str,
        draws=comparison.draws,
        level=comparison.level,
        alpha=comparison.alpha,
    )
    return [systems, tests]


def differences(
    key: str,
    title: str,
    listed: Sequence[Difference[Any]],
    *,
    head: Callable[[str], str] | None = None,
    draws: int = DRAWS,
    level: float = LEVEL,
    alpha: float = ALPHA,
) -> Table:
    """Paired differences: over queries with interval and p-values, and over seeds if there are several."""
    several = any(len(one.per_seed) > 1 for one in listed)
    interval = f"{100 * level:g} % interval"
    columns = ("Δ", interval, "p", "p (Holm)", "over seeds")[: None if several else -1]
    made, before = [], ""
    for one in listed:
        name = one.contrast.name
        labels = ("" if name == before else name, (head or short)(one.measure))
        made.append(Row(labels, _difference(one, alpha)[: len(columns)]))
        before = name
    caption = caption_of_tests(listed, seeds=several, draws=draws, level=level, alpha=alpha)
    blocks = (Block(tuple(made)),)
    heads = ("Difference", "Measure")
    return Table(key, title, heads, columns, blocks, caption, stacked=True)


def caption_of_tests(
    listed: Sequence[Difference[Any]],
    *,
    seeds: bool = True,
    draws: int = DRAWS,
    level: float = LEVEL,
    alpha: float = ALPHA,
) -> str:
    """The caption of a table of differences: how they were tested."""
    sizes = Counter(one.contrast.family for one in listed)
    counts = sorted(set(sizes.values()))
    families = " or ".join(map(str, counts)) + (" test" if counts == [1] else " tests")
    if len(sizes) > 1:
        families = f"each family of {families} ({len(sizes)} families)"
    spread = "Over seeds: mean ± sample standard deviation of the differences within each seed. "
    several = any(len(one.per_seed) > 1 for one in listed)
    of = "each query's mean over seeds" if several else "each query"
    return (
        f"Differences in percentage points of {of}; paired {100 * level:g} % query-bootstrap "
        f"intervals; two-sided paired sign randomisation, {draws:,} draws; Holm's correction over "
        f"{families if sizes else 'no tests'}. {spread if seeds else ''}"
        f"Bold: corrected p < {alpha:g}."
    )


def ranked(
    blocks: Sequence[Block], *, second: bool = False, least: Sequence[bool] = ()
) -> tuple[Block, ...]:
    """The same blocks with the best value of every column marked (and the second best).

    ``least`` says of each column whether the smallest value is the best.
    """
    listed = [row for block in blocks for row in block.rows]
    width = len(listed[0].cells) if listed else 0
    smallest = [*least, *[False] * (width - len(least))]
    marks = [
        _marks([row.cells[at].text for row in listed], second, smallest[at]) for at in range(width)
    ]
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


def value(one: Estimate, seeds: Seeds) -> Cell:
    """Mean over seeds, its spread and its interval, in per cent."""
    spread = "" if seeds.sd is None else f"{100 * seeds.sd:.2f}"
    return Cell(
        f"{100 * seeds.mean:.2f}", spread, (f"{100 * one.low:.1f}", f"{100 * one.high:.1f}")
    )


def short(measure: str) -> str:
    """A measure as the paper's column heads call it.

    >>> short("Recall@100"), short("nDCG@10"), short("MRR@100")
    ('R@100', 'N@10', 'MRR')
    """
    if measure == "MRR@100":
        return "MRR"
    return measure.replace("Recall", "R").replace("nDCG", "N")


def signed(value: float, digits: int = 2) -> str:
    """A difference in percentage points; zero has no sign.

    >>> signed(0.0123), signed(-0.004), signed(-1e-9)
    ('+1.23', '−0.40', '0.00')
    """
    text = f"{100 * value:+.{digits}f}"
    return text[1:] if not float(text) else text.replace("-", "−")


def p_value(p: float) -> str:
    """A p-value as tables show it.

    >>> p_value(0.00012), p_value(0.04567)
    ('<0.001', '0.046')
    """
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def bounds(one: Estimate) -> str:
    """The interval of a difference in percentage points.

    >>> bounds(Estimate(0.0, -0.01, 0.02))
    '[−1.00, +2.00]'
    """
    return f"[{signed(one.low)}, {signed(one.high)}]"


def _difference(one: Difference[Any], alpha: float) -> tuple[Cell, ...]:
    seeds = one.seeds
    spread = "" if seeds.sd is None else f"{100 * seeds.sd:.2f}"
    return (
        Cell(signed(one.estimate.mean), mark="best" if one.significant(alpha) else ""),
        Cell(bounds(one.estimate)),
        Cell(p_value(one.p)),
        Cell(p_value(one.p_holm)),
        Cell(signed(seeds.mean), spread),
    )


def _caption(comparison: Comparison) -> str:
    left = f" ({comparison.left_out:,} without a relevant item left out)"
    counted = f"{comparison.queries:,} queries{left if comparison.left_out else ''}"
    seeds = " and over seeds ± sample standard deviation" if comparison.several_seeds else ""
    best = " Bold: the best of a column." if len(comparison.systems) > 1 else ""
    letters = " A letter names a system that is significantly worse."
    return (
        f"Values in %, mean over {counted}{seeds}.{best}{letters if comparison.differences else ''}"
    )


def _marks(texts: list[str], second: bool, least: bool) -> list[Mark]:
    """Marks by the written value: two numbers that read the same are equally good."""
    values = sorted({float(text) for text in texts if text != NOTHING.text}, reverse=not least)
    known: dict[float, Mark] = {}
    if len(values) > 1:
        known[values[0]] = "best"
        if second:
            known[values[1]] = "second"
    return [known.get(float(text), "") if text != NOTHING.text else "" for text in texts]
