"""Commands that cannot be right: what is refused has changed no byte, and what is done leaves folders whole.

A case is a command line with places, names and numbers that do not belong there, run inside this process in a
home of datasets, runs and files of somebody else. Refused, the home is as it was; done, every run and dataset
in it can still be opened, and the home is put back.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from rars import disk
from rars.cli import app
from rars.cli.ending import UsageError
from rars.data import Dataset
from rars.errors import RarsError
from rars.pipeline.opening import open_system
from tests.hostile import queries, recipes, tables, texts
from tests.hostile.case import Case, made
from tests.search.trained import CHANGES, make_run

QUICK = " ".join(f"--set {change.replace(' ', '')}" for change in CHANGES)
PLACES = (
    *("shop", "run", "words", "link") * 4,
    *(
        "shop",
        "other",
        "run",
        "ids",
        "words",
        "thesis",
        "thesis/years.tex",
        "nowhere",
        "link",
        "loop",
    ),
    *(
        "known.jsonl",
        "unknown.jsonl",
        "items.csv",
        "queries.csv",
        "judged.csv",
        "torn.parquet",
        ".",
    ),
    *("a/b/c", "thesis/new", "known.jsonl/new", "run/model", "run/index", "shop/items.parquet"),
)
COMMANDS = (
    "data shop {0} --size {n} --seed {n} --locale {w}",
    "data import {0} --items {1} --queries {2} --judgments {1}",
    "data import {0} --items items.csv --queries queries.csv --judgments judged.csv --name {w}",
    "data import {0} --items torn.parquet --queries {1} --judgments judged.csv",
    "data import {0} --items items.csv --queries queries.csv --judgments {1} --item-column {w}",
    "data check {0}",
    "data esci {0} --out {1} --locale {w}",
    "data nq320k {0} --out {1}",
    "identify --recipe {r} --data {0} --out {1} {q}",
    "identify --recipe rars --data shop --out {0} --set {s}",
    "inspect {0} --split {w} --plot {1}",
    "train {r} --data {0} --out {1} {q}",
    "train bm25 --data shop --out {0} --set {s}",
    "train rars --data {0} --out {1} {q} --set training.pairs={n}",
    "train base --data shop --out {0} --identifiers {1} {q} --set {s}",
    "index {0} --force",
    "index {0} --tune",
    "search {0} {w} -k {n} --rule {w}",
    "search {0} --queries {1} --out {2}",
    "search run --queries queries.csv --out {0} -k {n}",
    "evaluate {0} --rule {w} --split {w}",
    "compare {0} {1} --rule {w} --reference {w}",
    "verify {0}",
    "plot {0} --out {1}",
    "analyze {0} {w} --split {w}",
    "analyze {0} ambiguity --plot {1}",
    "report {0} --out {1}",
    "catalog add {0} {1}",
    "catalog add run {0}",
    "catalog remove {0} {1}",
    "catalog remove run {0}",
    "catalog update run {0}",
    "catalog log {0}",
    "catalog apply run {0} --whole",
    "catalog apply {0} unknown.jsonl",
    "catalog prune {0} --keep {n}",
    "catalog diff {0} {w} {w} --queries {1}",
    "search run mug --filter {f}",
    "search {0} mug --filter {f} --facet {w} --facet-over matching",
    "search run mug --why-not {w}",
    "search run mug --walk {w}",
    "catalog rollback {0} {w}",
    "experiment {w} --data {0} --out {1} --seeds {n} --dry-run",
    "recipes {w}",
    "demo --out {0} --size {w} --epochs {n}",
)
NUMBERS = ("0", "-1", "1", "3", "100", "nan", "1e9", "", "x", "99999999999999999999")
NAMES = (
    "en",
    "tlh",
    "ar",
    "hybrid",
    "test",
    "train",
    "bm25",
    "main",
    "v000001",
    "../x",
    "-",
    "--",
    "-k",
)


@cache
def home() -> Path:
    """What there is to be broken, made once a process; a copy of it is kept beside."""
    place = made("hostile-", _make)
    os.environ.setdefault("RARS_CACHE", str(place / "cache"))
    return place / "home"


def _make(place: Path) -> None:
    folder = place / "home"
    folder.mkdir()
    os.environ.setdefault("RARS_CACHE", str(place / "cache"))
    make_run(folder, "run", "training.epochs=1")
    for words in (
        f"data shop {folder}/other --size 120 --seed 3",
        f"identify --recipe rars --data {folder}/shop --out {folder}/ids {QUICK}",
        f"train bm25 --data {folder}/shop --out {folder}/words",
    ):
        _run(words.split())
    (folder / "thesis").mkdir()
    (folder / "thesis" / "years.tex").write_text("of work")
    known = Dataset.load(folder / "shop").item_ids[0].as_py()
    (folder / "known.jsonl").write_text(json.dumps({"id": known, "title": "x"}) + "\n")
    (folder / "unknown.jsonl").write_text(json.dumps({"id": "?", "title": "x"}) + "\n")
    (folder / "items.csv").write_bytes(tables._csv(tables._ITEMS))
    (folder / "queries.csv").write_bytes(tables._csv(tables._QUERIES))
    (folder / "judged.csv").write_bytes(tables._csv(tables._JUDGED))
    (folder / "torn.parquet").write_bytes(tables._parquet(tables._ITEMS)[:-9])
    (folder / "link").symlink_to("run")
    (folder / "loop").symlink_to("loop")
    shutil.copytree(folder, place / "kept", symlinks=True)


def _run(words: list[str]) -> None:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        app(words, standalone_mode=False)


def everything(folder: Path) -> dict[str, tuple[str, str]]:
    """Every name, what it leads to and the digest of its bytes."""
    return {
        str(path.relative_to(folder)): (
            str(path.readlink()) if path.is_symlink() else "",
            disk.digest_file(path) if path.is_file() else "",
        )
        for path in folder.rglob("*")
    }


def _tried(words: list[str]) -> None:
    """Run a command in the home; refused, nothing of it has changed, and else all can be opened."""
    folder = home()
    before, here = everything(folder), Path.cwd()
    os.chdir(folder)
    try:
        _run(words)
    except (RarsError, UsageError, SystemExit) as error:
        if isinstance(error, SystemExit) and error.code in (0, None):
            return
        after = everything(folder)
        changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
        if changed:
            _restore(folder)
            raise AssertionError(f"a refused command changed {changed[:5]}: {error}") from error
        raise RarsError(str(error)) from error
    else:
        if everything(folder) != before:
            try:
                _whole(folder)
            finally:
                _restore(folder)
    finally:
        os.chdir(here)


def _whole(folder: Path) -> None:
    for name in ("shop", "other"):
        Dataset.load(folder / name)
    for name in ("run", "words"):
        open_system(folder / name)
    assert (folder / "thesis" / "years.tex").read_text() == "of work"
    left = [str(path.relative_to(folder)) for path in folder.rglob(".*.partial")]
    assert not left, f"{left} is left"


def _restore(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    shutil.copytree(folder.parent / "kept", folder, symlinks=True, dirs_exist_ok=True)


def _words(rng: random.Random, pieces: Any) -> list[str]:
    """One command line."""

    def word() -> str:
        return rng.choice(NAMES) if rng.random() < 0.7 else texts.text_of(rng, pieces)[:80]

    made: list[str] = []
    for part in rng.choice(COMMANDS).split():
        if part == "{q}":
            made += QUICK.split()
        elif part == "{n}":
            made.append(rng.choice(NUMBERS))
        elif part == "{w}":
            made.append(word())
        elif part == "{f}":
            made.append(queries.filter_of(rng, pieces))
        elif part == "{r}":
            made.append(rng.choice(recipes.NAMES))
        elif part == "{s}":
            value = rng.choice(recipes.VALUES)
            made.append(
                rng.choice((*recipes.CHANGES, f"training.epochs={value}", f"bm25.k1={value}"))
            )
        elif part.startswith("{"):
            made.append(rng.choice(PLACES))
        else:
            made.append(part)
    if rng.random() < 0.1:
        made[rng.randrange(len(made))] = word()
    if rng.random() < 0.1:
        made.append(rng.choice(("--json", "--force", "--help", "-x", "--set", "\ud800", "")))
    return made


def cases(rng: random.Random) -> Iterator[Case]:
    """One command line after the other; without end."""
    pieces = texts._pieces()
    home()
    while True:
        words = _words(rng, pieces)
        if _costly(words):
            continue
        yield Case(f"rars {words!r}", partial(_tried, words), {"words": words})


def _costly(words: list[str]) -> bool:
    """Commands that may rightly work for minutes are no hunt for refusals."""
    return (
        (words[0] == "experiment" and "--dry-run" not in words)
        or (words[0] == "demo" and bool({"tiny", "small", "demo"} & set(words)))
        or any(word.startswith("training.epochs=") and len(word) > 18 for word in words)
    )


def again(given: dict[str, Any]) -> Case:
    """A command line in the home."""
    return Case(f"rars {given['words']!r}", partial(_tried, given["words"]))
