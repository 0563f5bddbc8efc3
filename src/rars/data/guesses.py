"""Which column of a table is likely meant, where the one that is asked for is not there.

Owns: what our columns are called elsewhere (BEIR, TREC, ESCI, WANDS, exports of shops), and the guess.
Ignores what is done with it: a guess is said, never taken, since a column that was read wrongly would be
found out after the training.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

ELSEWHERE = {
    "id": (
        "_id uid pid sku asin docid docno doc_id product_id product_uid item_id article_id "
        "qid query_id search_id topic topic_id"
    ),
    "title": "name headline product_title product_name item_title item_name article_title",
    "text": "query search keyword keywords term search_term search_text search_query query_text q",
    "query_id": "qid queryid query topic topic_id search_id",
    "item_id": "pid docid docno doc_id corpus_id product_id product_uid sku asin article_id",
    "grade": "relevance rel relevance_score relevance_grade score rating gain judgment judgement",
    "label": "esci_label relevance_label class",
}
"""Names of others for a column of ours, folded as ``_folded`` does."""


def likely(ours: str, asked: str, present: Sequence[str]) -> str | None:
    """The column that is meant by ``ours``, which the user calls ``asked``; None where none or several may.

    >>> likely("id", "id", ["Product-UID", "product_title"])
    'Product-UID'
    >>> likely("title", "product_titel", ["product_uid", "product_title"])
    'product_title'
    >>> likely("id", "id", ["sku", "asin"]) is None
    True
    """
    if asked != ours:  # a name of the user's own: misspelt
        near = difflib.get_close_matches(asked, present, 1, 0.8)
        return near[0] if near else None
    known = {ours, *ELSEWHERE.get(ours, "").split()}
    found = [name for name in present if _folded(name) in known]
    return found[0] if len(found) == 1 else None


def _folded(name: str) -> str:
    """Lower case, whatever is no letter or digit as one underscore: "Product-UID" is product_uid."""
    return re.sub(r"\W+", "_", name.strip().casefold())
