"""The whole way by commands alone: tables, identifiers, model, search, evaluation, a changed catalogue."""

from __future__ import annotations

import json

import pytest

from tests import command

SETTINGS = (
    "--set=model.vocabulary=400",
    "--set=identifiers.sizes=[16, 16, 16]",
    "--set=training.epochs=2",
    "--set=training.pairs=128",
)


def rars(*words):
    done = command.rars(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_from_tables_to_a_verified_evaluation(tmp_path):
    shop, run = tmp_path / "shop", tmp_path / "run"
    rars("data", "shop", shop, "--size", "tiny")
    rars("data", "check", shop)
    trained = rars("train", "practical", "--data", shop, "--out", run, *SETTINGS)
    assert trained["losses"]["grouped"] > 0

    measured = rars("evaluate", run, "--rule", "ar,all,hybrid")["evaluations"]
    recall = {one["rule"]: one["measures"]["Recall@100"] for one in measured}
    assert set(recall) == {"ar", "all", "hybrid"}
    for one in recall.values():
        assert 0 <= one["low"] <= one["mean"] <= one["high"] <= 1
    # 300 items, 100 results: chance finds a third; lexical and dense evidence must do better.
    assert recall["hybrid"]["mean"] > 0.5

    verified = rars("verify", run)["verified"]
    for one in measured:
        outside = verified[f"test-{one['rule']}"]
        assert outside["nDCG@10"] == pytest.approx(one["measures"]["nDCG@10"]["mean"], abs=1e-6)

    compared = rars("compare", run, "bm25", "--rule", "hybrid", "--reference", "bm25")
    assert {one["measure"] for one in compared["differences"]} == {"Recall@100", "nDCG@10"}


def test_a_new_item_is_found_by_its_own_words_without_training(tmp_path):
    shop, run = tmp_path / "shop", tmp_path / "run"
    rars("data", "shop", shop, "--size", "tiny")
    rars("train", "practical", "--data", shop, "--out", run, *SETTINGS)
    new = tmp_path / "new.csv"
    new.write_text("id,title\nN1,Zorblax Quantum Teapot 3 l\n", encoding="utf-8")
    rars("catalog", "add", run, new)
    found = rars("search", run, "zorblax teapot", "--rule", "hybrid", "-k", "3")
    assert "N1" in json.dumps(found)
    rars("catalog", "rollback", run)
    found = rars("search", run, "zorblax teapot", "--rule", "hybrid", "-k", "3")
    assert "N1" not in json.dumps(found)
