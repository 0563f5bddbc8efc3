"""Run folders that somebody tampered with: damaged, or changed and sealed again with digests that fit.

Digests find damage; a folder that was sealed again passes them, and must still end in an answer or one
sentence, never in a traceback. A case opens the run and searches it; whatever happens, no byte of it changes.
"""

from __future__ import annotations

import copy
import json
import random
import shutil
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from rars import disk
from rars.errors import RarsError
from rars.search.retriever import Retriever
from rars.systems import search
from tests.hostile import recipes
from tests.hostile.case import Case, made, scratch
from tests.search.trained import make_run

VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1, 7, 2**31, 2**63, -(2**70), 1e308, -0.5, 1e-300),
    *("", "x", "../../x", "/etc/passwd", "\x1b[31m", "t5:t5-base", "a" * 100_000),
    *([], [0], [[]], {}, {"a": 1}, ["a", None], [1] * 10_000),
)
NUMBERS = (0, -1, 1, 2**31 - 1, -(2**31), 10**6)


@cache
def sound() -> Path:
    """A run trained for a moment, once a process; its files as plain folders."""
    changes = ("training.epochs=1", "search.width=4")
    return made("hostile-", lambda home: make_run(home, "run", *changes)) / "run"


def _digests(folder: Path) -> dict[str, str]:
    """What is in a folder; locks hold nothing."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.endswith(".lock"))
    return {str(path.relative_to(folder)): disk.digest_file(path) for path in files}


def reseal(folder: Path) -> None:
    """Give every manifest the digests of what its folder now holds, the innermost first."""
    manifests = sorted(folder.rglob("manifest.json"), key=lambda path: -len(path.parts))
    for manifest in manifests:
        try:
            sealed = json.loads(manifest.read_text(encoding="utf-8"))
            for name, stated in sealed["files"].items():
                path = manifest.parent / name
                if path.is_file():
                    stated["sha256"] = disk.digest_file(path)
                    stated["bytes"] = path.stat().st_size
        except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError):
            continue  # the manifest itself is what was tampered with
        manifest.write_text(json.dumps(sealed), encoding="utf-8")


def _json(rng: random.Random, content: bytes) -> bytes:
    kind = rng.random()
    if kind < 0.05:
        return b"[" * 100_000
    if kind < 0.1:
        return json.dumps(copy.deepcopy(rng.choice(VALUES))).encode()
    table = json.loads(content)
    if isinstance(table, dict):
        recipes.tampered(rng, table, copy.deepcopy(rng.choice(VALUES)))
    return json.dumps(table).encode()


def _array(rng: random.Random, path: Path) -> None:
    values = np.load(path)
    kind = rng.randrange(6)
    if kind == 0:
        values = values[: rng.randrange(len(values) + 1)] if values.ndim else values
    elif kind == 1:
        values = np.concatenate([values, values]) if values.ndim else values
    elif kind == 2:
        values = values.astype(rng.choice(("float64", "int8", "U3", "complex64", "int64")))
    elif kind == 3:
        values = values[None]
    elif values.size:
        flat = values.reshape(-1).copy()
        odd = np.nan if flat.dtype.kind == "f" else rng.choice(NUMBERS)
        flat[rng.randrange(flat.size)] = np.array(odd).astype(flat.dtype)
        values = flat.reshape(values.shape)
    np.save(path, values)


def _bytes(rng: random.Random, content: bytes) -> bytes:
    at = rng.randrange(len(content) or 1)
    kind = rng.random()
    if kind < 0.3:
        return content[:at]
    if kind < 0.4:
        return b""
    if kind < 0.5:
        return rng.randbytes(rng.choice((1, 100, 10_000)))
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 8))):
        changed[rng.randrange(max(1, min(len(changed), 4096)))] = rng.randrange(256)
    return bytes(changed)


def tamper(rng: random.Random, run: Path) -> str:
    """Change one file of a run by its kind, or take it away; what was done."""
    parts = ("recipe.toml", "manifest.json", "model", "identifiers", "index")
    paths = [p for part in parts for p in [run / part, *sorted((run / part).rglob("*"))]]
    path = rng.choice([p for p in paths if p.is_file() and not p.name.endswith(".lock")])
    name = path.relative_to(run).as_posix()
    state, kind = rng.getstate(), rng.random()
    if kind < 0.05:
        path.unlink()
        return f"{name} removed"
    if kind < 0.1:
        path.unlink()
        path.mkdir()
        return f"{name} is a folder"
    if kind < 0.8 and path.suffix == ".json" and path.stat().st_size < 1_000_000:
        path.write_bytes(_json(rng, path.read_bytes()))
    elif kind < 0.8 and path.suffix == ".npy":
        _array(rng, path)
    else:
        path.write_bytes(_bytes(rng, path.read_bytes()))
    return f"{name} changed ({hash(state) & 0xFFFF:04x})"


def _opened(how: Callable[[Path], str], sealed: bool, place: Path) -> None:
    """Tamper with a copy; open it and search; nothing in it may change."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(sound(), place)
    done = how(place)
    if sealed:
        reseal(place)
    before = _digests(place)
    try:
        found = search(Retriever.load(place), "red mug 2 l", k=5)
        assert all(np.isfinite([hit.score for hit in found]))
    except RarsError:
        raise
    except BaseException as error:
        error.add_note(done)
        raise
    finally:
        assert _digests(place) == before, f"{done}: opening changed the run"


def cases(rng: random.Random) -> Iterator[Case]:
    """One tampered copy of a run after the other; without end."""
    place = scratch() / "run"
    while True:
        seed, sealed = rng.randrange(2**32), rng.random() < 0.8
        how = "sealed again" if sealed else "not sealed"
        yield Case(
            f"folder tampered by seed {seed}, {how}",
            partial(_opened, partial(_by_seed, seed), sealed, place),
            {"seed": seed, "sealed": sealed},
        )


def _by_seed(seed: int, run: Path) -> str:
    return tamper(random.Random(seed), run)


def _by_hand(given: dict[str, Any], run: Path) -> str:
    """One field of a JSON file, or one number, the length or the type of an array, or bytes as they are."""
    path = run / given["path"]
    if "field" in given:
        table = json.loads(path.read_text(encoding="utf-8"))
        place = table
        for key in given["field"][:-1]:
            place = place[key]
        place[given["field"][-1]] = given["value"]
        path.write_text(json.dumps(table), encoding="utf-8")
    elif "bytes" in given:
        path.write_bytes(given["bytes"].encode("latin-1"))
    else:
        values = np.load(path)
        if "length" in given:
            values = values[: given["length"]]
        if "dtype" in given:
            values = values.astype(given["dtype"])
        if "at" in given:
            values = values.copy()
            values.reshape(-1)[given["at"]] = given["value"]
        np.save(path, values)
    return f"{given!r:.300}"


def again(given: dict[str, Any]) -> Case:
    """A run tampered with by a seed, or as is said."""
    how = partial(_by_seed, given["seed"]) if "seed" in given else partial(_by_hand, given)
    place = scratch() / "run"
    return Case(f"folder {given!r:.300}", partial(_opened, how, given.get("sealed", True), place))
