"""The commands. One module per step; each parses and prints, and leaves the work to the package.

Owns: the list of commands and the end of every run: a user's mistake is one sentence and exit code 2.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from rars import __version__
from rars.cli import (
    analyze,
    catalog,
    console,
    data,
    demo,
    evaluate,
    experiment,
    identify,
    recipes,
    search,
    train,
)
from rars.errors import RarsError, Stopped

# Typer brings its own copy of Click; this is its "the command line is wrong" in any version.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="rars",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Search by generating item identifiers down a tree, trained to know how relevance divides.",
)

app.add_typer(data.app)
app.add_typer(catalog.app)
app.add_typer(recipes.app)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"rars {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


app.command()(demo.demo)
app.command()(identify.identify)
app.command()(identify.inspect)
app.command()(train.train)
app.command()(train.plot)
app.command()(search.search)
app.command()(search.index)
app.command()(evaluate.evaluate)
app.command()(evaluate.compare)
app.command()(evaluate.verify)
app.command()(analyze.analyze)
app.command()(experiment.experiment)


def main() -> None:
    """Run the command line; the console script ``rars`` calls this."""
    console.show_warnings()
    try:
        code = app(standalone_mode=False)
    except UsageError as error:
        message = getattr(error, "format_message", error.__str__)()
        if message:  # none where the help was asked for by giving no command
            console.err.print(f"rars: {message}", style="red", markup=False, soft_wrap=True)
        code = 2
    except RarsError as error:
        console.err.print(f"rars: {error}", style="red", markup=False, soft_wrap=True)
        code = 2
    except Stopped as stop:
        console.err.print(f"rars: {stop}", markup=False, soft_wrap=True)
        code = 130
    except (KeyboardInterrupt, typer.Abort):
        console.err.print("rars: stopped; nothing half-written was left behind.")
        code = 130
    except BrokenPipeError:
        code = 141
    sys.exit(code if isinstance(code, int) else 0)
