"""Many changes at once: every row is told what became of it, and the good ones are one new version."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rars.errors import RarsError
from rars.pipeline.catalogue import apply, log
from rars.runs import Run
from rars.search.changes import Unreadable, read_lines
from rars.search.index import IndexVersion, current
from rars.search.retriever import Retriever

GOOD = {"id": "N1", "title": "Zyxquor lamp", "color": "black", "attributes": {"lid": "yes"}}


def statuses(done):
    return [one.status for one in done.rows]


def test_rows_are_added_replaced_and_removed_in_one_version(run):
    old = Retriever.load(run)
    done = apply(
        run,
        [GOOD, {"id": "P0000003", "title": "Zyxquor mug"}, {"id": "P0000004", "delete": True}],
    )
    assert statuses(done) == ["added", "updated", "removed"]
    assert (done.version, done.items) == ("v000002", 300)
    assert (done.added, done.updated, done.removed, done.refused) == (1, 1, 1, 0)
    new = old.at()
    ids = new.catalogue.ids.to_pylist()
    assert "P0000004" not in ids
    assert {hit.item_id for hit in new.search("zyxquor", 2, rule="hybrid")} == {"N1", "P0000003"}
    [hit] = new.search("lamp", filter="lid = yes AND id = N1")
    assert hit.color == "black"
    assert new.catalogue.columns.marks("id = P0000003 AND brand IS NULL").sum() == 1
    assert log(run)["log"][-1]["action"] == "apply"
    assert len(old.catalogue.ids) == 300, "the old version is as it was"


BAD = [
    ({"id": "N2"}, "title"),
    ({"id": "N2", "title": " "}, "title: empty text"),
    ({"title": "Mug"}, "empty id"),
    ({"id": "", "title": "Mug"}, "empty id"),
    ({"id": None, "delete": True}, "empty id"),
    ({"id": ["a"], "title": "Mug"}, "id is not text"),
    ({"id": "nowhere", "delete": True}, "there is no item 'nowhere' to remove"),
    ({"id": "N2", "title": "Mug", "delete": "yes"}, "delete must be true or false"),
    ({"id": "N1", "title": "Twice"}, r"duplicate id 'N1' \(first in row 1\)"),
    ({"id": "N2", "title": "Mug", "attributes": 5}, "attributes"),
    ({"id": "\ud800", "title": "Mug"}, "not UTF-8"),
    ({"id": "N2", "title": "a\ud800"}, "not UTF-8"),
    (Unreadable("not JSON: nonsense"), "not JSON: nonsense"),
    ("text", "expected an object, not str"),
    ({"id": "N2", "title": "Mug", "x": object()}, "x: a value of type object"),
]


@pytest.mark.parametrize(("bad", "words"), BAD)
def test_a_bad_row_is_refused_and_the_others_are_applied(run, bad, words):
    done = apply(run, [GOOD, bad, {"id": "P0000004", "delete": True}])
    assert statuses(done) == ["added", "refused", "removed"]
    assert re.search(words, done.rows[1].problem), done.rows[1].problem
    assert done.version == "v000002"


def test_a_row_that_cannot_be_an_item_and_one_that_cannot_be_removed_leave_the_good_ones(run):
    done = apply(run, [GOOD, {"id": "N2"}, {"id": "nowhere", "delete": True}])
    assert statuses(done) == ["added", "refused", "refused"]


@pytest.mark.parametrize("bad", [bad for bad, _ in BAD[:4]])
def test_all_or_nothing_changes_nothing_if_one_row_is_bad(run, bad):
    before = log(run)
    done = apply(run, [GOOD, bad], whole=True)
    assert statuses(done) == ["not applied", "refused"]
    assert (done.version, done.items) == (None, 300)
    assert log(run) == before
    assert apply(run, [GOOD], whole=True).version == "v000002"


def test_rows_of_different_types_do_not_spoil_one_another(run):
    rows = [
        {"id": f"N{n}", "title": "Mug", "brand": brand, "category": category, "new column": n}
        for n, (brand, category) in enumerate(
            [("Acme", ["Home", "Mugs"]), (5, "Home > Mugs"), (None, None), (["a", "b"], [])]
        )
    ]
    done = apply(run, rows)
    assert done.added + done.refused == 4
    columns = Retriever.load(run).catalogue.columns
    assert columns.marks("id = N0 AND brand = Acme AND category = 'Home > Mugs'").sum() == 1
    assert columns.marks("id = N1 AND brand = 5 AND category = 'Home > Mugs'").sum() == 1


def test_nothing_to_do_makes_no_version(run):
    assert apply(run, []).version is None
    done = apply(run, [{"id": "x"}])
    assert (done.version, statuses(done)) == (None, ["refused"])
    ids = IndexVersion.load(Run.open(run)).items.ids.to_pylist()
    with pytest.raises(RarsError, match="remove every item"):
        apply(run, [{"id": one, "delete": True} for one in ids])
    assert current(Run.open(run)) == "v000001"


def test_lines_are_rows(tmp_path, run):
    lines = [
        json.dumps(GOOD).encode(),
        b"",
        b"{",
        b"[1]",
        b"null",
        b"\xff",
        b"[" * 100_000,
        json.dumps({"id": "P0000004", "delete": True}).encode(),
    ]
    rows = read_lines(lines)
    assert len(rows) == 7
    assert sum(isinstance(row, Unreadable) for row in rows) == 5
    path = tmp_path / "changes.jsonl"
    path.write_bytes(b"\n".join(lines))
    done = apply(run, path)
    assert statuses(done) == ["added", *["refused"] * 5, "removed"]
    assert done.rows[-1].row == 7
    with pytest.raises(RarsError, match="does not exist"):
        apply(run, tmp_path / "nothing.jsonl")


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(),
    st.sampled_from(["", "Mug", "P0000001", "P0000002", "N1", "N2", "\x00", "\ud800"]),
    st.lists(st.sampled_from(["a", "b"]), max_size=2),
    st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["x", "y"]), max_size=2),
)
objects = st.dictionaries(
    st.sampled_from(["id", "title", "delete", "brand", "category", "attributes", "price"]), values
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(objects, min_size=1, max_size=5))
def test_any_rows_end_in_a_status_each_and_the_catalogue_they_say(run, rows):
    """Whatever is sent: no traceback, and the ids afterwards are those that the statuses tell."""
    before = set(IndexVersion.load(Run.open(run)).items.ids.to_pylist())
    done = apply(run, rows)
    assert [one.row for one in done.rows] == list(range(1, len(rows) + 1))
    expected = set(before)
    for one in done.rows:
        assert (one.problem is None) == (one.status != "refused")
        if one.status == "added":
            assert one.id not in before
            expected.add(one.id)
        elif one.status == "removed":
            expected.remove(one.id)
        elif one.status == "updated":
            assert one.id in before
    after = IndexVersion.load(Run.open(run))
    assert set(after.items.ids.to_pylist()) == expected
    assert len(after.items) == done.items
    assert np.asarray(after.codes).shape[0] == done.items
    json.dumps(done.as_dict())
