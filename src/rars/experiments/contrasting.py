"""Contrasts that studies share, so that a study file says only what is its own."""

from __future__ import annotations

from collections.abc import Iterable

from rars.experiments.design import PRIMARY, Condition, Contrast, Point
from rars.experiments.layout import RULES


def against(
    reference: Condition,
    systems: Iterable[Condition],
    *,
    rules: Iterable[str] = RULES,
    measures: tuple[str, ...] = PRIMARY,
    subset: str = "all",
) -> list[Contrast]:
    """Every system minus the reference under each rule; the tests of one rule are one family."""
    listed = list(systems)
    part = "" if subset == "all" else f", {subset}"
    return [
        Contrast(
            f"{system.label} − {reference.label}, {RULES.get(rule, rule)}{part}",
            Point(system.key, rule, subset),
            Point(reference.key, rule, subset),
            measures,
            rule,
        )
        for rule in rules
        for system in listed
    ]
