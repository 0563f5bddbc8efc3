"""The search for the learning rate alone: Base and RARS on validation queries, the chosen rates marked."""

from __future__ import annotations

from rars.experiments.design import Study

STUDY = Study(
    name="learning-rate",
    title="Validation recall of Base and RARS by learning rate, and the rate that is used",
    conditions=lambda setting: [],
    contrasts=lambda setting: [],
    tables=lambda results: [],
    tuned=("base", "rars"),
)
"""No runs of its own: the search for the rate is the experiment."""
