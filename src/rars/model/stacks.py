"""T5-family stacks for trained models: the parameters of ``transformers`` without importing it.

Owns: the encoder and decoder blocks of T5, mT5 and umT5 with the parameter names of ``transformers``, for
evaluation alone. Importing that library takes longer than importing torch, and a search needs none of it.
Training goes through the library itself; a test holds both to the same numbers.

Block: x + A(norm x) [+ C(norm x)] + F(norm x), norm x = w x / rms(x); attention without scaling, plus a bias
of the bucketed distance (T5 and mT5: made in the first layer for all; umT5: in each).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

FAMILY = ("t5", "mt5", "umt5")


def _gelu_new(x: Tensor) -> Tensor:
    return (
        0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))
    )


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": nn.functional.relu,
    "gelu": nn.functional.gelu,
    "gelu_new": _gelu_new,
    "silu": nn.functional.silu,
}


@dataclass(frozen=True)
class Shape:
    """The sizes and options of a stack, read from a saved configuration of the library."""

    vocabulary: int
    width: int
    head: int
    heads: int
    inner: int
    layers: int
    decoder_layers: int
    buckets: int
    farthest: int
    epsilon: float
    dropout: float
    activation: str
    gated: bool
    bias_in_each: bool

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Shape | None:
        """The shape of a T5-family model; None for another kind, or one made in a way unknown here."""
        if config.get("model_type") not in FAMILY:
            return None
        try:
            found = cls(
                vocabulary=config["vocab_size"],
                width=config["d_model"],
                head=config["d_kv"],
                heads=config["num_heads"],
                inner=config["d_ff"],
                layers=config["num_layers"],
                decoder_layers=config["num_decoder_layers"],
                buckets=config["relative_attention_num_buckets"],
                farthest=config["relative_attention_max_distance"],
                epsilon=config["layer_norm_epsilon"],
                dropout=config["dropout_rate"],
                activation=config["dense_act_fn"],
                gated=config["is_gated_act"],
                bias_in_each=config["model_type"] == "umt5",
            )
        except KeyError:
            return None
        return found if found.activation in ACTIVATIONS else None

    @property
    def config(self) -> SimpleNamespace:
        """The few names that the rest of the model asks a library configuration for."""
        return SimpleNamespace(
            d_model=self.width,
            num_heads=self.heads,
            dropout_rate=self.dropout,
            relative_attention_num_buckets=self.buckets,
            relative_attention_max_distance=self.farthest,
        )


class Norm(nn.Module):
    """Root mean square norm, without bias and mean."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(shape.width))
        self.epsilon = shape.epsilon

    def forward(self, rows: Tensor) -> Tensor:
        """Rows (..., d) at length sqrt(d), weighed."""
        spread = rows.to(torch.float32).pow(2).mean(-1, keepdim=True)
        return self.weight * (rows * torch.rsqrt(spread + self.epsilon))


class Attention(nn.Module):
    """Projections of an attention, and the table of its bias where it has one."""

    def __init__(self, shape: Shape, *, biased: bool) -> None:
        super().__init__()
        inner = shape.heads * shape.head
        self.dropout = shape.dropout
        self.q = nn.Linear(shape.width, inner, bias=False)
        self.k = nn.Linear(shape.width, inner, bias=False)
        self.v = nn.Linear(shape.width, inner, bias=False)
        self.o = nn.Linear(inner, shape.width, bias=False)
        if biased:
            self.relative_attention_bias = nn.Embedding(shape.buckets, shape.heads)


class SelfAttention(nn.Module):
    """A norm and an attention over the own sequence."""

    def __init__(self, shape: Shape, *, biased: bool) -> None:
        super().__init__()
        self.SelfAttention = Attention(shape, biased=biased)
        self.layer_norm = Norm(shape)
        self.dropout = nn.Dropout(shape.dropout)


class CrossAttention(nn.Module):
    """A norm and an attention over the encoded query."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.EncDecAttention = Attention(shape, biased=False)
        self.layer_norm = Norm(shape)
        self.dropout = nn.Dropout(shape.dropout)


class Dense(nn.Module):
    """The inner layers of a feed-forward part, gated or not."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.act = ACTIVATIONS[shape.activation]
        self.gated = shape.gated
        if shape.gated:
            self.wi_0 = nn.Linear(shape.width, shape.inner, bias=False)
            self.wi_1 = nn.Linear(shape.width, shape.inner, bias=False)
        else:
            self.wi = nn.Linear(shape.width, shape.inner, bias=False)
        self.wo = nn.Linear(shape.inner, shape.width, bias=False)

    def forward(self, rows: Tensor) -> Tensor:
        """Rows (..., d) to rows."""
        inner = (
            self.act(self.wi_0(rows)) * self.wi_1(rows) if self.gated else self.act(self.wi(rows))
        )
        out: Tensor = self.wo(inner)
        return out


class FeedForward(nn.Module):
    """x + F(norm x)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.DenseReluDense = Dense(shape)
        self.layer_norm = Norm(shape)

    def forward(self, rows: Tensor) -> Tensor:
        """Rows (..., d) to rows."""
        added: Tensor = rows + self.DenseReluDense(self.layer_norm(rows))
        return added


class Block(nn.Module):
    """Attention, in a decoder attention over the query, feed-forward."""

    def __init__(self, shape: Shape, *, first: bool, decoder: bool) -> None:
        super().__init__()
        own: list[nn.Module] = [SelfAttention(shape, biased=first or shape.bias_in_each)]
        cross: list[nn.Module] = [CrossAttention(shape)] if decoder else []
        self.layer: Any = nn.ModuleList([*own, *cross, FeedForward(shape)])


class Stack(nn.Module):
    """The blocks of an encoder or a decoder, which ``rars.model.encoder`` and ``rars.model.decoder`` run."""

    def __init__(self, shape: Shape, *, decoder: bool = False) -> None:
        super().__init__()
        self.shape, self.config = shape, shape.config
        layers = shape.decoder_layers if decoder else shape.layers
        self.block: Any = nn.ModuleList(
            Block(shape, first=at == 0, decoder=decoder) for at in range(layers)
        )
        self.final_layer_norm = Norm(shape)
        self.dropout = nn.Dropout(shape.dropout)
        if not decoder:
            self.embed_tokens = nn.Embedding(shape.vocabulary, shape.width)

    def get_input_embeddings(self) -> nn.Embedding:
        """The word table, as the library's stacks are asked for it."""
        return self.embed_tokens
