"""Plain text out of text with HTML in it, a column at a time.

Owns: entities, tags and white space. A ``<`` that opens no tag ("weight < 5 kg") is text and stays.
"""

from __future__ import annotations

import html
import re

import pyarrow as pa
import pyarrow.compute as pc

TAG = r"</?[A-Za-z][^<>]*>|<!--[^>]*-->"
_TAG = re.compile(TAG)


def plain(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Entities resolved, tags removed, white space single; line breaks stay; nothing left is null.

    >>> plain(pa.array(["a &lt;br&gt; b<br/>c &amp; d", "5 < 6", " ", None])).to_pylist()
    ['a b c & d', '5 < 6', None, None]
    """
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    texts = _unescaped(texts.cast(pa.string()))
    texts = pc.replace_substring_regex(texts, pattern=TAG, replacement=" ")
    texts = pc.replace_substring_regex(texts, pattern=r"[^\S\n]+|\x{00a0}+", replacement=" ")
    texts = pc.replace_substring_regex(texts, pattern=r" *\n[ \n]*", replacement="\n")
    texts = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def first_words(text: str, limit: int) -> str:
    """The first ``limit`` words of a long text, tags not counted.

    >>> first_words("<P> The <B> quick </B> brown fox </P>", 3)
    'The quick brown'
    """
    size = limit * 16
    while True:
        piece = text if size >= len(text) else _before_open_tag(text[:size])
        words = _TAG.sub(" ", piece).split()
        if len(words) > limit or size >= len(text):
            return " ".join(words[:limit])
        size *= 2


def _before_open_tag(piece: str) -> str:
    """A cut piece without the tag that the cut may have gone through."""
    opened = piece.rfind("<")
    return piece[:opened] if opened > piece.rfind(">") else piece


def _unescaped(texts: pa.StringArray) -> pa.StringArray:
    """Entities resolved; Arrow has no kernel for it, so only texts with an ``&`` leave Arrow."""
    marked = pc.fill_null(pc.match_substring(texts, "&"), False)
    if not pc.any(marked).as_py():
        return texts
    fixed = [html.unescape(text) for text in texts.filter(marked).to_pylist()]
    return pc.replace_with_mask(texts, marked, pa.array(fixed, pa.string()))


def joined(parts: list[pa.Array]) -> pa.Array:
    """Several columns as one text each, a line per part; null if all parts are missing."""
    # Arrow's own way to skip nulls loses the rows where all parts are null.
    filled = [pc.fill_null(part, "") for part in parts]
    text = pc.utf8_trim(pc.binary_join_element_wise(*filled, "\n"), "\n")
    text = pc.replace_substring_regex(text, pattern=r"\n+", replacement="\n")
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
