"""Which training queries are held out for choices: 5 %, by a fixed hash of the query id.

Owns: the hash. The held-out set depends on nothing but the ids and the share, so it is the same on every
machine, for every seed, and does not change when other queries are added. Where few queries are judged a
greater share is held out: five queries choose nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

SHARE, MOST = 0.05, 0.25
"""Of the training queries: as usual, and where few are judged."""
ENOUGH = 40
"""Validation queries that a small catalogue should have, about."""


def validating(judged: int) -> float:
    """The share that is held out of so many judged training queries.

    >>> validating(20_000), validating(400), validating(100)
    (0.05, 0.1, 0.25)
    """
    return max(SHARE, min(MOST, ENOUGH / max(judged, 1)))


def held_out(ids: Sequence[str], share: float = SHARE) -> npt.NDArray[np.bool_]:
    """Mark the queries that belong to validation.

    >>> held_out(["q1", "q2", "q3"], share=1.0).all()
    np.True_
    >>> held_out(["q1", "q2", "q3"], share=0.0).any()
    np.False_
    """
    digests = (hashlib.sha256(f"rars-validation:{i}".encode()).digest()[:8] for i in ids)
    values = np.fromiter((int.from_bytes(d, "big") / 2**64 for d in digests), float, len(ids))
    return values < share


def with_validation(ids: Sequence[str], split: Sequence[str], share: float = SHARE) -> list[str]:
    """Move the held-out share of ``train`` to ``validation``; leave a given validation split alone.

    >>> with_validation(["a", "b"], ["train", "validation"], share=1.0)
    ['train', 'validation']
    >>> with_validation(["a", "b"], ["train", "test"], share=1.0)
    ['validation', 'test']
    """
    if "validation" in split:
        return list(split)
    held = held_out(ids, share)
    return [
        "validation" if name == "train" and out else name
        for name, out in zip(split, held, strict=True)
    ]
