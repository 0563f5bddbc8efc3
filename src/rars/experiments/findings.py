"""What an experiment shows, in plain sentences: also where it shows nothing, or the opposite.

Owns: the wording of a difference. Ignores which differences matter to a study.
"""

from __future__ import annotations

from rars.evaluation.report import p_value
from rars.experiments.collecting import Delta, Found
from rars.experiments.layout import signed


def findings(found: Found) -> list[str]:
    """One sentence per contrast and measure that was tested."""
    return [sentence(one) for one in found.deltas]


def sentence(one: Delta) -> str:
    """A difference and what may be concluded from it."""
    estimate = one.estimate
    value = f"{signed(estimate.mean)} points [{signed(estimate.low)}, {signed(estimate.high)}]"
    corrected = p_value(one.p_holm)
    p = f"p {corrected}" if corrected.startswith("<") else f"p = {corrected}"
    return f"{one.contrast.name}, {one.measure}: {value}, corrected {p}: {verdict(one)}."


def verdict(one: Delta) -> str:
    """Whether the difference can be told from chance over queries."""
    if not one.significant:
        return "not significant"
    return "significantly better" if one.estimate.mean > 0 else "significantly worse"
