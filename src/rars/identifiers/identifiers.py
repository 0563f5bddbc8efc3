"""The identifiers of a catalogue: learned once, kept on disk, extended without learning again.

Owns: the artefact that holds every item's codes, the fitted quantiser and the collision policy, and giving
codes to new items with frozen codebooks. New items are placed one after the other against what is already
taken, so ten at once get what ten calls with one item each would give them.
"""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rars import artifacts
from rars.arrays import Codes, Floats
from rars.config import IdentifierSettings, ModelSettings, checked, part
from rars.data import Dataset
from rars.data.ids import placed
from rars.errors import RarsError
from rars.identifiers.assigning import encoded
from rars.identifiers.categories import LEVELS, catalogue_categories
from rars.identifiers.collisions import DistancesOf
from rars.identifiers.embed import item_vectors
from rars.identifiers.health import Health, check_health, measure_health
from rars.identifiers.learner import Fitted
from rars.identifiers.learners import LEARNERS, Scene
from rars.identifiers.maps import Maps
from rars.identifiers.own import ItemEncoder
from rars.identifiers.policies import POLICIES, Crowd, Newcomers, Resolution, resolve
from rars.identifiers.quantizer import Quantizer
from rars.identifiers.quantizers import load_quantizer, save_quantizer
from rars.identifiers.sentences import PREFIX
from rars.identifiers.texts import item_texts
from rars.identifiers.turning import turned_items
from rars.progress import SILENT, Tell
from rars.scale import AS_NEEDED, Engine
from rars.scale.products import ONE_THREAD
from rars.unfinished import Unfinished

KIND = "identifiers"
ENCODER = "encoder"
TUNED = "embedder"


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
    encoder: ItemEncoder | None = None
    """The model's own encoder, where the identifiers are made of its vectors."""
    tuned: Path | None = None
    """Where the embedder lies, if it was fine-tuned for them."""

    @property
    def depth(self) -> int:
        """Codes per identifier."""
        return len(self.sizes)

    @property
    def embedder_name(self) -> str:
        """What opens the embedder that made their vectors."""
        return self.settings.embedder if self.tuned is None else f"{PREFIX}{self.tuned}"

    def query_space(self, vectors: Floats, texts: Sequence[str] | None = None) -> Floats:
        """The embedder's vectors of queries, as the identifiers see them."""
        if self.encoder is not None:
            return self.encoder.embed(vectors, texts or ())
        return self.read_space(vectors)

    def read_space(self, vectors: Floats) -> Floats:
        """The embedder's vectors of queries, as a model reads them beside the words."""
        return vectors if self.maps is None else self.maps.queries(vectors)

    def item_space(self, vectors: Floats, texts: Callable[[], Sequence[str]] = tuple) -> Floats:
        """The embedder's vectors of items, as the identifiers see them; ``texts`` only where they count."""
        if self.encoder is not None:
            return self.encoder.embed(vectors, texts())
        return vectors if self.maps is None else self.maps.items(vectors)

    def catalogue_space(self, vectors: Floats, dataset: Dataset) -> Floats:
        """The same of all items of the dataset they were learned on; in a file where memory is scarce."""
        if self.encoder is None and self.maps is not None:
            return turned_items(vectors, self.maps, [self.dataset, self.embedder])
        return self.item_space(vectors, lambda: item_texts(dataset).to_pylist())

    def health(self) -> Health:
        """How the codes are used."""
        return measure_health(self.codes, self.sizes)

    def assign(self, vectors: Floats | None, ids: Sequence[str]) -> Codes:
        """Codes of new items, (m, depth), in the order given; nothing else changes.

        ``vectors`` are in ``item_space``; a quantiser that takes none needs none.
        """
        new = _unique_ids(ids, self.item_ids)
        if not self.quantizer.takes_vectors:
            return self.quantizer.place_new(len(new), self.codes)
        if vectors is None or len(vectors) != len(new):
            count = 0 if vectors is None else len(vectors)
            raise RarsError(f"{len(new)} new items need as many vectors, not {count}.")
        codes = self.quantizer.encode(vectors)
        return POLICIES[self.settings.collisions].place(
            Newcomers(
                codes=codes,
                kept=self.codes,
                sizes=self.sizes,
                distances_of=_distances(self.quantizer, vectors, codes),
                settings=self.settings,
                ids=list(ids),
            )
        )

    def added(self, vectors: Floats | None, ids: Sequence[str]) -> Identifiers:
        """The same identifiers with new items at the end."""
        codes = self.assign(vectors, ids)
        names = pa.concat_arrays([self.item_ids, pa.array(list(ids), pa.string())])
        return replace(self, item_ids=names, codes=np.concatenate([self.codes, codes]))

    def save(self, folder: Path) -> None:
        """Write the artefact's folder, whole or not at all."""
        with artifacts.writing(folder, kind=KIND) as draft:
            draft.save_array("codes", np.asarray(self.codes, dtype=np.int32))
            pq.write_table(pa.table({"id": self.item_ids}), draft.folder / "items.parquet")
            save_quantizer(self.quantizer, draft.folder / "quantizer")
            if self.maps is not None:
                self.maps.save(draft.folder)
            if self.encoder is not None:
                (draft.folder / ENCODER).mkdir()
                self.encoder.save(draft.folder / ENCODER)
                draft.meta["encoder"] = True
            if self.tuned is not None:
                shutil.copytree(self.tuned, draft.folder / TUNED, copy_function=_shared)
                draft.meta["tuned"] = True
            draft.meta.update(
                maps=self.maps is not None,
                settings=self.settings.model_dump(mode="json"),
                sizes=list(self.sizes),
                embedder=self.embedder,
                dataset=self.dataset,
                report=dict(self.report),
            )

    @classmethod
    def load(
        cls, folder: Path, *, items: tuple[pa.Array, Codes] | None = None, verify: bool = True
    ) -> Identifiers:
        """Open what ``save`` wrote; the codes stay memory-mapped.

        ``items`` are ids and codes of a catalogue that is searched now: those they were learned on are not
        read then.
        """
        artifact = artifacts.opening(folder, kind=KIND, verify=verify)
        with artifacts.understood(folder):
            return cls._of(artifact, folder, items)

    @classmethod
    def _of(
        cls, artifact: artifacts.Artifact, folder: Path, items: tuple[pa.Array, Codes] | None
    ) -> Identifiers:
        meta = artifact.meta
        if items is None:
            # ``read_table`` would import pandas for nothing.
            ids = pq.ParquetFile(artifact.folder / "items.parquet").read()["id"].combine_chunks()
            items = ids, artifact.array("codes")
        try:
            settings = checked(IdentifierSettings, meta["settings"], "identifiers")
        except RarsError as error:
            raise RarsError(f"{folder} was written with settings unknown here: {error}.") from error
        return cls(
            item_ids=items[0],
            codes=items[1],
            sizes=tuple(meta["sizes"]),
            quantizer=load_quantizer(artifact.folder / "quantizer"),
            settings=settings,
            embedder=meta["embedder"],
            dataset=meta["dataset"],
            report=meta["report"],
            maps=Maps.load(artifact.folder) if meta.get("maps") else None,
            encoder=(
                part("own encoder", ENCODER).load(artifact.folder / ENCODER)
                if meta.get("encoder")
                else None
            ),
            tuned=artifact.folder / TUNED if meta.get("tuned") else None,
        )


def learn_identifiers(
    dataset: Dataset,
    settings: IdentifierSettings,
    *,
    vectors: Floats | None = None,
    model: ModelSettings | None = None,
    cache: Path | None = None,
    device: str = "cpu",
    engine: Engine = AS_NEEDED,
    tell: Tell = SILENT,
) -> Identifiers:
    """Embed the items, fit their vectors to the judgments if asked, fit the learner, encode, resolve
    collisions.

    ``vectors`` are the items' where they are there already, as the embedder would make them; ``model`` is
    what a recipe's own encoder is made like, where the vectors are to be its own. ``engine`` embeds and
    encodes; whoever it is, the result is the same to the bit.
    """
    if not dataset.n_items:
        raise RarsError(f"{dataset.where} has no items to learn identifiers for.")
    if vectors is not None and len(vectors) != dataset.n_items:
        raise RarsError(f"{dataset.n_items} items need as many vectors, not {len(vectors)}.")
    learner = LEARNERS[settings.learner]
    if settings.embedder == "auto":
        from rars.identifiers.choosing import choose_embedder  # brings torch

        chosen = choose_embedder(
            dataset, settings.fit, seed=settings.seed, cache=cache, device=device, tell=tell
        )
        settings = settings.with_embedder(chosen.name)

    tuned = None
    if settings.tune is not None and learner.needs_vectors:
        if vectors is not None:
            raise RarsError("Vectors that are there already cannot follow a fine-tuned embedder.")
        tuned = _tuned(dataset, settings, cache=cache, device=device, tell=tell)
    name = settings.embedder if tuned is None else f"{PREFIX}{tuned}"

    @functools.cache
    def frozen() -> tuple[Floats, str]:
        if vectors is not None:
            return vectors, ""
        with tell.stage("embedding") as advance:
            return item_vectors(
                dataset, name, cache=cache, device=device, engine=engine, advance=advance
            )

    categories = None
    if learner.reads_categories(settings.own):
        categories = catalogue_categories(dataset, LEVELS, lambda: frozen()[0], settings.seed)
    points, digest = None, ""
    maps: Maps | None = None
    encoder: ItemEncoder | None = None
    if learner.needs_vectors:
        points, digest = frozen()
        fitting: dict[str, Any] = {"cache": cache, "device": device, "tell": tell}
        if settings.fit is not None and settings.fit.by == "encoder":
            encoder = _own(dataset, settings, name, points, model or ModelSettings(), **fitting)
        else:
            maps = _fitted(dataset, settings, name, points, **fitting)
        if encoder is not None:
            points = encoder.embed(points, item_texts(dataset).to_pylist())
        if maps is not None:
            points = turned_items(points, maps, [dataset.digest, digest], cache=cache)
    elif settings.fit is not None:
        tell.say(f"The learner {settings.learner!r} reads no vectors: there is nothing to fit.")
    kept = Unfinished()
    if digest:  # vectors of a caller have none
        own = settings.model_dump(mode="json")
        made_of = [dataset.digest, own, digest, None if encoder is None else encoder.digest]
        kept = Unfinished.of(KIND, made_of, cache=cache)
    with tell.stage("identifiers") as advance, kept, ONE_THREAD:
        scene = Scene(
            dataset, points, categories, settings.sizes, settings.seed, device, advance, kept
        )
        fitted = learner.fit(scene, settings.own)
        quantizer, codes = fitted if isinstance(fitted, Fitted) else (fitted, None)
        if codes is None and quantizer.takes_vectors:
            codes = encoded(quantizer, scene.points, cache=cache, engine=engine)
        resolved = _resolved(quantizer, codes, scene, settings)
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
        encoder=encoder,
        tuned=tuned,
    )


def _tuned(dataset: Dataset, settings: IdentifierSettings, **rest: Any) -> Path | None:
    from rars.identifiers.tuned import tuned_embedder  # brings torch

    return tuned_embedder(dataset, settings, **rest)


def _own(
    dataset: Dataset,
    settings: IdentifierSettings,
    name: str,
    vectors: Floats,
    model: ModelSettings,
    **rest: Any,
) -> ItemEncoder | None:
    found: ItemEncoder | None = part("own encoder", ENCODER).learn(
        dataset,
        name,
        settings.fit,
        model,
        items=vectors,
        seed=settings.seed,
        **rest,
    )
    return found


def _fitted(
    dataset: Dataset,
    settings: IdentifierSettings,
    name: str,
    vectors: Floats,
    *,
    cache: Path | None,
    device: str,
    tell: Tell,
) -> Maps | None:
    if settings.fit is None:
        return None
    from rars.identifiers.fitting import fitted  # brings torch

    return fitted(
        dataset,
        name,
        settings.fit,
        items=vectors,
        seed=settings.seed,
        cache=cache,
        device=device,
        tell=tell,
    )


def _resolved(
    quantizer: Quantizer, codes: Codes | None, scene: Scene, settings: IdentifierSettings
) -> Resolution:
    """The codes of a catalogue after the collision policy; ``codes`` are None where it has no vectors."""
    sizes = quantizer.sizes
    if not quantizer.takes_vectors:
        nobody = np.empty((0, len(sizes)), dtype=np.int32)
        placed = quantizer.place_new(scene.dataset.n_items, nobody)
        return Resolution(placed, sizes, 0, 0, 0)
    if quantizer.variable_length and not POLICIES[settings.collisions].any_length:
        able = " or ".join(repr(name) for name, one in POLICIES.items() if one.any_length)
        raise RarsError(
            f"identifiers.collisions = {settings.collisions!r} needs identifiers of one length, which "
            f"those of the learner {settings.learner!r} are not; use {able}."
        )
    assert codes is not None
    check_health(measure_health(codes[:, :1], sizes[:1]))
    distances = _distances(quantizer, scene.points, codes)
    resolved = resolve(Crowd(codes, sizes, distances, settings, scene.dataset))
    check_health(measure_health(resolved.codes, resolved.sizes))
    return resolved


def _distances(quantizer: Quantizer, vectors: Floats, codes: Codes) -> DistancesOf:
    return lambda rows: quantizer.last_distances(vectors[rows], codes[rows])


def _shared(source: str, target: str) -> None:
    """A file of a checkpoint, by a link where there can be one: nobody changes either."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _unique_ids(ids: Sequence[str], known: pa.Array) -> pa.Array:
    new = pa.array(list(ids), pa.string())
    already = np.flatnonzero(placed(new, known) >= 0)
    if len(already):
        raise RarsError(f"Item {new[already[0]].as_py()!r} has an identifier already.")
    if len(pc.unique(new)) != len(new):
        raise RarsError("The new items name an id more than once.")
    return new
