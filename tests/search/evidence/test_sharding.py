"""An evidence index made of shards has the bytes of one made at once, and a kill costs the shard in hand."""

from __future__ import annotations

import warnings

import pytest

from rars.errors import RarsWarning
from rars.scale.local import Local
from rars.search.evidence import EvidenceIndex, Quantities, sharding
from rars.search.evidence.index import default_extractors
from tests.search.evidence.conftest import random_tree


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def write(dataset, folder, rows, **more):
    tree = random_tree(dataset.n_items)
    chosen = more.pop("extractors", default_extractors())
    items = dataset.folder / "items.parquet"
    work = folder.with_name("work")
    sharding.write_evidence(folder, items, tree, chosen, work=work, rows=rows, **more)


@pytest.mark.parametrize("rows", [40, 150, 10_000])
def test_any_cut_gives_the_same_bytes(shop, tmp_path, rows, monkeypatch):
    dataset, index = shop
    index.save(tmp_path / "whole")
    monkeypatch.setattr(
        sharding, "MERGED", 50
    )  # many ranges of terms, some of a single frequent term
    write(dataset, tmp_path / "shards", rows)
    assert contents(tmp_path / "shards") == contents(tmp_path / "whole")


def test_other_processes_give_the_same_bytes(shop, tmp_path):
    dataset, index = shop
    index.save(tmp_path / "whole")
    write(dataset, tmp_path / "shards", 60, engine=Local(2))
    assert contents(tmp_path / "shards") == contents(tmp_path / "whole")


def test_a_catalogue_without_attributes_has_postings_of_none(shop, tmp_path):
    dataset, _ = shop
    index = EvidenceIndex.build(dataset, random_tree(dataset.n_items), extractors=())
    index.save(tmp_path / "whole")
    write(dataset, tmp_path / "shards", 100, extractors=())
    assert contents(tmp_path / "shards") == contents(tmp_path / "whole")


def test_what_was_read_before_a_kill_is_not_read_again(shop, tmp_path, monkeypatch):
    dataset, index = shop
    index.save(tmp_path / "whole")
    read, plain = [], sharding.read_items

    def interrupted(store, extractors, wanted, *rest, **more):
        if len(read) == 2:
            read.append(None)
            raise KeyboardInterrupt
        read.append(int(wanted[0]))
        return plain(store, extractors, wanted, *rest, **more)

    monkeypatch.setattr(sharding, "read_items", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(dataset, tmp_path / "shards", 60)
    assert not (tmp_path / "shards").exists()
    write(dataset, tmp_path / "shards", 60)
    assert read[:2] == [0, 60]
    assert read[3:] == list(range(120, dataset.n_items, 60))
    assert contents(tmp_path / "shards") == contents(tmp_path / "whole")


class Picky(Quantities):
    """Cannot read some blocks."""

    def items(self, rows):
        if any("a" in title for title in rows["title"].to_pylist()):
            raise ValueError("an a")
        return super().items(rows)


def test_what_cannot_be_read_is_told_once_and_as_if_read_at_once(shop, tmp_path):
    dataset, _ = shop
    told = []
    for build in (
        lambda: EvidenceIndex.build(dataset, random_tree(dataset.n_items), extractors=(Picky(),)),
        lambda: write(dataset, tmp_path / "shards", 60, extractors=(Picky(),)),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RarsWarning)
            build()
        told.append([str(one.message) for one in caught])
    assert told[0] == told[1]
