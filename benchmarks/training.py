"""Packed training against the usual one-row-per-pair training, on the same (query, item) pairs.

The usual way: transformers' own model with the identifier codes added to its text vocabulary, one row per
pair, its full softmax. Ours: one packed pass per query with tables of its own per depth. Forward, backward,
same configuration and random weights. Asks for: 4x pairs per second on T5-base, 5x on T5-small, 6x on
mT5-small, 1.8x less memory; and that the tree head with its targets is a small part of a step.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmarks.measure import alternate, peak_megabytes, report
from benchmarks.tree import skewed_codes
from rars.config import TermSettings
from rars.model.backbone import PRESETS
from rars.model.decoder import Decoder
from rars.model.encoder import QueryEncoder
from rars.model.identifier_model import IdentifierModel
from rars.objectives import tree
from rars.objectives.common import Context
from rars.objectives.siblings import HeadSettings
from rars.training.loop import TrainingModel
from rars.training.packing import TrainingSet, pack, training_set
from rars.tree import PrefixTree, Relevance, SidVocabulary

ITEMS, TOKENS = 100_000, 14
MODELS: dict[str, dict[str, Any]] = {
    "T5-small": {"d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_heads": 8},
    "T5-base": {"d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12},
    "mT5-small": {
        "d_model": 512,
        "d_kv": 64,
        "d_ff": 1024,
        "num_layers": 8,
        "num_heads": 6,
        "vocab_size": 250_112,
        "feed_forward_proj": "gated-gelu",
    },
}
MODELS["tiny"] = PRESETS["tiny"]
PAPER_BATCH = 35
"""Queries that make the paper's batch of 512 pairs: what memory is measured with."""
QUERIES = {"T5-small": 12, "T5-base": 6, "mT5-small": 12, "tiny": 36}


def example(queries: int) -> tuple[TrainingSet, list[tuple[int, int]], Any]:
    """Queries with 14.5 positives each on average, spread over a few first codes as real ones are."""
    rng = np.random.default_rng(0)
    codes = skewed_codes(ITEMS)
    tree = PrefixTree.build(codes)
    pairs = []
    for asked in range(queries):
        count = 14 + asked % 2
        roots = rng.integers(0, tree.n_nodes(1), 4)
        near = np.concatenate([tree.items_below(1, int(root)) for root in roots])
        pairs += [(asked, int(item)) for item in rng.choice(near, count, replace=False)]
    query, item = (np.array(column) for column in zip(*pairs, strict=True))
    tokens = [rng.integers(2, 30_000, TOKENS) for _ in range(queries)]
    relevance = Relevance.of(query, item, rng.choice([1.0, 2.0, 3.0], len(pairs)))
    data = training_set(tree, SidVocabulary.of(tree, (256,) * 4), relevance, tokens)
    return data, pairs, codes


def usual(
    name: str, data: TrainingSet, pairs: list[tuple[int, int]], codes: Any
) -> Callable[[], None]:
    """One row per pair; the codes are words of an extended vocabulary."""
    from transformers import (
        MT5Config,
        MT5ForConditionalGeneration,
        T5Config,
        T5ForConditionalGeneration,
    )

    multilingual = name.startswith("mT5")
    settings = dict(MODELS[name])
    words = settings.pop("vocab_size", 32_128)
    kinds = (
        (MT5Config, MT5ForConditionalGeneration)
        if multilingual
        else (T5Config, T5ForConditionalGeneration)
    )
    model = kinds[1](
        kinds[0](vocab_size=words + 1024, dropout_rate=0.0, decoder_start_token_id=0, **settings)
    ).train()
    rows = torch.tensor(np.array([data.tokens[query] for query, _ in pairs]))
    labels = torch.tensor(np.array([codes[item] + words + 256 * np.arange(4) for _, item in pairs]))
    labels = torch.cat([labels, torch.ones(len(pairs), 1, dtype=torch.long)], dim=1)

    def step() -> None:
        model(input_ids=rows, attention_mask=torch.ones_like(rows), labels=labels).loss.backward()
        model.zero_grad()

    return step


def packed_model(name: str, data: TrainingSet, *terms: str) -> TrainingModel:
    """The library's model of that size behind tables of our own."""
    from transformers import MT5Config, MT5Model, T5Config, T5Model

    kinds = (MT5Config, MT5Model) if name.startswith("mT5") else (T5Config, T5Model)
    settings = {"vocab_size": 32_128} | MODELS[name]
    model = kinds[1](kinds[0](dropout_rate=0.0, **settings))
    retriever = IdentifierModel(
        QueryEncoder(model.encoder, settings["d_model"]),
        Decoder(model.decoder),
        data.vocabulary.slots,
    )
    listed = [TermSettings.model_validate({"term": one}) for one in ("full-sid", *terms)]
    return TrainingModel(retriever, listed).train()


def packed(name: str, data: TrainingSet) -> Callable[[], None]:
    """One pass per query."""
    training = packed_model(name, data)
    queries = np.arange(len(data))

    def step() -> None:
        loss, _ = training(pack(data, queries), 0)
        loss.backward()
        training.zero_grad()

    return step


def memory(name: str, way: str) -> float:
    """Peak megabytes of a process that trains one way: the model, its gradients and a step."""
    line = [sys.executable, "-m", "benchmarks.training", "--memory", name, way]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def _memory_of_one(name: str, way: str) -> None:
    data, pairs, codes = example(PAPER_BATCH)
    step = usual(name, data, pairs, codes) if way == "usual" else packed(name, data)
    print(json.dumps(peak_megabytes(step)))


def tree_share(name: str) -> float:
    """The share of a step of RARS that its tree head takes: targets, scores, siblings, gradients.

    Both are timed by themselves: the difference of two whole steps would drown it in noise.
    """
    data, _, _ = example(QUERIES[name])
    training = packed_model(name, data, "tree")
    queries = np.arange(len(data))
    with torch.no_grad():
        found = training.model(pack(data, queries))
    pooled = found.encoded.pooled.requires_grad_()

    def step() -> None:
        loss, _ = training(pack(data, queries), 0)
        loss.backward()
        training.zero_grad()

    def head() -> None:
        batch = pack(data, queries)
        context = Context(head=training.heads["tree"])
        loss = tree.loss_of(pooled, batch, context, HeadSettings()).mean
        loss.backward()  # type: ignore[no-untyped-call]
        training.zero_grad()

    seconds = alternate({"step": step, "head": head}, repeats=5)
    return seconds["head"] / seconds["step"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", nargs=2, metavar=("MODEL", "WAY"))
    parser.add_argument("models", nargs="*", help=f"Of {', '.join(MODELS)}; all if none is named.")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.memory:
        _memory_of_one(*options.memory)
        return
    rows = []
    for name in options.models or MODELS:
        data, pairs, codes = example(QUERIES[name])
        contestants = {"usual": usual(name, data, pairs, codes), "packed": packed(name, data)}
        seconds = alternate(contestants, repeats=5)
        del contestants
        used = {way: memory(name, way) for way in ("usual", "packed")}
        rows.append(
            {
                "model": name,
                "usual, pairs/s": len(pairs) / seconds["usual"],
                "packed, pairs/s": len(pairs) / seconds["packed"],
                "times faster": seconds["usual"] / seconds["packed"],
                "usual, MB": used["usual"],
                "packed, MB": used["packed"],
                "times less": used["usual"] / used["packed"],
                "tree head, share": tree_share(name),
            }
        )
        print(f"{name}: {rows[-1]}", file=sys.stderr, flush=True)
    report(
        "training: packed against one row per pair",
        rows,
        "one thread, forward and backward, 14.5 positives per query; peak MB of a process with model, "
        f"gradients and one step of 512 pairs, {time.strftime('%Y-%m-%d')}",
    )


if __name__ == "__main__":
    main()
