"""A walk shows the search's own numbers: they add up to the scores of hits, and mass is conserved."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rars.errors import RarsError
from rars.search.beam import Stage
from rars.search.walk import read_prefix, walk
from rars.search.why_not import why_not
from rars.systems import Query
from tests.search.test_filtered_search import everything

TEXT = "black bottle 0.75 l"


def codes_of(retriever, row):
    return tuple(np.asarray(retriever.index.codes)[row].tolist())


@pytest.mark.parametrize("rule", ["ar", "all", "hybrid"])
def test_the_path_of_a_hit_is_walked_with_its_own_terms(retriever, rule):
    query = Query(TEXT, 5, rule=rule, explain=True)
    [answer] = retriever.answer([query])
    for row, score, why in zip(answer.items, answer.scores, answer.explanations, strict=True):
        codes, total = codes_of(retriever, row), 0.0
        for depth, (code, step) in enumerate(zip(codes, why.steps, strict=True)):
            look = walk(retriever, query, codes[:depth], limit=10**6)
            assert look.score == pytest.approx(total, abs=1e-4)
            [branch] = [one for one in look.children if one.code == code]
            assert branch.name == step.name
            assert branch.model == pytest.approx(step.model, abs=1e-4)
            assert branch.evidence == pytest.approx(step.evidence, abs=1e-4)
            assert (branch.legal, branch.kept) == (True, True)
            assert branch.leaf == (depth == 2)
            total += step.term
            assert branch.score == pytest.approx(total, abs=1e-4)
        assert total == pytest.approx(float(score), abs=1e-3)
        end = walk(retriever, query, codes)
        assert (end.children, end.score) == ((), pytest.approx(total, abs=1e-3))
        assert retriever.catalogue.ids[int(row)].as_py() in [one for one, _ in end.found]


def test_every_branch_of_the_tree_counts_its_items_and_has_its_maxima(retriever):
    made, model, evidence = everything(retriever, TEXT, "all")
    codes = np.asarray(retriever.index.codes)
    marks = retriever.catalogue.columns.marks("color = black")
    query = Query(TEXT, 5, rule="all", categories="all", filter="color = black")
    root = walk(retriever, query, limit=10**6)
    assert (root.items, root.matching, root.name) == (300, marks.sum(), "")
    for look in [
        root,
        *(walk(retriever, query, (one.code,), limit=10**6) for one in root.children[:4]),
    ]:
        depth = len(look.prefix)
        inside = (codes[:, :depth] == look.prefix).all(axis=1)
        assert len(look.children) == len(set(codes[inside, depth].tolist()))
        assert look.more == 0
        for one in look.children:
            below = inside & (codes[:, depth] == one.code)
            assert one.items == below.sum()
            assert one.matching == (below & marks).sum()
            assert one.legal == (one.matching > 0)
            if one.legal:
                best = evidence[below & marks].max()
                assert one.maximum == pytest.approx(best, abs=1e-5)
                assert one.evidence == pytest.approx(made.weight * best, abs=1e-4)
            else:
                assert (one.evidence, one.kept) == (0.0, False)
            item = int(np.flatnonzero(below)[0])
            assert one.model == pytest.approx(model[item][depth], abs=1e-4)
            assert one.path_probability == pytest.approx(
                np.exp(model[item][: depth + 1].sum()), abs=1e-4
            )
        scores = [one.score for one in look.children if one.legal]
        assert scores == sorted(scores, reverse=True)
        assert [one.legal for one in look.children] == sorted(
            (one.legal for one in look.children), reverse=True
        )


def test_a_branch_that_the_beam_drops_is_where_an_item_is_lost(retriever):
    narrow = retriever.with_width(4)
    query = Query(TEXT, 2, rule="hybrid")
    ids = narrow.catalogue.ids.to_pylist()
    seen = 0
    for row in range(0, 300, 23):
        why = why_not(narrow, query, ids[row])
        if why.reason != "pruned":
            continue
        codes = codes_of(narrow, row)
        look = walk(narrow, query, codes[: why.depth - 1], limit=10**6)
        [branch] = [one for one in look.children if one.code == codes[why.depth - 1]]
        assert not branch.kept
        assert branch.score == pytest.approx(why.score, abs=1e-3)
        seen += 1
    assert seen


def test_judged_relevance_divides_and_is_conserved(retriever):
    ids = retriever.catalogue.ids.to_pylist()
    judged = {ids[3]: 3.0, ids[40]: 1.0, ids[41]: 0.0, "gone": 2.0, ids[42]: 4.0}
    codes = np.asarray(retriever.index.codes)
    root = walk(retriever, Query(TEXT), judged=judged, limit=10**6)
    assert root.mass == pytest.approx(1.0)
    assert sum(one.mass for one in root.children) == pytest.approx(1.0)
    by_code = {one.code: one.mass for one in root.children}
    for row, mass in ((3, 3 / 8), (40, 1 / 8), (42, 4 / 8)):
        assert by_code[codes[row, 0]] >= mass - 1e-9
    below = walk(retriever, Query(TEXT), (int(codes[42, 0]),), judged=judged, limit=10**6)
    assert below.mass == pytest.approx(by_code[codes[42, 0]])
    assert sum(one.mass for one in below.children) == pytest.approx(below.mass)
    assert walk(retriever, Query(TEXT)).mass is None
    assert walk(retriever, Query(TEXT), judged={"gone": 1.0}).mass == 0.0


def test_titles_are_of_items_below_and_the_list_is_cut(retriever):
    look = walk(retriever, Query(TEXT, rule="hybrid"), limit=2, titles=2)
    assert len(look.children) == 2
    assert look.more > 0
    titles = retriever.catalogue.table["title"].to_pylist()
    codes = np.asarray(retriever.index.codes)
    for one in look.children:
        assert len(one.titles) == min(2, one.items)
        rows = [titles.index(title) for title in one.titles]
        assert (codes[rows, 0] == one.code).all()
    json.dumps(look.as_dict())


@pytest.mark.parametrize(
    ("prefix", "words"),
    [
        ((999,), "has no prefix a999: no identifier begins so"),
        ((0, 0, 0, 0), "has no prefix a0 b0 c0 d0"),
    ],
)
def test_a_prefix_that_the_catalogue_lacks_is_one_sentence(retriever, prefix, words):
    with pytest.raises(RarsError, match=words):
        walk(retriever, Query(TEXT), prefix)


@pytest.mark.parametrize("text", ["a", "a1 x", "12b", "-3", "a1 b99999999999"])
def test_what_is_no_prefix_is_one_sentence(text):
    with pytest.raises(RarsError, match="is no code of a prefix; write it as a12 b7"):
        read_prefix(text)


def test_a_watched_beam_finds_what_an_unwatched_one_finds(retriever):
    from rars.search.beam import beam_search

    readied = retriever.readied([Query(TEXT, rule="hybrid"), Query("shoes", rule="hybrid")])
    stages: list[Stage] = []
    given = (retriever.ready.model, retriever.tree, retriever.ready.architecture.vocabulary)
    options = {"projected": readied.projected, "width": 7, "guide": readied.guide}
    plain = beam_search(*given, readied.begun, **options)
    watched = beam_search(*given, readied.begun, **options, watch=stages.append)
    assert plain.leaves.tolist() == watched.leaves.tolist()
    assert [stage.depth for stage in stages] == [0, 1, 2]
    assert stages[-1].kept.tolist() == plain.leaves.tolist()
