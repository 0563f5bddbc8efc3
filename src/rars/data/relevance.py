"""Named ways to read a grade: as training mass (rho of the paper) and as evaluation gain.

Owns: the presets. Ignores queries and normalisation: ``rars.tree.relevance`` divides by the query's sum.

A grade is 3/2/1/0 for E/S/C/I, or the user's own number. Training mass and evaluation gain are separate
choices: a model trained on Exact alone is still judged on every grade.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from rars.arrays import Doubles
from rars.errors import RarsError

MASS: dict[str, Callable[[Doubles], Doubles]] = {
    "linear": lambda grade: grade,
    "binary": lambda grade: (grade > 0).astype(np.float64),
    "exponential": lambda grade: np.where(grade > 0, np.exp(grade - 1), 0.0),
    "exact": lambda grade: np.where(grade >= 3, grade, 0.0),
    "exact+substitute": lambda grade: np.where(grade >= 2, grade, 0.0),
}
"""Training mass: E/S/C = 3/2/1 (the paper), 1/1/1, e^2/e/1, 3/0/0, 3/2/0."""

GAINS: dict[str, Callable[[Doubles], Doubles]] = {
    "linear": lambda grade: grade,
    "esci": lambda grade: np.select([grade >= 3, grade >= 2, grade >= 1], [1.0, 0.1, 0.01], 0.0),
}
"""Evaluation gain: E/S/C/I = 3/2/1/0 (the paper), or 1/0.1/0.01/0 (the ESCI challenge)."""


def mass(grade: npt.ArrayLike, preset: str = "linear") -> Doubles:
    """Training mass of each grade.

    >>> mass([3, 2, 1, 0], "exact+substitute").tolist()
    [3.0, 2.0, 0.0, 0.0]
    """
    return _named(MASS, preset, "relevance")(np.asarray(grade, dtype=np.float64))


def gain(grade: npt.ArrayLike, preset: str = "linear") -> Doubles:
    """Evaluation gain of each grade.

    >>> gain([3, 2, 1, 0], "esci").tolist()
    [1.0, 0.1, 0.01, 0.0]
    """
    return _named(GAINS, preset, "gain")(np.asarray(grade, dtype=np.float64))


def _named(
    presets: dict[str, Callable[[Doubles], Doubles]], name: str, what: str
) -> Callable[[Doubles], Doubles]:
    if name not in presets:
        raise RarsError(f"Unknown {what} preset {name!r}; choose one of {', '.join(presets)}.")
    return presets[name]
