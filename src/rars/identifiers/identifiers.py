"""The identifiers of a catalogue: learned once, kept on disk, extended without learning again.

Owns: the artefact that holds every item's codes, the fitted quantiser and the collision policy, and giving
codes to new items with frozen codebooks. New items are placed one after the other against what is already
taken, so ten at once get what ten calls with one item each would give them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import ValidationError

from rars import artifacts
from rars.config import IdentifierSettings
from rars.data import Dataset
from rars.errors import RarsError
from rars.identifiers import collisions, placement
from rars.identifiers.blocks import Floats
from rars.identifiers.embed import item_vectors
from rars.identifiers.health import Health, check_health, measure_health
from rars.identifiers.keys import Codes, Longs, row_keys
from rars.identifiers.maps import Maps
from rars.identifiers.naive import RandomDigits
from rars.identifiers.quantizer import (
    Advance,
    Distances,
    Quantizer,
    load_quantizer,
    save_quantizer,
)

KIND = "identifiers"


@dataclass(frozen=True, eq=False)
class Identifiers:
    """Codes (n, depth) of the items in catalogue order, and all that is needed to give more of them."""

    item_ids: pa.StringArray
    codes: Codes
    sizes: tuple[int, ...]
    """Codes per depth, the suffix included where there is one."""
    quantizer: Quantizer
    settings: IdentifierSettings
    embedder: str = ""
    """Digest of the embedder; new items and queries need the same one."""
    dataset: str = ""
    """Digest of the dataset they were learned on."""
    report: Mapping[str, Any] = field(default_factory=dict)
    """Items sharing an identifier before and after the policy, and how many moved."""
    maps: Maps | None = None
    """What turns the embedder's vectors, where the identifiers were fitted to judgments."""

    @property
    def depth(self) -> int:
        """Codes per identifier."""
        return len(self.sizes)

    def query_space(self, vectors: Floats) -> Floats:
        """The embedder's vectors of queries, as the identifiers see them."""
        return vectors if self.maps is None else self.maps.queries(vectors)

    def item_space(self, vectors: Floats) -> Floats:
        """The embedder's vectors of items, as the identifiers see them."""
        return vectors if self.maps is None else self.maps.items(vectors)

    def health(self) -> Health:
        """How the codes are used."""
        return measure_health(self.codes, self.sizes)

    def assign(self, vectors: Floats | None, ids: Sequence[str]) -> Codes:
        """Codes of new items, (m, depth), in the order given; nothing else changes.

        ``vectors`` are in ``item_space``; random digits need none.
        """
        new = _unique_ids(ids, self.item_ids)
        if isinstance(self.quantizer, RandomDigits):
            return self.quantizer.number(self._free_positions(len(new)))
        if vectors is None or len(vectors) != len(new):
            count = 0 if vectors is None else len(vectors)
            raise RarsError(f"{len(new)} new items need as many vectors, not {count}.")
        codes = self.quantizer.encode(vectors)
        match self.settings.collisions:
            case "share":
                return codes
            case "suffix":
                return self._suffixed(codes)
            case "repair":
                return self._settled(codes, vectors, limit=1, full="nearest")
            case "cap":
                codes = self._settled(codes, vectors, limit=self.settings.cap, full="refuse")
        if (codes[:, -1] < 0).any():
            name = new[int(codes[:, -1].argmin())].as_py()
            raise RarsError(
                f"Item {name!r} finds no room: all last codes under its prefix hold "
                f"{self.settings.cap} items; learn the identifiers again with larger sizes."
            )
        return codes

    def added(self, vectors: Floats | None, ids: Sequence[str]) -> Identifiers:
        """The same identifiers with new items at the end."""
        codes = self.assign(vectors, ids)
        names = pa.concat_arrays([self.item_ids, pa.array(list(ids), pa.string())])
        return replace(self, item_ids=names, codes=np.concatenate([self.codes, codes]))

    def removed(self, ids: Sequence[str]) -> Identifiers:
        """The same identifiers without some items; an unknown id is an error."""
        gone = pa.array(list(ids), pa.string())
        unknown = gone.filter(pc.invert(pc.is_in(gone, self.item_ids)))
        if len(unknown):
            raise RarsError(f"There is no item {unknown[0].as_py()!r} to remove.")
        stay = pc.invert(pc.is_in(self.item_ids, gone))
        kept = stay.to_numpy(zero_copy_only=False)
        return replace(self, item_ids=self.item_ids.filter(stay), codes=self.codes[kept])

    def save(self, folder: Path) -> None:
        """Write the artefact's folder, whole or not at all."""
        with artifacts.writing(folder, kind=KIND) as draft:
            draft.save_array("codes", np.asarray(self.codes, dtype=np.int32))
            pq.write_table(pa.table({"id": self.item_ids}), draft.folder / "items.parquet")
            save_quantizer(self.quantizer, draft.folder / "quantizer")
            if self.maps is not None:
                self.maps.save(draft.folder)
            draft.meta.update(
                maps=self.maps is not None,
                settings=self.settings.model_dump(mode="json"),
                sizes=list(self.sizes),
                embedder=self.embedder,
                dataset=self.dataset,
                report=dict(self.report),
            )

    @classmethod
    def load(cls, folder: Path, *, verify: bool = True) -> Identifiers:
        """Open what ``save`` wrote; the codes stay memory-mapped."""
        artifact = artifacts.opening(folder, kind=KIND, verify=verify)
        meta = artifact.meta
        # ``read_table`` would import pandas for nothing.
        ids = pq.ParquetFile(artifact.folder / "items.parquet").read()["id"].combine_chunks()
        try:
            settings = IdentifierSettings.model_validate(meta["settings"])
        except ValidationError as error:
            raise RarsError(f"{folder} was written with settings unknown here: {error}.") from error
        return cls(
            item_ids=ids,
            codes=artifact.array("codes"),
            sizes=tuple(meta["sizes"]),
            quantizer=load_quantizer(artifact.folder / "quantizer"),
            settings=settings,
            embedder=meta["embedder"],
            dataset=meta["dataset"],
            report=meta["report"],
            maps=Maps.load(artifact.folder) if meta.get("maps") else None,
        )

    def _suffixed(self, codes: Codes) -> Codes:
        """The lowest free suffix; where all are taken, the one that fewest items share."""
        moving = np.column_stack([codes, np.full(len(codes), -1, dtype=np.int32)])
        places = np.arange(self.sizes[-1], dtype=np.float64)

        def cost(rows: Longs) -> Distances:
            return np.tile(places, (len(rows), 1))

        moving[:, -1] = placement.settle(self.codes, moving, cost, limit=1, full="emptiest")
        return moving

    def _settled(self, codes: Codes, vectors: Floats, *, limit: int, full: placement.Full) -> Codes:
        distances = _distances(self.quantizer, vectors, codes)
        settled = codes.copy()
        settled[:, -1] = placement.settle(self.codes, codes, distances, limit=limit, full=full)
        return settled

    def _free_positions(self, count: int) -> Longs:
        """The first positions of the permutation, from the number of items on, that nobody has."""
        assert isinstance(self.quantizer, RandomDigits)
        found = np.zeros(0, dtype=np.int64)
        start = len(self.codes)
        while len(found) < count:
            tried = np.arange(start, start + count - len(found), dtype=np.int64)
            both = np.concatenate([self.codes, self.quantizer.number(tried)])
            keys = row_keys(both)
            free = ~np.isin(keys[len(self.codes) :], keys[: len(self.codes)])
            found = np.concatenate([found, tried[free]])
            start += len(tried)
        return found


def learn_identifiers(
    dataset: Dataset,
    settings: IdentifierSettings,
    *,
    vectors: Floats | None = None,
    maps: Maps | None = None,
    cache: Path | None = None,
    device: str = "cpu",
    advance: Advance | None = None,
) -> Identifiers:
    """Embed the items (unless ``vectors`` are given), fit the learner, encode, resolve collisions.

    ``maps`` turn the vectors first; whoever sets ``settings.fit`` learns them (``rars.baselines``).
    ``advance`` counts anew for each of the two long steps: embedding (items) and fitting.
    """
    if not dataset.n_items:
        raise RarsError(f"{dataset.folder} has no items to learn identifiers for.")
    if settings.learner == "naive":
        return _learn_naive(dataset, settings)
    digest = ""
    if vectors is None:
        vectors, digest = item_vectors(
            dataset, settings.embedder, cache=cache, device=device, advance=advance
        )
    if len(vectors) != dataset.n_items:
        raise RarsError(f"{dataset.n_items} items need as many vectors, not {len(vectors)}.")
    if maps is not None:
        vectors = maps.items(vectors)
    quantizer = fit_quantizer(vectors, settings, device=device, advance=advance)
    codes = quantizer.encode(vectors)
    check_health(measure_health(codes[:, :1], quantizer.sizes[:1]))
    resolved = collisions.resolve(
        settings.collisions,
        codes,
        quantizer.sizes,
        _distances(quantizer, vectors, codes),
        limit=settings.cap,
    )
    check_health(measure_health(resolved.codes, resolved.sizes))
    return Identifiers(
        item_ids=dataset.item_ids,
        codes=resolved.codes,
        sizes=resolved.sizes,
        quantizer=quantizer,
        settings=settings,
        embedder=digest,
        dataset=dataset.digest,
        report={"before": resolved.before, "after": resolved.after, "moved": resolved.moved},
        maps=maps,
    )


def fit_quantizer(
    vectors: Floats,
    settings: IdentifierSettings,
    *,
    device: str = "cpu",
    advance: Advance | None = None,
) -> Quantizer:
    """Fit the chosen learner on vectors (n, input)."""
    sizes, seed = settings.sizes, settings.seed
    iterations, points = settings.iterations, settings.points
    match settings.learner:
        case "residual-kmeans":
            from rars.identifiers.kmeans import fit_residual_kmeans

            return fit_residual_kmeans(
                vectors, sizes, seed=seed, iterations=iterations, points=points, advance=advance
            )
        case "hierarchical-kmeans":
            from rars.identifiers.hierarchical import fit_hierarchical_kmeans

            return fit_hierarchical_kmeans(
                vectors, sizes, seed=seed, iterations=iterations, points=points, advance=advance
            )
        case "rqvae":
            from rars.identifiers.rqvae import fit_rqvae

            return fit_rqvae(
                vectors, sizes, settings.rqvae, seed=seed, device=device, advance=advance
            )
        case "naive":
            return RandomDigits.for_items(len(vectors), seed)


def _learn_naive(dataset: Dataset, settings: IdentifierSettings) -> Identifiers:
    digits = RandomDigits.for_items(dataset.n_items, settings.seed)
    return Identifiers(
        item_ids=dataset.item_ids,
        codes=digits.number(np.arange(dataset.n_items)),
        sizes=digits.sizes,
        quantizer=digits,
        settings=settings,
        dataset=dataset.digest,
        report={"before": 0, "after": 0, "moved": 0},
    )


def _distances(quantizer: Quantizer, vectors: Floats, codes: Codes) -> collisions.DistancesOf:
    return lambda rows: quantizer.last_distances(vectors[rows], codes[rows])


def _unique_ids(ids: Sequence[str], known: pa.Array) -> pa.Array:
    new = pa.array(list(ids), pa.string())
    already = new.filter(pc.is_in(new, known))
    if len(already):
        raise RarsError(f"Item {already[0].as_py()!r} has an identifier already.")
    if len(pc.unique(new)) != len(new):
        raise RarsError("The new items name an id more than once.")
    return new
