"""The columns of the three tables, and the meaning of a label.

Owns: names and types of the columns in a dataset folder; the grade of each ESCI label. Ignores files.

=========  ==========================================================================================
items      id, title, text, brand, color, category (list from top to leaf), attributes (name -> value)
queries    id, text, locale, split (train, validation or test)
judgments  query_id, item_id, and label (E, S, C, I) or grade (a number, 0 = irrelevant)
=========  ==========================================================================================

Further columns of the items are kept as they are. A label is stored as its grade E=3, S=2, C=1, I=0.
"""

from __future__ import annotations

import pyarrow as pa

SPLITS = ("train", "validation", "test")

LABEL_GRADES = {"E": 3.0, "S": 2.0, "C": 1.0, "I": 0.0}
"""Exact, Substitute, Complement, Irrelevant (ESCI); also the evaluation gains of the paper."""

ITEMS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),
        pa.field("text", pa.string()),
        pa.field("brand", pa.string()),
        pa.field("color", pa.string()),
        pa.field("category", pa.list_(pa.string())),
        pa.field("attributes", pa.map_(pa.string(), pa.string())),
    ]
)

QUERIES = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("locale", pa.string()),
        pa.field("split", pa.string(), nullable=False),
    ]
)

JUDGMENTS = pa.schema(
    [
        pa.field("query_id", pa.string(), nullable=False),
        pa.field("item_id", pa.string(), nullable=False),
        pa.field("grade", pa.float32(), nullable=False),
    ]
)
