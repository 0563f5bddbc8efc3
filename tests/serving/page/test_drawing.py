"""Where the branches of a tree stand."""

from __future__ import annotations

import pytest

from rars.serving.page.drawing import FULL, ROW, columns
from rars.serving.schemas import Branch, TreeItem, TreeResponse


def branch(code, probability, **more):
    plain = {
        "code": code, "name": f"x{code}", "probability": probability, "path_probability": None,
        "model": -1.0, "evidence": 0.0, "maximum": None, "score": -code, "items": 1, "matching": 1,
        "legal": True, "kept": True, "mass": None, "titles": [], "leaf": False,
    }  # fmt: skip
    return Branch(**plain | more)


def look(prefix, children, more=0, found=()):
    return TreeResponse(
        query="q", system="s", version=None, rule="ar", prefix=prefix, name=" ".join(map(str, prefix)),
        depth=len(prefix), items=9, matching=9, score=0.0, mass=None, children=children, more=more,
        found=list(found), request_id="",
    )  # fmt: skip


def test_branches_are_as_thick_as_they_are_probable():
    [one] = columns([look([], [branch(1, 0.75), branch(2, 0.25), branch(3, 0.0)])])
    assert [row.thick for row in one.rows] == [0.75 * FULL, 0.25 * FULL, 1.0]
    assert all(row.height >= max(ROW, row.thick) for row in one.rows)
    assert [row.top for row in one.rows] == pytest.approx(
        [0, one.rows[0].height, one.rows[0].height + one.rows[1].height]
    )
    assert one.ribbons == ()


def test_ribbons_fill_the_branch_they_come_from():
    first = look([], [branch(4, 0.5), branch(5, 0.5)])
    second = look([5], [branch(1, 0.25), branch(2, 0.75)])
    one, two = columns([first, second], path=[5, 2])
    assert [row.followed for row in one.rows] == [False, True]
    assert [row.marked for row in two.rows] == [False, True]
    assert [on for _, on in two.ribbons] == [False, True]
    followed = one.rows[1]
    starts = [float(d.split("M0 ")[1].split("C")[0]) for d, _ in two.ribbons]
    ends = [float(d.rstrip("Z").split()[-1]) for d, _ in two.ribbons]
    assert starts[0] == pytest.approx(followed.middle - followed.thick / 2, abs=0.1)
    assert ends[0] == pytest.approx(starts[1], abs=0.1)
    assert ends[1] == pytest.approx(followed.middle + followed.thick / 2, abs=0.1)


def test_a_branch_that_is_followed_is_drawn_wherever_it_stands():
    many = look([], [branch(code, 0.05) for code in range(20)], more=3)
    one, _ = columns([many, look([15], [branch(0, 1.0)])], path=[17], limit=5)
    assert [row.branch.code for row in one.rows] == [0, 1, 2, 3, 4, 15, 17]
    assert one.hidden == 3 + 13


def test_raw_logits_are_shared_out():
    [one] = columns([look([], [branch(1, None, model=2.0), branch(2, None, model=2.0)])])
    assert [row.thick for row in one.rows] == [FULL / 2, FULL / 2]


def test_a_whole_identifier_ends_the_columns():
    leaf = look([1], [], found=[TreeItem(item_id="a", title="A")])
    assert len(columns([look([], [branch(1, 1.0)]), leaf])) == 1
