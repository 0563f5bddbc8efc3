"""What the retriever is trained for: one loss per file, and their sum (Eq. objective).

L = L_leaf + lambda_tree L_tree + lambda_base (L_cls + L_con). ``leaf`` chooses full-SID or grouped
likelihood, ``structure`` what takes the place of L_tree: nothing (the matched base), the resolution-aligned
tree loss (RARS), its sampled control, or the soft target on the decoder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rars.model.batch import Batch
from rars.model.retriever import Pass, Retriever
from rars.objectives import (
    category_class,
    category_contrast,
    decoder_soft,
    full_sid,
    grouped,
    sampled_tree,
    tree,
)
from rars.objectives.common import Context, Total

Objective = Callable[[Pass, Batch, Context], Total]

LEAF: dict[str, Objective] = {"full-sid": full_sid.loss, "grouped": grouped.loss}
STRUCTURE: dict[str, Objective] = {
    "tree": tree.loss,
    "sampled-tree": sampled_tree.loss,
    "decoder-soft": decoder_soft.loss,
}
NEEDS_HEAD = ("tree", "sampled-tree")


@dataclass(frozen=True)
class Weights:
    """Which terms, and how much of each."""

    leaf: str = "full-sid"
    structure: str | None = None
    tree: float = 0.5
    base: float = 0.1


def terms(
    model: Retriever, found: Pass, batch: Batch, context: Context, weights: Weights
) -> dict[str, tuple[float, Total]]:
    """Every term of the objective by name, with its coefficient."""
    listed = {"leaf": (1.0, LEAF[weights.leaf](found, batch, context))}
    if weights.structure is not None:
        listed["tree"] = (weights.tree, STRUCTURE[weights.structure](found, batch, context))
    if model.categories is not None and weights.base > 0:
        for name, loss in (("cls", category_class.loss), ("con", category_contrast.loss)):
            listed[name] = (weights.base, loss(found, batch, context, model.categories))
    return listed
