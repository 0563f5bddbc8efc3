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

from rars.checkpoints import ATTENTION, UNREADABLE, located, quiet, reason, refuse_kernel
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
    changes = {} if dropout is None else {"dropout_rate": dropout}
    model = _pretrained(name, **changes)
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
    from transformers import T5Config

    model = _pretrained(name)
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
    _, _, name = backbone.partition(":")
    if name:
        _configuration(name)


def rebuild(facts: dict[str, Any], *, trained: bool = False) -> Backbone:
    """The same modules with fresh weights, from saved configurations.

    ``trained``: for weights that are learned already, without the library where it can be done without.
    """
    if trained and facts["decoder"] is None and (shape := Shape.of(facts["encoder"])) is not None:
        layers = facts["layers"] or shape.decoder_layers
        return Backbone(Stack(shape), Stack(shape, decoder=True), layers, facts)
    from transformers import AutoModel

    model = AutoModel.from_config(_config(facts["encoder"]), trust_remote_code=False)
    if facts["decoder"] is None:
        decoder, encoder = model.decoder, model.encoder
        layers = facts["layers"] or model.config.num_decoder_layers
        return Backbone(encoder, decoder, layers, facts)
    other = AutoModel.from_config(_config(facts["decoder"]), trust_remote_code=False)
    return Backbone(model, other.decoder, other.config.num_decoder_layers, facts)


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Turn the many ways a checkpoint cannot be had into one sentence."""
    try:
        yield
    except UNREADABLE as error:
        why = reason(error)
        raise RarsError(f"The checkpoint {name!r} cannot be loaded: {why.rstrip('.')}.") from error


def _configuration(name: str, **changes: Any) -> Any:
    from transformers import AutoConfig

    with loading(name):
        config = AutoConfig.from_pretrained(located(name), trust_remote_code=False, **changes)
    refuse_kernel(name, config)
    return config


def _pretrained(name: str, **changes: Any) -> Any:
    from transformers import AutoModel

    config = _configuration(name, **changes)
    with loading(name):
        quiet(located(name))
        return AutoModel.from_pretrained(located(name), config=config, trust_remote_code=False)


def plain(saved: object) -> dict[str, Any]:
    """Of a saved configuration, what its model is made like: named values that the library's class has.

    Whatever would have code fetched or run is refused; ``auto_map`` alone is left out, as checkpoints of
    models that the library knows by itself have one, too.
    """
    from transformers import CONFIG_MAPPING

    if not isinstance(saved, dict) or not isinstance(saved.get("model_type"), str):
        raise RarsError("it has no model_type")
    kind = saved["model_type"]
    if kind not in CONFIG_MAPPING:
        raise RarsError(f"model_type {kind!r} is unknown")
    _refuse_behaviour(saved)
    known = CONFIG_MAPPING[kind]().to_dict().keys() - _NOT_SHAPE
    return {key: value for key, value in saved.items() if key in known or key == "model_type"}


_NOT_SHAPE = frozenset(
    (
        "auto_map",
        "quantization_config",
        "transformers_version",
        "_name_or_path",
        "id2label",
        "label2id",
    )
)
_DEEPEST = 4


def _refuse_behaviour(saved: dict[str, Any], depth: int = 1) -> None:
    for key, value in saved.items():
        if "attn_implementation" in str(key) and not (
            value is None or (isinstance(value, str) and value in ATTENTION)
        ):
            raise RarsError(f"{key} {value!r} is code of its own, which is not run")
        if key == "quantization_config" and value is not None:
            raise RarsError("quantization_config is no part of a retriever")
        if isinstance(value, dict):
            if depth == _DEEPEST:
                raise RarsError(f"{key} is nested too deeply")
            _refuse_behaviour(value, depth + 1)


def _config(saved: dict[str, Any]) -> Any:
    from transformers import AutoConfig

    return AutoConfig.for_model(**plain(saved))
