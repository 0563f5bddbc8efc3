"""The tree head starts as its settings say: small, at unit scale, or from the identifiers' codebooks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rars.errors import RarsError
from rars.model.tree_head import TreeHead
from rars.objectives.siblings import HeadSettings, head_of

SLOTS = (64, 64, 65)


@pytest.mark.parametrize(("start", "scale"), [("small", 0.02), ("unit", 1.0)])
def test_tables_start_at_the_scale_that_was_asked_for(start, scale):
    torch.manual_seed(0)
    head = head_of(32, SLOTS, HeadSettings(start=start))
    for table in (*head.children_, *head.prefixes):
        assert float(table.detach().std()) == pytest.approx(scale, rel=0.05)
        assert abs(float(table.mean())) < 0.05 * scale
    assert all(not bias.abs().max() for bias in head.biases)


def test_children_start_where_their_codewords_are():
    """Distances between child embeddings are those of codewords on their principal axes."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(100, 16)))[0].T
    words = [torch.tensor(rng.normal(size=(64, 16)) @ basis, dtype=torch.float32) for _ in range(2)]
    suffix = torch.zeros(64, 100)
    head = head_of(32, SLOTS, HeadSettings(start="codebooks"), [*words, suffix])
    for one, children in zip(words, head.children_, strict=False):
        ratio = torch.pdist(children.detach()) / torch.pdist(one)
        assert float(ratio.std() / ratio.mean()) < 1e-3
        assert float(children.std()) == pytest.approx(1.0, rel=0.05)
    assert float(head.children_[2].std()) == pytest.approx(0.02, rel=0.1), "a suffix says nothing"


def test_fewer_dimensions_than_the_heads_rank_and_fewer_codes_than_slots_are_no_problem():
    words = [torch.randn(60, 8), torch.randn(64, 8), torch.randn(64, 8)]
    head = TreeHead(32, SLOTS, 64, codewords=words)
    assert head.children_[0].shape == (64, 64)
    assert bool(head.children_[0][0, :8].abs().max() > 0.1)


def test_a_start_from_codebooks_without_any_is_one_sentence():
    with pytest.raises(RarsError, match="needs identifiers with codebooks"):
        head_of(32, SLOTS, HeadSettings(start="codebooks"), None)
