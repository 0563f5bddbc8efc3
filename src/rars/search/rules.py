"""Retrieval rules: how evidence joins the model in the beam score.

Owns: the names of the rules, the settings of ``hybrid``, and the evidence of a query under a rule. Ignores
the beam itself.

=========  ========================================================================================
ar         the model alone, S_AR (mask 0000); evidence only orders items that share an identifier
all        the paper's compatibility f at every depth (1111), lambda_comp = 2
0110       f at the depths marked 1
hybrid     BM25, dense similarity and f in one weighted sum, with weights chosen on validation queries
=========  ========================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rars.errors import RarsError
from rars.search.evidence import Evidence, EvidenceIndex, combine

Floats = npt.NDArray[np.floating[Any]]

PAPER_WEIGHT = 2.0
"""lambda_comp."""


@dataclass(frozen=True)
class Hybrid:
    """The settings of the rule ``hybrid``.

    ``bm25``, ``dense``, ``paper``  weights of the parts; BM25 is divided by its maximum for the query
    ``weight``                      lambda: how much their sum counts beside the model's log-probability
    ``prior``                       how much of a prior over identifiers is left beside dense evidence, which
                                    says the same once more
    ``bound``                       True: a prefix is scored by the best item below it, once (see ``Bound``);
                                    False: maxima of all depths are added up, as in the paper's rule
    """

    bm25: float = 0.6
    dense: float = 0.4
    paper: float = 0.2
    weight: float = 5.0
    prior: float = 1.0
    bound: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Rule:
    """A rule for identifiers of a known length."""

    name: str
    mask: tuple[bool, ...]
    weight: float
    hybrid: Hybrid | None = None

    @classmethod
    def parse(cls, name: str, depth: int, hybrid: Hybrid = Hybrid()) -> Rule:
        """Read a rule's name.

        >>> Rule.parse("0110", 4).mask, Rule.parse("all", 2).mask
        ((False, True, True, False), (True, True))
        """
        match name:
            case "ar":
                return cls(name, (False,) * depth, 0.0)
            case "all":
                return cls(name, (True,) * depth, PAPER_WEIGHT)
            case "hybrid":
                return cls(name, (True,) * depth, hybrid.weight, hybrid)
        if not name or set(name) - {"0", "1"}:
            raise RarsError(
                f"--rule {name!r} is none of ar, all, hybrid or a pattern of 0 and 1 such as "
                f"{'01' * depth:.{depth}}."
            )
        if len(name) != depth:
            raise RarsError(
                f"--rule {name} has {len(name)} digits, but identifiers have {depth} codes."
            )
        return cls(name, tuple(digit == "1" for digit in name), PAPER_WEIGHT)

    @property
    def prior(self) -> float:
        """How much of the model's prior over identifiers counts."""
        return 1.0 if self.hybrid is None else self.hybrid.prior

    @property
    def guides(self) -> bool:
        """Whether evidence takes part in the beam score."""
        return any(self.mask) and self.weight != 0


@dataclass(frozen=True, eq=False)
class Bound(Evidence):
    """Evidence that enters a path once: at each depth, what the best item below is worse than one depth up.

    The terms of a path telescope, so a prefix stands at the model's score plus the evidence of the best item
    below it, which no item below can exceed; a full identifier stands at its own. Adding up the maxima of
    all depths would count an item's neighbours instead.
    """

    @classmethod
    def on(cls, evidence: Evidence) -> Bound:
        """The same scores, as bounds."""
        return cls(
            evidence.ancestry,
            evidence.positions,
            evidence.scores,
            evidence.baseline,
            evidence.reasons,
        )

    def prefix_maxima(self, depth: int, nodes: npt.ArrayLike) -> Floats:
        """F_t(u) - F_{t-1}(parent of u); at the first depth F_1(u)."""
        wanted = np.asarray(nodes)
        found = super().prefix_maxima(depth, wanted)
        if depth == 1:
            return found
        above = self.ancestry.up[depth - 1][wanted]
        return np.asarray(found - super().prefix_maxima(depth - 1, above))


@dataclass(frozen=True, eq=False)
class Weighed:
    """A query's evidence under a rule, and the parts it is the weighted sum of."""

    evidence: Evidence
    parts: tuple[tuple[str, float, Evidence], ...]

    def of_item(self, item: int) -> dict[str, float]:
        """What each part says of an item (a catalogue row), before weighting."""
        return {name: float(part.of([item])[0]) for name, _, part in self.parts}


def weigh(
    rule: Rule,
    index: EvidenceIndex,
    texts: Sequence[str],
    dense: Floats | None,
    language: str | None = None,
) -> list[Weighed]:
    """The evidence of each text; ``dense`` (texts, items in SID order) are similarities, if there are any."""
    return [
        _weigh(rule.hybrid, index, text, None if dense is None else dense[at], language)
        for at, text in enumerate(texts)
    ]


def _weigh(
    hybrid: Hybrid | None,
    index: EvidenceIndex,
    text: str,
    dense: Floats | None,
    language: str | None,
) -> Weighed:
    paper = index.compatibility(text, language=language)
    if hybrid is None:
        return Weighed(paper, (("f", 1.0, paper),))
    parts = [("bm25", hybrid.bm25, index.bm25(text)), ("f", hybrid.paper, paper)]
    if dense is not None:
        parts.append(("dense", hybrid.dense, Evidence.from_dense(index.ancestry, dense)))
    total = combine([(weight, part) for _, weight, part in parts])
    return Weighed(Bound.on(total) if hybrid.bound else total, tuple(parts))
