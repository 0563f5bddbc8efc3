"""Judgments: on disk before they are acknowledged, and taken by an import afterwards."""

from __future__ import annotations

import asyncio
import errno
import json
import os

import pytest

from rars.data import Dataset
from rars.errors import RarsError
from rars.pipeline import datasets
from rars.serving.judgments import FILE, JudgmentLog
from rars.serving.schemas import Judgment
from tests.serving.running import awaited


def judgment(query="mug", item="P1", label="E", **more):
    return Judgment(query=query, item_id=item, label=label, **more)


def kept(log, *given):
    """Append each by itself, all at once."""

    async def all_of_them():
        return await asyncio.gather(*(log.append([one]) for one in given), return_exceptions=True)

    return awaited(all_of_them())


def test_what_is_acknowledged_is_in_the_file_and_there_after_a_restart(tmp_path):
    log = JudgmentLog(tmp_path)
    counts = kept(log, *(judgment(item=f"P{n}", user="a") for n in range(50)))
    assert max(counts) == 50
    lines = (tmp_path / FILE).read_text().splitlines()
    assert [json.loads(one)["item_id"] for one in lines] == [f"P{n}" for n in range(50)]
    log.close()
    again = JudgmentLog(tmp_path)
    assert (again.total, len(list(again.standing()))) == (50, 50)
    again.close()


def test_a_line_cut_off_anywhere_by_a_kill_loses_nothing_that_was_acknowledged(tmp_path):
    log = JudgmentLog(tmp_path)
    kept(log, judgment(item="P1"), judgment(item="P2", note="größer"))
    log.close()
    whole = (tmp_path / FILE).read_bytes()
    first = whole.index(b"\n") + 1
    for cut in range(first, len(whole)):
        (tmp_path / FILE).write_bytes(whole[:cut])
        again = JudgmentLog(tmp_path)
        assert [one.item_id for one in again.standing()] == ["P1"]
        kept(again, judgment(item="P3"))
        again.close()
        assert (tmp_path / FILE).read_bytes().startswith(whole[:first])
        once_more = JudgmentLog(tmp_path)
        assert [one.item_id for one in once_more.standing()] == ["P1", "P3"]
        once_more.close()


def test_a_full_disk_is_said_and_leaves_the_file_whole(tmp_path, monkeypatch):
    log = JudgmentLog(tmp_path)
    kept(log, judgment(item="P1"))
    write = os.write

    def half(file, data):
        write(file, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", half)
    [failed] = kept(log, judgment(item="P2"))
    assert isinstance(failed, OSError)
    monkeypatch.setattr(os, "write", write)
    kept(log, judgment(item="P3"))
    log.close()
    again = JudgmentLog(tmp_path)
    assert [one.item_id for one in again.standing()] == ["P1", "P3"]
    again.close()


def test_a_damaged_file_and_one_in_use_are_refused(tmp_path):
    log = JudgmentLog(tmp_path)
    with pytest.raises(RarsError, match="in use by another server"):
        JudgmentLog(tmp_path)
    log.close()
    (tmp_path / FILE).write_text('{"query": 3}\n')
    with pytest.raises(RarsError, match="line 1"):
        JudgmentLog(tmp_path)


def test_the_last_word_counts_and_may_be_taken_back(tmp_path):
    log = JudgmentLog(tmp_path)
    kept(log, judgment(user="a", label="I"))
    kept(log, judgment(user="a", label="S"), judgment(query=" mug ", user="b", label="C"))
    assert [(one.user, one.grade) for one in log.standing()] == [("a", 2.0), ("b", 1.0)]
    kept(log, judgment(user="b", label=None))
    assert [one.user for one in log.standing()] == ["a"]
    log.close()


def test_judgments_over_http_are_imported_as_a_dataset(client, trained, retriever, tmp_path):
    shop = Dataset.load(trained.parent / "shop")
    known, item = shop.query_texts[0].as_py(), shop.item_ids[3].as_py()
    given = [
        {"query": known, "item_id": item, "label": "E", "user": "a"},
        {"query": known, "item_id": item, "label": "I", "user": "b"},
        {"query": known, "item_id": item, "label": "S", "user": "c"},
        {"query": 'something, "new"', "item_id": item, "grade": 1.0, "user": "a"},
    ]
    sent = client.post("/v1/judgments", json={"judgments": given})
    assert (sent.status_code, sent.json()["accepted"]) == (201, 4)
    listed = client.get("/v1/judgments", params={"query": known, "user": "c"}).json()
    assert [one["label"] for one in listed["judgments"]] == ["S"]
    for kind in ("csv", "jsonl"):
        files = {}
        for table in ("judgments", "queries"):
            files[table] = tmp_path / f"{table}.{kind}"
            asked = {"format": kind, "table": table}
            files[table].write_bytes(client.get("/v1/judgments", params=asked).content)
        items = tmp_path / "items.jsonl"
        items.write_text(json.dumps({"id": item, "title": "A mug"}) + "\n")
        tables = datasets.Tables(items, files["queries"], files["judgments"])
        datasets.import_(tmp_path / kind, tables, name=None, licence="unknown")
        made = Dataset.load(tmp_path / kind)
        found = dict(zip(made.query_texts.to_pylist(), made.judgments.grade.tolist(), strict=True))
        assert found == {known: 2.0, 'something, "new"': 1.0}
        assert shop.query_ids[0].as_py() in made.query_ids.to_pylist()


def test_a_label_and_a_grade_together_are_refused(client):
    both = {"query": "mug", "item_id": "P1", "label": "E", "grade": 1.0}
    assert client.post("/v1/judgments", json={"judgments": [both]}).status_code == 400
    assert client.post("/v1/judgments", json={"judgments": []}).status_code == 422
