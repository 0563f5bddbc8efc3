"""The beam finds what enumeration finds, in the same order, and nothing that is not in the catalogue."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rars.search.beam import NOTHING, beam_search, items_of
from tests.model.small import Example, retriever


@pytest.fixture(autouse=True)
def _float64():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def setting(seed=0, family="t5", mode="feedback", **kinds):
    example = Example(seed, latent=mode is not None, **kinds)
    model = retriever(
        example.vocabulary.slots, family, example.categories, mode or "", prior_dim=6
    ).eval()
    longest = max(map(len, example.tokens))
    tokens, mask = (
        torch.zeros(7, longest, dtype=torch.long),
        torch.zeros(7, longest, dtype=torch.long),
    )
    for row, ids in enumerate(example.tokens):
        tokens[row, : len(ids)] = torch.tensor(ids)
        mask[row, : len(ids)] = 1
    return example, model, tokens, mask, torch.tensor(example.vectors)


@torch.no_grad()
def enumerate_all(example, model, query):
    """log p of every identifier of the catalogue, one plain sequence at a time."""
    tokens = torch.tensor(example.tokens[query])[None]
    encoded = model.encoder(tokens, torch.ones_like(tokens))
    memory = model.decoder.memory(encoded.states, encoded.mask)
    first, _ = model.think(memory)
    found = {}
    for sid in sorted({tuple(row) for row in example.codes.tolist()}):
        code = [c for c in sid if c >= 0]
        inputs = first
        for depth, value in enumerate(code[: len(sid) - 1]):
            inputs = torch.cat([inputs, model.code_inputs[depth].weight[value][None, None]], dim=1)
        hidden = model.sequence(inputs, memory)
        ended = len(code) < len(sid) and example.vocabulary.ends[len(code)]
        steps = [*code, example.vocabulary.sizes[len(code)]] if ended else code
        total = 0.0
        for depth, value in enumerate(steps):
            row = model.logits(
                depth,
                hidden[:, model.latent_rows + depth],
                torch.tensor(example.vectors[query])[None],
            )
            total += torch.log_softmax(row, -1)[0, value].item()
        found[sid] = total
    return sorted(found.items(), key=lambda pair: -pair[1])


@pytest.mark.parametrize("family", ["t5", "mt5", "umt5"])
@pytest.mark.parametrize("mode", ["feedback", "slots", None])
@pytest.mark.parametrize("ragged", [False, True])
def test_a_wide_beam_equals_enumeration(family, mode, ragged):
    example, model, tokens, mask, vectors = setting(family=family, mode=mode, ragged=ragged)
    found = beam_search(
        model, example.tree, example.vocabulary, tokens, mask, projected=vectors, width=1000
    )
    for query in range(7):
        expected = enumerate_all(example, model, query)
        leaves = found.leaves[query][found.leaves[query] != NOTHING]
        paths = [tuple(p) for p in example.tree.paths(example.tree.depth, leaves).tolist()]
        assert paths == [sid for sid, _ in expected]
        np.testing.assert_allclose(
            found.scores[query][: len(paths)], [score for _, score in expected], atol=1e-6
        )


@pytest.mark.parametrize("width", [1, 3, 10])
def test_results_are_distinct_legal_and_at_most_the_beam(width):
    # A beam wider than the legal roots must return fewer results, never an illegal one.
    example, model, tokens, mask, vectors = setting()
    found = beam_search(
        model, example.tree, example.vocabulary, tokens, mask, projected=vectors, width=width
    )
    for leaves in found.leaves:
        kept = leaves[leaves != NOTHING]
        assert len(kept) == len(set(kept.tolist())) <= width
        assert (kept < example.tree.n_leaves).all()


def test_a_query_searched_alone_or_in_a_batch_gets_the_same():
    example, model, tokens, mask, vectors = setting()
    together = beam_search(
        model, example.tree, example.vocabulary, tokens, mask, projected=vectors, width=5
    )
    alone = beam_search(
        model,
        example.tree,
        example.vocabulary,
        tokens[3:4],
        mask[3:4],
        projected=vectors[3:4],
        width=5,
    )
    np.testing.assert_array_equal(together.leaves[3], alone.leaves[0])


def test_leaves_expand_to_items_and_k_counts_items():
    example, *_ = setting(items=200, codes=3)
    leaf = int(np.diff(example.tree.buckets).argmax())
    items = items_of(example.tree, np.array([leaf, NOTHING]), 100)
    assert items.tolist() == example.tree.items_below(example.tree.depth, leaf).tolist()
    assert len(items_of(example.tree, np.array([leaf, (leaf + 1) % example.tree.n_leaves]), 2)) == 2
