"""The index of a run: everything a search reads beside the model, in versions that never change.

Owns: ``index/v000001/`` and its followers, the pointer ``index/current.json`` that says which one is searched
and what happened so far, and that an index fits its model. Ignores queries; changing a catalogue is
``rars.search.catalog``'s.

A version holds codes and items of its catalogue, the prefix tree, categories, evidence, item vectors, and the
training queries with what is relevant to them. It is written whole, then the pointer is replaced: a reader
sees the old catalogue or the new one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rars import artifacts, checked, disk, locks, replacing
from rars.arrays import Bools, Codes, Ints, Points
from rars.config import SearchSettings
from rars.data import Dataset, Judgments
from rars.data.schema import ITEMS
from rars.data.store import Columns
from rars.errors import RarsError
from rars.identifiers import Identifiers, item_vectors
from rars.model import saving
from rars.progress import Advance
from rars.runs import Run
from rars.scale import AS_NEEDED, Engine
from rars.search.candidates import celled_from
from rars.search.evidence import EvidenceIndex
from rars.search.evidence.index import default_extractors
from rars.search.evidence.neighbours import JudgedQueries
from rars.search.evidence.sharding import shard_rows, write_evidence
from rars.search.query_reader import QueryReader
from rars.search.store import ItemStore, columns_in, save_changed, save_first
from rars.search.vectors import Vectors, save_vectors
from rars.tree import PrefixTree
from rars.tree.categories import CategoryTree
from rars.tree.merging import build_by_first_code

Event = dict[str, Any]

KIND = "index"
MODEL_KIND = "retriever"
POINTER = "current.json"
WORK = ".shards"
"""Where shards of an index that is being built are kept."""


@dataclass(frozen=True, eq=False)
class IndexVersion:
    """One version of a catalogue, opened; arrays are memory-mapped."""

    name: str
    """Such as ``v000001``."""
    folder: Path
    meta: dict[str, Any]
    digest: str
    codes: Codes
    tree: PrefixTree
    categories: CategoryTree | None
    evidence: EvidenceIndex
    items: ItemStore
    vectors: Vectors | None
    judged: JudgedQueries | None = None
    hold: replacing.Hold | None = None
    """Keeps the files there: some are read when they are first asked for."""

    @classmethod
    def load(cls, run: Run, name: str | None = None, *, verify: bool = True) -> IndexVersion:
        """Open a version (the current one if not named), checking its digests and its model."""
        name = name or current(run)
        artifact = artifacts.opening(home(run) / name, kind=KIND, verify=verify)
        folder = artifact.folder
        known = digests(run)
        for part, digest in known.items():
            if artifact.meta[part] != digest:
                raise RarsError(
                    f"{home(run) / name} was made for another {part} than the run has now; "
                    f"make it again with: rars index {run.folder}"
                )
        tree = PrefixTree.load(folder / "tree", verify=False)
        with artifacts.understood(home(run) / name):
            version = cls(
                name=name,
                folder=folder,
                meta=dict(artifact.meta),
                digest=artifact.digest,
                codes=artifact.array("codes"),
                tree=tree,
                categories=_load_categories(artifact),
                evidence=EvidenceIndex.load(folder / "evidence", tree, verify=False),
                items=ItemStore.load(artifact),
                vectors=Vectors.load(artifact),
                judged=JudgedQueries.load(artifact),
                hold=artifact.hold,
            )
            if verify and not checked.known(mark := artifact.mark("index")):
                version._check()
                checked.remember(mark)
        return version

    def _check(self) -> None:
        """Refuse parts that speak of different catalogues; reads them all, as the digests did."""
        items = self.tree.n_items
        if self.codes.shape != (items, self.tree.depth) or self.codes.dtype.kind not in "iu":
            raise ValueError("its codes are not those of its tree")
        if len(self.items) != items:
            raise ValueError(f"it shows {len(self.items)} items, and its tree has {items}")
        self.items.check()
        if self.vectors is not None and not self.vectors.fits(items):
            raise ValueError("its vectors are not those of its items")
        if self.categories is not None and not self.categories.fits(items):
            raise ValueError("its categories are not those of its items")
        width = None if self.vectors is None else self.vectors.segments[0].shape[1]
        if self.judged is not None and not self.judged.fits(items, width):
            raise ValueError("its judged queries are not those of its items")
        if not self.evidence.fits():
            raise ValueError("its evidence is not that of its items")


# -- the pointer ---------------------------------------------------------------------------------


def home(run: Run) -> Path:
    """Where a run's versions are."""
    return run.folder / "index"


def pointer(run: Run) -> dict[str, Any]:
    """Which version is searched (``current``), and what happened so far (``log``, oldest first)."""
    path = home(run) / POINTER
    if not path.exists():
        raise RarsError(f"{run.folder} has no index; make it with: rars index {run.folder}")
    found = disk.read_json(path)
    if not isinstance(found, dict) or not _is_version(found.get("current")):
        raise RarsError(f"{path} does not say which version is searched.")
    log = found.get("log")
    if not isinstance(log, list) or not all(map(_is_event, log)):
        raise RarsError(f"{path} does not say what happened so far: its 'log' is none.")
    return found


def _is_version(name: object) -> bool:
    return isinstance(name, str) and re.fullmatch(r"v\d{6,9}", name, re.ASCII) is not None


def _is_event(event: object) -> bool:
    """Whether an entry of the log can be one; what it says was pruned may be deleted, so those are names."""
    return (
        isinstance(event, dict)
        and _is_version(event.get("version"))
        and isinstance(event.get("action"), str)
        and isinstance(event.get("pruned", []), list)
        and all(map(_is_version, event.get("pruned", [])))
    )


def current(run: Run) -> str:
    """The version that is searched."""
    return str(pointer(run)["current"])


def point(run: Run, version: str, event: Event) -> None:
    """Search this version from now on, and remember why."""
    path = home(run) / POINTER
    log = pointer(run)["log"] if path.exists() else []
    stamped = {"at": datetime.now(UTC).isoformat(timespec="seconds"), **event, "version": version}
    disk.write_json(path, {"current": version, "log": [*log, stamped]})


def versions(run: Run) -> list[str]:
    """The versions that are kept, the one searched now first, then those searched most lately."""
    known = pointer(run)
    log = known["log"]
    gone = {name for event in log for name in event.get("pruned", ())} - {known["current"]}
    named = [str(known["current"]), *(str(event["version"]) for event in reversed(log))]
    return [name for name in dict.fromkeys(named) if name not in gone]


def check_versions(run: Run) -> None:
    """Check the digests of every version that is kept; what is damaged is named."""
    for name in versions(run):
        artifacts.opening(home(run) / name, kind=KIND)


def next_version(run: Run) -> str:
    """The name of the version to be written.

    A version that a kill left behind before it was pointed to is in no log: its name is used again.
    """
    known = pointer(run)["log"] if (home(run) / POINTER).exists() else []
    numbers = [int(event["version"][1:]) for event in known]
    return f"v{max(numbers, default=0) + 1:06d}"


# -- writing -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Change:
    """What a new version is made of.

    ``items``    the item file of a first version
    ``vectors``  of the new items; None where the run keeps none
    ``judged``   training queries, of a first version that has any; later ones keep theirs
    ``old``      the version that this one follows, of which the rows ``keep`` stay (None: all)
    ``new``      items that follow those
    """

    action: str
    identifiers: Identifiers
    categories: CategoryTree | None
    vectors: Points | None
    items: Path | None = None
    judged: JudgedQueries | None = None
    old: IndexVersion | None = None
    keep: Bools | None = None
    new: pa.Table | None = None

    @cached_property
    def origin(self) -> Ints:
        """The old catalogue row of every item, -1 for a new one."""
        assert self.old is not None
        every = np.arange(len(self.old.codes))
        kept = every if self.keep is None else every[self.keep]
        new = 0 if self.new is None else self.new.num_rows
        return np.concatenate([kept, np.full(new, -1)])


def write_version(
    run: Run, change: Change, *, engine: Engine = AS_NEEDED, advance: Advance | None = None
) -> str:
    """Write a new version whole, then point to it.

    One that is made of nothing is opened and asked what it means first, so that nobody has to do so later.
    """
    name = next_version(run)
    tree = _tree(change, engine)
    work = home(run) / WORK
    with artifacts.writing(home(run) / name, kind=KIND) as draft:
        _save_items(draft, f"-{name[1:]}", change)
        draft.save_array("codes", np.asarray(change.identifiers.codes, dtype=np.int32))
        tree.save(draft.folder / "tree")
        if change.old is None:
            _write_evidence(draft.folder, change, tree, work, engine, advance)
        else:
            catalogue = as_dataset(columns_in(draft), change.identifiers.item_ids)
            evidence = change.old.evidence.changed(catalogue, tree, change.origin, advance=advance)
            evidence.save(draft.folder / "evidence", change.old.folder / "evidence")
        _save_categories(draft, change.categories)
        _save_vectors(draft, f"vectors-{name[1:]}", change, run.recipe().search)
        _save_judged(draft, change)
        draft.meta.update(digests(run), items=tree.n_items, action=change.action)
    if change.old is None:
        IndexVersion.load(run, name)
    old = None if change.old is None else change.old.name
    added = tree.n_items if old is None else 0 if change.new is None else change.new.num_rows
    removed = 0 if change.keep is None else int((~change.keep).sum())
    event = {"action": change.action, "parent": old, "items": tree.n_items}
    point(run, name, event | {"added": added, "removed": removed})
    if old is not None:  # made of a version that was asked what it means
        artifact = artifacts.opening(home(run) / name, kind=KIND, verify=False)
        checked.remember(artifact.mark("index"))
    disk.discard(work)
    return name


def _tree(change: Change, engine: Engine) -> PrefixTree:
    codes = change.identifiers.codes
    if change.old is not None:
        # What stays is in order already.
        if change.keep is None:
            return PrefixTree.build(codes, np.asarray(change.old.tree.order))
        row = np.full(len(change.old.codes), -1, dtype=np.int32)
        stays = np.flatnonzero(change.origin >= 0)
        row[change.origin[stays]] = stays
        known = row[change.old.tree.order]
        return PrefixTree.build(codes, known[known >= 0])
    workers = engine.share(
        0.0
    )  # ten million items take seconds: others are there only where they were asked for
    if workers == 1:
        return PrefixTree.build(codes)
    return build_by_first_code(
        codes,
        workers,
        lambda parts: engine.map(PrefixTree.build, ({"codes": part} for part in parts)),
    )


def _write_evidence(
    folder: Path,
    change: Change,
    tree: PrefixTree,
    work: Path,
    engine: Engine,
    advance: Advance | None,
) -> None:
    """The evidence of a catalogue that is read anew: at once where it is small, else by shards."""
    items = change.items  # the draft's own may be where no other process looks
    assert items is not None
    rows = shard_rows(tree.n_items)
    if engine.share(0.0) == 1 and tree.n_items <= rows:
        catalogue = as_dataset(Columns(items, ITEMS), change.identifiers.item_ids)
        EvidenceIndex.build(catalogue, tree, advance=advance).save(folder / "evidence")
        return
    extractors = default_extractors()
    named = [disk.digest_file(items), rows, [one.name for one in extractors]]
    write_evidence(
        folder / "evidence",
        items,
        tree,
        extractors,
        work=work / disk.digest_json(named)[:32],
        rows=rows,
        engine=engine,
        advance=advance,
    )


def digests(run: Run) -> dict[str, str]:
    """What an index depends on: the model and the identifiers of the run."""
    folder = run.folder / "model"
    if not folder.exists():
        raise RarsError(f"{run.folder} has no trained model yet; train it with: rars train")
    return {
        "model": artifacts.opening(folder, kind=MODEL_KIND, verify=False).digest,
        "identifiers": artifacts.opening(
            run.folder / "identifiers", kind="identifiers", verify=False
        ).digest,
    }


def build_index(run: Run, *, engine: Engine = AS_NEEDED, advance: Advance | None = None) -> str:
    """Index the dataset that a run was trained on, as a new version; its name."""
    from rars.training.prepare import category_tree

    dataset = run.dataset()
    identifiers = Identifiers.load(run.folder / "identifiers")
    if not identifiers.item_ids.equals(dataset.item_ids):
        raise RarsError(f"The identifiers of {run.folder} are not those of {dataset.where}.")
    trained = artifacts.opening(run.folder / "model", kind=MODEL_KIND)
    ready = saving.load(trained.folder)
    categories = None
    if ready.architecture.categories:
        categories = category_tree(dataset, identifiers, run.recipe())
    vectors = judged = None
    reader = QueryReader.of(ready, identifiers)
    if reader.embeds:
        judged = JudgedQueries.of(dataset, reader.vectors)
        frozen, _ = item_vectors(dataset, identifiers.embedder_name)
        vectors = identifiers.catalogue_space(frozen, dataset)
    items = dataset.item_store.source
    assert isinstance(items, Path)  # a run keeps the folder of its dataset
    change = Change("build", identifiers, categories, vectors, items, judged)
    with locks.held(run.folder):
        return write_version(run, change, engine=engine, advance=advance)


def is_current(run: Run) -> bool:
    """Whether the run's index exists and is of its model."""
    if not (home(run) / POINTER).exists():
        return False
    meta = artifacts.opening(home(run) / current(run), kind=KIND, verify=False).meta
    return all(meta[part] == digest for part, digest in digests(run).items())


def as_dataset(items: Columns, item_ids: pa.Array) -> Dataset:
    """A catalogue as a dataset without queries."""
    none = np.zeros(0)
    queries = pa.array([], pa.string())
    return Dataset(
        folder=None,
        facts={"name": "the catalogue"},
        digest="",
        item_ids=item_ids,
        query_ids=queries,
        query_texts=queries,
        split=np.zeros(0, dtype=np.int8),
        judgments=Judgments(none.astype(np.int32), none.astype(np.int32), none.astype(np.float32)),
        stored_items=items,
    )


def _save_items(draft: artifacts.Draft, end: str, change: Change) -> None:
    if change.old is None:
        assert change.items is not None
        save_first(draft, change.items)
    else:
        old = change.old
        save_changed(draft, end, old.items, old.folder, change.keep, change.new)


def _save_vectors(
    draft: artifacts.Draft, name: str, change: Change, settings: SearchSettings
) -> None:
    draft.meta["vectors"] = []
    celled = celled_from(settings, len(change.identifiers.codes))
    options: dict[str, Any] = {"kind": settings.vectors, "celled": celled}
    old = change.old
    if change.vectors is None and (old is None or old.vectors is None):
        return
    if old is None:
        assert change.vectors is not None
        none = np.zeros(0, dtype=np.int64)
        save_vectors(draft, name, change.vectors, None, none, None, **options)
        return
    assert old.vectors is not None
    places = change.origin
    empty = np.zeros((0, old.vectors.segments[0].shape[1]), dtype=np.float32)
    new = empty if change.vectors is None else change.vectors
    save_vectors(draft, name, new, old.vectors, places[places >= 0], old.folder, **options)


def _save_judged(draft: artifacts.Draft, change: Change) -> None:
    judged = change.judged
    if judged is None and change.old is not None and change.old.judged is not None:
        judged = change.old.judged.moved(change.origin)
    if judged is not None:
        judged.save(draft)


def _save_categories(draft: artifacts.Draft, categories: CategoryTree | None) -> None:
    draft.meta["categories"] = 0 if categories is None else len(categories.names)
    if categories is None:
        return
    draft.meta["induced"] = categories.induced
    disk.write_json(draft.folder / "categories.json", [list(n) for n in categories.names])
    draft.save_array("category-nodes", np.asarray(categories.nodes, dtype=np.int32))
    for level, parents in enumerate(categories.parents):
        draft.save_array(f"category-parents-{level}", np.asarray(parents, dtype=np.int64))


def _load_categories(artifact: artifacts.Artifact) -> CategoryTree | None:
    levels = int(artifact.meta["categories"])
    if not levels:
        return None
    names = disk.read_json(artifact.folder / "categories.json")
    return CategoryTree(
        tuple(tuple(level) for level in names),
        tuple(np.asarray(artifact.array(f"category-parents-{level}")) for level in range(levels)),
        artifact.array("category-nodes"),
        induced=bool(artifact.meta.get("induced", False)),
    )
