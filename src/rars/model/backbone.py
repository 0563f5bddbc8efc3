"""Which library model the encoder and decoder come from.

Owns: the offline presets, loading checkpoints by hub name or folder, and rebuilding the same modules
from their saved configurations. Ignores identifiers: code tables belong to the retriever.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from rars.checkpoints import located
from rars.errors import RarsError
from rars.model.stacks import Shape, Stack

PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {"d_model": 128, "d_kv": 32, "num_heads": 4, "d_ff": 512, "num_layers": 2},
    "small": {"d_model": 256, "d_kv": 32, "num_heads": 8, "d_ff": 1024, "num_layers": 4},
}
"""T5 encoders trained from scratch; their decoders have two layers unless told otherwise."""

_FRESH_LAYERS = 2
_FRESH_DROPOUT = 0.1


@dataclass(frozen=True)
class Backbone:
    """A built encoder stack and decoder stack, with what is needed to build them again.

    ``start`` is the checkpoint's own decoder start embedding, where it has one.
    """

    encoder: Any
    decoder: Any
    decoder_layers: int
    facts: dict[str, Any]
    start: torch.Tensor | None = None


def preset(
    name: str, vocabulary: int, layers: int | None = None, dropout: float | None = None
) -> Backbone:
    """A small T5 with random weights."""
    from transformers import T5Config

    if name not in PRESETS:
        raise RarsError(
            f"There is no backbone {name!r}; use {', '.join(PRESETS)}, t5:NAME_OR_FOLDER or "
            "encoder:NAME_OR_FOLDER."
        )
    config = T5Config(
        vocab_size=vocabulary,
        num_decoder_layers=layers or _FRESH_LAYERS,
        dropout_rate=_FRESH_DROPOUT if dropout is None else dropout,
        **PRESETS[name],
    )
    return rebuild({"encoder": config.to_dict(), "decoder": None, "layers": layers})


def checkpoint(name: str, layers: int | None = None, dropout: float | None = None) -> Backbone:
    """A pretrained T5, mT5, flan-T5 or umT5; optionally only the first decoder layers of it."""
    from transformers import AutoModel

    source = located(name)
    changes = {} if dropout is None else {"dropout_rate": dropout}
    with loading(name):
        model = AutoModel.from_pretrained(source, **changes)
    if not hasattr(model, "encoder") or not hasattr(model, "shared"):
        raise RarsError(
            f"The checkpoint {name} is a {model.config.model_type}, not of the T5 family."
        )
    begin = getattr(model.config, "decoder_start_token_id", None) or 0
    return Backbone(
        encoder=model.encoder,
        decoder=model.decoder,
        decoder_layers=layers or model.config.num_decoder_layers,
        facts={"encoder": model.config.to_dict(), "decoder": None, "layers": layers},
        start=model.shared.weight[begin].detach().clone(),
    )


def encoder_only(name: str, layers: int | None = None, dropout: float | None = None) -> Backbone:
    """A pretrained encoder (MiniLM and the like) with a fresh, shallow T5 decoder of its width."""
    from transformers import AutoModel, T5Config

    source = located(name)
    with loading(name):
        model = AutoModel.from_pretrained(source)
    width = model.config.hidden_size
    decoder = T5Config(
        vocab_size=1,  # it reads codes, not words
        eos_token_id=None,
        d_model=width,
        d_kv=width // model.config.num_attention_heads,
        num_heads=model.config.num_attention_heads,
        d_ff=4 * width,
        num_layers=1,
        num_decoder_layers=layers or _FRESH_LAYERS,
        dropout_rate=_FRESH_DROPOUT if dropout is None else dropout,
    )
    facts = {"encoder": model.config.to_dict(), "decoder": decoder.to_dict(), "layers": layers}
    built = rebuild(facts)
    return Backbone(model, built.decoder, built.decoder_layers, facts)


def check(backbone: str) -> None:
    """Refuse a checkpoint that cannot be had before any long work begins."""
    from transformers import AutoConfig

    _, _, name = backbone.partition(":")
    if name:
        with loading(name):
            AutoConfig.from_pretrained(located(name))


def rebuild(facts: dict[str, Any], *, trained: bool = False) -> Backbone:
    """The same modules with fresh weights, from saved configurations.

    ``trained``: for weights that are learned already, without the library where it can be done without.
    """
    if trained and facts["decoder"] is None and (shape := Shape.of(facts["encoder"])) is not None:
        layers = facts["layers"] or shape.decoder_layers
        return Backbone(Stack(shape), Stack(shape, decoder=True), layers, facts)
    from transformers import AutoModel

    model = AutoModel.from_config(_config(facts["encoder"]))
    if facts["decoder"] is None:
        decoder, encoder = model.decoder, model.encoder
        layers = facts["layers"] or model.config.num_decoder_layers
        return Backbone(encoder, decoder, layers, facts)
    other = AutoModel.from_config(_config(facts["decoder"]))
    return Backbone(model, other.decoder, other.config.num_decoder_layers, facts)


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Turn the many ways a checkpoint cannot be had into one sentence."""
    try:
        yield
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise RarsError(f"The checkpoint {name!r} cannot be loaded: {reason}") from error


def _config(saved: dict[str, Any]) -> Any:
    from transformers import AutoConfig

    return AutoConfig.for_model(**saved)
