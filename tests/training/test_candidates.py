"""Lists of candidates: all relevant items and the asked number of others, scored exactly, kept on disk."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rars.config import ObjectiveSettings
from rars.objectives.common import ListRequest
from rars.training.candidates import (
    SOURCES,
    Mined,
    MiningInputs,
    lists_of,
    packed_lists,
    with_relevant,
)
from rars.training.loop import TrainingModel
from rars.training.packing import pack, pack_lists
from rars.tree import Relevance
from tests.model.small import Example, retriever


def mine_of(example, judged=None, **rest):
    return MiningInputs(
        texts=[f"query {n}" for n in range(len(example.tokens))],
        relevance=example.relevance,
        refused=judged or (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)),
        n_items=len(example.codes),
        **({"rankers": {}} | rest),
    )


@given(seed=st.integers(0, 50), count=st.integers(1, 6))
def test_a_list_holds_all_relevant_items_and_the_first_others(seed, count):
    rng = np.random.default_rng(seed)
    pairs = sorted({(int(q), int(i)) for q, i in rng.integers(0, (4, 12), (9, 2))})
    relevance = Relevance.of(*np.array(pairs).T, np.ones(len(pairs)))
    rows = {q: n for n, q in enumerate(relevance.queries.tolist())}
    n = len(rows)
    listed = [rng.permutation(12)[:8] for _ in range(n)]
    mined = Mined(np.repeat(np.arange(n), 8), np.concatenate(listed), np.tile(np.arange(8), n))
    found = with_relevant(relevance, mined, count)
    for query, row in rows.items():
        own = [i for q, i in pairs if q == query]
        others = [i for i in listed[row].tolist() if i not in own][:count]
        at = found.query == row
        assert sorted(found.item[at].tolist()) == sorted(own + others)
        for item, rank in zip(found.item[at].tolist(), found.rank[at].tolist(), strict=True):
            places = np.flatnonzero(listed[row] == item)
            assert rank == (places[0] if len(places) else -1)


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("normaliser", ["depth", "children"])
def test_scores_are_those_of_decoding_each_candidate_alone(ragged, normaliser, float64):
    example = Example(ragged=ragged)
    model = retriever(example.vocabulary.slots, "t5", example.categories, dropout_rate=0.0)
    data = example.data(with_siblings=True)
    rng = np.random.default_rng(1)
    query = np.repeat(np.arange(7), 5)
    mined = Mined(query, rng.integers(0, 60, len(query)), np.tile(np.arange(5), 7))
    lists = packed_lists(data, example.relevance, with_relevant(example.relevance, mined, 3))
    chosen = np.array([4, 0, 6])
    batch, packed = pack(data, chosen), pack_lists(lists, chosen)
    trained = TrainingModel(model, ObjectiveSettings().terms, normaliser=normaliser)
    scores, _ = trained._scores(model(batch), packed, None)
    for at in range(len(packed.item)):
        # As the only positive of its query, the same item is packed by the tested way of positives.
        one = Relevance.of([0], [int(packed.item[at])], [1.0])
        asked = int(chosen[packed.query[at]])
        single = Example(ragged=ragged)
        single.relevance, single.tokens = one, [example.tokens[asked]]
        small = pack(single.data(with_siblings=True), np.array([0]))
        found = model(small)
        for depth, step in enumerate(small.refinements):
            if not len(step.slot):
                assert scores[at, depth] == 0
                continue
            logits = found.logits[depth]
            if normaliser == "children":
                hidden = torch.ones_like(logits, dtype=torch.bool)
                hidden[step.legal_parent, step.legal] = False
                logits = logits.masked_fill(hidden, float("-inf"))
            expected = torch.log_softmax(logits, -1)[0, step.slot[0]]
            torch.testing.assert_close(scores[at, depth], expected)


def test_masses_and_queries_of_a_batch_are_those_of_its_queries():
    example = Example()
    mined = Mined(np.arange(7), np.zeros(7, dtype=np.int64), np.zeros(7, dtype=np.int64))
    lists = packed_lists(
        example.data(), example.relevance, with_relevant(example.relevance, mined, 1)
    )
    packed = pack_lists(lists, np.array([5, 2]))
    for row, query in enumerate((5, 2)):
        at = packed.query == row
        mass = dict(zip(packed.item[at].tolist(), packed.mass[at].tolist(), strict=True))
        own = example.relevance.row == query
        for item, value in zip(
            example.relevance.item[own].tolist(), example.relevance.mass[own].tolist(), strict=True
        ):
            assert mass.pop(item) == pytest.approx(value)
        assert not any(mass.values())


def test_every_source_gives_items_of_its_kind(tmp_path):
    example = Example()
    refused = (np.array([0, 0, 3]), np.array([7, 8, 9]))
    ranked = [np.array([5, 4, 3, 2, 1])] * 7
    rankers = {"bm25": lambda texts, k: ranked, "beam": lambda texts, k: ranked}
    mine = mine_of(example, refused, rankers=rankers)
    data = example.data()
    for name, source in SOURCES.items():
        lists = lists_of(data, mine, ListRequest(source=name, count=2), 0, tmp_path / name)
        others = lists.mass == 0
        listed = set(lists.item[others].tolist())
        if name == "judged":
            assert listed <= {7, 8, 9}
        elif name == "random":
            counts = np.bincount(np.repeat(np.arange(7), np.diff(lists.start))[others])
            assert (counts == 2).all()
        else:
            assert listed <= {1, 2, 3, 4, 5}
        assert source.follows == (name == "beam")


def test_lists_of_an_epoch_are_kept_and_those_of_another_made_anew(tmp_path):
    example = Example()
    calls = []

    def ranker(texts, k):
        calls.append(len(texts))
        return [np.arange(6)] * len(texts)

    mine = mine_of(example, rankers={"beam": ranker})
    asked = ListRequest(source="beam", count=2)
    first = lists_of(example.data(), mine, asked, 3, tmp_path / "lists")
    again = lists_of(example.data(), mine, asked, 3, tmp_path / "lists")
    assert len(calls) == 1
    assert first.item.tolist() == again.item.tolist()
    lists_of(example.data(), mine, asked, 4, tmp_path / "lists")
    assert len(calls) == 2
    lists_of(example.data(), mine, asked, 4, tmp_path / "lists", owner="another recipe")
    assert len(calls) == 3
