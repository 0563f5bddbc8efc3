"""Dropout: the right share, the right scale, the same draws from the same seed, and gradients of its mask."""

from __future__ import annotations

import pytest
import torch
from scipy import stats
from torch import nn

from rars.model.dropout import Dropout, dropped, replace_dropout


@pytest.mark.parametrize("p", [0.03, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("shape", [(100_000,), (333, 301), (7, 5, 2_999)])
def test_the_share_of_zeros_and_the_scale_of_the_rest(p, shape):
    torch.manual_seed(3)
    found = dropped(torch.ones(shape, dtype=torch.float64), p, True)
    zeros = int((found == 0).sum())
    assert stats.binomtest(zeros, found.numel(), p).pvalue > 1e-4
    assert found[found != 0].unique().tolist() == pytest.approx([1 / (1 - p)], rel=2e-4)


def test_neighbours_are_drawn_apart():
    """Four entries come from one random word; each is as often zero after a zero as after another."""
    torch.manual_seed(4)
    zero = dropped(torch.ones(400_000), 0.3, True) == 0
    for distance in (1, 2, 3, 4):
        after = zero[distance:][zero[:-distance]]
        assert stats.binomtest(int(after.sum()), len(after), 0.3).pvalue > 1e-4


def test_the_seed_decides_and_nothing_else():
    values = torch.randn(50, 7).T
    one, other, third = (_seeded(values, seed) for seed in (1, 1, 2))
    assert torch.equal(one, other)
    assert not torch.equal(one, third)


def _seeded(values, seed):
    torch.manual_seed(seed)
    return dropped(values, 0.5, True)


def test_gradients_pass_where_values_did():
    torch.manual_seed(5)
    values = torch.randn(40, 9, requires_grad=True)
    found = dropped(values, 0.4, True)
    found.sum().backward()
    torch.testing.assert_close(values.grad, (found / values).detach())


def test_without_training_or_share_nothing_happens():
    values = torch.randn(5)
    assert dropped(values, 0.5, False) is values
    assert dropped(values, 0.0, True) is values
    assert not dropped(values, 1.0, True).any()


def test_every_layer_of_torch_is_replaced():
    part = nn.Sequential(nn.Dropout(0.2), nn.ModuleDict({"inner": nn.Sequential(nn.Dropout(0.3))}))
    replace_dropout(part)
    found = [one for one in part.modules() if isinstance(one, nn.Dropout | Dropout)]
    assert [(type(one), one.p) for one in found] == [(Dropout, 0.2), (Dropout, 0.3)]
