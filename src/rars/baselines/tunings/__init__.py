"""What of a dense system is trained on the training pairs, by the name a recipe calls it (``dense.tune``).

A new one: write its file, which ends with ``TUNING = Tuning(...)``, and add a line here.
"""

from __future__ import annotations

from rars.baselines.tuning import Tuning
from rars.baselines.tunings import encoder, laser, maps, off

TUNINGS: dict[str, Tuning] = {
    "off": off.TUNING,
    "maps": maps.TUNING,
    "encoder": encoder.TUNING,
    "laser": laser.TUNING,
}

__all__ = ["TUNINGS"]
