"""The tested differences of an experiment as plain sentences, significant or not, better or worse.

Owns: the wording of a difference. Ignores which differences matter to a study.
"""

from __future__ import annotations

from rars.evaluation.report import bounds, p_value, signed
from rars.experiments.design import Delta
from rars.experiments.results import Results

BETTER, WORSE = "significantly better", "significantly worse"


def findings(results: Results) -> list[str]:
    """One sentence per contrast and measure that was tested."""
    return [sentence(one) for one in results.deltas]


def sentence(one: Delta) -> str:
    """A difference and what may be concluded from it."""
    estimate = one.estimate
    value = f"{signed(estimate.mean)} points {bounds(estimate)}"
    corrected = p_value(one.p_holm)
    p = f"p {corrected}" if corrected.startswith("<") else f"p = {corrected}"
    return f"{one.contrast.name}, {one.measure}: {value}, corrected {p}: {verdict(one)}."


def verdict(one: Delta) -> str:
    """Whether the difference can be told from chance over queries."""
    if not one.significant():
        return "not significant"
    return BETTER if one.estimate.mean > 0 else WORSE
