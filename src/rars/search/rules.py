"""Retrieval rules: how evidence joins the model in the beam score.

Owns: what a rule is, and the table of them. Ignores where evidence comes from
(``rars.search.evidence.parts``) and the beam itself.

A rule is a part: its settings and ``plan(settings, depth) -> Rule``, and one line in ``RULES``. A plan says
all that a search does differently, so a new one needs no change elsewhere.

=========  ========================================================================================
ar         the model alone, S_AR (mask 0000)
all        the paper's compatibility f at every depth (1111), lambda_comp = 2
0110       f at the depths marked 1, with the settings of ``all``
hybrid     BM25, dense similarity, f, judged neighbours and letters in one weighted sum, weights chosen
           on validation queries
hybrid-X   the same without one of its parts (``PARTS``), the other weights as they are: what it brings
=========  ========================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import Field

from rars.config import NoSettings, Section
from rars.errors import RarsError

ROUTED = 3
"""C, how many categories a query admits under a rule that routes, as in the paper."""
FILLED = 20
"""How many identifiers induced categories hold at the least for every prefix that the beam keeps.

Clusters are small: three of 8,000 hold a handful of items, and relevance does not end at their edge."""


@dataclass(frozen=True)
class Rule:
    """A rule for identifiers of a known length.

    ``mask``      the depths at which evidence joins
    ``weight``    lambda: how much its sum counts beside the model's score
    ``evidence``  the parts of the sum (names of ``rars.search.evidence.parts.EVIDENCE``) and their weights
    ``prior``     how much of a prior over identifiers is left
    ``bound``     a prefix is scored by the best item below it, once (``Bound``), not by a sum over depths
    ``routed``    whether a search left to itself admits ``ROUTED`` categories, or the whole catalogue
    """

    name: str
    mask: tuple[bool, ...]
    weight: float = 0.0
    evidence: Mapping[str, float] = field(default_factory=dict)
    prior: float = 1.0
    bound: bool = False
    routed: bool = True

    @property
    def guides(self) -> bool:
        """Whether evidence takes part in the score."""
        return any(self.mask) and self.weight != 0 and bool(self.evidence)


@dataclass(frozen=True)
class RulePart:
    """A rule as recipes name it: one line about it, its settings, and its plan for a length."""

    about: str
    plan: Callable[[Any, int], Rule]
    settings: type[Section] = NoSettings


# -- the rules -------------------------------------------------------------------------------------


class MaskSettings(Section):
    """The settings of ``all``, and of patterns such as ``0110``."""

    weight: float = Field(2.0, ge=0)
    """lambda_comp."""


class HybridSettings(Section):
    """The settings of ``hybrid``: weights of its parts, and how their sum counts.

    The defaults lie between what is fitted on catalogues with judged queries (``rars.search.tuning``).
    """

    bm25: float = Field(0.3, ge=0)
    """BM25 is divided by its maximum for the query."""
    dense: float = Field(0.4, ge=0)
    paper: float = Field(0.1, ge=0)
    """Of f, the paper's compatibility."""
    neighbours: float = Field(0.2, ge=0)
    """Of what was relevant to similar training queries, where some were judged, over its maximum."""
    letters: float = Field(0.2, ge=0)
    """Of the likeness of letters between query and title, which sees through misspellings."""
    weight: float = Field(20.0, ge=0)
    """lambda: how much the sum counts beside the model's log-probability."""
    prior: float = Field(0.0, ge=0)
    """How much of a prior over identifiers counts beside dense evidence, which says the same for items."""
    bound: bool = False
    """True: a prefix is scored by the best item below it, once; False: maxima of all depths are added up."""


PARTS = ("bm25", "dense", "paper", "neighbours", "letters", "model")
"""What ``hybrid`` can be asked to leave out; ``model`` is all that its log-probability says."""
_ALONE = 1e9
"""A weight of evidence beside which the model only tells equal sums apart; scores are doubles."""


def _ar(settings: NoSettings, depth: int) -> Rule:
    return Rule("ar", (False,) * depth)


def _all(settings: MaskSettings, depth: int) -> Rule:
    return Rule("all", (True,) * depth, settings.weight, {"f": 1.0})


def _hybrid(settings: HybridSettings, depth: int) -> Rule:
    return Rule(
        "hybrid",
        (True,) * depth,
        settings.weight,
        {
            "bm25": settings.bm25,
            "f": settings.paper,
            "dense": settings.dense,
            # Asked for only where it counts: an answer need not wait for what is thrown away.
            **{
                name: weight
                for name in ("neighbours", "letters")
                if (weight := getattr(settings, name))
            },
        },
        prior=settings.prior,
        bound=settings.bound,
        routed=False,
    )


RULES: dict[str, RulePart] = {
    "ar": RulePart("the model alone", _ar),
    "all": RulePart("the paper's evidence at every depth", _all, MaskSettings),
    "hybrid": RulePart("words, sentence vectors and the paper's evidence", _hybrid, HybridSettings),
}
"""Every rule by its name."""


def owner_of(name: str) -> str:
    """The rule of the table whose settings a name or a pattern reads.

    >>> owner_of("hybrid-dense"), owner_of("0110"), owner_of("ar")
    ('hybrid', 'all', 'ar')
    """
    if name in RULES:
        return name
    return "hybrid" if _left_out(name) else "all"


def plan(name: str, depth: int, settings: Mapping[str, Section] | None = None) -> Rule:
    """The rule of a name or a pattern; ``settings`` by rule, the defaults where one has none.

    >>> plan("0110", 4).mask, plan("all", 2).mask
    ((False, True, True, False), (True, True))
    >>> plan("hybrid-dense", 2).evidence["dense"]
    0.0
    """
    own = owner_of(name)
    if name not in RULES and own == "all":
        _check_pattern(name, depth)
    part = RULES[own]
    given: Any = (settings or {}).get(own)
    given = part.settings() if given is None else given
    if name in RULES:
        return part.plan(given, depth)
    if own == "all":
        return replace(part.plan(given, depth), name=name, mask=tuple(one == "1" for one in name))
    left = _left_out(name)
    less = {"weight": _ALONE} if left == "model" else {left: 0.0}
    return replace(part.plan(given.model_copy(update=less), depth), name=name)


def _left_out(name: str) -> str:
    """The part that a name such as ``hybrid-dense`` takes from ``hybrid``, or nothing."""
    rule, _, left = name.partition("-")
    return left if rule == "hybrid" and left in PARTS else ""


def _check_pattern(name: str, depth: int) -> None:
    if not name or set(name) - {"0", "1"}:
        raise RarsError(
            f"--rule {name!r} is none of {', '.join(RULES)}, hybrid without a part "
            f"(hybrid-{', hybrid-'.join(PARTS)}) or a pattern of 0 and 1 such as {'01' * depth:.{depth}}."
        )
    if len(name) != depth:
        raise RarsError(
            f"--rule {name} has {len(name)} digits, but identifiers have {depth} codes."
        )
