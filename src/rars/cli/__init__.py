"""The commands. One module per step; each parses and prints, and leaves the work to the package.

Owns: the list of commands. How they speak is ``rars.cli.console``'s, how a run ends ``rars.cli.ending``'s.
"""

from __future__ import annotations

from typing import Annotated

import typer

from rars.cli import (
    analyze,
    catalog,
    console,
    data,
    demo,
    ending,
    evaluate,
    experiment,
    identify,
    recipes,
    report,
    search,
    serve,
    train,
    tune,
)

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
app.add_typer(serve.keys)


def _version(wanted: bool) -> None:
    if wanted:
        from rars import __version__  # reads the metadata of the package, which takes its time

        console.show(f"rars {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


app.command()(demo.demo)
app.command()(tune.tune)
app.command()(identify.identify)
app.command()(identify.inspect)
app.command()(train.train)
app.command()(train.plot)
app.command()(search.search)
app.command()(search.index)
app.command()(serve.serve)
app.command()(evaluate.evaluate)
app.command()(evaluate.compare)
app.command()(evaluate.verify)
app.command()(analyze.analyze)
app.command()(report.report)
app.command()(experiment.experiment)


def main() -> None:
    """Run the command line; the console script ``rars`` calls this."""
    ending.exit_with(app)
