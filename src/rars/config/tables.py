"""Tables of settings: read from files, laid over each other, changed by ``--set`` options.

Owns: which file a name means, what ``extends`` and ``[at.SIZE]`` do, and how tables are merged. Ignores what
the settings are.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from rars.errors import RarsError

SIZES = ("tiny", "small", "paper")
GENERATIVE = "generative"


def recipe_names() -> list[str]:
    """The recipes that come with the package."""
    folder = files("rars") / "recipes"
    return sorted(
        p.name.removesuffix(".toml") for p in folder.iterdir() if p.name.endswith(".toml")
    )


@dataclass(frozen=True)
class Described:
    """A recipe as it is listed: its name, one line about it, and what it extends."""

    name: str
    about: str
    system: str
    parent: str | None


def recipe_list() -> list[Described]:
    """All recipes of the package, read but not resolved."""
    found = []
    for name in recipe_names():
        table = read_table(recipe_file(name))
        system = extended(table, name).get("system", GENERATIVE)
        found.append(Described(name, table.get("about", ""), system, table.get("extends")))
    return found


def parent_of(name: str | Path) -> str | None:
    """The recipe that this one extends."""
    return _parent(read_table(recipe_file(name)), str(name))


def recipe_file(name: str | Path) -> Path:
    """The file of a recipe."""
    return bundled_file("", name)


def bundled_file(folder: str, name: str | Path) -> Path:
    """The file of a bundled name, or the .toml file that was given."""
    if str(name).endswith(".toml"):
        return Path(name)
    home = Path(str(files("rars") / "recipes")) / folder
    path = home / f"{name}.toml"
    if "/" in str(name) or not path.exists():
        known = ", ".join(sorted(p.stem for p in home.glob("*.toml")))
        what = folder.removesuffix("s") or "recipe"
        raise RarsError(
            f"There is no {what} {str(name)!r}; choose one of {known}, or a .toml file."
        )
    return path


def size_table(size: str) -> dict[str, Any]:
    """What a size scales."""
    if size not in SIZES:
        raise RarsError(f"There is no size {size!r}; choose one of {', '.join(SIZES)}.")
    return read_table(bundled_file("sizes", size))


def extended(
    table: dict[str, Any], source: str, size: str | None = None, seen: tuple[str, ...] = ()
) -> dict[str, Any]:
    """A recipe laid over the one it extends, and that over its own; with what each says of a size."""
    parent, sizes = _parent(table, source), table.get("at", {})
    own = {key: value for key, value in table.items() if key not in ("extends", "at")}
    if not isinstance(sizes, dict) or set(sizes) - set(SIZES):
        raise RarsError(f"Recipe {source}: at: names the sizes {', '.join(SIZES)} alone.")
    for one, said in sizes.items():
        if not isinstance(said, dict):
            raise RarsError(f"Recipe {source}: at.{one}: {said!r} is no table of settings.")
    own = laid_over(own, sizes.get(size, {}), source)
    if parent is None:
        return own
    if parent in seen:
        raise RarsError(f"Recipe {source}: extends: {parent!r} leads back to itself.")
    below = extended(read_table(recipe_file(parent)), parent, size, (*seen, parent))
    return laid_over(below, own, source)


def _parent(table: Mapping[str, Any], source: str) -> str | None:
    """The recipe that a table extends; a file is looked for beside the one that names it."""
    parent = table.get("extends")
    if parent is None:
        return None
    if not isinstance(parent, str):
        raise RarsError(f"Recipe {source}: extends: {parent!r} is no name of a recipe.")
    beside = source.endswith(".toml") and parent.endswith(".toml")
    return str(Path(source).parent / parent) if beside else parent


def kept_apart(table: Mapping[str, Any], source: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A recipe without its list ``keeps``, and that list: settings that are the system itself.

    No protocol changes them: under the paper's, DSI's random digits are random digits.
    """
    keeps = table.get("keeps", [])
    if not isinstance(keeps, list) or not all(isinstance(one, str) for one in keeps):
        raise RarsError(f"Recipe {source}: keeps: {keeps!r} is no list of settings.")
    return {key: value for key, value in table.items() if key != "keeps"}, tuple(keeps)


def without(table: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """A table without the settings ``section.key`` that are listed.

    >>> without({"model": {"dropout": 0.1, "backbone": "small"}}, ["model.dropout"])
    {'model': {'backbone': 'small'}}
    """
    found = dict(table)
    for key in keys:
        head, _, rest = key.partition(".")
        if not rest:
            found.pop(head, None)
        elif isinstance(found.get(head), Mapping):
            found[head] = without(found[head], [rest])
    return found


def laid_over(base: Mapping[str, Any], over: Mapping[str, Any], source: str) -> dict[str, Any]:
    """One table over another; a mistake names the recipe it stands in."""
    try:
        return merged(base, over)
    except RarsError as error:
        raise RarsError(f"Recipe {source}: {error}.") from error


def read_table(path: Path) -> dict[str, Any]:
    """A TOML file, or one sentence about why it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RarsError(f"The recipe {path} does not exist.") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RarsError(f"The recipe {path} is not readable TOML: {error}.") from error


def change_of(text: str) -> dict[str, Any]:
    """A ``section.key=value`` option as a table."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise RarsError(f"--set {text!r} is not of the form section.key=value.")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()  # a bare word is a string
    nested: Any = parsed
    for name in reversed(key.strip().split(".")):
        nested = {name: nested}
    table: dict[str, Any] = nested
    return table


def merged(
    base: Mapping[str, Any], over: Mapping[str, Any], place: tuple[str, ...] = ()
) -> dict[str, Any]:
    """One table laid over another; a table over a list of named entries changes the entries it names.

    >>> merged({"terms": [{"term": "tree", "weight": 0.5}]}, {"terms": {"tree": {"weight": 1}}})
    {'terms': [{'term': 'tree', 'weight': 1}]}
    >>> merged({"terms": [{"term": "tree"}, {"term": "leaf"}]}, {"terms": {"tree": False}})
    {'terms': [{'term': 'leaf'}]}
    """
    found = dict(base)
    for key, value in over.items():
        before = found.get(key)
        here = (*place, key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            found[key] = merged(before, value, here)
        elif isinstance(value, Mapping) and isinstance(before, list):
            found[key] = _entries(before, value, here)
        else:
            found[key] = value
    return found


def _entries(listed: list[Any], changes: Mapping[str, Any], place: tuple[str, ...]) -> list[Any]:
    """A list of named tables with some of them changed, added, or (False) left out."""
    named = {
        str(entry.get("name", entry.get("term"))): entry
        for entry in listed
        if isinstance(entry, Mapping)
    }
    where = ".".join(place)
    if len(named) < len(listed):
        raise RarsError(f"{where}: only entries that each have a name can be changed by it")
    left = dict(changes)
    made = []
    for name, entry in named.items():
        change = left.pop(name, {})
        if change is False:
            continue
        if not isinstance(change, Mapping):
            raise RarsError(
                f"{where}.{name}: a table changes it, false leaves it out; not {change!r}"
            )
        made.append(merged(entry, change, (*place, name)))
    for name, change in left.items():
        if not isinstance(change, Mapping) or "term" not in change:
            new = "; a new one says which term it is" if place[-1] == "terms" else ""
            raise RarsError(
                f"{where}.{name}: there is no entry of that name, only {', '.join(named)}{new}"
            )
        made.append({"name": name, **change})
    return made
