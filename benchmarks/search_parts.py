"""What a search is made of: the time of its parts, category routing, and queries a second.

``python -m benchmarks search`` runs it after the comparison with ``generate``. The same catalogue of 300,000
uneven random identifiers. Asks for: the union of a query's three categories in under 2 ms, with 300 uneven
leaf categories; the rest is printed.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from benchmarks import evidence as evidence_bench
from benchmarks.measure import alternate, report
from benchmarks.search import CODES, DEPTH, ITEMS, Setting
from benchmarks.tree import skewed_codes
from rars.model.backbone import PRESETS
from rars.model.categories import CategoryStates
from rars.model.decoder import Cache, Decoder
from rars.model.encoder import QueryEncoder
from rars.model.identifier_model import IdentifierModel
from rars.search import beam
from rars.search.beam import Begun, Guide, Paths, beam_search
from rars.search.evidence import EvidenceIndex
from rars.search.routing import Routes
from rars.tree import PrefixTree, SidVocabulary
from rars.tree.categories import CategoryTree

LEAVES, ROUTED = 300, 3
REPEATS = 7


def tiny(categories: CategoryTree | None = None) -> IdentifierModel:
    """The preset ``tiny`` with random weights."""
    from transformers import T5Config, T5Model

    torch.manual_seed(0)
    shape = PRESETS["tiny"]
    model = T5Model(T5Config(vocab_size=8000, num_decoder_layers=2, dropout_rate=0.0, **shape))
    width = shape["d_model"]
    states = None
    if categories is not None:
        states = CategoryStates(width, categories.sizes, "feedback")
        for level, parents in enumerate(categories.parents):
            states.parents(level).copy_(torch.from_numpy(np.array(parents)))
    encoder = QueryEncoder(model.encoder, width)
    return IdentifierModel(encoder, Decoder(model.decoder), (CODES,) * DEPTH, states).eval()


def skewed_categories(items: int) -> CategoryTree:
    """300 leaf categories below 30 below 6, unevenly full."""
    rng = np.random.default_rng(2)
    weight = 1.0 / np.arange(1, LEAVES + 1) ** 0.8
    leaf = rng.choice(LEAVES, items, p=weight / weight.sum())
    return CategoryTree.of_paths([[f"a{n % 6}", f"b{n % 30}", f"c{n}"] for n in leaf.tolist()])


def tokens_of(queries: int, words: int = 8000) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(3)
    tokens = torch.from_numpy(rng.integers(2, words, (queries, 10)))
    return tokens, torch.ones_like(tokens)


# -- parts ---------------------------------------------------------------------------------------


class Clock:
    """Adds up seconds of named parts; a part inside another is taken out of the outer one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._inner: list[float] = []

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Time a block."""
        self._inner.append(0.0)
        start = time.process_time()
        try:
            yield
        finally:
            spent = time.process_time() - start
            self.seconds[part] += spent - self._inner.pop()
            if self._inner:
                self._inner[-1] += spent

    def timed(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, timed."""

        def run(*given: Any, **named: Any) -> Any:
            with self(part):
                return call(*given, **named)

        return run


def parts_of(search: Callable[[], Any], model: IdentifierModel) -> dict[str, float]:
    """Milliseconds of each part of a search."""
    clock = Clock()
    decoder = model.decoder
    places: list[tuple[Any, str, str]] = [
        (model.encoder, "forward", "encoder"),
        (model, "think", "category states"),
        (decoder, "memory", "cross keys and values"),
        (decoder, "prefix", "rows before the first code"),
        (decoder, "_step_attention", "self-attention"),
        (decoder, "_cross_attention", "cross-attention"),
        (model, "logits", "heads and softmax"),
        (torch, "log_softmax", "heads and softmax"),
        (beam, "step_gain", "candidates and top-k"),
        (beam, "_advance", "candidates and top-k"),
        (Cache, "reordered", "cache gather"),
        (beam, "beam_maxima", "evidence"),
        (EvidenceIndex, "compatibility", "evidence"),
        (Routes, "best", "routing"),
        (Routes, "admit", "routing"),
    ]
    places += [(block.layer[2], "forward", "feed-forward") for block in decoder.blocks]
    with ExitStack() as stack:
        for owner, name, part in places:
            whole = clock.timed(part, getattr(owner, name))
            if isinstance(owner, type):
                whole = _method(clock, part, getattr(owner, name))
            stack.enter_context(patch.object(owner, name, whole))
        search()
        clock.seconds.clear()
        for _ in range(REPEATS):
            with clock("everything else"):
                search()
    return {part: 1e3 * seconds / REPEATS for part, seconds in clock.seconds.items()}


def _method(clock: Clock, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def run(self: Any, *given: Any, **named: Any) -> Any:
        with clock(part):
            return call(self, *given, **named)

    return run


def full_search(
    model: IdentifierModel,
    tree: PrefixTree,
    routes: Routes | None,
    index: EvidenceIndex,
    width: int = 100,
    queries: int = 1,
) -> Callable[[], Paths]:
    """A search with evidence at all depths and, where the model has categories, routing."""
    vocabulary = SidVocabulary.of(tree, (CODES,) * DEPTH)
    tokens = tokens_of(queries)
    texts = [evidence_bench.query_terms(n % evidence_bench.QUERIES)[0] for n in range(queries)]

    @torch.inference_mode()
    def run() -> Paths:
        evidence = [index.compatibility(text) for text in texts]
        begun = Begun.of(model, model.encoder(*tokens))
        admitted = None
        if routes is not None and model.categories is not None:
            chances = [v.numpy() for v in model.categories.log_probabilities(begun.latents)]
            admitted = routes.admit(routes.best(chances, ROUTED))
        guide = Guide(admitted=admitted, evidence=evidence, mask=(True,) * DEPTH)
        return beam_search(model, tree, vocabulary, begun, width=width, guide=guide)

    return run


def breakdown(
    tree: PrefixTree, routes: Routes, index: EvidenceIndex, small: IdentifierModel
) -> None:
    large = Setting("T5-base", 1).ours()
    found = {
        "T5-base": parts_of(full_search(large, tree, None, index), large),
        "tiny, 3 categories": parts_of(full_search(small, tree, routes, index), small),
    }
    names = dict.fromkeys(part for one in found.values() for part in one)
    rows = [
        {
            "part": part,
            **{f"{model}, ms": one.get(part, 0.0) for model, one in found.items()},
            **{f"{model}, %": _share(one, part) for model, one in found.items()},
        }
        for part in names
    ]
    report(
        "search-parts: one query, beam 100, 300,000 items, evidence at every depth",
        rows,
        "one thread; T5-base without categories",
    )


def _share(parts: dict[str, float], part: str) -> float:
    return 100 * parts.get(part, 0.0) / sum(parts.values())


# -- routing and throughput ----------------------------------------------------------------------


def routing(routes: Routes) -> None:
    rng = np.random.default_rng(4)
    rows = []
    for queries in (1, 32):
        # As the model would choose: large categories more often, since more queries are about them.
        share = np.diff(routes.start) / len(routes.leaves)
        chosen = np.stack([rng.choice(len(share), ROUTED, False, share) for _ in range(queries)])
        largest = np.broadcast_to(np.argsort(-share)[:ROUTED], (queries, ROUTED))
        sizes = [len(routes.leaves_of(some)[1]) // queries for some in (chosen, largest)]
        seconds = alternate(
            {
                "drawn": partial(routes.admit, chosen),
                "largest": partial(routes.admit, largest),
            },
            clock=time.process_time,
        )
        for name, size in zip(("drawn", "largest"), sizes, strict=True):
            rows.append(
                {
                    "three categories": f"{name}, {queries} a batch",
                    "identifiers": size,
                    "ms a query": 1e3 * seconds[name] / queries,
                }
            )
    report("search-routing: union of three of 300 categories, 300,000 items", rows)


def model_alone(tree: PrefixTree, width: int, queries: int) -> Callable[[], Paths]:
    """A search by the model, without categories and evidence."""
    model, tokens = tiny(), tokens_of(queries)
    vocabulary = SidVocabulary.of(tree, (CODES,) * DEPTH)

    @torch.inference_mode()
    def run() -> Paths:
        begun = Begun.of(model, model.encoder(*tokens))
        return beam_search(model, tree, vocabulary, begun, width=width)

    return run


def throughput(queries: int = 32) -> None:
    rows = []
    for items in (10_000, ITEMS):
        tree = PrefixTree.build(skewed_codes(items))
        index = evidence_bench.make_index(tree, items * evidence_bench.POSTINGS // ITEMS)
        categories = skewed_categories(items)
        routes, model = Routes.of(categories, tree), tiny(categories)
        for width in (10, 50, 100):
            ways = {
                "alone": model_alone(tree, width, queries),
                "guided": full_search(model, tree, routes, index, width, queries),
            }
            seconds = alternate(ways, 3, time.process_time)
            rows.append(
                {
                    "tiny": f"{items:,} items, beam {width}",
                    "queries/s, model alone": queries / seconds["alone"],
                    "queries/s, routed and with evidence": queries / seconds["guided"],
                }
            )
    report(
        "search-throughput: the tiny model on one core, 32 queries a batch",
        rows,
        "from token ids to ranked identifiers; sentence vectors and shown fields not included",
    )


def main() -> None:
    torch.set_num_threads(1)
    tree = PrefixTree.build(skewed_codes(ITEMS))
    categories = skewed_categories(ITEMS)
    routes = Routes.of(categories, tree)
    index = evidence_bench.make_index(tree, evidence_bench.POSTINGS)
    small = tiny(categories)
    breakdown(tree, routes, index, small)
    routing(routes)
    throughput()


if __name__ == "__main__":
    main()
