"""Queries that share a row of an encoder-only model are encoded as each would be by itself."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from rars.model.encoder import run_packed

LENGTHS = (3, 17, 1, 9, 40, 22, 70, 5)


def small(attention: str = "sdpa") -> Any:
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=32,
        max_position_embeddings=80,
        attn_implementation=attention,
    )
    return BertModel(config, add_pooling_layer=False).double().eval()


def asked() -> tuple[Tensor, Tensor]:
    """Token ids and mask of queries of the lengths above."""
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    tokens = torch.randint(1, 50, mask.shape, generator=torch.Generator().manual_seed(1))
    return torch.where(mask, tokens, 0), mask.long()


def one_by_one(stack: Any, tokens: Tensor, mask: Tensor) -> Tensor:
    states = torch.zeros(*tokens.shape, stack.config.hidden_size, dtype=torch.float64)
    for at, length in enumerate(LENGTHS):
        states[at, :length] = stack(tokens[at : at + 1, :length]).last_hidden_state[0]
    return states


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_states_are_those_of_each_query_alone(attention: str) -> None:
    stack = small(attention)
    tokens, mask = asked()
    found = run_packed(stack, tokens, mask) * mask[:, :, None]
    assert torch.allclose(found, one_by_one(stack, tokens, mask), atol=1e-12)


def test_gradients_are_those_of_each_query_alone() -> None:
    tokens, mask = asked()
    weight = torch.randn(*mask.shape, 16, dtype=torch.float64) * mask[:, :, None]
    gradients = []
    for run in (run_packed, one_by_one):
        stack = small()
        (run(stack, tokens, mask) * weight).sum().backward()
        gradients.append({name: one.grad for name, one in stack.named_parameters()})
    for name, expected in gradients[1].items():
        assert torch.allclose(gradients[0][name], expected, atol=1e-10), name


def test_rows_are_shared_and_fewer_tokens_are_computed() -> None:
    stack = small()
    computed = list[int]()
    stack.register_forward_pre_hook(
        lambda _, args, kwargs: computed.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    tokens, mask = asked()
    run_packed(stack, tokens, mask)
    assert computed[0] <= mask.numel() / 2
