"""Text as Markdown and LaTeX show it.

Owns: the signs that need escaping, and a row of a Markdown table. Ignores what is written.
"""

from __future__ import annotations

from collections.abc import Iterable

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
