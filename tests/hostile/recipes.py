"""Recipes as hands and programs leave them: any value at any key, in a file or as a change.

A case is a recipe, or says in a ``RarsError`` what is wrong with it; one that was accepted can be written
and read again.
"""

from __future__ import annotations

import copy
import random
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import tomli_w

from rars.config import Recipe
from tests.hostile import texts
from tests.hostile.case import Case

NAMES = ("base", "rars", "practical", "bm25", "dense-tuned", "nowhere", "", ".", "/", "../base")
VALUES: tuple[Any, ...] = (
    *(0, -1, 1, 3, 2**31, 2**62, -(10**18), 0.0, -0.5, 1e-300, 1e300),
    *(float("inf"), float("nan"), True, False, "", "none", "1", "rars", "use", "../x", "\x1b[31m"),
    *([], [0], [-1], [256, 256], ["a"], {}, {"a": 1}, [{}], [{"name": "tree"}], [[[]]]),
)
CHANGES = (
    *("", "=", "a", "a=", "=1", "a.b.c.d=1", "training=1", "training.epochs", "training..epochs=1"),
    *("identifiers.sizes=[", "x=[[[[[[[[", 'name="', "name='''", "objective.terms.tree=nan"),
)


def _keys(table: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything in a table, tables themselves included."""
    within = table.items() if isinstance(table, dict) else enumerate(table)
    for key, value in within:
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from _keys(value, (*above, key))


def tampered(rng: random.Random, table: dict[str, Any], value: Any) -> None:
    """Replace, remove or add one thing somewhere in a table."""
    path = rng.choice(list(_keys(table)) or [("a",)])
    place: Any = table
    for key in path[:-1]:
        place = place[key]
    kind = rng.random()
    if kind < 0.15:
        del place[path[-1]]
    elif kind < 0.3 and isinstance(place, dict):
        place[rng.choice(("extra", "", "name", "settings", "é", "a.b"))] = value
    else:
        place[path[-1]] = value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items() if one is not None}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _changed(name: str, size: str | None, protocol: str | None, changes: list[str]) -> None:
    _again(Recipe.resolve(name, size=size, protocol=protocol, changes=changes))


def _from_file(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.toml"
        path.write_bytes(content)
        _again(Recipe.resolve(str(path)))


def _again(recipe: Recipe) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "again.toml"
        path.write_text(recipe.to_toml(), encoding="utf-8")
        assert Recipe.read(path).to_toml() == recipe.to_toml()


def _file(rng: random.Random, table: dict[str, Any]) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        tampered(rng, table, copy.deepcopy(rng.choice(VALUES)))
    content = tomli_w.dumps(table).encode()
    if rng.random() < 0.2:
        at = rng.randrange(len(content) or 1)
        content = content[:at] + rng.randbytes(rng.choice((0, 1, 4))) + content[at + 1 :]
    return content


def cases(rng: random.Random) -> Iterator[Case]:
    """Changes on the command line, and files; without end."""
    pieces = texts._pieces()
    known = [_plain(Recipe.resolve(name).model_dump()) for name in NAMES[:5]]
    while True:
        table = rng.choice(known)
        keys = [".".join(map(str, path)) for path in _keys(table)]
        changes = []
        for _ in range(rng.choice((0, 1, 1, 2))):
            value = rng.choice((*map(str, VALUES), texts.text_of(rng, pieces)))
            changes.append(rng.choice((*CHANGES, *(f"{rng.choice(keys)}={value}",) * 20)))
        name = rng.choice(NAMES)
        size = rng.choice((None, None, "tiny", "small", "paper", "huge", ""))
        protocol = rng.choice((None, None, "paper", "nowhere"))
        yield Case(
            f"recipe {name!r} {size!r} {protocol!r} {changes!r}",
            partial(_changed, name, size, protocol, changes),
            {"recipe": name, "size": size, "protocol": protocol, "changes": changes},
        )
        content = _file(rng, _plain(Recipe.resolve(rng.choice(NAMES[:5])).model_dump()))
        yield Case(
            f"recipe file {content!r}",
            partial(_from_file, content),
            {"file": content.decode("latin-1")},
        )


def again(given: dict[str, Any]) -> Case:
    """A file, its bytes as Latin-1, or a recipe by name with changes."""
    if "file" in given:
        return Case("recipe file", partial(_from_file, given["file"].encode("latin-1")))
    named = (given["recipe"], given.get("size"), given.get("protocol"), given.get("changes", []))
    return Case(f"recipe {given!r:.300}", partial(_changed, *named))
