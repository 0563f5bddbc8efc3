"""Several systems on the same queries: means, intervals, paired differences, corrected p-values.

Owns: which pairs are tested, and which tests form the family that Holm's correction covers. Ignores layout
(``rars.evaluation.report``). All systems share the resampled queries, so every interval is paired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from rars.errors import RarsError
from rars.evaluation.measures import Floats, PerQuery
from rars.evaluation.statistics import DRAWS, LEVEL, Estimate, estimates, holm, sign_test

Family = Literal["table", "measure"]
"""``table``: all tests of the comparison are one family; ``measure``: those of each measure are one."""


@dataclass(frozen=True)
class Difference:
    """One system minus another on one measure, query by query."""

    system: str
    reference: str
    measure: str
    estimate: Estimate
    p: float
    p_holm: float

    def significant(self, alpha: float = 0.05) -> bool:
        """Whether the corrected p-value is below ``alpha``."""
        return self.p_holm < alpha

    def as_dict(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        names = {"system": self.system, "reference": self.reference, "measure": self.measure}
        return {**names, **self.estimate.as_dict(), "p": self.p, "p_holm": self.p_holm}


@dataclass(frozen=True)
class Comparison:
    """All systems (rows) on all measures (columns), and the tests between them."""

    measures: tuple[str, ...]
    systems: Mapping[str, Mapping[str, Estimate]]
    differences: tuple[Difference, ...]
    queries: int
    left_out: int
    reference: str | None
    family: Family
    draws: int
    level: float
    alpha: float
    seed: int

    def beaten(self, system: str, measure: str) -> tuple[str, ...]:
        """The systems that this one is significantly better than, in table order."""
        found = set()
        for one in self.differences:
            if one.measure == measure and one.significant(self.alpha):
                up = (one.estimate.mean > 0) == larger_is_better(measure)
                better, worse = (one.system, one.reference)[:: 1 if up else -1]
                found |= {worse} if better == system else set()
        return tuple(name for name in self.systems if name in found)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain JSON values; measures are fractions of 1."""
        return {
            "queries": self.queries,
            "left_out": self.left_out,
            "reference": self.reference,
            "family": self.family,
            "draws": self.draws,
            "level": self.level,
            "alpha": self.alpha,
            "seed": self.seed,
            "measures": list(self.measures),
            "systems": {
                system: {name: one.as_dict() for name, one in row.items()}
                for system, row in self.systems.items()
            },
            "differences": [one.as_dict() for one in self.differences],
        }


def compare(
    systems: Mapping[str, PerQuery],
    *,
    measures: Sequence[str] | None = None,
    reference: str | None = None,
    family: Family = "table",
    draws: int = DRAWS,
    level: float = LEVEL,
    alpha: float = 0.05,
    seed: int = 0,
) -> Comparison:
    """Compare every system with ``reference``, or (without one) every pair of systems.

    >>> import numpy as np
    >>> queries = np.arange(6, dtype=np.int32)
    >>> a = PerQuery(queries, {"Recall@5": np.zeros(6)})
    >>> b = PerQuery(queries, {"Recall@5": np.full(6, 0.5)})
    >>> found = compare({"a": a, "b": b}, reference="a")
    >>> found.differences[0].estimate.mean, found.differences[0].p, found.beaten("b", "Recall@5")
    (0.5, 0.03125, ('a',))
    """
    first = _same_queries(systems)
    names = tuple(measures) if measures is not None else first.names
    values = {system: per_query.matrix(names) for system, per_query in systems.items()}
    pairs = _pairs(tuple(systems), reference)
    rows = estimates(np.hstack(list(values.values())), draws=draws, level=level, seed=seed)
    width = len(names)
    table = {
        system: dict(zip(names, rows[at * width : (at + 1) * width], strict=True))
        for at, system in enumerate(systems)
    }
    return Comparison(
        measures=names,
        systems=table,
        differences=_differences(values, pairs, names, family, draws, level, seed),
        queries=len(first),
        left_out=first.left_out,
        reference=reference,
        family=family,
        draws=draws,
        level=level,
        alpha=alpha,
        seed=seed,
    )


def _differences(
    values: Mapping[str, Floats],
    pairs: list[tuple[str, str]],
    names: tuple[str, ...],
    family: Family,
    draws: int,
    level: float,
    seed: int,
) -> tuple[Difference, ...]:
    if not pairs:
        return ()
    matrix = np.hstack([values[system] - values[other] for system, other in pairs])
    found = estimates(matrix, draws=draws, level=level, seed=seed)
    p = sign_test(matrix, draws=draws, seed=seed).reshape(len(pairs), len(names))
    if family == "table":
        corrected = holm(p.ravel()).reshape(p.shape)
    else:
        corrected = np.stack([holm(column) for column in p.T], axis=1)
    return tuple(
        Difference(
            *pair,
            name,
            found[i * len(names) + j],
            float(p[i, j]),
            float(corrected[i, j]),
        )
        for i, pair in enumerate(pairs)
        for j, name in enumerate(names)
    )


def _pairs(systems: tuple[str, ...], reference: str | None) -> list[tuple[str, str]]:
    if reference is None:
        return [(later, earlier) for earlier, later in combinations(systems, 2)]
    if reference not in systems:
        raise RarsError(f"The reference {reference!r} is not among {', '.join(systems)}.")
    return [(system, reference) for system in systems if system != reference]


def _same_queries(systems: Mapping[str, PerQuery]) -> PerQuery:
    if not systems:
        raise RarsError("A comparison needs at least one system.")
    name, first = next(iter(systems.items()))
    for other, per_query in systems.items():
        if not np.array_equal(first.queries, per_query.queries):
            raise RarsError(f"{name} and {other} were not measured on the same queries.")
    return first


def larger_is_better(measure: str) -> bool:
    """Whether a system wants much of it; loss events are the one measure to have little of."""
    return not measure.startswith("Loss@")
