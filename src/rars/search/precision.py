"""How exactly a model computes: float32, or int8 where speed matters more than the last digits.

Owns: replacing the linear layers of encoder and decoder by ones with 8-bit weights, rounded per output
channel; inputs are rounded as they come. Code tables, category heads and norms stay as they are. Ignores
search: an int8 model is searched like any other, but its scores, and so its order, are approximate.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal, get_args

import torch
from torch import nn

from rars.errors import RarsError
from rars.model.identifier_model import IdentifierModel

Precision = Literal["float32", "int8"]


def at_precision(model: IdentifierModel, precision: str) -> IdentifierModel:
    """The model as it was loaded (float32), or with its linear layers replaced in place (int8)."""
    if precision == "float32":
        return model
    if precision != "int8":
        known = " or ".join(get_args(Precision))
        raise RarsError(f"There is no precision {precision!r}; choose {known}.")
    if not torch.backends.quantized.supported_engines:
        raise RarsError("This build of torch has no int8 kernels; search with float32.")
    _round_linear(model.encoder.stack)
    _round_linear(model.decoder)
    return model


def _round_linear(part: nn.Module) -> None:
    from torch.ao import quantization

    quantize: Any = quantization.quantize_dynamic
    kinds = {nn.Linear: quantization.per_channel_dynamic_qconfig}
    with warnings.catch_warnings():
        # The library announces a successor for it; until then this is what torch itself brings.
        warnings.simplefilter("ignore")
        quantize(part, kinds, dtype=torch.qint8, inplace=True)
