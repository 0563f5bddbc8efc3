"""The model of identifiers: a query encoder, a decoder over codes, and latent category states.

Owns: p(s_l | q, s_<l) (Eq. ar) as logits over the choices possible at each depth, for whole prefix trees at
once. Codes live in their own small tables, one per depth, never in the text vocabulary. Ignores losses,
training and search.

Optional: a semantic prior (``rars.model.prior``) that is added to the logits. ``alone`` leaves it out.

Shapes: queries B, width d, category levels J; a pass decodes J + 1 rows before the first code (the start and
one input per level), whose last predicts it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rars.model.batch import Batch, Candidates, Refinement
from rars.model.categories import CategoryStates
from rars.model.decoder import Decoder, Memory, Past
from rars.model.encoder import Encoded, QueryEncoder
from rars.model.prior import SemanticPrior


@dataclass(frozen=True)
class Thought:
    """Queries after the category steps.

    ``inputs``  (B, J + 1, d) the decoder's inputs up to the row that predicts the first code
    ``states``  (B, J, d) the category states; None if they are the first outputs of any pass over ``inputs``
    ``past``    keys and values of the rows that were decoded for them: all but the last, or none
    """

    inputs: Tensor
    states: Tensor | None
    past: Past

    @property
    def ahead(self) -> Tensor:
        """The inputs (B, 1 or J + 1, d) that are still to be decoded."""
        return self.inputs[:, self.past[0][0].shape[2] if self.past else 0 :]


@dataclass(frozen=True)
class Pass:
    """What one packed pass gives: the encoded queries, latent states (B, J, d), logits per depth.

    ``first`` (B, d) is the decoder's state that predicts the first code. ``logits[l]`` is (parents at depth
    l, choices at depth l + 1). ``memory`` and ``thought`` let further identifiers of the same queries be
    decoded without encoding them again.
    """

    encoded: Encoded
    latents: Tensor
    first: Tensor
    logits: tuple[Tensor, ...]
    memory: Memory
    thought: Thought


class IdentifierModel(nn.Module):
    """Generates identifiers of ``len(slots)`` codes; ``slots[l]`` choices are possible at depth l + 1."""

    def __init__(
        self,
        encoder: QueryEncoder,
        decoder: Decoder,
        slots: tuple[int, ...],
        categories: CategoryStates | None = None,
        prior: SemanticPrior | None = None,
    ) -> None:
        super().__init__()
        width = decoder.width
        self.encoder = encoder
        self.decoder = decoder
        self.slots = slots
        self.categories = categories
        self.prior = prior
        self.start = nn.Parameter(torch.randn(width))
        self.code_inputs = nn.ModuleList(nn.Embedding(size, width) for size in slots[:-1])
        self.code_outputs = nn.ModuleList(nn.Linear(width, size, bias=False) for size in slots)
        for table in self.code_outputs.parameters():
            nn.init.normal_(table, std=width**-0.5)
        decoder.check_rows(self.latent_rows + len(slots))

    @property
    def latent_rows(self) -> int:
        """How many decoder rows come before the one that predicts the first code."""
        return self.categories.levels if self.categories is not None else 0

    def forward(self, batch: Batch, *, alone: bool = False) -> Pass:
        """Encode every query once and decode its prefix tree in one pass; ``alone``: without the prior."""
        encoded = self.encoder(batch.tokens, batch.mask, batch.vectors)
        memory = self.decoder.memory(encoded.states, encoded.mask)
        thought = self.think(memory)
        hidden = self._decoded(batch, thought, memory)
        logits = tuple(
            self._of_parents(depth, step, hidden, batch.projected, alone=alone)
            for depth, step in enumerate(batch.refinements)
        )
        latents, first = hidden[:, : self.latent_rows], hidden[:, self.latent_rows]
        return Pass(encoded, latents, first, logits, memory, thought)

    def candidate_logits(
        self, found: Pass, lists: Candidates, projected: Tensor | None, *, alone: bool = False
    ) -> tuple[Tensor, ...]:
        """Logits at every depth of further identifiers of queries that a pass has encoded already."""
        hidden = self._decoded(lists, found.thought, found.memory)
        return tuple(
            self._of_parents(depth, step, hidden, projected, alone=alone)
            for depth, step in enumerate(lists.refinements)
        )

    def _decoded(self, packed: Batch | Candidates, thought: Thought, memory: Memory) -> Tensor:
        """Decoder states (B, T, d) of packed prefix trees, whose first rows are the category steps."""
        first = thought.inputs
        inputs = first.new_zeros(*packed.positions.shape, first.shape[-1])
        inputs[:, : first.shape[1]] = first
        for depth, step in enumerate(packed.refinements[1:], start=1):
            inputs[step.query, step.row] = self.code_inputs[depth - 1](step.codes[:, -1])
        done = first.shape[1] - thought.ahead.shape[1]
        hidden: Tensor = self.decoder(
            inputs[:, done:],
            packed.positions[:, done:],
            packed.visible[:, done:, done:],
            memory,
            thought.past,
        )
        if not done:
            return hidden
        assert thought.states is not None
        return torch.cat([thought.states, hidden], dim=1)

    def think(self, memory: Memory) -> Thought:
        """Run the category steps; with learned slots as inputs there are none."""
        batch = len(memory.mask)
        inputs = self.start.expand(batch, 1, -1)
        if self.categories is None:
            return Thought(inputs, inputs[:, :0], ())
        if self.categories.mode == "slots":
            slots = self.categories.level_inputs.expand(batch, -1, -1)
            return Thought(torch.cat([inputs, slots], dim=1), None, ())
        rows, states = [inputs], list[Tensor]()
        past: Past = ()
        for level in range(self.categories.levels):
            state, past = self.decoder.sequence(rows[-1], memory, past)
            states.append(state)
            rows.append(self.categories.feed_back(level, state[:, 0])[:, None])
        return Thought(torch.cat(rows, dim=1), torch.cat(states, dim=1), past)

    def _of_parents(
        self,
        depth: int,
        step: Refinement,
        hidden: Tensor,
        projected: Tensor | None,
        *,
        alone: bool,
    ) -> Tensor:
        """Logits (parents, choices) of one refinement, from the states (B, T, d) of a packed pass."""
        states = hidden[step.query, step.row]
        if alone:
            own: Tensor = self.code_outputs[depth](states)
            return own
        vectors = None if projected is None else projected[step.query]
        scores = self.logits(depth, states, vectors)
        if self.prior is None or not self.prior.projected:
            return scores
        assert step.prior is not None, "this model's prior reads the shares of a batch's nodes"
        added = self.prior.scales[depth] * step.prior
        return scores.index_put((step.legal_parent, step.legal), added, accumulate=True)

    def logits(self, depth: int, hidden: Tensor, projected: Tensor | None) -> Tensor:
        """Logits (n, choices at depth + 1) of decoder states (n, d) of prefixes of ``depth`` codes.

        A prior that is projected onto a tree is not in them: its terms belong to nodes, not to codes.
        """
        scores: Tensor = self.code_outputs[depth](hidden)
        if self.prior is None:
            return scores
        scores = self.prior.own[depth] * scores
        if not self.prior.projected:
            assert projected is not None, "this model's prior reads a projected query vector"
            scores = scores + self.prior.of_codes(depth, projected)
        return scores
