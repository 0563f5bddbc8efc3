"""The paper's compatibility, item by item, as its appendix writes it. Slow and obvious."""

from __future__ import annotations

import math
import re
import unicodedata

from rars.search.evidence.brands import brand_names
from rars.search.evidence.colors import Colors, canonical, family_of
from rars.search.evidence.quantities import Quantities, quantities
from rars.search.evidence.text import CJK

WORD = re.compile(rf"[{CJK}]|[^\W_{CJK}]+(?:(?:['’]|(?<=\d)[.,](?=\d))[^\W_{CJK}]+)*")


def normal(text):
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text or "").casefold())


def features(text):
    """Words and single CJK characters."""
    return {word.replace("'", "").replace("’", "") for word in WORD.findall(normal(text))}


def catalogue_text(item):
    return " ".join(item[name] or "" for name in ("title", "text", "brand", "color"))


def attribute_keys(item):
    """Everything an item can match: its brand, its colours with their families, its quantities."""
    keys = {f"brand {name}" for name in brand_names(item["brand"] or "")}
    for field in ("title", "color"):
        for mention in Colors().mentions(normal(item[field]), [], NOTHING):
            for constraint in mention.constraints:
                color = canonical(constraint.text)
                keys |= {f"color {color}", f"color {family_of(color) or color}"}
    texts = [item["title"], item["text"], *(value for _, value in item["attributes"] or [])]
    for text in texts:
        for mention in Quantities().mentions(normal(text), [], NOTHING):
            for constraint in mention.constraints:
                keys |= set(constraint.keys)
                # An item has the number of a measure too: "40 cm" is a match for "40".
                keys |= {key for one in quantities(constraint.text) for key in one.numbers}
    return keys


def structured(constraints, keys):
    if not constraints:
        return 0.0
    total = 0.0
    for constraint in constraints:
        gamma = 0.25 if constraint.kind == "brand" else 0.20
        matches = 1.0 if keys & set(constraint.keys) else 0.0
        total += (1 + gamma) * matches - gamma
    return total / len(constraints)


def kept_features(query, texts):
    """At most two features of the query with their IDF, rarest first, equal ones in string order."""
    found = []
    for word in features(query):
        df = sum(word in words for words in texts)
        if 2 <= df <= 0.02 * len(texts):
            found.append((-math.log((len(texts) + 1) / (df + 1)), word))
    return [(word, -minus) for minus, word in sorted(found)[:2]]


def lexical(chosen, words):
    total = sum(idf for _, idf in chosen)
    return sum(idf for word, idf in chosen if word in words) / total if total else 0.0


class _Nothing:
    """A catalogue that knows every shade, so that a shade stands for itself alone."""

    language = None

    def items(self, key):
        return 1

    @property
    def keys(self):
        return self


NOTHING = _Nothing()
