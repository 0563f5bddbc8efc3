"""Tiny models and batches for tests: real T5, mT5 and umT5 stacks with random weights, in float64."""

from __future__ import annotations

import numpy as np
import torch
from transformers import (
    MT5Config,
    MT5Model,
    T5Config,
    T5Model,
    UMT5Config,
    UMT5Model,
)

from rars.config import TermSettings
from rars.model.categories import CategoryStates
from rars.model.decoder import Decoder
from rars.model.encoder import QueryEncoder
from rars.model.identifier_model import IdentifierModel
from rars.model.prior import SemanticPrior
from rars.training.packing import training_set
from rars.tree import PrefixTree, Relevance, SidVocabulary
from rars.tree.categories import CategoryTree

FAMILIES = {
    "t5": (T5Config, T5Model),
    "mt5": (MT5Config, MT5Model),
    "umt5": (UMT5Config, UMT5Model),
}


def terms(*listed, **settings):
    """Loss terms by name; the last one gets the settings."""
    entries = [{"term": name} for name in listed]
    entries[-1] |= settings
    return tuple(TermSettings.model_validate(one) for one in entries)


def family_model(family="t5", **changes):
    config_class, model_class = FAMILIES[family]
    settings = {
        "vocab_size": 50,
        "d_model": 16,
        "d_kv": 4,
        "d_ff": 32,
        "num_layers": 2,
        "num_decoder_layers": 2,
        "num_heads": 4,
    }
    return model_class(config_class(**(settings | changes)))


def retriever(slots, family="t5", categories=None, mode="feedback", prior_dim=0, **changes):
    torch.manual_seed(0)
    model = family_model(family, **changes)
    states = None
    if categories is not None:
        states = CategoryStates(16, categories.sizes, mode, prototype_dim=8)
        for level, parents in enumerate(categories.parents):
            states.parents(level).copy_(torch.from_numpy(np.asarray(parents)))
    prior = SemanticPrior(prior_dim, slots) if prior_dim else None
    if prior is not None:
        for depth in range(len(slots)):
            getattr(prior, f"codewords_{depth}").normal_()
    return IdentifierModel(
        QueryEncoder(model.encoder, 16), Decoder(model.decoder), slots, states, prior
    )


class Example:
    """A random catalogue with judged queries, as a training set."""

    def __init__(self, seed=0, items=60, queries=7, depth=3, codes=5, ragged=False, latent=True):
        rng = np.random.default_rng(seed)
        self.codes = rng.integers(0, codes, (items, depth))
        if ragged:
            lengths = rng.integers(1, depth + 1, items)
            self.codes[np.arange(depth) >= lengths[:, None]] = -1
        self.tree = PrefixTree.build(self.codes)
        self.vocabulary = SidVocabulary.of(self.tree)
        pairs = [
            (q, i, rng.choice([1.0, 2.0, 3.0]))
            for q in range(queries)
            for i in rng.choice(items, rng.integers(1, 9), replace=False)
        ]
        self.pairs = pairs
        self.relevance = Relevance.of(*map(np.array, zip(*pairs, strict=True)))
        paths = [[f"d{i % 3}", f"m{i % 5}"][: 1 + i % 2] for i in range(items)]
        self.categories = CategoryTree.of_paths(paths, 2) if latent else None
        self.tokens = [rng.integers(1, 50, rng.integers(2, 6)) for _ in range(queries)]
        self.vectors = rng.normal(size=(queries, 6))

    def data(self, **rest):
        return training_set(
            self.tree,
            self.vocabulary,
            self.relevance,
            self.tokens,
            categories=self.categories,
            **rest,
        )
