"""The views over HTTP, without a browser."""

from __future__ import annotations

import httpx
import pytest

from rars.serving.page.views import PATHS
from tests.serving.page.conftest import HOSTILE, KEY


@pytest.fixture(scope="module")
def http(served):
    with httpx.Client(base_url=served.address, timeout=30) as client:
        yield client


@pytest.mark.parametrize("path", PATHS.values())
def test_every_view_opens_with_and_without_a_query(http, path):
    for asked in ("", "?q=mug", "?q=mug&item=X2&prefix=", "?q=%00%ff&k=1&rule=0", "?q=mug&k=0"):
        answer = http.get(path + asked)
        assert answer.status_code in (200, 400, 404)
        assert answer.text.rstrip().endswith("</html>")
        policy = answer.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        for forbidden in ("<script>", "style=", "onclick", "javascript:", "http://"):
            assert forbidden not in answer.text


def test_what_is_given_is_escaped_everywhere(http):
    nasty = '"><script>alert(1)</script>'
    names = ("q", "system", "rule", "version", "locale", "filter", "item", "prefix", "other_rule")
    for path in PATHS.values():
        for name in names:
            text = http.get(path, params={"q": "mug", name: nasty}).text
            assert "<script>alert" not in text
    text = http.get("/", params={"q": "long title", "filter": 'id = "X<1>"'}).text
    assert HOSTILE[:20] not in text
    assert "&lt;img" in text


def test_an_address_of_something_that_is_not_there_says_so(http):
    for path, asked, status in (
        ("/", {"system": "nobody"}, 404),
        ("/", {"version": "v9"}, 404),
        ("/", {"rule": "r" * 300}, 422),
        ("/tree", {"prefix": "a1/b2/zzz"}, 400),
        ("/tree", {"prefix": "a99999"}, 400),
        ("/tree", {"system": "bm25"}, 400),
        ("/tree", {"item": "nobody"}, 404),
        ("/compare", {"other_system": "nobody"}, 404),
    ):
        answer = http.get(path, params={"q": "mug"} | asked)
        assert (path, asked, answer.status_code) == (path, asked, status)
        assert 'class="card notice bad"' in answer.text


def test_a_prefix_may_be_written_in_several_ways(http, served):
    [first] = served.engine.systems.now().system.search("mug", k=1)
    codes = first.identifier
    written = [f"{codes[0]},{codes[1]}", f"a{codes[0]} b{codes[1]}"]
    pages = [http.get("/tree", params={"q": "mug", "prefix": one}).text for one in written]
    for page in pages:
        assert page.count('aria-current="true"') == 2
        assert page.count('<section class="column') == 3


def test_a_wrong_filter_points_at_the_character(http):
    answer = http.get("/", params={"q": "mug", "filter": "color = red AND prise < 3"})
    assert answer.status_code == 400
    assert '<code dir="auto">color = red AND <mark>p</mark>rise &lt; 3</code>' in answer.text
    end = http.get("/", params={"q": "mug", "filter": "color ="})
    assert "<mark>␣</mark>" in end.text


def test_files_are_ours_alone_and_known_by_their_content(http):
    first = http.get("/static/page.css")
    assert first.headers["content-type"].startswith("text/css")
    assert (
        http.get("/static/page.css", headers={"If-None-Match": first.headers["etag"]}).status_code
        == 304
    )
    for name in ("..%2Fviews.py", "nothing.js", "%2e%2e/__init__.py"):
        assert http.get(f"/static/{name}").status_code == 404


def test_relevant_items_that_are_not_shown_can_be_asked_about(http, served):
    judged = served.engine.judged
    query = next(one for one in judged.queries if one.relevant > 3)
    page = http.get("/", params={"q": query.text, "k": 1}).text
    shown = served.engine.systems.now().system.search(query.text, k=1)[0].item_id
    relevant = [
        one for one, grade in judged.grades(query.text).items() if grade > 0 and one != shown
    ]
    assert any(f"item={one}" in page for one in relevant)


def test_two_versions_side_by_side(http, served):
    [now, old] = served.engine.systems.versions(served.engine.systems.now())
    asked = {"q": "long title", "version": old, "filter": "color = black"}
    page = http.get("/compare", params=asked).text
    assert old in page
    assert now in page
    assert '<span aria-hidden="true">new</span>' in page


def test_with_keys_results_are_for_those_who_have_one(locked):
    asked = {"q": "black mug"}
    for path in PATHS.values():
        shut = httpx.get(locked.address + path, params=asked | {"item": "X2"}, timeout=30)
        assert shut.status_code == 401
        assert 'class="hit' not in shut.text
        assert 'id="why"' not in shut.text
        assert "asks for a key" in shut.text
    headers = {"Authorization": f"Bearer {KEY}"}
    opened = httpx.get(locked.address, params=asked, headers=headers, timeout=30)
    assert opened.status_code == 200
    assert 'class="hit"' in opened.text
