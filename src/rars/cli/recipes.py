"""``rars recipes``: every system there is, one line each, and what one of them says."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from rars.cli import console

app = typer.Typer(
    name="recipes",
    invoke_without_command=True,
    rich_markup_mode="rich",
    help="List the recipes; show one resolved, and what it changes against the one it extends."
    "\n\nExample: rars recipes",
)


@app.callback()
def list_(context: typer.Context, as_json: console.Json = False) -> None:
    """List all recipes with one line each."""
    if context.invoked_subcommand is not None:
        return
    from rars import pipeline

    found = pipeline.recipes()

    def show() -> None:
        rows = ((one.name, one.about, one.parent or "") for one in found)
        columns = ("recipe", "what it is", "extends")
        console.table(columns, rows, bold=("recipe",), whole=("recipe", "extends"))
        console.show("Next: rars recipes show NAME   rars train NAME --data DIR --out RUN")

    console.emit({"recipes": [asdict(one) for one in found]}, as_json, show)


@app.command("show")
def show_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Recipe name or .toml file.")],
    size: Annotated[str | None, typer.Option(help="tiny, small or paper.")] = None,
    protocol: console.Protocol = None,
    as_json: console.Json = False,
) -> None:
    """Print a resolved recipe, and what it changes against the one it extends.

    Example: rars recipes show rars --size tiny
    """
    from rars import pipeline

    recipe, parent, changed = pipeline.recipe_difference(name, size=size, protocol=protocol)
    payload: dict[str, Any] = {
        "recipe": recipe.model_dump(mode="json", exclude_none=True),
        "extends": parent,
        "changes": [{"setting": k, "before": a, "after": b} for k, a, b in changed],
    }

    def show() -> None:
        console.show(*recipe.to_toml().split("\n"))
        rows = (
            (key, *("" if one is None else str(one) for one in (before, after)))
            for key, before, after in changed
        )
        columns = ("setting", parent or "default", name)
        console.table(columns, rows, title=f"{name} against {parent or 'the defaults'}")

    console.emit(payload, as_json, show)
