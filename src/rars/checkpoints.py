"""Where a pretrained model lies, and that opening it runs nothing of its own.

Owns: reading a name as a folder, a hub name, or the model inside an installed package; and why a checkpoint
cannot be had, as the end of a sentence. Ignores what loads it. A checkpoint is data: code that it brings, or
names (``auto_map``, a module's ``type``, an attention kernel), is never run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from rars.errors import RarsError, Unavailable

NO_CODE = "it needs code of its own, which is not run"
ATTENTION = frozenset((None, "eager", "sdpa"))
"""Ways to compute attention that the libraries bring; every other name is code to be fetched."""

UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, ImportError, RecursionError)
"""What the libraries raise for a checkpoint that is none, is damaged, or asks for what is not there."""

_OWN_MODULES = "sentence_transformers."


def located(name: str) -> str:
    """A folder or hub name as given; ``package:NAME`` is the ``model`` folder of an installed package.

    The package may be named as it is imported, or as it is installed, with hyphens.
    """
    kind, _, package = name.partition(":")
    if kind != "package":
        return name
    package = package.replace("-", "_")
    paths = _installed()
    found = PathFinder.find_spec(package, paths) if package.isidentifier() else None
    if found is not None and not any(package in _top_level(one) for one in _known(paths)):
        found = None
    if found is None or not found.submodule_search_locations:
        raise Unavailable(f"The package {package!r}, which should hold a model, is not installed.")
    return str(Path(next(iter(found.submodule_search_locations))) / "model")


def quiet(place: str) -> None:
    """No bar for the moment that a model takes which lies here; one that is fetched keeps the library's."""
    if Path(place).is_dir():
        from transformers.utils import logging

        logging.disable_progress_bar()


def refuse_code(name: str, place: str) -> None:
    """Refuse a folder of sentence-transformers that names modules of its own, before any is imported."""
    path = Path(place) / "modules.json"
    if not path.is_file():
        return
    try:
        modules = json.loads(path.read_text(encoding="utf-8"))
        kinds = [str(one["type"]) for one in modules]
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise RarsError(f"{path} does not list the modules of a model.") from error
    for kind in kinds:
        if not kind.startswith(_OWN_MODULES):
            raise RarsError(f"The checkpoint {name!r} cannot be loaded: {NO_CODE} ({kind}).")


def refuse_kernel(name: str, config: Any) -> None:
    """Refuse a configuration whose attention is computed by fetched code."""
    wanted = getattr(config, "_attn_implementation", None)
    if not (wanted is None or isinstance(wanted, str)) or wanted not in ATTENTION:
        raise RarsError(
            f"The checkpoint {name!r} cannot be loaded: {NO_CODE} (attention {wanted!r})."
        )


def reason(error: BaseException) -> str:
    """Why a library could not load a checkpoint, as the end of a sentence."""
    text = str(error).strip()
    if "trust_remote_code" in text:
        return NO_CODE
    return text.splitlines()[0] if text else type(error).__name__


def _installed() -> list[str]:
    """Where packages are installed: never the current folder, which may be anybody's."""
    here = _resolved(".")
    return [entry for entry in sys.path if entry and _resolved(entry) != here]


def _resolved(entry: str) -> Path | None:
    try:
        return Path(entry).resolve()
    except (OSError, RuntimeError):
        return None


def _known(paths: list[str]) -> Iterator[metadata.Distribution]:
    yield from metadata.distributions(path=paths)


def _top_level(distribution: metadata.Distribution) -> set[str]:
    listed = set((distribution.read_text("top_level.txt") or "").split())
    return listed | {file.parts[0] for file in distribution.files or () if len(file.parts) > 1}
