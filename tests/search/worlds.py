"""A tiny model over any catalogue of identifiers, and its scores worked out one plain path at a time."""

from __future__ import annotations

import numpy as np
import torch

from rars.search.beam import Begun, Guide
from rars.search.evidence import Ancestry, Evidence
from rars.search.routing import admit_leaves
from rars.tree import END, PrefixTree, SidVocabulary
from tests.model.small import retriever as small_model

QUERIES = 3


class World:
    """A tiny model over a random catalogue, with queries, evidence and restrictions.

    ``varied``: each query has a mask and a weight of its own, and one of them goes without evidence.
    """

    def __init__(
        self,
        codes,
        seed,
        *,
        normaliser="depth",
        score="probability",
        evidence=False,
        admitted=False,
        varied=False,
    ):
        rng = np.random.default_rng(seed)
        self.codes, self.tree = codes, PrefixTree.build(codes)
        self.vocabulary = SidVocabulary.of(self.tree)
        torch.manual_seed(seed)
        self.model = small_model(self.vocabulary.slots, num_layers=1, num_decoder_layers=1).eval()
        # Larger tables make scores that differ well.
        for table in self.model.code_outputs:
            torch.nn.init.normal_(table.weight, std=1.0)
        self.tokens = torch.from_numpy(rng.integers(1, 50, (QUERIES, 4)))
        self.scores = rng.normal(size=(QUERIES, len(codes)))
        mask = rng.random((QUERIES, self.tree.depth)) < 0.7
        self.mask = mask if varied else np.repeat(mask[:1], QUERIES, axis=0)
        self.weight = rng.uniform(0.5, 3.0, QUERIES) if varied else np.full(QUERIES, 1.5)
        self.normaliser, self.score = normaliser, score
        self.evidence = [evidence] * QUERIES
        if varied:
            self.evidence[1] = False
        self.allowed = np.ones((QUERIES, self.tree.n_leaves), dtype=bool)
        if admitted:
            self.allowed = rng.random(self.allowed.shape) < 0.5

    @property
    def guide(self):
        found = [
            Evidence.from_dense(Ancestry.of(self.tree), row[self.tree.order]) for row in self.scores
        ]
        return Guide(
            admitted=admit_leaves(self.tree, *np.nonzero(self.allowed)),
            evidence=[one if on else None for one, on in zip(found, self.evidence, strict=True)],
            mask=self.mask,
            weight=self.weight,
            normaliser=self.normaliser,
            score=self.score,
        )

    @torch.no_grad()
    def search(self, how, guide=None, **options):
        begun = Begun.of(self.model, self.model.encoder(self.tokens, torch.ones_like(self.tokens)))
        return how(
            self.model, self.tree, self.vocabulary, begun, guide=guide or self.guide, **options
        )

    @torch.no_grad()
    def one_by_one(self, query):
        """The score of every admitted identifier, each as a sequence of its own; no tree, no cache."""
        tokens = self.tokens[query : query + 1]
        encoded = self.model.encoder(tokens, torch.ones_like(tokens))
        memory = self.model.decoder.memory(encoded.states, encoded.mask)
        found = {}
        for leaf in np.flatnonzero(self.allowed[query]).tolist():
            sid = tuple(self.tree.paths(self.tree.depth, [leaf])[0].tolist())
            found[leaf] = self._score(query, sid, memory)
        return found

    def _score(self, query, sid, memory):
        inputs = self.model.think(memory).inputs
        total = 0.0
        for depth, code in enumerate(sid):
            if depth == 0 or sid[depth - 1] != END:
                hidden = self.model.decoder.sequence(inputs, memory)[0][:, -1]
                total += self._gain(depth, sid, self.model.logits(depth, hidden, None)[0])
                if depth + 1 < len(sid) and code != END:
                    following = self.model.code_inputs[depth].weight[code]
                    inputs = torch.cat([inputs, following[None, None]], dim=1)
            # The paper gives EOS no compatibility.
            if self.evidence[query] and self.mask[query, depth] and code != END:
                below = (self.codes[:, : depth + 1] == sid[: depth + 1]).all(axis=1)
                total += self.weight[query] * self.scores[query][below].max()
        return total

    def _gain(self, depth, sid, logits):
        """The raw logit; or log p over the codes of the depth (and END where it is a choice), or over the
        catalogue's children."""
        here = (self.codes[:, :depth] == sid[:depth]).all(axis=1)
        children = sorted(set(self.codes[here, depth].tolist()))
        going = self.codes[:, depth - 1] != END if depth else np.ones(len(self.codes), bool)
        choices = set(self.codes[going, depth].tolist())
        if choices == {END}:
            return 0.0
        size = self.vocabulary.sizes[depth]
        slots = [size if code == END else code for code in children]
        own = size if sid[depth] == END else sid[depth]
        if self.score == "logit":
            return logits[own].item()
        over = logits[slots] if self.normaliser == "children" else logits
        return (logits[own] - torch.logsumexp(over, 0)).item()
