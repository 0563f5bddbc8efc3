"""What the retriever is trained for: one loss term per file, and their weighted sum (Eq. objective).

L = sum of weight x term over the terms that a recipe lists (``[[objective.terms]]``). RARS is full-SID
likelihood, the resolution-aligned tree loss and the two category losses; its controls replace one of them.

``TERMS`` is the one table: a new term is a file with a ``Term`` and a line here.
"""

from __future__ import annotations

from rars.objectives import (
    category_class,
    category_contrast,
    decoder_soft,
    full_sid,
    grouped,
    sampled_tree,
    tree,
)
from rars.objectives.common import Term

TERMS: dict[str, Term] = {
    "full-sid": full_sid.TERM,
    "grouped": grouped.TERM,
    "tree": tree.TERM,
    "sampled-tree": sampled_tree.TERM,
    "decoder-soft": decoder_soft.TERM,
    "category-class": category_class.TERM,
    "category-contrast": category_contrast.TERM,
}
