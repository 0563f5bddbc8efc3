"""The query encoder: text (and, offline, a frozen sentence vector) to states the decoder can read.

Owns: running the model that encodes the query, and the tokens made from a sentence vector. Ignores the
identifiers.

Three kinds, one interface: the encoder of a T5-family checkpoint; any encoder-only model (MiniLM and the
like), with a projection to the decoder's width; and a small T5 encoder trained from scratch whose input
also holds tokens projected from a sentence vector of the query, so that it starts with real semantics.

``pooled`` is the masked mean of the final states over all non-padding positions: the shared query
representation h-bar(q) of the paper's tree head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


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
        self.stack = stack
        self.vector_tokens = vector_tokens
        self.widen = nn.Identity() if own == width else nn.Linear(own, width, bias=False)
        self.from_vector = nn.Linear(vector_dim, vector_tokens * own) if vector_tokens else None
        if self.from_vector is not None:
            # Sentence vectors have length one: their tokens start at the scale of T5's word embeddings.
            nn.init.normal_(self.from_vector.weight)

    def forward(self, tokens: Tensor, mask: Tensor, vectors: Tensor | None = None) -> Encoded:
        """Encode token ids (B, S) with their mask, and sentence vectors (B, v) where the model has them."""
        if self.from_vector is None:
            states = self.stack(input_ids=tokens, attention_mask=mask).last_hidden_state
        else:
            assert vectors is not None, "this encoder reads a sentence vector of every query"
            words = self.stack.get_input_embeddings()(tokens)
            seen = self.from_vector(vectors).view(len(tokens), self.vector_tokens, -1)
            mask = torch.cat([mask.new_ones(len(mask), self.vector_tokens), mask], dim=1)
            inputs = torch.cat([seen.to(words.dtype), words], dim=1)
            states = self.stack(inputs_embeds=inputs, attention_mask=mask).last_hidden_state
        states = self.widen(states)
        weight = mask.to(states.dtype)[:, :, None]
        pooled = (states * weight).sum(1) / weight.sum(1)
        return Encoded(states, mask, pooled)
