"""The query encoder: text (and, offline, a frozen sentence vector) to states the decoder can read.

Owns: running the model that encodes the query, and the tokens made from a sentence vector. Ignores the
identifiers.

Three kinds, one interface: the encoder of a T5-family checkpoint; any encoder-only model (MiniLM and the
like), with a projection to the decoder's width; and a small T5 encoder trained from scratch whose input
also holds tokens projected from a sentence vector of the query, so that it starts with real semantics.

``pooled`` is the masked mean of the final states over all non-padding positions: the shared query
representation h-bar(q) of the paper's tree head.

Blocks of the T5 family are run here, on real tokens alone: in a batch of queries more than half of the places
are padding, and all but the attention itself works row by row. Models of BERT's family get several queries
in one row instead of padding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from rars.model.dropout import dropped, replace_dropout

# Tokens of the rows that queries share in an encoder-only model.
_ROW = 64


@dataclass(frozen=True)
class Encoded:
    """Encoded queries: states (B, S, d), their mask (B, S), and the masked mean h-bar(q) (B, d)."""

    states: Tensor
    mask: Tensor
    pooled: Tensor


class QueryEncoder(nn.Module):
    """A library encoder, optional vector tokens before its input, and a projection to ``width``."""

    def __init__(
        self, stack: Any, width: int, *, vector_dim: int = 0, vector_tokens: int = 0
    ) -> None:
        super().__init__()
        own: int = getattr(stack.config, "d_model", None) or stack.config.hidden_size
        replace_dropout(stack)
        self.stack = stack
        self.vector_tokens = vector_tokens
        self.widen = nn.Identity() if own == width else nn.Linear(own, width, bias=False)
        self.from_vector = nn.Linear(vector_dim, vector_tokens * own) if vector_tokens else None
        if self.from_vector is not None:
            # Sentence vectors have length one: their tokens start at the scale of T5's word embeddings.
            nn.init.normal_(self.from_vector.weight)

    def forward(self, tokens: Tensor, mask: Tensor, vectors: Tensor | None = None) -> Encoded:
        """Encode token ids (B, S) with their mask, and sentence vectors (B, v) where the model has them."""
        if not hasattr(self.stack, "block"):
            states = run_packed(self.stack, tokens, mask)
        else:
            inputs = self.stack.get_input_embeddings()(tokens)
            if self.from_vector is not None:
                assert vectors is not None, "this encoder reads a sentence vector of every query"
                seen = self.from_vector(vectors).view(len(tokens), self.vector_tokens, -1)
                mask = torch.cat([mask.new_ones(len(mask), self.vector_tokens), mask], dim=1)
                inputs = torch.cat([seen.to(inputs.dtype), inputs], dim=1)
            states = run_blocks(self.stack, inputs, mask)
        states = self.widen(states)
        weight = mask.to(states.dtype)[:, :, None]
        pooled = (states * weight).sum(1) / weight.sum(1)
        return Encoded(states, mask, pooled)


def run_packed(stack: Any, tokens: Tensor, mask: Tensor) -> Tensor:
    """Final states (B, S, d) of token ids (B, S) by an encoder-only model; what they are at padding is open.

    BERT and its like (MiniLM, BGE, E5) compute padding too: on a CPU several queries share a row of their
    input, each at the positions it has by itself and blind to the others. Other models, and other devices,
    are given padding.
    """
    if tokens.device.type != "cpu" or not _takes_packed(stack) or bool(mask.all()):
        states: Tensor = stack(input_ids=tokens, attention_mask=mask).last_hidden_state
        return states
    lengths = mask.sum(dim=1)
    row, start = _shared_rows(lengths, _ROW)
    shape = (int(row[-1]) + 1, max(_ROW, mask.shape[1]))
    query, position = mask.nonzero().T
    place = row[query] * shape[1] + start[query] + position

    def spread(values: Tensor, empty: int) -> Tensor:  # (tokens,) -> shape
        return values.new_full(shape, empty).flatten().index_copy(0, place, values).view(shape)

    owner = spread(query, -1)
    found = stack(
        input_ids=spread(tokens[query, position], 0),
        position_ids=spread(position, 0),
        attention_mask=(owner[:, :, None] == owner[:, None, :])[:, None],
    ).last_hidden_state.flatten(0, 1)
    every: Tensor = found.new_zeros(mask.numel(), found.shape[1])
    every = every.index_copy(0, query * mask.shape[1] + position, found.index_select(0, place))
    return every.view(*mask.shape, -1)


def _takes_packed(stack: Any) -> bool:
    config = getattr(stack, "config", None)
    kind = getattr(config, "model_type", None), getattr(config, "_attn_implementation", None)
    return kind == ("bert", "sdpa")


def _shared_rows(lengths: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """The row of each sequence and where it starts in it, (B,) each; rows are filled one after the other.

    >>> _shared_rows(torch.tensor([3, 4, 2, 9, 1]), 8)
    (tensor([0, 0, 1, 2, 3]), tensor([0, 3, 0, 0, 0]))
    """
    rows, starts, row, used = [], [], 0, 0
    for length in lengths.tolist():
        if used and used + length > width:
            row, used = row + 1, 0
        rows.append(row)
        starts.append(used)
        used += length
    return torch.tensor(rows), torch.tensor(starts)


def run_blocks(stack: Any, inputs: Tensor, mask: Tensor) -> Tensor:
    """Final states (B, S, d) of inputs (B, S, d) under their mask (B, S); 0 at padding.

    ``stack`` is an encoder of the T5 family, of ``transformers`` or of ``rars.model.stacks``.
    """
    places = mask.flatten().nonzero()[:, 0]
    whole = len(places) == mask.numel()

    def spread(rows: Tensor) -> Tensor:  # (tokens, n) -> (B, S, n)
        if not whole:
            rows = rows.new_zeros(mask.numel(), rows.shape[1]).index_copy(0, places, rows)
        return rows.view(*mask.shape, -1)

    def taken(rows: Tensor) -> Tensor:  # (B, S, n) -> (tokens, n)
        rows = rows.reshape(mask.numel(), -1)
        return rows if whole else rows.index_select(0, places)

    rows = stack.dropout(taken(inputs))
    padding = (mask == 0)[:, None, None, :]
    bias: Tensor | None = None
    for block in stack.block:
        attend, feed_forward = block.layer
        attention = attend.SelfAttention
        if (table := getattr(attention, "relative_attention_bias", None)) is not None:
            bias = _distances(stack.config, table, mask.shape[1])  # umT5 has one in each layer
            bias = bias if whole else bias.masked_fill(padding, float("-inf"))
        assert bias is not None
        normed = attend.layer_norm(rows)
        query, key, value = (
            spread(part(normed)).view(*mask.shape, stack.config.num_heads, -1).transpose(1, 2)
            for part in (attention.q, attention.k, attention.v)
        )
        weights = torch.softmax(query @ key.transpose(-1, -2) + bias, dim=-1)
        read = dropped(weights, attention.dropout, stack.training) @ value
        rows = rows + attend.dropout(attention.o(taken(read.transpose(1, 2).flatten(2))))
        rows = feed_forward(rows)
    return spread(stack.dropout(stack.final_layer_norm(rows)))


def _distances(config: Any, table: nn.Embedding, length: int) -> Tensor:
    """The bias (1, H, S, S) of every pair of places."""
    place = torch.arange(length, device=table.weight.device)
    buckets = _buckets(
        place[None, :] - place[:, None],
        config.relative_attention_num_buckets,
        config.relative_attention_max_distance,
    )
    found: Tensor = table(buckets)
    return found.permute(2, 0, 1)[None]


def _buckets(distance: Tensor, buckets: int, farthest: int) -> Tensor:
    """Small distances by themselves, larger ones in buckets that grow with their logarithm; both ways."""
    half = buckets // 2
    exact = half // 2
    side = (distance > 0).long() * half
    far = distance.abs()
    grown = torch.log(far.float() / exact) / math.log(farthest / exact) * (half - exact)
    return side + torch.where(far < exact, far, (exact + grown.long()).clamp(max=half - 1))
