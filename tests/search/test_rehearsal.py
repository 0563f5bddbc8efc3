"""What an index cannot read of a catalogue is said before training, not after it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rars import Recipe, train
from rars.data import Dataset
from rars.data.schema import ITEMS
from rars.data.store import Columns
from rars.errors import RarsError, RarsWarning
from rars.identifiers import Identifiers
from rars.search.evidence import Quantities, building
from rars.search.evidence.quantities import Quantities as Shipped
from rars.search.rehearsal import rehearse
from rars.training import loop

ITEMS_OF = [{"id": f"i{n}", "title": f"Mug {n} ml", "category": "Home > Mugs"} for n in range(30)]
ASKED = [{"id": "q", "text": "mug"}]


def catalogue(**columns):
    """A dataset whose item columns are not what an import would have made of them."""
    sound = Dataset.of(ITEMS_OF, ASKED)
    table = sound.items()
    for name, values in columns.items():
        at = table.column_names.index(name)
        table = table.set_column(at, name, pa.array(values * 30))
    return replace(sound, stored_items=Columns(table, ITEMS))


def test_a_sound_catalogue_is_read_to_its_end():
    seen = []
    rehearse(Dataset.of(ITEMS_OF, ASKED), advance=lambda done, total: seen.append((done, total)))
    assert seen == [(30, 30)]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"category": [5]}, "cannot be indexed: column category"),
        ({"category": [["Home", None, "Mugs"]]}, "cannot be indexed: column category"),
        ({"attributes": ["{}"]}, "cannot be indexed: column attributes"),
        ({"title": [["x"]]}, "cannot be indexed: column title"),
        ({"brand": [{"a": 1}]}, "cannot be indexed: column brand"),
        ({"text": [b"\xff"]}, "cannot be indexed: its texts"),
    ],
)
def test_a_column_that_no_index_can_read_is_one_sentence(columns, words):
    with pytest.raises(RarsError, match=words) as caught:
        rehearse(catalogue(**columns), extractors=(Quantities(),))
    assert "\n" not in str(caught.value)


def test_a_locale_column_is_read(tmp_path):
    saved = Dataset.of([{**row, "locale": "en"} for row in ITEMS_OF], ASKED).save(tmp_path / "shop")
    assert pq.read_schema(tmp_path / "shop" / "items.parquet").field("locale").type == pa.string()
    rehearse(saved)


@pytest.fixture
def never_learned(monkeypatch):
    """No identifiers are learned and no step is trained."""

    def refused(*_, **__):
        raise AssertionError("long work had begun")

    monkeypatch.setattr(loop, "train", refused)
    monkeypatch.setattr(Identifiers, "save", refused)


def test_training_rehearses_before_the_long_work(tmp_path, monkeypatch, never_learned):
    def broken(self, rows):
        raise RarsError("The texts cannot be read.")

    monkeypatch.setattr(Shipped, "items", broken)
    dataset = Dataset.of(ITEMS_OF, ASKED)
    with pytest.raises(RarsError, match="The texts cannot be read"):
        train(dataset, Recipe.resolve("rars", size="tiny"), tmp_path / "run")


def test_a_text_that_an_extractor_cannot_read_is_said_and_costs_nothing_else(monkeypatch):
    items = Shipped.items

    def picky(self, rows):
        if "Mug 7 ml" in rows["title"].to_pylist():
            raise KeyError("+fl.-oz")
        return items(self, rows)

    monkeypatch.setattr(Shipped, "items", picky)
    with pytest.warns(
        RarsWarning, match=r"1 item was not read .* \(row 8: KeyError: '\+fl\.-oz'\)"
    ):
        rehearse(Dataset.of(ITEMS_OF, ASKED))


def test_of_a_large_catalogue_whole_blocks_at_even_distances_are_read():
    block = building.BLOCK
    rows = building._spread(95 * block + 7, 10 * block)
    assert rows[0] == 0
    assert rows[-1] == 95 * block + 6
    chosen, size = np.unique(rows // block, return_counts=True)
    assert len(chosen) == 10
    assert (size[:-1] == block).all()
    assert np.diff(chosen).max() <= 11
    assert building._spread(30, 10 * block).tolist() == list(range(30))
