"""The compressed tree of a query keeps every item, code and share; its figure and page show any script."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.analysis import case_figure, case_page
from rars.analysis.case import Case, CaseItem, Judged, case_of, compressed, moved
from rars.analysis.fonts import families
from rars.data import Dataset
from rars.tree import END, PrefixTree, Relevance, code_name
from tests.tree.oracle import code_matrices, masses

TITLES = (
    "ワイヤレス充電器 15W ブラック 急速充電対応",
    "شاحن لاسلكي أسود سريع",
    "<script>alert(1)</script> & mug",
    "A title that is far too long for one line, with a color, a size, a pack of three and much more of it",
)


def item_of(row, codes, rho, share):
    names = tuple(code_name(d, int(c)) for d, c in enumerate(codes[row]) if c != END)
    return CaseItem(str(row), f"item {row}", rho, "E", names, share, (row + 1, None))


@settings(max_examples=60, deadline=None)
@given(codes=code_matrices(max_items=25), seed=st.integers(0, 2**32 - 1))
def test_the_compressed_tree_loses_nothing(codes, seed):
    rng = np.random.default_rng(seed)
    tree = PrefixTree.build(codes)
    chosen = np.sort(rng.choice(len(codes), rng.integers(1, len(codes) + 1), replace=False))
    rho = rng.integers(1, 4, len(chosen)).astype(float)
    share = rho / rho.sum()
    items = {
        int(row): item_of(int(row), codes, r, s)
        for row, r, s in zip(chosen, rho, share, strict=True)
    }
    root = compressed(tree, Relevance.of(np.zeros(len(chosen)), chosen, rho), items)
    assert sorted(one.item_id for one in root.leaves()) == sorted(
        one.item_id for one in items.values()
    )
    levels = masses(codes.tolist(), [(0, int(i), r) for i, r in zip(chosen, rho, strict=True)])[0]

    def look(node, path, mass):
        named = [*path, *(code for code in node.codes if code != "end")]
        below = sum(one.share for one in node.leaves())
        assert node.mass == pytest.approx(below)
        assert node.share == pytest.approx(node.mass / mass)
        assert bool(node.below) != bool(node.items)
        if node.below:
            assert len(node.below) > 1  # a path without a choice is no branch
            assert sum(one.share for one in node.below) == pytest.approx(1)
        for one in node.items:
            assert list(one.sid) == named
        for one in node.below:
            prefix = [*named, one.codes[0]]
            if "end" not in prefix:
                code = tuple(int(name[1:]) for name in prefix)
                assert one.depth == len(code)
                assert one.mass == pytest.approx(levels[len(code)][code])
            look(one, named, node.mass)

    look(root, [], 1.0)


@pytest.fixture
def case():
    items = [{"id": at, "title": title} for at, title in enumerate(TITLES)]
    items.append({"id": 9, "title": "Nothing to do with it"})
    queries = [{"id": "q1", "text": "充電器 <b>qi</b>", "split": "test", "locale": "ja"}]
    labels = zip((0, 1, 2, 3, 9), "ESECI", strict=True)
    judged = [{"query_id": "q1", "item_id": item, "label": label} for item, label in labels]
    dataset = Dataset.of(items, queries, judged)
    tree = PrefixTree.build([[0, 1, 0], [0, 1, 1], [1, 0, 0], [0, 2, 0], [3, 0, 0]])
    kept = dataset.judgments
    ranks = [{0: 4, 4: 2}, {0: 1, 2: 50, 4: 9}]
    return case_of(
        dataset, tree, 0, Judged(kept.item, kept.grade, kept.grade), ranks,
        reason="chosen", systems=("A", "B"), ndcg=(0.25, 0.5),
    )  # fmt: skip


def test_a_case_has_grades_identifiers_and_ranks(case):
    assert isinstance(case, Case)
    by_id = {one.item_id: one for one in case.items()}
    assert {key: one.label for key, one in by_id.items()} == {
        "0": "E",
        "1": "S",
        "2": "E",
        "3": "C",
    }
    assert by_id["0"].sid == ("a0", "b1", "c0")
    assert by_id["0"].ranks == (4, 1)
    assert by_id["1"].ranks == (None, None)
    assert [moved(by_id[key]) for key in ("0", "1", "2")] == [1, 0, 1]
    [other] = case.irrelevant
    assert (other.label, other.ranks, moved(other)) == ("I", (2, 9), 1)  # lower is better for it
    first, second = case.root.below
    assert (first.codes, first.share) == (("a0",), pytest.approx(6 / 9))
    assert [one.codes for one in first.below] == [("b1",), ("b2", "c0")]
    assert (second.codes, second.depth) == (("a1", "b0", "c0"), 1)


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_figure_is_drawn_in_any_script(case, tmp_path, ending, recwarn):
    path = tmp_path / f"case.{ending}"
    case_figure.draw(case, path)
    text = path.read_bytes()
    assert text.startswith(b"\x89PNG" if ending == "png" else b"<?xml")
    assert len(text) > 10_000
    if "Noto Sans CJK JP" in families(TITLES):
        assert not [one for one in recwarn if "missing from font" in str(one.message)]


def test_a_page_folds_escapes_and_needs_nothing_from_outside(case):
    page = case_page.html([case, case])
    assert page.count('<article class="rars-case">') == 2
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<b>qi</b>" not in page
    assert 'dir="auto"' in page
    outside = re.findall(r"""(?:src|href)\s*=\s*["']?(?!#|data:)[^"'\s>]+|url\(|@import""", page)
    assert outside == []
    assert "&gt;100" in page
    assert page.count('aria-expanded="true"') == 2 * 3  # the root and the two prefixes that divide
    assert case._repr_html_().count("<article") == 1


def test_long_texts_are_broken_and_cut(case, tmp_path):
    from matplotlib import pyplot

    drawn = pyplot.figure()
    try:
        drawing = case_figure._Drawing(case_figure._Page(case), drawn.add_axes((0, 0, 1, 1)), drawn)
        lines = drawing._wrapped(TITLES[3] * 3, 200, 8.5, 2)
        assert len(lines) == 2
        assert lines[1].endswith("…")
        assert all(drawing._wide(line, 8.5) <= 200 for line in lines)
        assert drawing._wrapped("short", 200, 8.5, 2) == ["short"]
        assert len(drawing._wrapped("充" * 80, 200, 8.5, 2)) == 2
    finally:
        pyplot.close(drawn)
