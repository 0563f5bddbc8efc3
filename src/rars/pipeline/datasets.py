"""Make, import and check datasets: the makers and readers of ``rars.data``, with what they count.

Owns: nothing but the gathering; every function returns what a person is shown.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from rars import places
from rars.config import Recipe
from rars.data import Dataset
from rars.data.checking import Checked, check_folder, summary_of_stored
from rars.data.esci import make_esci
from rars.data.importing import Tables, import_tables
from rars.data.nq320k import find_file, make_nq320k
from rars.data.problems import ProblemsFound
from rars.data.shop import make_shop, parse_size
from rars.errors import RarsError
from rars.identifiers import item_vectors, keep_vectors, query_vectors
from rars.pipeline import costs
from rars.pipeline.embedding import with_embedder
from rars.progress import SILENT, Tell
from rars.runs import refuse_foreign
from rars.scale import AS_NEEDED, Engine

__all__ = [
    "Checked",
    "ProblemsFound",
    "Tables",
    "check",
    "demo",
    "embed",
    "esci",
    "import_",
    "nq320k",
    "shop",
]


def import_(
    folder: Path, tables: Tables, *, name: str | None, licence: str, tell: Tell = SILENT
) -> tuple[Checked, int]:
    """A dataset folder of three tables; what is in it, and how many judgments were repeated."""
    with tell.stage("reading") as advance:
        prepared = import_tables(folder, tables, name=name, licence=licence, advance=advance)
    return summary_of_stored(folder), prepared.merged


def check(folder: Path, *, tell: Tell = SILENT) -> Checked:
    """Check a dataset folder, or a folder of tables as an import would."""
    with tell.stage("checking") as advance:
        return check_folder(folder, advance=advance)


def embed(
    folder: Path,
    embedder: str = "use",
    *,
    vectors: Path | None = None,
    trust: bool = False,
    engine: Engine = AS_NEEDED,
    tell: Tell = SILENT,
) -> dict[str, Any]:
    """Vectors of all items, and of the queries learned from, in the cache; how many and how wide.

    ``vectors`` is a file that has those of the items already, made by the same embedder elsewhere; a few are
    computed again to see that, unless they are to be ``trust``ed.
    """
    begun = time.perf_counter()
    dataset = Dataset.load(folder)
    expected = None
    if vectors is not None:
        with tell.stage("ready vectors") as advance:
            keep_vectors(dataset, embedder, vectors, trust=trust, advance=advance)
        tell.say(f"Embedding the queries of {folder}.")
    else:
        tell.say(f"Embedding the items and queries of {folder}.")
        recipe = with_embedder(Recipe.resolve("rars"), embedder)
        expected = costs.say(("embed",), dataset, recipe, engine, tell)
    with tell.stage("items") as advance:
        items, digest = item_vectors(dataset, embedder, engine=engine, advance=advance)
    with tell.stage("queries") as advance:
        queries = query_vectors(dataset, embedder, engine=engine, advance=advance)
    return {
        "folder": str(folder),
        "embedder": embedder,
        "digest": digest,
        "items": len(items),
        "queries": 0 if queries is None else len(queries),
        "width": int(items.shape[1]),
        "seconds": round(time.perf_counter() - begun, 2),
        **({} if expected is None else {"expected": expected}),
    }


def esci(
    source: Path,
    out: Path,
    *,
    locale: str,
    categories: Path | None,
    full_catalogue: bool,
    tell: Tell = SILENT,
) -> dict[str, int]:
    """The ESCI shopping queries of one locale; what was counted."""
    with tell.stage("reading") as advance:
        return make_esci(
            source,
            out,
            locale=locale,
            categories=categories,
            full_catalogue=full_catalogue,
            advance=advance,
        ).as_json()


def nq320k(
    source: Path, out: Path, *, train: Path | None, dev: Path | None, tell: Tell = SILENT
) -> dict[str, int]:
    """NQ320K; what was counted."""
    train = train or find_file(source, "train", "--train")
    dev = dev or find_file(source, "dev", "--dev")
    with tell.stage("reading") as advance:
        return make_nq320k(train, dev, out, advance=advance).as_json()


def shop(
    folder: Path,
    *,
    size: str,
    locale: str,
    seed: int,
    complements: float | None = None,
    realism: float | None = None,
    tell: Tell = SILENT,
) -> Checked:
    """The bundled shop; ``size`` is a name, or a number of items; what is left out follows from the size."""
    if size.isdecimal() and int(size) < 1:
        raise RarsError(f"--size {size} is not a number of items; choose 1 or more.")
    with tell.stage("making") as advance:
        make_shop(
            folder,
            size=int(size) if size.isdecimal() else size,
            locale=locale,
            seed=seed,
            complements=complements,
            realism=realism,
            advance=advance,
        )
    return summary_of_stored(folder)


def demo(out: Path, *, size: str, locale: str, seed: int, tell: Tell = SILENT) -> Dataset:
    """The shop of a demo, made or found there; what the demo could not go on from is refused before."""
    folder, run = out / "shop", out / "run"
    for part in (folder, run, out / "experiments"):
        places.target(part)
    if not (run / "manifest.json").exists():
        refuse_foreign(run)
    if folder.exists():
        # Writing another shop here would pull the data from under the runs made from it.
        known = Dataset.load(folder).facts
        found = (str(known.get("size")), known.get("locale"), known.get("seed"))
        as_untidy = known.get("realism", 0.0) == parse_size(size).realism
        if found != (size, locale, seed) or not as_untidy:
            raise RarsError(f"{out} holds the demo of another shop; choose another --out.")
    else:
        shop(folder, size=size, locale=locale, seed=seed, tell=tell)
    return Dataset.load(folder)
