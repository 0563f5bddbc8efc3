"""What the retriever is trained for: one loss term per file, and their weighted sum (Eq. objective).

L = sum of weight x term over the terms that a recipe lists (``[[objective.terms]]``). RARS is full-SID
likelihood, the resolution-aligned tree loss and the two category losses; its controls replace one of them.

Each term's file gives its equation, then its target, what it is normalised over, its weights and which
parameters its gradient reaches. ``TERMS`` is the one table: a new term is a file with a ``Term`` and a line
here.

Notation: mu(d|q) is the relevance of item d to query q, summing to 1 over d; mu_l(v|q) the same projected
onto prefixes v of l codes, mu_l(v|u,q) the share of child v in its parent u; s(d) the identifier of d, L its
codes; p the decoder's, p_l the tree head's probabilities.
"""

from __future__ import annotations

from rars.objectives import (
    category_class,
    category_contrast,
    decoder_soft,
    full_sid,
    grouped,
    margin_ranking,
    position_aware,
    prefix_ranking,
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
    "position-aware": position_aware.TERM,
    "margin-ranking": margin_ranking.TERM,
    "prefix-ranking": prefix_ranking.TERM,
}
