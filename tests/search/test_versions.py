"""Two versions are compared as a plain look at both would, and old ones go by a stated policy."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from rars import checked, disk
from rars.errors import RarsError
from rars.pipeline.catalogue import apply, difference, kept, log, prune, rollback
from rars.runs import Run
from rars.search.index import IndexVersion, check_versions, home
from rars.search.retriever import Retriever


@pytest.fixture
def changed(run):
    """Three versions: the first; with three items other; with one more gone."""
    apply(
        run,
        [
            {"id": "N1", "title": "Zyxquor lamp"},
            {"id": "P0000003", "title": "Zyxquor power bank 10 Ah", "color": "white"},
            {"id": "P0000004", "delete": True},
        ],
    )
    apply(run, [{"id": "P0000005", "delete": True}])
    return run


def rows_of(run, version):
    index = IndexVersion.load(Run.open(run), version)
    table = index.items.source.read()
    return {
        row["id"]: (row, code)
        for row, code in zip(table.to_pylist(), index.codes.tolist(), strict=True)
    }


@pytest.mark.parametrize(
    ("old", "new"), [("v000001", "v000003"), ("v000003", "v000001"), ("v000002", "v000002")]
)
def test_a_difference_is_what_a_plain_look_at_both_finds(changed, old, new):
    found = difference(changed, old, new, limit=1000)
    before, after = rows_of(changed, old), rows_of(changed, new)
    assert {one.item_id for one in found.added} == after.keys() - before.keys()
    assert {one.item_id for one in found.removed} == before.keys() - after.keys()
    both = before.keys() & after.keys()
    edited = {one: before[one][0] != after[one][0] for one in both}
    assert {one.item_id for one in found.changed} == {one for one in both if edited[one]}
    for one in found.changed:
        pair = before[one.item_id][0], after[one.item_id][0]
        assert set(one.columns) == {name for name in pair[0] if pair[0][name] != pair[1][name]}
    moved = {one for one in both if before[one][1] != after[one][1]}
    assert {one.item_id for one in found.moved} == moved
    for one in found.moved:
        codes = before[one.item_id][1], after[one.item_id][1]
        assert one.depth == 1 + next(
            n for n, (a, b) in enumerate(zip(*codes, strict=True)) if a != b
        )
        assert one.old != one.new
    counts = (found.n_added, found.n_removed, found.n_changed, found.n_moved)
    listed = (found.added, found.removed, found.changed, found.moved)
    assert counts == tuple(map(len, listed))
    assert found.items == (len(before), len(after))
    json.dumps(found.as_dict())


def test_every_kind_of_column_is_compared(run):
    item = {"id": "N1", "title": "Lamp", "attributes": {"a": "1"}, "category": ["Home", "Lamps"]}
    apply(run, [item])
    for change, columns in [
        ({"category": "Home > Lamps"}, ()),
        ({"attributes": {"a": "2"}}, ("attributes",)),
        ({"attributes": {"b": "2"}}, ("attributes",)),
        ({"attributes": None, "category": ["Home"]}, ("category", "attributes")),
        ({"brand": "Acme", "title": "Mug", "attributes": None}, ("title", "brand", "category")),
    ]:
        apply(run, [item | change])
        found = difference(run)
        assert [one.columns for one in found.changed] == ([columns] if columns else []), change


def test_rankings_of_queries_are_compared_with_the_largest_change_first(changed):
    retriever = Retriever.load(changed)
    texts = ["zyxquor", "black bottle", "power bank", "running shoes"]
    found = difference(changed, "v000001", "v000003", queries=texts, k=7, retriever=retriever)
    assert (found.asked, found.k) == (4, 7)
    systems = [retriever.at(one) for one in ("v000001", "v000003")]
    expected = {}
    for text in texts:
        old, new = ([hit.item_id for hit in system.search(text, 7)] for system in systems)
        if old != new:
            expected[text] = (old, new)
    assert {one.query for one in found.rankings} == set(expected)
    assert "zyxquor" in expected
    for one in found.rankings:
        old, new = expected[one.query]
        assert one.overlap == pytest.approx(len({*old} & {*new}) / 7)
        assert (one.entered, one.left) == (len({*new} - {*old}), len({*old} - {*new}))
        for shift in one.shifts:
            assert shift.old == (old.index(shift.item_id) + 1 if shift.item_id in old else None)
            assert shift.new == (new.index(shift.item_id) + 1 if shift.item_id in new else None)
            assert shift.old != shift.new
    overlaps = [one.overlap for one in found.rankings]
    assert overlaps == sorted(overlaps)


def test_without_names_the_current_version_is_compared_with_the_one_before(changed):
    found = difference(changed)
    assert (found.old, found.new) == ("v000002", "v000003")
    assert [one.item_id for one in found.removed] == ["P0000005"]
    with pytest.raises(RarsError, match="There is no version 'v9'; there is v000001"):
        difference(changed, "v9", "v000001")
    with pytest.raises(RarsError, match="is the first version"):
        difference(changed, None, "v000001")


# -- pruning ---------------------------------------------------------------------------------------


def folders(run):
    return sorted(path.name for path in home(Run.open(run)).iterdir() if path.is_dir())


def test_pruning_keeps_what_is_searched_and_what_was_searched_most_lately(changed):
    rollback(changed, "v000001")
    rollback(changed, "v000003")
    assert kept(changed) == ["v000003", "v000001", "v000002"]
    done = prune(changed, keep=1)
    assert (done.kept, done.removed, done.held) == (("v000003", "v000001"), ("v000002",), ())
    assert folders(changed) == ["v000001", "v000003"]
    assert log(changed)["log"][-1]["pruned"] == ["v000002"]
    assert log(changed)["current"] == "v000003"
    assert len(Retriever.load(changed).search("mug", 5)) == 5
    check_versions(Run.open(changed))
    with pytest.raises(RarsError, match="The version 'v000002' was pruned; there is v000001, v000"):
        rollback(changed, "v000002")
    with pytest.raises(RarsError, match="'v000002' was pruned"):
        rollback(changed)
    assert prune(changed, keep=1).removed == ()
    assert apply(changed, [{"id": "N9", "title": "Mug"}]).version == "v000004", (
        "no name is used twice"
    )
    assert prune(changed, keep=0).kept == ("v000004",)
    assert len(Retriever.load(changed).search("zyxquor", 5)) == 5


def test_a_version_that_a_process_has_open_stays_until_it_lets_go(changed):
    reading = (
        "import sys; from rars.search.retriever import Retriever; "
        "found = Retriever.load(sys.argv[1], version='v000001'); "
        "print('open', flush=True); sys.stdin.readline(); "
        "print(len(found.search('lamp', 3, filter='color = black')), flush=True)"
    )
    reader = subprocess.Popen(
        [sys.executable, "-c", reading, str(changed)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert reader.stdout.readline() == "open\n"
        done = prune(changed, keep=0)
        assert (done.removed, done.held) == (("v000002",), ("v000001",))
        assert kept(changed) == ["v000003"], "no longer offered"
        said, _ = reader.communicate("\n", timeout=60)
        assert said == "3\n", "columns that are read late are still there"
    finally:
        reader.kill()
        reader.wait()
    assert prune(changed, keep=0).removed == ("v000001",)
    assert folders(changed) == ["v000003"]


def test_files_that_versions_share_are_read_once(run, tmp_path, monkeypatch):
    """A large catalogue is read when it is first opened, not after every change of it."""
    monkeypatch.setenv("RARS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(checked, "LARGE", 0)
    monkeypatch.setattr(checked, "_SETTLED", 0.0)
    read, digest = [], disk.digest_file
    monkeypatch.setattr(disk, "digest_file", lambda path: read.append(path) or digest(path))

    def opened(version=None):
        read.clear()
        IndexVersion.load(Run.open(run), version)
        return list(read)

    everything = opened()
    apply(run, [{"id": "N1", "title": "Zyxquor lamp"}])
    shared = [one for one in everything if one.stat().st_nlink > 1]
    assert shared
    again = opened()
    assert again
    assert all(one.stat().st_nlink == 1 for one in again)
    assert not opened()
    assert not set(opened("v000001")) & set(shared)
    prune(run, keep=0)
    assert shared[0].name in [one.name for one in (home(Run.open(run)) / "v000002").iterdir()]
    assert not opened()


def test_what_a_kill_left_of_pruned_versions_goes_with_the_next_pruning(changed, monkeypatch):
    from rars import replacing

    with monkeypatch.context() as patch:
        patch.setattr(replacing, "remove", lambda folder: False)
        prune(changed, keep=0)
    assert folders(changed) == ["v000001", "v000002", "v000003"]
    assert set(prune(changed, keep=0).removed) == {"v000001", "v000002"}
    assert folders(changed) == ["v000003"]


def test_a_log_that_names_other_folders_deletes_nothing(changed):
    path = home(Run.open(changed)) / "current.json"
    sound = json.loads(path.read_text())
    before = folders(changed)
    for pruned in (["../model"], ["v000001", "."], "v000001", [1]):
        sound["log"][-1]["pruned"] = pruned
        path.write_text(json.dumps(sound))
        with pytest.raises(RarsError, match="does not say what happened so far"):
            prune(changed, keep=0)
    sound["log"][-1]["pruned"] = ["v000003"]  # the one that is searched
    path.write_text(json.dumps(sound))
    assert prune(changed, keep=5).kept == ("v000003", "v000002", "v000001")
    assert folders(changed) == before
    assert (changed / "model").exists()


@pytest.mark.parametrize("keep", [-1, 1.5, True, "all"])
def test_a_policy_that_is_no_number_is_one_sentence(run, keep):
    with pytest.raises(RarsError, match="keep must be a whole number of 0 or more"):
        prune(run, keep=keep)


def test_a_retriever_takes_another_version_without_reading_weights(changed):
    first = Retriever.load(changed, version="v000001")
    second = first.with_index(IndexVersion.load(Run.open(changed), "v000003"))
    assert second.ready is first.ready
    assert second.reader is first.reader
    ids = [{hit.item_id for hit in one.search("zyxquor lamp", 3)} for one in (first, second)]
    assert "N1" not in ids[0]
    assert "N1" in ids[1]
