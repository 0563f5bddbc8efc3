"""What a training will take, said once its first steps have shown it.

Owns: the time that is left of a phase, from the time that its first steps took: models, batches and machines
differ too much for a line fitted elsewhere (``rars.pipeline.costs`` has those of the other steps).

    left = seconds so far / progress so far * progress to come

Ignores validations between epochs, which no step has shown yet. A training of seconds says nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rars.progress import Tell
from rars.scale.cost import Cost

SHOWN = 5.0
"""Seconds of training that say how long the rest takes."""
_NUMBER = 4
_COPIES = 7
"""Bytes of a weight, and how often it is kept: model, best and newest checkpoint with two moments each."""


class Outlook:
    """Hands on the numbers of a phase's steps, and says what the phase will take when it is clear."""

    def __init__(
        self,
        tell: Tell,
        name: str,
        weights: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tell, self._name, self._disk = tell, name, float(weights * _NUMBER * _COPIES)
        self._clock = clock
        self._begun: tuple[float, float] | None = None
        self._said = False

    def __call__(self, values: dict[str, float]) -> None:
        """Take the numbers of one step."""
        self._tell.note(self._name, values)
        now, progress = self._clock(), values["progress"]
        if self._begun is None:  # the first step waits for what is made once, and is not counted
            self._begun = now, progress
        elif not self._said and now - self._begun[0] >= SHOWN:
            self._said = True
            begun, before = self._begun
            left = (now - begun) / (progress - before) * (1 - progress)
            self._tell.say(Cost(left, values["memory_mb"] * 2**20, self._disk).sentence(1.0))
