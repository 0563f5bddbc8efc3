"""Writing text for Markdown, LaTeX and HTML.

Owns: the signs that need escaping, a row of a Markdown table, and where HTML templates are. Ignores what is
written.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "×": r"\texttimes{}",
    "³": r"\textsuperscript{3}",
    "±": r"\textpm{}",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "Δ": r"$\Delta$",
    "λ": r"$\lambda$",
    "τ": r"$\tau$",
    "≤": r"$\leq$",
    **{one: "\\" + one for one in "&%$#_{}"},
}


def pipes(cells: Iterable[str]) -> str:
    """A row of a Markdown table.

    >>> pipes(["a", "1"])
    '| a | 1 |'
    """
    return "| " + " | ".join(cells) + " |"


def plain(text: str) -> str:
    """Text that Markdown shows as it is written."""
    for sign in "\\|<*_`":
        text = text.replace(sign, "\\" + sign)
    return text


def escaped(text: str) -> str:
    r"""Text that LaTeX shows as it is written.

    >>> print(escaped("5 % ± 1"))
    5 \% \textpm{} 1
    """
    return "".join(_LATEX.get(sign, sign) for sign in text)


@cache
def templates(*packages: str) -> Environment:
    """The HTML templates of these packages; every value is escaped, and one that is missing is an error."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
