"""The decoder: library blocks of any T5-family checkpoint, run over a tree of prefixes at once.

Owns: one pass of a decoder stack in which every row sees its own ancestors only and stands at the position
of its depth. Ignores identifiers, losses and search.

The weights, norms and feed-forward layers are those of ``transformers`` (T5, mT5, flan, umT5); only the
attention is called here, because the library's own takes positions and visibility from the order of a
sequence, while the rows of a prefix tree are not a sequence. Keys and values of the encoded query are made
once a query (``memory``) and shared by all of its rows.

Shapes: batch B, rows T, heads H, width d, encoder length S.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from rars.errors import RarsError


@dataclass(frozen=True)
class Memory:
    """What the decoder reads of the query: keys and values per layer (B, H, S, d/H), and their mask."""

    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]
    mask: Tensor  # (B, 1, 1, S), True where there is a token


class Decoder(nn.Module):
    """A decoder stack of the T5 family without its word embeddings.

    ``stack`` is a ``T5Stack``, ``MT5Stack`` or ``UMT5Stack``; only its first ``layers`` blocks are kept
    (a deep encoder with a shallow decoder costs a fraction at search time).
    """

    def __init__(self, stack: Any, layers: int | None = None) -> None:
        super().__init__()
        self.blocks: Any = nn.ModuleList(list(stack.block)[:layers])
        self.final_norm = stack.final_layer_norm
        config = stack.config
        self.dropout = nn.Dropout(config.dropout_rate)
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

    def forward(self, inputs: Tensor, positions: Tensor, visible: Tensor, memory: Memory) -> Tensor:
        """Final states (B, T, d) of rows (B, T, d) at ``positions`` (B, T).

        ``visible`` (B, T, T) says which rows each row sees; every row sees itself.
        """
        hidden = self.dropout(inputs)
        distance = (positions[:, :, None] - positions[:, None, :]).clamp(min=0)
        hidden_from = ~visible[:, None]
        bias: Tensor | None = None
        for layer, block in enumerate(self.blocks):
            attend, cross, feed_forward = block.layer
            table = getattr(attend.SelfAttention, "relative_attention_bias", None)
            if table is not None:  # T5 has it in its first layer for all, umT5 in each
                bias = table(distance).permute(0, 3, 1, 2)
            assert bias is not None
            hidden = hidden + attend.dropout(
                self._self_attention(
                    attend.SelfAttention, attend.layer_norm(hidden), bias, hidden_from
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

    def check_rows(self, rows: int) -> None:
        """Refuse identifiers whose positions the relative bias could not tell apart."""
        if rows > self.max_rows:
            raise RarsError(
                f"Identifiers and category levels take {rows} decoder positions; this backbone tells "
                f"only {self.max_rows} apart."
            )

    def _self_attention(self, attention: Any, rows: Tensor, bias: Tensor, hidden: Tensor) -> Tensor:
        query, key, value = (
            self._split(part(rows)) for part in (attention.q, attention.k, attention.v)
        )
        scores = query @ key.transpose(-1, -2) + bias
        weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
        weights = functional.dropout(weights, attention.dropout, self.training)
        joined: Tensor = attention.o(self._join(weights @ value))
        return joined

    def _cross_attention(self, attention: Any, rows: Tensor, memory: Memory, layer: int) -> Tensor:
        read = functional.scaled_dot_product_attention(
            self._split(attention.q(rows)),
            memory.keys[layer],
            memory.values[layer],
            attn_mask=memory.mask,
            dropout_p=attention.dropout if self.training else 0.0,
            scale=1.0,
        )
        joined: Tensor = attention.o(self._join(read))
        return joined

    def _split(self, rows: Tensor) -> Tensor:
        return rows.view(*rows.shape[:2], self.heads, -1).transpose(1, 2)

    def _join(self, heads: Tensor) -> Tensor:
        return heads.transpose(1, 2).flatten(2)
