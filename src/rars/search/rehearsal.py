"""What an index reads of a catalogue, read once before the long work.

Owns: everything of index construction that can fail on the data alone: words and attribute keys of the
texts (of a very large catalogue, of blocks at even distances), the shown fields, category paths, locales.
Nothing is kept; a problem is one sentence before the first step of training and not after the last.
Ignores the model and the identifiers, which do not exist yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from rars.data import Dataset
from rars.data.categories import path_codes
from rars.data.schema import ITEMS
from rars.errors import RarsError
from rars.progress import Advance
from rars.search.evidence.building import read_through
from rars.search.evidence.extractor import Extractor
from rars.search.evidence.index import default_extractors
from rars.search.store import ITEM_FILE, SHOWN, ItemStore, Locales
from rars.tree.categories import CategoryTree


def rehearse(
    dataset: Dataset,
    *,
    levels: int = 3,
    extractors: tuple[Extractor, ...] | None = None,
    advance: Advance | None = None,
) -> None:
    """Read a catalogue as an index does; what would fail there is a ``RarsError`` now.

    ``levels`` of the category paths are those a model routes by.
    """
    for _, rows in dataset.item_blocks(ITEMS.names, size=1):
        for field in ITEMS:
            with _column(dataset, f"column {field.name}"):
                pa.nulls(0, rows.schema.field(field.name).type).cast(field.type)
        break
    with _column(dataset, "the shown columns"):
        store = ItemStore(dataset.items(SHOWN).combine_chunks(), dataset.item_store)
        store.rows_of(store.ids.slice(0, 1).to_pylist())
    with _column(dataset, "column category"):
        store.paths()
        own = path_codes(store.table["category"], levels)
        if own is not None:
            CategoryTree.of_codes(*own)
    if dataset.folder is not None:
        with _column(dataset, "column locale"):
            Locales.read(dataset.folder / ITEM_FILE)
    chosen = default_extractors() if extractors is None else extractors
    with _column(dataset, "its texts"):
        read_through(dataset, chosen, advance)


@contextmanager
def _column(dataset: Dataset, what: str) -> Iterator[None]:
    """Whatever a column of the wrong type or content does, as one sentence."""
    try:
        yield
    except (
        pa.ArrowException,
        TypeError,
        ValueError,
        KeyError,
        AttributeError,
        IndexError,
    ) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise RarsError(f"{dataset.where} cannot be indexed: {what}: {why}.") from error
