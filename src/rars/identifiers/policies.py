"""What happens when items get the same identifier: the policies, by the name a recipe calls them.

==============  =====================================================================================
share           they share it; a search result expands to all of them in catalogue order
suffix          one more code tells them apart, counted from 0 in catalogue order
ordered-suffix  the same, counted by training relevance: the most wanted item first
repair          up to 20 rounds: colliding items spread over the free last codes of their prefix, at the
                least total distance (Sinkhorn); what still collides shares
repair-suffix   up to 30 rounds of that, then a suffix for what is left
cap             at most n items per identifier: the n nearest stay, the others move to the nearest last
                code of their prefix that has room
==============  =====================================================================================

Owns: what each does with a whole catalogue (``resolve``) and with new items beside one (``place``). A new one
is an object and a line in the table. Ignores how codes are chosen (``collisions``, ``placement``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rars.arrays import Codes, Longs
from rars.config import IdentifierSettings
from rars.data import Dataset
from rars.errors import RarsError
from rars.identifiers import collisions, placement
from rars.identifiers.collisions import DistancesOf
from rars.identifiers.keys import sharing
from rars.identifiers.quantizer import Distances

REPAIR_ROUNDS = 30
"""Of ``repair-suffix``."""


@dataclass(frozen=True, eq=False)
class Crowd:
    """A catalogue whose items may share codes (n, depth); ``distances_of`` as in ``collisions``."""

    codes: Codes
    sizes: tuple[int, ...]
    distances_of: DistancesOf
    settings: IdentifierSettings
    dataset: Dataset | None = None


@dataclass(frozen=True, eq=False)
class Newcomers:
    """New items beside a catalogue: the quantiser's codes (m, .) of the former, whole codes of the latter.

    ``sizes`` are those of whole identifiers; ``ids`` name the new items in messages.
    """

    codes: Codes
    kept: Codes
    sizes: tuple[int, ...]
    distances_of: DistancesOf
    settings: IdentifierSettings
    ids: Sequence[str]


@dataclass(frozen=True)
class CollisionPolicy:
    """A policy.

    ``resolve``     a crowd -> codes and sizes
    ``place``       newcomers -> their whole codes, one after the other: nobody who was there moves
    ``adds_code``   identifiers are one code longer than the quantiser's
    ``any_length``  identifiers may differ in length
    """

    about: str
    resolve: Callable[[Crowd], tuple[Codes, tuple[int, ...]]]
    place: Callable[[Newcomers], Codes]
    adds_code: bool = False
    any_length: bool = False


@dataclass(frozen=True)
class Resolution:
    """Codes after a policy, with how many items shared their identifier before and share it now."""

    codes: Codes
    sizes: tuple[int, ...]
    before: int
    after: int
    moved: int
    """Items of which a code changed; a code that was added changes none."""


def resolve(crowd: Crowd) -> Resolution:
    """Apply the policy of the settings to a whole catalogue."""
    codes, sizes = POLICIES[crowd.settings.collisions].resolve(crowd)
    depth = crowd.codes.shape[1]
    changed = (codes[:, :depth] != crowd.codes) & (crowd.codes >= 0)
    moved = int(changed.any(axis=1).sum())
    return Resolution(codes, sizes, sharing(crowd.codes), sharing(codes), moved)


# -- a whole catalogue -----------------------------------------------------------------------------


def _share(crowd: Crowd) -> tuple[Codes, tuple[int, ...]]:
    return crowd.codes, crowd.sizes


def _suffix(crowd: Crowd, rank: Longs | None = None) -> tuple[Codes, tuple[int, ...]]:
    codes, widths = collisions.suffix(crowd.codes, rank=rank, most=crowd.settings.suffixes)
    return codes, tuple(np.maximum((*crowd.sizes, 1), widths).tolist())


def _ordered_suffix(crowd: Crowd) -> tuple[Codes, tuple[int, ...]]:
    wanted: Distances = np.zeros(len(crowd.codes))
    if crowd.dataset is not None:
        query, item, rho = crowd.dataset.positives("train")
        share = rho / np.bincount(query, rho, minlength=1)[query]
        wanted = np.bincount(item, share, minlength=len(wanted)).astype(np.float64)
    return _suffix(crowd, np.argsort(np.argsort(-wanted, kind="stable"), kind="stable"))


def _repair(crowd: Crowd) -> tuple[Codes, tuple[int, ...]]:
    return collisions.repair(crowd.codes, crowd.distances_of), crowd.sizes


def _repair_suffix(crowd: Crowd) -> tuple[Codes, tuple[int, ...]]:
    codes = collisions.repair(crowd.codes, crowd.distances_of, rounds=REPAIR_ROUNDS)
    return _suffix(Crowd(codes, crowd.sizes, crowd.distances_of, crowd.settings))


def _cap(crowd: Crowd) -> tuple[Codes, tuple[int, ...]]:
    return collisions.cap(crowd.codes, crowd.distances_of, crowd.settings.cap), crowd.sizes


# -- new items -------------------------------------------------------------------------------------


def _place_shared(new: Newcomers) -> Codes:
    return new.codes


def _place_suffix(new: Newcomers) -> Codes:
    """The lowest free suffix; where all are taken, the one that fewest items share."""
    above, taken = collisions.parted(new.kept)
    kept = np.column_stack([above, taken])
    moving = np.column_stack([new.codes, np.full(len(new.codes), -1, dtype=np.int32)])
    chosen = np.empty(len(moving), dtype=np.int32)
    length = collisions.lengths(new.codes)
    # Identifiers of one length compete with each other alone, for the codes that their last depth has.
    for one in np.unique(length):
        rows = np.flatnonzero(length == one)
        same = collisions.lengths(above) == one
        places = np.arange(new.sizes[one], dtype=np.float64)

        def cost(asked: Longs, places: Distances = places) -> Distances:
            return np.tile(places, (len(asked), 1))

        chosen[rows] = placement.settle(kept[same], moving[rows], cost, limit=1, full="emptiest")
    return collisions.joined(new.codes, chosen)


def _place_free(new: Newcomers) -> Codes:
    """The nearest last code that nobody has; where all are taken, the nearest."""
    return _settled(new, limit=1, full="nearest")


def _place_capped(new: Newcomers) -> Codes:
    codes = _settled(new, limit=new.settings.cap, full="refuse")
    if (codes[:, -1] < 0).any():
        name = new.ids[int(codes[:, -1].argmin())]
        raise RarsError(
            f"Item {name!r} finds no room: all last codes under its prefix hold "
            f"{new.settings.cap} items; learn the identifiers again with larger sizes."
        )
    return codes


def _settled(new: Newcomers, *, limit: int, full: placement.Full) -> Codes:
    codes = new.codes.copy()
    codes[:, -1] = placement.settle(new.kept, new.codes, new.distances_of, limit=limit, full=full)
    return codes


POLICIES: dict[str, CollisionPolicy] = {
    "share": CollisionPolicy(
        about="items share an identifier", resolve=_share, place=_place_shared, any_length=True
    ),
    "suffix": CollisionPolicy(
        about="one more code counts the items of an identifier",
        resolve=_suffix,
        place=_place_suffix,
        adds_code=True,
        any_length=True,
    ),
    "ordered-suffix": CollisionPolicy(
        about="one more code counts the items of an identifier, the most wanted first",
        resolve=_ordered_suffix,
        place=_place_suffix,
        adds_code=True,
        any_length=True,
    ),
    "repair": CollisionPolicy(
        about="colliding items spread over free last codes", resolve=_repair, place=_place_free
    ),
    "repair-suffix": CollisionPolicy(
        about="colliding items spread over free last codes; one more code counts those left",
        resolve=_repair_suffix,
        place=_place_suffix,
        adds_code=True,
    ),
    "cap": CollisionPolicy(
        about="at most so many items an identifier, the others move to near codes with room",
        resolve=_cap,
        place=_place_capped,
    ),
}
