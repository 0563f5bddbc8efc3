"""Search against Hugging Face ``generate`` with the same weights, and where the time of a search goes.

``python -m benchmarks search``: random weights in the shape of T5-base and mT5-base, 300,000 uneven random
identifiers of four codes out of 256, beam 100, 100 results, one thread. The usual way: codes are added to the
text vocabulary, and ``generate(num_beams=100, prefix_allowed_tokens_fn=...)`` walks a dictionary trie. Asks
for: the same top 100 and scores to 1e-4 when ``generate`` is given our normaliser; 2.7x faster than plain
``generate`` (goal 3.5x), 8x on mT5-base; 3x less memory; 10x with a decoder of three layers (a goal). Then
what a search is made of, category routing, and queries a second of the tiny model (``search_parts``).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from benchmarks.measure import alternate, peak_megabytes, report, resident_megabytes
from benchmarks.tree import dict_trie, skewed_codes
from rars.model.decoder import Decoder
from rars.model.encoder import QueryEncoder
from rars.model.identifier_model import IdentifierModel
from rars.search.beam import Begun, Guide, Paths, beam_search
from rars.search.precision import at_precision
from rars.tree import PrefixTree, SidVocabulary

ITEMS, BEAMS, CODES, DEPTH = 300_000, 100, 256, 4
EOS = 1
MODELS: dict[str, dict[str, Any]] = {
    "T5-base": {"d_ff": 3072, "vocab_size": 32_128},
    "mT5-base": {"d_ff": 2048, "vocab_size": 250_112, "feed_forward_proj": "gated-gelu"},
}
SHAPE = {"d_model": 768, "d_kv": 64, "num_layers": 12, "num_heads": 12}
SHALLOW = 3
PRODUCTS = "ours, its products alone"


@dataclass(frozen=True, eq=False)
class Setting:
    """One model, one catalogue, some queries; both ways of searching read the same weights."""

    name: str
    queries: int

    @cached_property
    def tree(self) -> PrefixTree:
        """The catalogue."""
        return PrefixTree.build(skewed_codes(ITEMS))

    @cached_property
    def vocabulary(self) -> SidVocabulary:
        """Its codes."""
        return SidVocabulary.of(self.tree, (CODES,) * DEPTH)

    @cached_property
    def words(self) -> int:
        """The text vocabulary; codes come behind it."""
        return int(MODELS[self.name]["vocab_size"])

    @cached_property
    def usual(self) -> Any:
        """The library's model with the codes among its words."""
        from transformers import (
            MT5Config,
            MT5ForConditionalGeneration,
            T5Config,
            T5ForConditionalGeneration,
        )

        torch.manual_seed(0)
        settings = SHAPE | MODELS[self.name] | {"vocab_size": self.words + CODES * DEPTH}
        settings |= {"dropout_rate": 0.0, "decoder_start_token_id": 0}
        if self.name.startswith("mT5"):
            return MT5ForConditionalGeneration(MT5Config(**settings)).eval()
        return T5ForConditionalGeneration(T5Config(**settings)).eval()

    def ours(self, layers: int | None = None) -> IdentifierModel:
        """A retriever of the same modules; code tables are rows of the library's."""
        usual = self.usual
        model = IdentifierModel(
            QueryEncoder(usual.encoder, SHAPE["d_model"]),
            Decoder(usual.decoder, layers),
            self.vocabulary.slots,
        )
        # T5 scales the states before its output table; the scale can as well sit in the table.
        scaled = getattr(usual.config, "scale_decoder_outputs", False)
        scale = SHAPE["d_model"] ** -0.5 if scaled and not self.name.startswith("mT5") else 1.0
        tables: Any = model.code_outputs
        inputs: Any = model.code_inputs
        with torch.no_grad():
            model.start.copy_(usual.shared.weight[0])
            for depth in range(DEPTH):
                rows = slice(self.words + CODES * depth, self.words + CODES * (depth + 1))
                tables[depth].weight.copy_(usual.lm_head.weight[rows] * scale)
                if depth + 1 < DEPTH:
                    inputs[depth].weight.copy_(usual.shared.weight[rows])
        return model.eval()

    @cached_property
    def tokens(self) -> tuple[Tensor, Tensor]:
        """Queries of 6 to 14 words."""
        rng = np.random.default_rng(1)
        lengths = [14, *rng.integers(6, 15, self.queries - 1)]
        tokens = torch.zeros(self.queries, 14, dtype=torch.long)
        mask = torch.zeros_like(tokens)
        for row, length in enumerate(lengths):
            tokens[row, :length] = torch.from_numpy(rng.integers(2, 30_000, length))
            mask[row, :length] = 1
        return tokens, mask

    @cached_property
    def trie(self) -> dict[Any, Any]:
        """Token ids below token ids."""
        return dict_trie((skewed_codes(ITEMS) + self.words + CODES * np.arange(DEPTH)).tolist())

    def allowed(self, path: list[int]) -> list[int]:
        """The tokens that may follow a path of tokens."""
        node = self.trie
        for token in path:
            node = node.get(token, {})
            if isinstance(node, list):
                return [EOS]
        return list(node)


# -- the two ways --------------------------------------------------------------------------------


def search(setting: Setting, model: IdentifierModel, width: int = BEAMS) -> Paths:
    with torch.inference_mode():
        begun = Begun.of(model, model.encoder(*setting.tokens))
    return beam_search(model, setting.tree, setting.vocabulary, begun, width=width, guide=Guide())


def generate(setting: Setting, **changes: Any) -> Any:
    tokens, mask = setting.tokens
    options: dict[str, Any] = {
        "num_beams": BEAMS,
        "num_return_sequences": BEAMS,
        "max_new_tokens": DEPTH + 1,
        "length_penalty": 0.0,
        "do_sample": False,
        "return_dict_in_generate": True,
    }
    if not changes:
        options["prefix_allowed_tokens_fn"] = lambda _, path: setting.allowed(path[1:].tolist())
    with torch.inference_mode():
        return setting.usual.generate(input_ids=tokens, attention_mask=mask, **(options | changes))


def generate_normalised(setting: Setting) -> Any:
    """The library's beam, told to renormalise over the codes of a depth before the trie is applied."""
    from transformers import LogitsProcessor, LogitsProcessorList

    class Normalised(LogitsProcessor):  # type: ignore[misc]
        def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
            depth = input_ids.shape[1] - 1
            out = torch.full_like(scores, float("-inf"))
            if depth == DEPTH:
                out[:, EOS] = 0.0
                return out
            rows = slice(setting.words + CODES * depth, setting.words + CODES * (depth + 1))
            own = torch.log_softmax(scores[:, rows], dim=-1)
            for beam, path in enumerate(input_ids[:, 1:].tolist()):
                legal = torch.tensor(setting.allowed(path), dtype=torch.long)
                if len(legal) and (legal >= rows.start).all():
                    out[beam, legal] = own[beam, legal - rows.start]
            return out

    hook = LogitsProcessorList([Normalised()])
    return generate(setting, logits_processor=hook, output_scores=True)


def agreement(setting: Setting) -> str:
    """Share of our top 100 that ``generate`` finds under our normaliser, and how far scores are apart."""
    ours = search(setting, setting.ours())
    theirs = generate_normalised(setting)
    scores = theirs.sequences_scores.view(setting.queries, BEAMS).numpy()
    codes = theirs.sequences[:, 1 : DEPTH + 1].numpy() - setting.words - CODES * np.arange(DEPTH)
    shares, apart = [], 0.0
    for query in range(setting.queries):
        found = setting.tree.paths(DEPTH, ours.leaves[query])
        own = dict(zip(map(tuple, found.tolist()), ours.scores[query].tolist(), strict=True))
        rows = codes[query * BEAMS : (query + 1) * BEAMS].tolist()
        other = dict(zip(map(tuple, rows), scores[query].tolist(), strict=True))
        shares.append(len(own.keys() & other.keys()) / BEAMS)
        apart = max(apart, *(abs(own[key] - other[key]) for key in own.keys() & other.keys()))
    size = float(np.abs(scores).mean())
    return f"same top 100: {np.mean(shares):.3f}, scores to {apart:.0e} of {size:.0f}"


def overlap(one: Paths, other: Paths) -> float:
    """The share of the first's identifiers that the second finds."""
    pairs = zip(one.leaves.tolist(), other.leaves.tolist(), strict=True)
    return float(np.mean([len(set(a) & set(b)) / len(a) for a, b in pairs]))


# -- speed and memory ----------------------------------------------------------------------------


def compare(name: str, queries: int, repeats: int) -> list[dict[str, Any]]:
    """Seconds and memory of every way of searching with one model."""
    setting = Setting(name, queries)
    agreed = agreement(setting)
    full, shallow = setting.ours(), setting.ours(SHALLOW)
    rounded = _rounded(setting)
    alone, count = products(lambda: search(setting, full))
    ways: dict[str, Callable[[], Any]] = {
        "generate": lambda: generate(setting),
        "ours": lambda: search(setting, full),
        PRODUCTS: alone,
        "ours, int8": lambda: search(setting, rounded),
        f"ours, {SHALLOW} decoder layers": lambda: search(setting, shallow),
    }
    seconds = alternate(ways, repeats, time.process_time)
    used = {way: _memory(name, queries, way) for way in ("generate", "ours")}
    approximate = overlap(search(setting, full), search(setting, rounded))
    notes = {
        "ours": agreed,
        PRODUCTS: f"nothing else: {count / 1e9:.1f} GFLOP at {count / 1e9 / seconds[PRODUCTS]:.0f} a second",
        "ours, int8": f"approximate: {approximate:.2f} of the top 100",
        f"ours, {SHALLOW} decoder layers": "another model",
    }
    return [
        {
            "search": f"{name}, {queries} {'query' if queries == 1 else 'queries'}: {way}",
            "seconds": seconds[way],
            "times faster": seconds["generate"] / seconds[way],
            "MB beyond weights": used.get(way),
            "times less": used["generate"] / used[way] if way in used else None,
            "note": notes.get(way, ""),
        }
        for way in ways
    ]


def products(search: Callable[[], Any]) -> tuple[Callable[[], None], int]:
    """The products of a search with its weights, and no other work of it; and how many operations they are.

    They are what a search in this precision cannot do without: its bound on this machine.
    """
    calls: list[tuple[Tensor, Tensor]] = []
    own = torch.nn.functional.linear

    def seen(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        calls.append((rows, weight))
        return own(rows, weight, bias)

    with patch("torch.nn.functional.linear", seen):
        search()

    def alone() -> None:
        with torch.inference_mode():
            for rows, weight in calls:
                own(rows, weight)

    return alone, sum(2 * rows.numel() * len(weight) for rows, weight in calls)


def _rounded(setting: Setting) -> IdentifierModel:
    """A copy with 8-bit linear layers."""
    import copy

    return at_precision(copy.deepcopy(setting.ours()), "int8")


def _memory(name: str, queries: int, way: str) -> float:
    """Peak megabytes that a search adds to a process of its own that holds model and catalogue."""
    line = [sys.executable, "-m", "benchmarks.search", "--memory", name, str(queries), way]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def _memory_of_one(name: str, queries: int, way: str) -> None:
    setting = Setting(name, queries)
    calls: dict[str, Callable[[], Any]]
    if way == "generate":
        held: Any = (setting.usual, setting.trie)
        calls = {way: lambda: generate(setting)}
    else:
        model = held = setting.ours()
        assert setting.tree.n_items
        calls = {way: lambda: search(setting, model)}
    before = resident_megabytes()
    print(json.dumps(peak_megabytes(calls[way]) - before))
    del held


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", nargs=3, metavar=("MODEL", "QUERIES", "WAY"))
    parser.add_argument("--only", choices=("speed", "parts"))
    parser.add_argument(
        "--cases", default="T5-base:1,mT5-base:1,T5-base:16", help="MODEL:QUERIES,..."
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.memory:
        name, queries, way = options.memory
        _memory_of_one(name, int(queries), way)
        return
    if options.only != "parts":
        rows: list[dict[str, Any]] = []
        for case in options.cases.split(","):
            name, _, queries = case.partition(":")
            rows += compare(name, int(queries), 5 if case == "T5-base:1" else 3)
            print(rows[-5:], file=sys.stderr, flush=True)
        report(
            "search: beam 100 against generate, 300,000 items",
            rows,
            f"CPU seconds of one thread, float32 unless said otherwise, {time.strftime('%Y-%m-%d')}",
        )
    if options.only != "speed":
        from benchmarks import search_parts

        search_parts.main()


if __name__ == "__main__":
    main()
