"""A retriever on disk: config.json, model.safetensors, tokenizer.json.

Owns: building a retriever from settings, saving it and opening it again with identical logits. The tree head
is not part of it. Files are what other tools expect: a JSON configuration, safetensors weights, a
``tokenizers`` file; nothing is pickled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.torch
import torch

from rars import disk
from rars.checkpoints import UNREADABLE, reason
from rars.config import ModelSettings
from rars.errors import RarsError
from rars.identifiers.own import ANOTHER_MODEL
from rars.model import backbone as backbones
from rars.model import stored
from rars.model.categories import CategoryStates
from rars.model.decoder import Decoder
from rars.model.encoder import QueryEncoder
from rars.model.identifier_model import IdentifierModel
from rars.model.prior import SemanticPrior
from rars.model.tokenizer import QueryTokenizer
from rars.tree import SidVocabulary
from rars.tree.categories import CategoryTree

CONFIG, WEIGHTS = "config.json", "model.safetensors"


@dataclass(frozen=True)
class Architecture:
    """Everything about a retriever except its weights; JSON on disk.

    ``vector`` is the width of the query's sentence vector (0: the encoder reads none), ``embedder`` how it is
    made, ``prior`` the width of the codeword space (0: no prior), ``prior_form`` how a prior is divided among
    codes, ``normaliser`` what a code competes with.
    """

    backbone: dict[str, Any]
    sizes: tuple[int, ...]
    ends: tuple[bool, ...]
    categories: tuple[int, ...]
    category_mode: str
    vector: int
    vector_tokens: int
    prior: int
    prior_form: str
    normaliser: str
    embedder: str
    tokenizer: dict[str, Any]

    @property
    def vocabulary(self) -> SidVocabulary:
        """The identifier codes it generates."""
        return SidVocabulary(tuple(self.sizes), tuple(self.ends))


@dataclass(frozen=True)
class Ready:
    """A retriever with its tokenizer and architecture."""

    model: IdentifierModel
    tokenizer: QueryTokenizer
    architecture: Architecture


def build(
    settings: ModelSettings,
    vocabulary: SidVocabulary,
    tokenizer: QueryTokenizer,
    *,
    categories: CategoryTree | None = None,
    vector: int = 0,
    embedder: str = "",
    codewords: Sequence[npt.NDArray[np.float32]] | None = None,
    own: bool = False,
    seed: int = 0,
) -> Ready:
    """A new retriever: checkpoint or fresh weights, code tables, category states, prior.

    ``own``: the codewords are parts of the model's own states, and stand in its space already.
    """
    torch.manual_seed(seed)
    made = _backbone(settings, tokenizer.size)
    offline = settings.backbone in backbones.PRESETS
    architecture = Architecture(
        backbone=made.facts,
        sizes=vocabulary.sizes,
        ends=vocabulary.ends,
        categories=categories.sizes if categories else (),
        category_mode=settings.categories,
        vector=vector if offline and settings.vector_tokens else 0,
        vector_tokens=settings.vector_tokens if offline and vector else 0,
        prior=codewords[0].shape[1] if settings.prior != "off" and codewords else 0,
        prior_form=settings.prior,
        normaliser=settings.normaliser,
        embedder=embedder,
        tokenizer=tokenizer.facts,
    )
    model = _assemble(architecture, made)
    with torch.no_grad():
        if made.start is not None:
            model.start.copy_(made.start)
        if categories is not None and model.categories is not None:
            for level, parents in enumerate(categories.parents):
                model.categories.parents(level).copy_(torch.from_numpy(np.array(parents)))
        if codewords is not None:
            _use_codewords(model, codewords, aligned=settings.aligned_codes, own=own)
    if settings.freeze_encoder:
        model.encoder.stack.requires_grad_(False)
    return Ready(model, tokenizer, architecture)


def save(ready: Ready, folder: Path) -> None:
    """Write the three files into a folder that is being drafted."""
    config = dict(vars(ready.architecture)) | {"model_type": stored.KIND}
    weights = {name: value.contiguous() for name, value in ready.model.state_dict().items()}
    check_finite(weights, "the model is not kept")
    disk.write_json(folder / CONFIG, config)
    safetensors.torch.save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
    ready.tokenizer.save(folder)


def check_finite(weights: Mapping[str, torch.Tensor], consequence: str) -> None:
    """Refuse weights of which one is not a number or infinite, by name."""
    for name, value in weights.items():
        if value.is_floating_point() and not bool(torch.isfinite(value).all()):
            what = "not a number" if bool(torch.isnan(value).any()) else "infinite"
            raise RarsError(
                f"The weights {name!r} became {what}: {consequence}. Try a lower training.learning_rate."
            )


def load(folder: Path) -> Ready:
    """Open a saved retriever in evaluation mode."""
    saved = stored.read(folder / CONFIG, folder / WEIGHTS)
    lists = {key: tuple(saved[key]) for key in ("sizes", "ends", "categories")}
    architecture = Architecture(**(saved | lists))
    try:
        made = backbones.rebuild(architecture.backbone, trained=True)
        model = _assemble(architecture, made)
    except (*UNREADABLE, RuntimeError, ArithmeticError) as error:
        raise RarsError(
            f"{folder / CONFIG} describes no model that can be made: {reason(error).rstrip('.')}."
        ) from error
    try:
        weights = safetensors.torch.load_file(folder / WEIGHTS)
        model.load_state_dict(weights)
    except (OSError, RuntimeError, safetensors.SafetensorError) as error:
        raise RarsError(
            f"{folder / WEIGHTS} does not fit {CONFIG}: {str(error).splitlines()[0]}."
        ) from error
    tokenizer = QueryTokenizer.load(folder, architecture.tokenizer)
    return Ready(model.eval(), tokenizer, architecture)


def _backbone(settings: ModelSettings, vocabulary: int) -> backbones.Backbone:
    kind, _, name = settings.backbone.partition(":")
    match kind:
        case "t5" if name:
            return backbones.checkpoint(name, settings.decoder_layers, settings.dropout)
        case "encoder" if name:
            return backbones.encoder_only(name, settings.decoder_layers, settings.dropout)
        case _:
            return backbones.preset(
                settings.backbone, vocabulary, settings.decoder_layers, settings.dropout
            )


def _assemble(architecture: Architecture, made: backbones.Backbone) -> IdentifierModel:
    decoder = Decoder(made.decoder, made.decoder_layers)
    encoder = QueryEncoder(
        made.encoder,
        decoder.width,
        vector_dim=architecture.vector,
        vector_tokens=architecture.vector_tokens,
    )
    slots = architecture.vocabulary.slots
    categories = None
    if architecture.categories:
        categories = CategoryStates(
            decoder.width, architecture.categories, architecture.category_mode
        )
    prior = None
    if architecture.prior:
        projected = architecture.prior_form == "identifiers"
        prior = SemanticPrior(architecture.prior, slots, projected=projected)
    return IdentifierModel(encoder, decoder, slots, categories, prior)


def _use_codewords(
    model: IdentifierModel,
    codewords: Sequence[npt.NDArray[np.float32]],
    *,
    aligned: bool,
    own: bool,
) -> None:
    """Let codebooks start the prior and (``aligned``) the code tables.

    One random map takes codeword space to the model's width: for the tables and, where the query's own vector
    lives in codeword space, for the tokens made from it, so that both speak of the same directions. Codewords
    that are the model's own need no map.
    """
    dim, width = codewords[0].shape[1], model.decoder.width
    if own and dim != width:
        raise RarsError(ANOTHER_MODEL)
    shared = torch.eye(dim) if own else torch.randn(dim, width)
    outputs: Any = model.code_outputs
    inputs: Any = model.code_inputs
    for depth, size in enumerate(model.slots):
        words = torch.from_numpy(np.array(codewords[depth], dtype=np.float32))[:size]
        if model.prior is not None:
            model.prior.codewords(depth)[: len(words)] = words
        mapped = words @ shared
        spread = float(mapped.std())
        # A small catalogue may be spelled out before its last codes: those keep their random start.
        if aligned and spread > 1e-6:
            mapped = mapped / spread
            outputs[depth].weight[: len(words)] = mapped * width**-0.5
            if depth < len(inputs):
                inputs[depth].weight[: len(words)] = mapped
    reader = model.encoder.from_vector
    if aligned and not own and reader is not None and reader.in_features == dim:
        reader.weight[:width] = shared.T
