"""The parts of the test queries by how relevance divides: against the definition, by brute force."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

from rars import disk
from rars.experiments import experiment, order
from rars.experiments.studies import claim
from rars.identifiers import Identifiers
from rars.tree import PrefixTree
from tests.evaluation.worlds import make_dataset
from tests.experiments.test_order import RATE, stand_in

CODES = [(n // 8, n // 4 % 2, n // 2 % 2, n % 2) for n in range(16)]


@pytest.fixture
def dataset(tmp_path):
    random = np.random.default_rng(5)
    items, queries = [f"i{n}" for n in range(16)], [f"q{n}" for n in range(23)]
    judged = [("q0", "i3", 2.0), ("q1", "i4", 3.0)]
    for query in queries[2:]:
        chosen = random.choice(16, size=int(random.integers(2, 7)), replace=False)
        judged += [(query, f"i{n}", float(random.integers(1, 4))) for n in chosen]
    return make_dataset(tmp_path / "data", items, queries, judged)


def entropy(dataset, query: int) -> float:
    """-sum p log p of relevance over identifiers: what the refinement entropies of all depths add up to."""
    asked, item, rho = dataset.positives("test")
    share: dict[tuple[int, ...], float] = {}
    for q, d, r in zip(asked, item, rho, strict=True):
        if q == query:
            share[CODES[d]] = share.get(CODES[d], 0.0) + r
    total = sum(share.values())
    return -sum(r / total * math.log(r / total) for r in share.values())


def test_quarters_are_equally_large_and_ordered_by_the_entropy_of_relevance(dataset):
    parts = claim.on_tree(dataset, PrefixTree.build(CODES))
    asked, item, _ = dataset.positives("test")
    single = [q for q in np.unique(asked) if len(item[asked == q]) == 1]
    assert parts[claim.ONE].tolist() == single == [0, 1]
    quarters = [parts[name] for name in claim.QUARTERS]
    assert [len(one) for one in quarters] == [6, 5, 5, 5]
    assert sorted(np.concatenate([parts[claim.ONE], *quarters])) == np.unique(asked).tolist()
    values = [[entropy(dataset, q) for q in one] for one in quarters]
    for lower, upper in itertools.pairwise(values):
        assert max(lower) <= min(upper) + 1e-12
    assert values[0][0] < values[-1][-1]


def test_the_experiment_tells_queries_apart_by_the_tree_of_its_identifiers(
    tmp_path, dataset, monkeypatch
):
    trained = stand_in(dataset)

    def run_all(tasks, jobs, watch=None, engine="local"):
        for one in (one for one in tasks if one.kind == "identify"):
            disk.write_json(one.folder / "manifest.json", {"steps": {"identifiers": {}}})
        return trained(tasks, jobs)

    class Codes:
        codes = CODES

    monkeypatch.setattr(order, "run_all", run_all)
    monkeypatch.setattr(Identifiers, "load", lambda folder: Codes)
    outcome = experiment("claim", dataset, out=tmp_path / "work", seeds=2, changes=RATE)
    known = json.loads((outcome.folder / "results.json").read_text())
    assert known["queries"]["all"] == 23
    assert known["queries"][claim.ONE] == 2
    named = {one["contrast"] for one in known["differences"]}
    assert {f"RARS − Base, AR only, {part}" for part in claim.PARTS[1:]} < named
    assert (outcome.folder / "figure.png").exists()
    families = {one["family"] for one in known["differences"]}
    assert families == {"ar", "all", "parts, ar", "parts, all"}
