"""The item store is mapped, not read; what is wrong inside is found when a version is checked."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars import artifacts
from rars.errors import RarsError
from rars.search.evidence.letters import Letters, files
from rars.search.store import ItemStore, save_changed, save_first

SCHEMA = pa.schema([("id", pa.string()), ("title", pa.string())])
GOOD = pa.array(["red mug", "blue mug", "jug"])


def store(offsets=None, texts=None):
    kept, said = GOOD.buffers()[1:]
    titles = pa.StringArray.from_buffers(
        3, offsets or kept, said if texts is None else pa.py_buffer(texts)
    )
    return ItemStore(pa.table({"id": ["a", "b", "c"], "title": titles}))


def test_a_sound_store_passes():
    store().check()


def test_a_text_that_is_no_utf_8_is_named():
    texts = GOOD.buffers()[2].to_pybytes().replace(b"blue", b"bl\x83e")
    with pytest.raises(ValueError, match=r"shown\.arrow: .*UTF8"):
        store(texts=texts).check()


@pytest.mark.parametrize("offsets", [(0, 7, 2_000_000_000, 18), (0, -7, 15, 18), (0, 15, 7, 18)])
def test_offsets_that_lead_outside_are_named_and_not_followed(offsets):
    """A row behind such an offset would be read from anywhere in memory."""
    buffer = pa.array(offsets, pa.int32()).buffers()[1]
    with pytest.raises(ValueError, match=r"shown\.arrow: "):
        store(offsets=buffer).check()


def test_showing_items_does_not_import_pandas(tmp_path):
    """It takes a quarter of a second, and a search needs none of it."""
    table = pa.table({"id": ["a", "b"]})
    with pa.ipc.new_file(tmp_path / "shown.arrow", table.schema) as file:
        file.write_table(table)
    code = (
        "import sys, numpy as np, pyarrow as pa; from rars.search.store import ItemStore; "
        "store = ItemStore(pa.ipc.open_file(pa.memory_map(sys.argv[1])).read_all()); "
        "sys.exit(store.take(np.array([1])) != [{'id': 'b'}] or 'pandas' in sys.modules)"
    )
    line = [sys.executable, "-c", code, str(tmp_path / "shown.arrow")]
    assert subprocess.run(line, check=False).returncode == 0


# -- segments -------------------------------------------------------------------------------------

ROW = st.fixed_dictionaries({"title": st.sampled_from(["mug", "jug", "照明", ""])})


@settings(max_examples=25, deadline=None)
@given(
    first=st.lists(ROW, min_size=1, max_size=6),
    steps=st.lists(st.tuples(st.integers(0, 2**20), st.lists(ROW, max_size=4)), max_size=5),
)
def test_any_changes_leave_what_a_plain_list_has(first, steps, tmp_path_factory):
    """Whatever goes and comes, in however many files the items are."""
    home = tmp_path_factory.mktemp("store")
    plain = [{"id": f"a{n}", **row} for n, row in enumerate(first)]
    pq.write_table(pa.Table.from_pylist(plain, schema=SCHEMA), home / "items.parquet")
    with artifacts.writing(home / "v0", kind="catalogue") as draft:
        save_first(draft, home / "items.parquet")
    for step, (bits, rows) in enumerate(steps):
        old = artifacts.opening(home / f"v{step}", kind="catalogue")
        keep = np.array([not bits >> n & 1 for n in range(len(plain))])
        new = [{"id": f"{step}-{n}", **row} for n, row in enumerate(rows)]
        if not keep.any() and not new:
            keep[0] = True
        with artifacts.writing(home / f"v{step + 1}", kind="catalogue") as draft:
            table = pa.Table.from_pylist(new, schema=SCHEMA)
            given_keep = None if keep.all() else keep
            store = ItemStore.load(old)
            save_changed(draft, f"-{step + 1:06d}", store, old.folder, given_keep, table)
        plain = [row for row, stays in zip(plain, keep, strict=True) if stays] + new
        artifact = artifacts.opening(home / f"v{step + 1}", kind="catalogue")
        found = ItemStore.load(artifact)
        found.check()
        assert found.source.read(["id", "title"]).to_pylist() == plain
        assert found.ids.to_pylist() == [row["id"] for row in plain]
        order = np.random.default_rng(step).permutation(len(plain))
        shown = [(row["id"], row["title"]) for row in found.take(order)]
        assert shown == [(plain[n]["id"], plain[n]["title"]) for n in order]
        assert len(found) == len(found.columns) == len(found.paths()) == len(plain)


@pytest.fixture
def versions(tmp_path):
    """A catalogue of six, and the same without its second item and with another one."""
    rows = [{"id": f"a{n}", "title": "mug"} for n in range(6)]
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), tmp_path / "items.parquet")
    with artifacts.writing(tmp_path / "v1", kind="catalogue") as draft:
        save_first(draft, tmp_path / "items.parquet")
    change(tmp_path, 1, np.arange(6) != 1, [{"id": "b", "title": "jug"}])
    return tmp_path


def change(home, number, keep, rows):
    old = artifacts.opening(home / f"v{number}", kind="catalogue")
    with artifacts.writing(home / f"v{number + 1}", kind="catalogue") as draft:
        new = pa.Table.from_pylist(rows, schema=SCHEMA)
        save_changed(draft, f"-{number + 1:06d}", ItemStore.load(old), old.folder, keep, new)


def test_files_of_items_that_stay_are_shared(versions):
    names = {path.name for path in (versions / "v2").iterdir()}
    own = {"items-000002.parquet", "shown-000002.arrow", "item-rows.npy", "manifest.json"}
    shared = {"items.parquet", "shown.arrow", *files("")}
    assert names == own | {*files("-000002")} | shared
    for name in shared:
        assert (versions / "v2" / name).samefile(versions / "v1" / name)


def test_letters_of_titles_follow_a_change(versions):
    kept = ItemStore.load(artifacts.opening(versions / "v2", kind="catalogue"))
    titles = kept.table["title"].take(kept.rows).to_pylist()
    anew = Letters.of([titles])
    for query in ("lamp", "red mug", "b"):
        np.testing.assert_array_equal(kept.letters.likeness(query), anew.likeness(query))


def test_an_index_of_before_letters_were_kept_goes_without(versions):
    for path in (versions / "v1").glob("letter*"):
        path.unlink()
    artifact = artifacts.Artifact(versions / "v1", {"items-in": [""]}, "")
    assert ItemStore.load(artifact).letters is None


def test_files_of_which_little_is_left_are_written_anew(versions):
    change(versions, 2, np.array([True, False, False, False, False, True]), [])
    assert {path.name for path in (versions / "v3").iterdir()} == {
        *("items-000003.parquet", "shown-000003.arrow", "manifest.json"),
        *files("-000003"),
    }
    kept = ItemStore.load(artifacts.opening(versions / "v3", kind="catalogue"))
    assert kept.ids.to_pylist() == ["a0", "b"]


def test_files_that_have_become_many_are_written_anew(versions):
    for number in range(2, 20):
        change(versions, number, None, [{"id": f"c{number}", "title": "lamp"}])
        store = ItemStore.load(artifacts.opening(versions / f"v{number + 1}", kind="catalogue"))
        assert len(store.ends) <= 16
    assert len(store) == 6 + 18


@pytest.mark.parametrize("ends", [[], ["/etc/x"], ["-1"], ["../v1"], [3]])
def test_files_that_are_not_its_own_are_not_opened(versions, ends):
    artifact = artifacts.opening(versions / "v2", kind="catalogue")
    artifact = replace(artifact, meta={**artifact.meta, "items-in": ends})
    with pytest.raises((ValueError, TypeError)):
        ItemStore.load(artifact)


@pytest.mark.parametrize("rows", [[0, 2, 3, 4, 5, 7], [0, 0, 2, 3, 4, 5], [-1, 1, 2, 3, 4, 5]])
def test_rows_that_there_are_not_are_refused(versions, rows):
    store = ItemStore.load(artifacts.opening(versions / "v2", kind="catalogue"))
    with pytest.raises(ValueError, match="its items are not rows of what it shows"):
        replace(store, rows=np.array(rows, dtype=np.int32)).check()


def test_what_is_shown_and_what_is_kept_are_as_many(versions):
    """Also where some rows are no items any more."""
    store = ItemStore.load(artifacts.opening(versions / "v2", kind="catalogue"))
    with pytest.raises(ValueError, match="it shows 6 items and keeps 7"):
        replace(store, table=store.table.slice(0, 6)).check()


def test_a_tampered_list_of_rows_is_one_sentence(versions):
    """NumPy reads a header as Python, which raises what it likes."""
    artifact = artifacts.opening(versions / "v2", kind="catalogue")
    path = versions / "v2" / "item-rows.npy"
    path.write_bytes(path.read_bytes().replace(b"'descr'", b"(((((( "))
    with pytest.raises(RarsError, match="item-rows.npy is not a readable NumPy file"):
        ItemStore.load(artifact)
