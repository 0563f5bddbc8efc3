"""``rars serve`` and ``rars keys``: systems behind HTTP, and who may ask."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from rars.cli import console
from rars.serving.settings import Settings, option, variable

keys = typer.Typer(
    name="keys",
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Make and remove the keys of a server; only digests of them are kept.",
)


def _with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option, and an environment variable, for every setting of a server."""
    hints = get_type_hints(Settings)
    made = []
    for one in fields(Settings):
        kind: Any = list[str] if one.name == "cors" else hints[one.name]
        name = option(one.name)
        names = f"{name}/--no-{name[2:]}" if kind is bool else name
        told = typer.Option(names, envvar=variable(one.name), help=one.metadata["help"])
        default = [] if one.name == "cors" else one.default
        made.append(
            inspect.Parameter(
                one.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=Annotated[kind, told],
            )
        )
    own = [
        one
        for one in inspect.signature(command, eval_str=True).parameters.values()
        if one.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    every = [*own, *made]
    command.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in every}
    return command


@_with_settings
def serve(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN",
            envvar=variable("runs"),
            help="Run folders, NAME=FOLDER to name them, or bm25, dense, fusion.",
        ),
    ],
    **given: Any,
) -> None:
    """Serve trained runs: a search API, and a page for the browser.

    Example: rars serve runs/demo bm25 --port 8080
    """
    settings = Settings(**{**given, "cors": tuple(given["cors"])})
    from rars.serving.server import serve as start

    console.say(f"Opening {', '.join(runs)}.")
    start(runs, settings, ready=opened, tell=console.tell)


def opened(address: str) -> None:
    """Say where the server is."""
    console.say(
        f"Open {address} in a browser; the API is described at {address}/docs. Ctrl-C ends it."
    )


class Role(StrEnum):
    """What a key allows."""

    search = "search"
    admin = "admin"


KeyFile = Annotated[Path, typer.Argument(metavar="FILE", help="The file of keys.")]
KeyName = Annotated[str, typer.Argument(metavar="NAME", help="Whose key it is.")]


@keys.command()
def add(
    file: KeyFile,
    name: KeyName,
    role: Annotated[
        Role, typer.Option(help="search, or admin: change the catalogue too.")
    ] = Role.search,
    as_json: console.Json = False,
) -> None:
    """Make a key; it is shown once.

    Example: rars keys add keys.json shop-front --role search
    """
    from rars.serving.keys import Keys

    known = Keys.read(file) if file.exists() else Keys()
    made, key = known.added(name, role.value)
    made.save(file)
    payload = {"name": name, "role": role.value, "key": key}
    console.emit(payload, as_json, lambda: console.show(key))
    console.say(f"Keep it: {file} holds only its digest.")


@keys.command("list")
def listed(file: KeyFile, as_json: console.Json = False) -> None:
    """Show names and roles.

    Example: rars keys list keys.json
    """
    from rars.serving.keys import Keys

    found = Keys.read(file).known
    payload = {"keys": [{"name": one.name, "role": one.role} for one in found]}
    rows = [(one.name, one.role) for one in found]
    console.emit(payload, as_json, lambda: console.table(("name", "role"), rows))


@keys.command()
def remove(file: KeyFile, name: KeyName, as_json: console.Json = False) -> None:
    """Remove a key; servers forget it when they are started again.

    Example: rars keys remove keys.json shop-front
    """
    from rars.serving.keys import Keys

    Keys.read(file).without(name).save(file)
    console.emit({"removed": name}, as_json, lambda: console.show(f"{name} was removed."))
