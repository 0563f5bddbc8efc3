"""``rars data``: make, import and check datasets.

Owns: the options of the data commands and how their results look. Ignores all the work, which is
``rars.data``'s.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rars.cli import console
from rars.errors import RarsError

# What reads tables is imported by the command that needs it, so that `rars --help` answers at once.
if TYPE_CHECKING:
    from rars.data.summary import Summary

app = typer.Typer(
    name="data",
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Make, import and check datasets: items, queries and judgments in one folder.",
)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The dataset folder to write.")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The dataset folder to write.")]
Named = list[str]


def _columns(option: str, what: str) -> Any:
    return typer.Option(
        option,
        metavar="OURS=THEIRS",
        help=f"What the {what} file calls one of our columns; repeat.",
    )


@app.command("import")
def import_(
    folder: Folder,
    items: Annotated[Path, typer.Option(help="Items: id, title and what else there is.")],
    queries: Annotated[Path, typer.Option(help="Queries: id, text; locale and split if known.")],
    judgments: Annotated[Path, typer.Option(help="Judgments: query_id, item_id, label or grade.")],
    item_column: Annotated[Named | None, _columns("--item-column", "items")] = None,
    query_column: Annotated[Named | None, _columns("--query-column", "queries")] = None,
    judgment_column: Annotated[Named | None, _columns("--judgment-column", "judgments")] = None,
    category_separator: Annotated[
        str, typer.Option(help="What stands between the levels of a category path.")
    ] = " > ",
    test_share: Annotated[
        float, typer.Option(help="Share of judged queries to test on, if the file has no split.")
    ] = 0.2,
    name: Annotated[
        str | None, typer.Option(help="Name of the dataset; that of DIR if not given.")
    ] = None,
    licence: Annotated[str, typer.Option(help="Licence of the data.")] = "unknown",
    as_json: console.Json = False,
) -> None:
    """Write a dataset folder from three tables: CSV, TSV, JSON lines or Parquet, each also as .gz.

    Every problem of the three files is reported with file, row and column; then nothing is written.

    Example: rars data import shop --items items.csv --queries q.jsonl --judgments j.tsv.gz
    """
    from rars.pipeline import datasets

    tables = datasets.Tables(
        items=items,
        queries=queries,
        judgments=judgments,
        item_columns=_pairs("--item-column", item_column),
        query_columns=_pairs("--query-column", query_column),
        judgment_columns=_pairs("--judgment-column", judgment_column),
        category_separator=category_separator,
        test_share=test_share,
    )
    with _problems_as_result(as_json):
        checked, merged = datasets.import_(
            folder, tables, name=name, licence=licence, tell=console.tell
        )
    payload = checked.as_json() | {"merged_judgments": merged}

    def show() -> None:
        _show_summary(f"{checked.facts['name']}: written to {folder}", checked.summary)
        if merged:
            console.show(f"{merged} repeated judgments: the highest grade was kept.")

    console.emit(payload, as_json, show)


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A dataset, or plain tables.")],
    as_json: console.Json = False,
) -> None:
    """Check a dataset folder, and count what is in it.

    Digests, columns, ids, references, grades, splits and counts are checked.
    Every problem is reported with file, row and column; nothing is changed.

    A folder of tables (items.*, queries.*, judgments.*) is checked as an import would.

    Example: rars data check shop
    """
    from rars.pipeline import datasets

    with _problems_as_result(as_json):
        checked = datasets.check(folder, tell=console.tell)
    title = f"{checked.facts.get('name')}: sound"
    console.emit(checked.as_json(), as_json, lambda: _show_summary(title, checked.summary))


@app.command("esci")
def esci_(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="Folder of the two ESCI files.")],
    out: Out,
    locale: Annotated[str, typer.Option(help="us, es or jp.")] = "us",
    categories: Annotated[
        Path | None, typer.Option(help="ESCI-S: JSON lines with asin, locale, category.")
    ] = None,
    full_catalogue: Annotated[
        bool, typer.Option("--full-catalogue", help="Keep every judged product.")
    ] = False,
    as_json: console.Json = False,
) -> None:
    """Write the ESCI shopping queries of one locale, by the paper's protocol.

    SRC holds shopping_queries_dataset_examples.parquet and ..._products.parquet.

    The catalogue is the products of training positives that have a category.
    Training and test pairs are restricted to it.
    Without --categories there is no category filter.

    Example: rars data esci esci-data --locale es --categories esci.json.zst --out data/esci-es
    """
    from rars.pipeline import datasets

    if categories is None:
        console.say("No --categories: products are kept whether or not they have a category.")
    with _problems_as_result(as_json):
        counts = datasets.esci(
            source,
            out,
            locale=locale,
            categories=categories,
            full_catalogue=full_catalogue,
            tell=console.tell,
        )
    filtered = categories is not None and not full_catalogue
    payload = {"ok": True, "folder": str(out), "category_filter": filtered, **counts}
    console.emit(payload, as_json, lambda: _show_counts(f"esci-{locale}", out, counts))


@app.command("nq320k")
def nq320k_(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="Folder of Natural Questions.")],
    out: Out,
    train: Annotated[
        Path | None, typer.Option(help="The train file; if not given, *train*.jsonl* in SRC.")
    ] = None,
    dev: Annotated[
        Path | None, typer.Option(help="The dev file; if not given, *dev*.jsonl* in SRC.")
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Write NQ320K: pages of Natural Questions as items, dev questions as test queries.

    Pages are the same if their titles are.
    A dev query is unseen if no training question is about its page: see the column partition.

    Example: rars data nq320k natural-questions --out data/nq320k
    """
    from rars.pipeline import datasets

    with _problems_as_result(as_json):
        counts = datasets.nq320k(source, out, train=train, dev=dev, tell=console.tell)
    payload = {"ok": True, "folder": str(out), **counts}
    console.emit(payload, as_json, lambda: _show_counts("nq320k", out, counts))


@app.command()
def shop(
    folder: Folder,
    size: Annotated[str, typer.Option(help="tiny, small, demo, or a number of items.")] = "demo",
    locale: Annotated[str, typer.Option(help="en, es or ja.")] = "en",
    seed: Annotated[int, typer.Option(help="Another seed makes another shop.")] = 0,
    realism: Annotated[
        float | None,
        typer.Option(
            help="From 0 (tidy) to 1: copies, rare words, untidy titles, gaps, judges who err. "
            "If not given, 0.5, as in real catalogues; tiny is tidy."
        ),
    ] = None,
    complements: Annotated[
        float | None,
        typer.Option(
            help="In this share of queries, complements (a case for a phone) are judged; "
            "if not given, it follows from the realism."
        ),
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Write the bundled shop: a made-up catalogue with queries and graded judgments.

    Example: rars data shop data/shop --size small --seed 1
    """
    from rars.pipeline import datasets

    checked = datasets.shop(
        folder,
        size=size,
        locale=locale,
        seed=seed,
        complements=complements,
        realism=realism,
        tell=console.tell,
    )
    title = f"{checked.facts['name']}: written to {folder}"
    console.emit(checked.as_json(), as_json, lambda: _show_summary(title, checked.summary))


@app.command()
def embed(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A dataset folder.")],
    embedder: Annotated[
        str, typer.Option(help="use, t5:FOLDER, sentence-transformers:FOLDER, latent:FOLDER.")
    ] = "use",
    vectors: Annotated[
        Path | None,
        typer.Option(
            help="Ready vectors of the items by that embedder: .npy or .safetensors, ids beside them."
        ),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Take them without a look at whose they are.")
    ] = False,
    engine: console.Engine = "local",
    workers: console.Workers = None,
    as_json: console.Json = False,
) -> None:
    """Compute the vectors of all items, and of the queries learned from, into the cache.

    Every command finds them there. Killed, the same command goes on with what is missing. Vectors that the
    same model has made elsewhere (on a GPU, say) are taken over with --vectors.

    Example: rars data embed data/shop --engine local --workers 2
    """
    from rars import scale
    from rars.pipeline import datasets

    made = datasets.embed(
        folder,
        embedder,
        vectors=vectors,
        trust=trust,
        engine=scale.choose(engine, workers),
        tell=console.tell,
    )
    said = (
        f"Vectors of {made['items']:,} items and {made['queries']:,} queries, {made['width']} numbers each, "
        f"in {made['seconds']:.1f} s."
    )
    console.emit(made, as_json, lambda: console.show(said))


def _pairs(option: str, given: Named | None) -> dict[str, str]:
    """``["title=product_title"]`` as a mapping."""
    mapping = {}
    for one in given or []:
        ours, equals, theirs = one.partition("=")
        if not (ours and equals and theirs):
            raise RarsError(f"{option} {one!r} is not of the form OURS=THEIRS.")
        if ours in mapping:
            raise RarsError(f"{option} names {ours} twice.")
        mapping[ours] = theirs
    return mapping


@contextmanager
def _problems_as_result(as_json: bool) -> Iterator[None]:
    """With ``--json`` the problems are the result; the sentences on stderr follow either way."""
    from rars.pipeline.datasets import ProblemsFound

    try:
        yield
    except ProblemsFound as found:
        if as_json:
            console.emit(found.as_json(), True, lambda: None)
        raise


def _show_counts(name: str, out: Path, counts: dict[str, int]) -> None:
    rows = ((what.replace("_", " "), f"{count:,}") for what, count in counts.items())
    console.counts(f"{name}: written to {out}", rows)


def _show_summary(title: str, summary: Summary) -> None:
    rows = [
        ("items", f"{summary.items:,}"),
        ("  with category", f"{summary.items_with_category:,}"),
        *(
            (f"    {depth} levels deep", f"{count:,}")
            for depth, count in summary.category_depths.items()
        ),
        ("  without text", f"{summary.items_without_text:,}"),
        ("queries", f"{sum(summary.queries.values()):,}"),
        *((f"  {split}", f"{count:,}") for split, count in summary.queries.items()),
        ("  without a positive", f"{summary.queries_without_positive:,}"),
        ("judgments", f"{summary.judgments:,}"),
        *(
            (f"  grade {grade}", f"{count:,}")
            for grade, count in summary.judgments_by_grade.items()
        ),
        *(
            (f"positives per query, {what}", f"{value:g}")
            for what, value in summary.positives_per_query.items()
        ),
    ]
    console.counts(title, rows)
