"""A comparison as something to read: Markdown, LaTeX, and a table for the terminal.

Owns: layout. Ignores how the numbers came about. Values are percentages. A letter after a value names a
system that the row's system is significantly better than (corrected p below alpha); the best value of a
column is bold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from rars.errors import RarsError
from rars.evaluation.comparison import Comparison, Difference, larger_is_better
from rars.evaluation.markup import escaped, pipes, plain
from rars.evaluation.statistics import Estimate

_LETTERS = "abcdefghijklmnoprstuvwxyz"
_RAISED = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
"""Unicode has no raised q."""


def markdown(comparison: Comparison) -> str:
    """Both tables in Markdown."""
    head = ["", "System", *comparison.measures]
    lines = [pipes(head), pipes(["---", "---", *["---:"] * len(comparison.measures)])]
    for letter, system in _lettered(comparison):
        cells = [
            _cell(comparison, system, measure, _markdown_bold, _markdown_raised)
            for measure in comparison.measures
        ]
        lines.append(pipes([letter, plain(system), *cells]))
    lines += ["", caption(comparison)]
    if comparison.differences:
        lines += ["", pipes(["Difference", "Measure", "Mean", "p", "p (Holm)"])]
        lines.append(pipes(["---", "---", "---:", "---:", "---:"]))
        lines += [pipes([plain(cell) for cell in _row(one)]) for one in comparison.differences]
    return "\n".join(lines) + "\n"


def latex(comparison: Comparison, *, label: str = "tab:comparison") -> str:
    """The table of systems for a paper that loads booktabs."""
    columns = "ll" + "r" * len(comparison.measures)
    lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    head = ["", "System", *map(escaped, comparison.measures)]
    lines += [" & ".join(head) + r"\\", r"\midrule"]
    for letter, system in _lettered(comparison):
        cells = [
            _cell(comparison, system, measure, _latex_bold, _latex_raised)
            for measure in comparison.measures
        ]
        lines.append(" & ".join([letter, escaped(system), *cells]) + r"\\")
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{escaped(caption(comparison))}}}"]
    lines += [rf"\label{{{label}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def latex_differences(comparison: Comparison, *, label: str = "tab:differences") -> str:
    """The table of paired differences for a paper that loads booktabs."""
    lines = [r"\begin{table}", r"\centering", r"\begin{tabular}{llrrr}", r"\toprule"]
    lines += [r"Difference & Measure & Mean & $p$ & $p_{\mathrm{H}}$\\", r"\midrule"]
    for one in comparison.differences:
        lines.append(" & ".join(map(escaped, _row(one))) + r"\\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\caption{{{escaped(_tests(comparison))}}}", rf"\label{{{label}}}"]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def terminal(comparison: Comparison) -> Group:
    """Both tables for a terminal."""
    table = _table("", "System", numbers=comparison.measures)
    for letter, system in _lettered(comparison):
        cells = [_two_lines(comparison, system, measure) for measure in comparison.measures]
        table.add_row(letter, Text(system), *cells)
    parts: list[Table | Text] = [table, Text(caption(comparison), style="dim")]
    if comparison.differences:
        tests = _table("Difference", "Measure", numbers=("Mean", "p", "p (Holm)"))
        for one in comparison.differences:
            style = "" if one.significant(comparison.alpha) else "dim"
            tests.add_row(*(Text(cell) for cell in _row(one)), style=style)
        parts += [Text(), tests]
    return Group(*parts)


def caption(comparison: Comparison) -> str:
    """What the numbers are, in two or three sentences."""
    left = f" ({comparison.left_out:,} without a relevant item left out)"
    counted = f"{comparison.queries:,} queries{left if comparison.left_out else ''}"
    values = (
        f"Values in %, mean over {counted} with {100 * comparison.level:g} % bootstrap intervals "
        f"over queries ({comparison.draws:,} draws)."
    )
    return f"{values} {_tests(comparison)}" if comparison.differences else values


def percent(one: Estimate, *, signed: bool = False) -> str:
    """A mean and its interval in percent.

    >>> percent(Estimate(0.4123, 0.4, 0.425)), percent(Estimate(0.001, -0.01, 0.02), signed=True)
    ('41.23 [40.00, 42.50]', '+0.10 [-1.00, +2.00]')
    """
    form = "+.2f" if signed else ".2f"
    mean, low, high = (format(100 * value + 0.0, form) for value in (one.mean, one.low, one.high))
    return f"{mean} [{low}, {high}]"


def p_value(p: float) -> str:
    """A p-value as tables show it.

    >>> p_value(0.00012), p_value(0.04567)
    ('<0.001', '0.046')
    """
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _tests(comparison: Comparison) -> str:
    count = len(comparison.differences)
    if comparison.family == "measure" and comparison.measures:
        family = f"Holm's correction over the {count // len(comparison.measures)} of each measure"
    else:
        family = f"Holm's correction over all {count}"
    return (
        f"Two-sided paired sign randomisation tests with {comparison.draws:,} draws, {family}; "
        f"a letter names a system that is significantly worse (p < {comparison.alpha:g})."
    )


def _cell(
    comparison: Comparison,
    system: str,
    measure: str,
    bold: Callable[[str], str],
    raised: Callable[[str], str],
) -> str:
    text = percent(comparison.systems[system][measure])
    text = bold(text) if _is_best(comparison, system, measure) else text
    letters = _letters(comparison, system, measure)
    return text + (raised(letters) if letters else "")


def _two_lines(comparison: Comparison, system: str, measure: str) -> Text:
    """The mean, and below it the interval, so that six measures fit a terminal of 80 columns."""
    one = comparison.systems[system][measure]
    best = "bold" if _is_best(comparison, system, measure) else ""
    letters = _letters(comparison, system, measure).translate(str.maketrans(_LETTERS, _RAISED))
    interval = f"\n{100 * one.low:.1f}–{100 * one.high:.1f}"
    return Text.assemble((f"{100 * one.mean:.2f}", best), (letters, "green"), (interval, "dim"))


def _table(*texts: str, numbers: Sequence[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in texts:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _is_best(comparison: Comparison, system: str, measure: str) -> bool:
    means = [round(row[measure].mean, 6) for row in comparison.systems.values()]
    best = max(means) if larger_is_better(measure) else min(means)
    return len(means) > 1 and round(comparison.systems[system][measure].mean, 6) == best


def _lettered(comparison: Comparison) -> list[tuple[str, str]]:
    if len(comparison.systems) > len(_LETTERS):
        raise RarsError(
            f"A table shows at most {len(_LETTERS)} systems, not {len(comparison.systems)}."
        )
    return list(zip(_LETTERS, comparison.systems, strict=False))


def _letters(comparison: Comparison, system: str, measure: str) -> str:
    worse = comparison.beaten(system, measure)
    return "".join(letter for letter, name in _lettered(comparison) if name in worse)


def _row(one: Difference) -> list[str]:
    pair = f"{one.system} - {one.reference}"
    mean = percent(one.estimate, signed=True)
    return [pair, one.measure, mean, p_value(one.p), p_value(one.p_holm)]


def _markdown_bold(text: str) -> str:
    return f"**{text}**"


def _markdown_raised(text: str) -> str:
    return f"<sup>{text}</sup>"


def _latex_bold(text: str) -> str:
    return rf"\textbf{{{text}}}"


def _latex_raised(text: str) -> str:
    return rf"\textsuperscript{{{text}}}"
