"""The kinds of quantiser there are, and how one is kept on disk.

Owns: the table kind -> class, and two files in a folder: what it is, and its arrays. A learner with a kind of
its own adds one line to the table.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy

from rars import disk
from rars.errors import RarsError
from rars.identifiers.additive import AdditiveQuantizer
from rars.identifiers.ball import BallQuantizer
from rars.identifiers.category_clusters import TurnedTree
from rars.identifiers.hierarchical import HierarchicalQuantizer, VariableTree
from rars.identifiers.naive import RandomDigits
from rars.identifiers.quantizer import Quantizer, Tensors
from rars.identifiers.residual import ResidualQuantizer

QUANTIZERS: dict[str, type[Quantizer]] = {
    ResidualQuantizer.kind: ResidualQuantizer,
    AdditiveQuantizer.kind: AdditiveQuantizer,
    BallQuantizer.kind: BallQuantizer,
    HierarchicalQuantizer.kind: HierarchicalQuantizer,
    VariableTree.kind: VariableTree,
    TurnedTree.kind: TurnedTree,
    RandomDigits.kind: RandomDigits,
}

FACTS, TENSORS = "quantizer.json", "quantizer.safetensors"


def save_quantizer(quantizer: Quantizer, folder: Path) -> None:
    """Write a quantiser into a folder that is being drafted."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: np.ascontiguousarray(array) for name, array in quantizer.tensors().items()}
    safetensors.numpy.save_file(tensors, folder / TENSORS)
    facts = {"kind": quantizer.kind, "sizes": list(quantizer.sizes), "inputs": quantizer.inputs}
    disk.write_json(folder / FACTS, facts)


def load_quantizer(folder: Path) -> Quantizer:
    """Read back what ``save_quantizer`` wrote."""
    facts = disk.read_json(folder / FACTS)
    tensors = _tensors(folder / TENSORS)
    kind = facts.get("kind") if isinstance(facts, dict) else None
    if kind not in QUANTIZERS:
        raise RarsError(f"{folder / FACTS} names an unknown kind of quantiser: {kind!r}.")
    return QUANTIZERS[kind].restore(tensors)


def _tensors(path: Path) -> Tensors:
    try:
        return safetensors.numpy.load_file(path)
    except (OSError, safetensors.SafetensorError) as error:
        raise RarsError(f"{path} is not a readable safetensors file: {error}.") from error
