"""The index is whole, fits its model, and follows a catalogue that changes; nothing half-done is searched."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rars.data import Dataset
from rars.errors import RarsError
from rars.pipeline.catalogue import apply
from rars.runs import Run
from rars.search import catalog
from rars.search.evidence import growth
from rars.search.index import (
    IndexVersion,
    build_index,
    current,
    home,
    is_current,
    pointer,
)
from rars.search.retriever import Retriever
from rars.search.rules import HybridSettings
from rars.search.tuning import choose_hybrid
from tests.search.trained import make_run

TEXTS = ["black bottle 0.75 l", "running shoes", "gift for my sister"]
NEW = [
    {"id": "N1", "title": "Zyxquor turquoise theremin with 440 strings", "brand": "Zyxquor"},
    {"id": "N2", "title": "Zyxquor wooden theremin", "text": "A quiet one.", "category": ["Music"]},
]


def results(folder):
    """All that a person sees of some searches."""
    retriever = Retriever.load(folder)
    return [
        [(hit.item_id, round(hit.score, 5)) for hit in retriever.search(text, 30, rule=rule)]
        for text in TEXTS
        for rule in ("ar", "all", "hybrid")
    ]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def files(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# -- building and loading ------------------------------------------------------------------------


def test_training_leaves_an_index_that_holds_the_catalogue(trained):
    run = Run.open(trained)
    index = IndexVersion.load(run)
    dataset = run.dataset()
    assert index.name == "v000001"
    assert index.items.ids.equals(dataset.item_ids)
    assert index.items.table["title"].to_pylist() == dataset.items(["title"])["title"].to_pylist()
    assert index.tree.identifiers(np.arange(dataset.n_items)).tolist() == index.codes.tolist()
    assert index.vectors.rows.tolist() == list(range(dataset.n_items))
    assert isinstance(index.codes, np.memmap)
    assert "index" in run.manifest()["steps"]


def test_a_run_without_an_index_says_how_to_make_it(run):
    shutil.rmtree(run / "index")
    with pytest.raises(RarsError, match="has no index; make it with: rars index"):
        Retriever.load(run)
    assert not is_current(Run.open(run))
    assert build_index(Run.open(run)) == "v000001"
    assert Retriever.load(run).search("mug")


def test_building_again_changes_nothing_that_is_found(run):
    before = results(run)
    assert build_index(Run.open(run)) == "v000002"
    assert results(run) == before


def test_an_index_of_another_model_is_refused_in_one_sentence(trained, run):
    other = make_run(trained.parent, "other", "training.seed=5", "training.epochs=1")
    shutil.rmtree(run / "model")
    shutil.copytree(other / "model", run / "model")
    with pytest.raises(RarsError, match="made for another model than the run has now") as error:
        Retriever.load(run)
    assert "\n" not in str(error.value)
    assert not is_current(Run.open(run))


@pytest.mark.parametrize("damage", ["flip", "truncate", "delete"])
@pytest.mark.parametrize(
    "name",
    [
        "codes.npy",
        "shown.arrow",
        "items.parquet",
        "tree/order.npy",
        "evidence/words-positions.npy",
        "categories.json",
        "vectors-000001.npy",
    ],
)
def test_a_damaged_file_is_named(run, name, damage):
    path = run / "index" / "v000001" / name
    content = path.read_bytes()
    if damage == "delete":
        path.unlink()
    else:
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        path.write_bytes(flipped if damage == "flip" else content[:middle])
    with pytest.raises(RarsError) as error:
        Retriever.load(run)
    assert name in str(error.value)


def test_versions_of_a_large_catalogue_share_postings_and_answer_as_if_they_did_not(
    run, tmp_path, monkeypatch
):
    """Additions and removals in turn, an old version gone: every answer is that of postings in one piece."""
    whole = tmp_path / "whole"
    shutil.copytree(run, whole)
    texts = ["black mug", "zyxquor theremin", "10 Ah power bank"]
    for shared, folder in ((10**9, whole), (0, run)):
        monkeypatch.setattr(growth, "SHARED", shared)
        catalog.add_items(Run.open(folder), write(tmp_path / "new.jsonl", NEW))
        apply(folder, [{"id": "P0000004", "delete": True}, {"id": "N3", "title": "Black mug 3"}])
    evidence = run / "index" / "v000003" / "evidence"
    first = run / "index" / "v000001" / "evidence"
    name = "words-positions.npy"
    assert (evidence / name).stat().st_ino == (first / name).stat().st_ino
    assert not (whole / "index" / "v000003" / "evidence" / "moves.npy").exists()
    catalog.prune(Run.open(run), keep=0)
    assert not first.exists()
    for rule in ("all", "hybrid"):
        one, other = (
            Retriever.load(folder).rank_many(texts, 50, rule=rule) for folder in (run, whole)
        )
        for (rows, scores), (same_rows, same_scores) in zip(one, other, strict=True):
            assert rows.tolist() == same_rows.tolist()
            np.testing.assert_allclose(scores, same_scores, rtol=1e-12)
    (evidence / "moves.npy").unlink()
    with pytest.raises(RarsError, match=r"moves\.npy is missing"):
        Retriever.load(run)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"current": 3}'])
def test_a_broken_pointer_is_named(run, text):
    (run / "index" / "current.json").write_text(text)
    with pytest.raises(RarsError, match="current.json"):
        Retriever.load(run)


# -- catalogue changes ---------------------------------------------------------------------------


def test_a_new_item_is_found_by_its_own_words_at_once(run, tmp_path):
    changed = catalog.add_items(Run.open(run), write(tmp_path / "new.jsonl", NEW))
    assert (changed.version, changed.added) == ("v000002", 2)
    hits = Retriever.load(run).search("zyxquor theremin", 2, rule="hybrid")
    assert {hit.item_id for hit in hits} == {"N1", "N2"}
    assert {hit.brand for hit in hits} == {"Zyxquor", None}
    # Also by the paper's rules, whatever categories the model would choose: it knows none for them.
    found = Retriever.load(run).search("zyxquor", 500, rule="all", allow=["N1", "N2"])
    assert {hit.item_id for hit in found} == {"N1", "N2"}


def test_added_items_equal_items_that_were_there_from_the_start(run, tmp_path):
    # Evidence, vectors and tree of the changed version are those of one made in one go.
    catalog.add_items(Run.open(run), write(tmp_path / "new.jsonl", NEW))
    index = IndexVersion.load(Run.open(run))
    items = index.items.source.read()
    assert items["id"].to_pylist()[-2:] == ["N1", "N2"]
    assert index.items.ids.equals(items["id"].combine_chunks())
    from rars.search.evidence import EvidenceIndex
    from rars.search.index import as_dataset

    fresh = EvidenceIndex.build(as_dataset(index.items.source, index.items.ids), index.tree)
    for text in (*TEXTS, "zyxquor theremin"):
        np.testing.assert_allclose(fresh.bm25(text).dense(), index.evidence.bm25(text).dense())
    retriever = Retriever.load(run)
    own = retriever.reader.vectors(["Zyxquor turquoise theremin with 440 strings Zyxquor"])
    scores = index.vectors.scores(own)[0]
    assert scores.argmax() == len(items) - 2
    assert scores.max() == pytest.approx(1.0, abs=1e-4)


def test_adding_then_removing_gives_the_results_of_before(run, tmp_path):
    before = results(run)
    catalog.add_items(Run.open(run), write(tmp_path / "new.jsonl", NEW))
    assert len(Retriever.load(run)) == len(Retriever.load(run, version="v000001")) + 2
    catalog.remove_items(Run.open(run), write(tmp_path / "gone.jsonl", NEW))
    assert results(run) == before


def test_a_removed_item_never_appears(run, tmp_path):
    before = Retriever.load(run)
    gone = [hit.item_id for hit in before.search(TEXTS[0], 5)]
    catalog.remove_items(Run.open(run), write(tmp_path / "gone.jsonl", [{"id": i} for i in gone]))
    after = Retriever.load(run)
    every = after.search(TEXTS[0], 10**6, rule="ar", categories="all")
    assert not {hit.item_id for hit in every} & set(gone)
    assert len(every) == len(before) - 5
    # Those that stay keep their own vectors.
    seen = before.reader.vectors(TEXTS)
    stay = before.index.items.rows_of(after.index.items.ids.to_pylist())
    expected = before.index.vectors.scores(seen)[:, stay]
    np.testing.assert_allclose(after.index.vectors.scores(seen), expected, atol=1e-6)


def test_an_updated_item_is_found_by_its_new_words_alone(run, tmp_path):
    target = Retriever.load(run).search(TEXTS[0], 1)[0]
    new = {"id": target.item_id, "title": "Zyxquor theremin", "category": list(target.category)}
    changed = catalog.update_items(Run.open(run), write(tmp_path / "new.jsonl", [new]))
    assert (changed.added, changed.removed) == (1, 1)
    after = Retriever.load(run)
    [hit] = after.search("zyxquor theremin", 1)
    assert (hit.item_id, hit.title) == (target.item_id, "Zyxquor theremin")
    assert len(after) == len(Retriever.load(run, version="v000001"))


def test_most_items_removed_and_vectors_written_anew(run, tmp_path):
    ids = Retriever.load(run).index.items.ids.to_pylist()
    catalog.remove_items(Run.open(run), write(tmp_path / "x.jsonl", [{"id": i} for i in ids[10:]]))
    after = Retriever.load(run)
    assert [len(segment) for segment in after.index.vectors.segments] == [10]
    assert len(after.search(TEXTS[0], 50)) == 10


def test_rollback_searches_the_earlier_version_and_keeps_the_later_one(run, tmp_path):
    before = results(run)
    catalog.add_items(Run.open(run), write(tmp_path / "new.jsonl", NEW))
    after = results(run)
    assert catalog.roll_back(Run.open(run)).version == "v000001"
    assert results(run) == before
    with pytest.raises(RarsError, match="first version"):
        catalog.roll_back(Run.open(run))
    catalog.roll_back(Run.open(run), "v000002")
    assert results(run) == after
    # What follows a rollback gets a name of its own.
    catalog.roll_back(Run.open(run), "v000001")
    catalog.add_items(Run.open(run), write(tmp_path / "new.jsonl", NEW[:1]))
    assert current(Run.open(run)) == "v000003"
    log = [(event["action"], event["version"]) for event in pointer(Run.open(run))["log"]]
    assert log == [
        ("build", "v000001"),
        ("add", "v000002"),
        ("rollback", "v000001"),
        ("rollback", "v000002"),
        ("rollback", "v000001"),
        ("add", "v000003"),
    ]
    with pytest.raises(RarsError, match="no version 'v9'; there is v000001, v000002, v000003"):
        catalog.roll_back(Run.open(run), "v9")


def test_many_items_at_once_get_what_one_after_the_other_get(run, tmp_path):
    titles = ["Zyxquor theremin"] * 3 + ["Black bottle 0.75 l"] * 3
    rows = [{"id": f"N{n}", "title": title} for n, title in enumerate(titles)]
    other = shutil.copytree(run, tmp_path / "other")
    catalog.add_items(Run.open(run), write(tmp_path / "all.jsonl", rows))
    for row in rows:
        catalog.add_items(Run.open(other), write(tmp_path / "one.jsonl", [row]))
    one, many = (IndexVersion.load(Run.open(folder)).codes for folder in (other, run))
    np.testing.assert_array_equal(one, many)
    for ranked, expected in zip(results(other), results(run), strict=True):
        assert dict(ranked) == pytest.approx(dict(expected), abs=1e-3)


MISTAKES = [
    ("add", [NEW[0], NEW[0]], "row 2, column id: duplicate id 'N1'"),
    ("add", [{"id": "{known}", "title": "x"}], "is in the catalogue; use update"),
    ("add", [{"id": "N1"}], "column title: missing column"),
    ("add", [{"id": "N1", "title": " "}], "row 1, column title: empty text"),
    ("add", [{"id": "", "title": "x"}], "row 1, column id: empty id"),
    ("update", [NEW[0]], "there is no item 'N1' to update; use add"),
    ("remove", [{"id": "{known}"}, {"id": "N1"}], "row 2, column id: there is no item 'N1'"),
    ("remove", [{"name": "x"}], "column id: missing column"),
]


@pytest.mark.parametrize(("action", "rows", "sentence"), MISTAKES)
def test_a_bad_file_is_named_by_row_and_column_and_changes_nothing(
    trained, tmp_path, action, rows, sentence
):
    known = Retriever.load(trained).index.items.ids[0].as_py()
    rows = [{k: known if v == "{known}" else v for k, v in row.items()} for row in rows]
    path = write(tmp_path / "rows.jsonl", rows)
    before = files(trained)
    with pytest.raises(RarsError) as error:
        getattr(catalog, f"{action}_items")(Run.open(trained), path)
    assert sentence in str(error.value)
    assert files(trained) == before


def test_other_mistakes_change_nothing(trained, tmp_path):
    ids = Retriever.load(trained).index.items.ids.to_pylist()
    before = files(trained)
    run = Run.open(trained)
    for path, sentence in [
        (tmp_path / "absent.csv", "does not exist"),
        (write(tmp_path / "items.docx", NEW), "of no known type"),
        (write(tmp_path / "empty.jsonl", []), "empty file"),
        (write(tmp_path / "every.jsonl", [{"id": i} for i in ids]), "remove every item"),
    ]:
        with pytest.raises(RarsError, match=sentence):
            catalog.remove_items(run, path)
    table = pa.table({"id": ["N1"], "title": ["x"], "attributes": [3]})
    pq.write_table(table, tmp_path / "odd.parquet")
    with pytest.raises(RarsError, match="attributes are not a JSON object"):
        catalog.add_items(run, tmp_path / "odd.parquet")
    with trained.with_name(f".{trained.name}.lock").open("w") as taken:
        fcntl.flock(taken, fcntl.LOCK_EX)
        with pytest.raises(RarsError, match="is being changed by another process"):
            catalog.remove_items(run, write(tmp_path / "one.jsonl", [{"id": ids[0]}]))
    assert files(trained) == before


def test_another_embedder_is_refused(run, tmp_path, monkeypatch):
    from rars.identifiers import embedders
    from rars.identifiers.use import UniversalSentenceEncoder

    monkeypatch.setattr(UniversalSentenceEncoder, "digest", "another")
    monkeypatch.setattr(embedders, "_opened", {})
    with pytest.raises(RarsError, match="not the one that the identifiers were made with"):
        catalog.add_items(Run.open(run), write(tmp_path / "new.jsonl", NEW))
    assert current(Run.open(run)) == "v000001"


def test_a_kill_while_adding_leaves_the_old_version_or_the_new(run, tmp_path):
    path = write(tmp_path / "new.jsonl", NEW)
    before = results(run)
    code = (
        "import sys; from pathlib import Path; from rars.runs import Run; "
        "from rars.search.catalog import add_items; run = Run.open(sys.argv[1]); "
        "print('ready', flush=True); add_items(run, Path(sys.argv[2]))"
    )
    rng = random.Random(0)
    outcomes = set()
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(run), str(path)],
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        process.stdout.readline()
        # The moment the draft appears, or some time after.
        limit = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < limit:
            if list((run / "index").glob(".v*.partial")):
                time.sleep(rng.uniform(0, 0.1))
                break
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        version = current(Run.open(run))
        outcomes.add(version)
        if version == "v000001":
            assert results(run) == before
        else:
            assert Retriever.load(run).search("zyxquor theremin", 1)[0].item_id in {"N1", "N2"}
            break
    if outcomes == {"v000001"}:  # what the kills left behind is in nobody's way
        assert catalog.add_items(Run.open(run), path).version == "v000002"
        assert not list((run / "index").glob(".v*.partial"))
        assert Retriever.load(run).search("zyxquor theremin", 1)[0].item_id in {"N1", "N2"}


# -- the settings of hybrid ----------------------------------------------------------------------


def test_without_judged_queries_hybrid_is_chosen_on_queries_made_of_items(run):
    retriever = Retriever.load(run)
    dataset = retriever.run.dataset()
    judged = dataset.judgments
    bare = replace(dataset, judgments=judged.where(np.zeros(len(judged), dtype=bool)))
    chosen = choose_hybrid(retriever, bare, most=20)
    assert chosen.bound  # evidence keeps its own order of items
    assert chosen.paper == HybridSettings().paper
    assert Retriever.load(run).hybrid == chosen
    kept = json.loads((run / "index" / "hybrid.json").read_text())
    assert kept["chosen_on"]["split"] == "pseudo-queries"
    assert kept["chosen_on"]["queries"] == 20


def test_settings_of_hybrid_are_chosen_on_validation_queries_and_kept(run, tmp_path):
    retriever, dataset = Retriever.load(run), Dataset.load(Run.open(run).dataset().folder)
    chosen = choose_hybrid(retriever, dataset, most=10)
    assert Retriever.load(run).hybrid == chosen
    catalog.add_items(Run.open(run), write(tmp_path / "new.jsonl", NEW))
    assert Retriever.load(run).hybrid == chosen
    with pytest.raises(RarsError, match="has changed since it was trained"):
        choose_hybrid(Retriever.load(run), dataset)
    (home(Run.open(run)) / "hybrid.json").write_text('{"model": "another"}')
    assert Retriever.load(run).hybrid == retriever.hybrid


# -- versions without reading the model again ----------------------------------------------------


def test_another_version_is_searched_with_the_same_model(run, tmp_path):
    """Opening a version swaps the catalogue alone, and answers as a fresh load does."""
    first = Retriever.load(run)
    catalog.add_items(Run.open(run), write(tmp_path / "new.jsonl", NEW))
    second = first.at("v000002")
    assert second.ready.model is first.ready.model
    assert second.reader is first.reader
    assert (len(first), len(second)) == (300, 302)
    for moved, fresh in [
        (second, Retriever.load(run)),
        (first.at(), Retriever.load(run)),
        (second.at("v000001"), Retriever.load(run, version="v000001")),
    ]:
        assert moved.index.name == fresh.index.name
        for rule in ("ar", "all", "hybrid"):
            assert moved.search_many(TEXTS, 20, rule=rule) == fresh.search_many(
                TEXTS, 20, rule=rule
            )
        assert moved.facts() == fresh.facts()


def test_a_version_of_another_model_is_not_swapped_in(trained, run):
    other = Retriever.load(
        make_run(trained.parent, "other", "training.seed=5", "training.epochs=1")
    )
    with pytest.raises(RarsError, match="made for another model than was loaded"):
        Retriever.load(run).with_index(other.index)
