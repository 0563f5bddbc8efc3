"""The decoder: blocks of any T5-family model, run over a whole tree of prefixes in one pass.

Owns: one pass of a decoder stack in which every row sees its own ancestors only and stands at the position
of its depth. Ignores identifiers, losses and search.

The blocks are those of ``transformers`` (T5, mT5, flan, umT5) or their equals in ``rars.model.stacks``. Their
attention is computed here, because the library's own takes positions and visibility from the order of a
sequence, while the rows of a prefix tree are not a sequence. Keys and values of the encoded query are made
once a query (``memory``) and shared by all of its rows.

Shapes: batch B, rows T, heads H, width d, encoder length S; in a beam, W prefixes a query and P rows before
the first code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from rars.errors import RarsError
from rars.model.dropout import Dropout, dropped, replace_dropout

Past = tuple[tuple[Tensor, Tensor], ...]
"""Keys and values (B, H, P, d/H) per layer of the first P rows, which every later row sees; () for none."""


@dataclass(frozen=True)
class Memory:
    """What the decoder reads of the query: keys and values per layer (B, H, S, d/H), and their mask."""

    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]
    mask: Tensor  # (B, 1, 1, S), True where there is a token


@dataclass(frozen=True)
class Cache:
    """Keys and values of rows already decoded, per layer.

    ``shared`` (B, H, P, d/H) of the rows before the first code, one copy a query; ``paths``
    (B, W, t, H, d/H) of each beam's own codes.
    """

    shared: Past
    paths: tuple[tuple[Tensor, Tensor], ...]

    @property
    def rows(self) -> int:
        """How many rows each beam already sees."""
        return self.shared[0][0].shape[2] + self.paths[0][0].shape[2]

    def reordered(self, beams: Tensor) -> Cache:
        """Keep the paths of the given beams (B, W') of each query."""
        if not self.paths[0][0].shape[2]:
            return self
        query = torch.arange(len(beams), device=beams.device)[:, None]
        rows = (query * self.paths[0][0].shape[1] + beams).flatten()

        def kept(paths: Tensor) -> Tensor:  # whole rows are copied faster than by indexing
            chosen = paths.flatten(0, 1).index_select(0, rows)
            return chosen.view(*beams.shape, *paths.shape[2:])

        return Cache(self.shared, tuple((kept(k), kept(v)) for k, v in self.paths))


class Decoder(nn.Module):
    """A decoder stack of the T5 family without its word embeddings.

    ``stack`` is a ``T5Stack``, ``MT5Stack``, ``UMT5Stack`` or ``rars.model.stacks.Stack``; only its first
    ``layers`` blocks are kept (a deep encoder with a shallow decoder costs a fraction at search time).
    """

    def __init__(self, stack: Any, layers: int | None = None) -> None:
        super().__init__()
        self.blocks: Any = nn.ModuleList(list(stack.block)[:layers])
        replace_dropout(self.blocks)
        self.final_norm = stack.final_layer_norm
        config = stack.config
        self.dropout = Dropout(config.dropout_rate)
        self.heads: int = config.num_heads
        self.width: int = config.d_model
        # Below half the buckets T5's position buckets are the distances themselves.
        self.max_rows: int = config.relative_attention_num_buckets // 2

    def memory(self, states: Tensor, mask: Tensor) -> Memory:
        """Keys and values of encoded queries (B, S, d) for every layer."""
        attention = [block.layer[1].EncDecAttention for block in self.blocks]
        return Memory(
            keys=tuple(self._split(a.k(states)) for a in attention),
            values=tuple(self._split(a.v(states)) for a in attention),
            mask=mask[:, None, None, :].bool(),
        )

    def forward(
        self,
        inputs: Tensor,
        positions: Tensor,
        visible: Tensor,
        memory: Memory,
        past: Past = (),
        keep: list[tuple[Tensor, Tensor]] | None = None,
    ) -> Tensor:
        """Final states (B, T, d) of rows (B, T, d) at ``positions`` (B, T).

        ``visible`` (B, T, T) says which rows each row sees; every row sees itself and the rows of the
        ``past``, which stand at 0, 1, .. P - 1. ``keep`` collects the keys and values (B, H, P + T, d/H) of
        every layer, those of the past before the rows' own.
        """
        hidden = self.dropout(inputs)
        seen = positions
        hidden_from = ~visible[:, None]
        if past:
            before = torch.arange(past[0][0].shape[2], device=inputs.device)
            seen = torch.cat([before.expand(len(positions), -1), positions], dim=1)
            hidden_from = functional.pad(hidden_from, (len(before), 0))
        distance = (positions[:, :, None] - seen[:, None, :]).clamp(min=0)
        bias: Tensor | None = None
        for layer, block in enumerate(self.blocks):
            attend, cross, feed_forward = block.layer
            table = getattr(attend.SelfAttention, "relative_attention_bias", None)
            if table is not None:  # T5 has it in its first layer for all, umT5 in each
                bias = table(distance).permute(0, 3, 1, 2)
            assert bias is not None
            hidden = hidden + attend.dropout(
                self._self_attention(
                    attend.SelfAttention,
                    attend.layer_norm(hidden),
                    bias.masked_fill(hidden_from, float("-inf")),
                    past[layer] if past else None,
                    keep,
                )
            )
            hidden = hidden + cross.dropout(
                self._cross_attention(
                    cross.EncDecAttention, cross.layer_norm(hidden), memory, layer
                )
            )
            hidden = feed_forward(hidden)
        final: Tensor = self.dropout(self.final_norm(hidden))
        return final

    def sequence(self, inputs: Tensor, memory: Memory, past: Past = ()) -> tuple[Tensor, Past]:
        """Decode rows (B, T, d) that follow the past, each seeing those before it: states, longer past."""
        before, rows = past[0][0].shape[2] if past else 0, inputs.shape[1]
        positions = torch.arange(before, before + rows, device=inputs.device)
        visible = torch.ones(rows, rows, dtype=torch.bool, device=inputs.device).tril()
        kept: list[tuple[Tensor, Tensor]] = []
        every = (positions.expand(len(inputs), -1), visible.expand(len(inputs), -1, -1))
        hidden = self(inputs, *every, memory, past, kept)
        return hidden, tuple(kept)

    def prefix(self, inputs: Tensor, memory: Memory, past: Past = ()) -> tuple[Tensor, Cache]:
        """Decode the last of the rows that all beams share (B, T, d); the cache begins with all of them."""
        hidden, shared = self.sequence(inputs, memory, past)
        empty = inputs.new_zeros(len(inputs), 1, 0, self.heads, shared[0][0].shape[-1])
        return hidden, Cache(shared, tuple((empty, empty) for _ in shared))

    def step(self, inputs: Tensor, cache: Cache, memory: Memory) -> tuple[Tensor, Cache]:
        """One row per beam (B, W, d), which sees the shared rows and its own path: states, longer cache."""
        hidden = self.dropout(inputs)
        own: list[tuple[Tensor, Tensor]] = []
        distance = torch.arange(cache.rows, -1, -1, device=inputs.device)
        bias: Tensor | None = None
        for layer, block in enumerate(self.blocks):
            attend, cross, feed_forward = block.layer
            table = getattr(attend.SelfAttention, "relative_attention_bias", None)
            if table is not None:
                bias = table(distance).T
            assert bias is not None
            read, path = self._step_attention(
                attend.SelfAttention, attend.layer_norm(hidden), bias, cache, layer
            )
            own.append(path)
            hidden = hidden + attend.dropout(read)
            hidden = hidden + cross.dropout(
                self._cross_attention(
                    cross.EncDecAttention, cross.layer_norm(hidden), memory, layer
                )
            )
            hidden = feed_forward(hidden)
        final: Tensor = self.dropout(self.final_norm(hidden))
        return final, Cache(cache.shared, tuple(own))

    def check_rows(self, rows: int) -> None:
        """Refuse identifiers whose positions the relative bias could not tell apart."""
        if rows > self.max_rows:
            raise RarsError(
                f"Identifiers and category levels take {rows} decoder positions; this backbone tells "
                f"only {self.max_rows} apart."
            )

    def _self_attention(
        self,
        attention: Any,
        rows: Tensor,
        bias: Tensor,
        past: tuple[Tensor, Tensor] | None,
        keep: list[tuple[Tensor, Tensor]] | None,
    ) -> Tensor:
        query, key, value = (
            self._split(part(rows)) for part in (attention.q, attention.k, attention.v)
        )
        if past is not None:
            key, value = torch.cat([past[0], key], dim=2), torch.cat([past[1], value], dim=2)
        if keep is not None:
            keep.append((key, value))
        weights = torch.softmax(query @ key.transpose(-1, -2) + bias, dim=-1)
        weights = dropped(weights, attention.dropout, self.training)
        joined: Tensor = attention.o(self._join(weights @ value))
        return joined

    def _step_attention(
        self, attention: Any, rows: Tensor, bias: Tensor, cache: Cache, layer: int
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Attention of rows (B, W, d), one a beam: for so few keys products are faster than matrix calls."""
        query, key, value = (
            part(rows).view(*rows.shape[:2], self.heads, -1)
            for part in (attention.q, attention.k, attention.v)
        )
        shared_key, shared_value = cache.shared[layer]
        path_key, path_value = cache.paths[layer]
        beams = rows.shape[1]
        path_key = torch.cat([path_key.expand(-1, beams, -1, -1, -1), key[:, :, None]], dim=2)
        path_value = torch.cat([path_value.expand(-1, beams, -1, -1, -1), value[:, :, None]], dim=2)
        scores = torch.cat(
            [
                (query.transpose(1, 2) @ shared_key.transpose(-1, -2)).transpose(1, 2),
                (query[:, :, None] * path_key).sum(-1).transpose(2, 3),
            ],
            dim=-1,
        )
        weights = torch.softmax(scores + bias, dim=-1)
        shared = shared_key.shape[2]
        read = (weights[..., :shared].transpose(1, 2) @ shared_value).transpose(1, 2)
        read = read + (weights[..., shared:].transpose(2, 3)[..., None] * path_value).sum(2)
        joined: Tensor = attention.o(read.flatten(2))
        return joined, (path_key, path_value)

    def _cross_attention(self, attention: Any, rows: Tensor, memory: Memory, layer: int) -> Tensor:
        query, key, value = (
            self._split(attention.q(rows)),
            memory.keys[layer],
            memory.values[layer],
        )
        if self.training and attention.dropout:
            scores = (query @ key.transpose(-1, -2)).masked_fill(~memory.mask, float("-inf"))
            read = dropped(torch.softmax(scores, dim=-1), attention.dropout, True) @ value
        else:
            read = functional.scaled_dot_product_attention(
                query, key, value, attn_mask=memory.mask, scale=1.0
            )
        joined: Tensor = attention.o(self._join(read))
        return joined

    def _split(self, rows: Tensor) -> Tensor:
        return rows.view(*rows.shape[:2], self.heads, -1).transpose(1, 2)

    def _join(self, heads: Tensor) -> Tensor:
        return heads.transpose(1, 2).flatten(2)
