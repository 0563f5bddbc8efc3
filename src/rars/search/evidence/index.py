"""The evidence index of a catalogue: what items have, ready to be asked by queries.

Owns: reading a query into A(q) and K(q), the paper's score f = f_attr + eta f_lex (appendix "Retrieval and
compatibility scoring"), BM25, and the index on disk. Ignores models, beams and judgments.

An item's f is a baseline, shared by all, plus a weight for each constraint and word it matches. So f is a sum
over posting lists, and only items on one of them need a score of their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rars import artifacts
from rars.data import Dataset
from rars.data.words import fold, words
from rars.errors import RarsError
from rars.progress import Advance
from rars.search.evidence.ancestry import Ancestry
from rars.search.evidence.attributes import Attributes
from rars.search.evidence.brands import Brands
from rars.search.evidence.building import Old, build_postings, carry_postings
from rars.search.evidence.colors import Colors
from rars.search.evidence.evidence import Evidence
from rars.search.evidence.extractor import Constraint, Extractor, Known, without_overlaps
from rars.search.evidence.growth import Dictionary, load_dictionaries, save_dictionaries
from rars.search.evidence.guarding import mentions
from rars.search.evidence.lexical import Rare, Words
from rars.search.evidence.negation import affirmed
from rars.search.evidence.quantities import Quantities
from rars.search.evidence.sums import PostingSum, Term
from rars.search.evidence.text import tokens
from rars.tree import PrefixTree

KIND = "evidence index"

EXTRACTORS: Mapping[str, Callable[[], Extractor]] = {
    "brand": Brands,
    "color": Colors,
    "quantity": Quantities,
    "attribute": Attributes,
}
"""The extractors that a saved index can name; others are given to ``load`` by hand."""


def default_extractors() -> tuple[Extractor, ...]:
    """The paper's attributes: brands, colours, numbers and measures. Earlier ones win a tie."""
    return Brands(), Colors(), Quantities()


@dataclass(frozen=True)
class Weights:
    """The constants of f; the defaults are the paper's."""

    brand: float = 0.25
    """gamma of a brand: what an item loses by not having it, relative to what it gains by having it."""
    other: float = 0.20
    """gamma of every other constraint."""
    lexical: float = 0.25
    """eta, the weight of f_lex."""
    words: int = 2
    """K_lex, how many words f_lex looks at."""
    least: int = 2
    """The fewest items that must have such a word."""
    most: float = 0.02
    """The largest share of the catalogue that may have it."""

    def gamma(self, constraint: Constraint) -> float:
        """gamma_a."""
        return self.brand if constraint.kind == "brand" else self.other


PAPER = Weights()


@dataclass(frozen=True)
class Asked:
    """What a query asks for: the constraints A(q) and the rare words K(q)."""

    constraints: tuple[Constraint, ...]
    words: tuple[Rare, ...]


@dataclass(frozen=True, eq=False)
class EvidenceIndex:
    """Postings of a catalogue over its items in SID order.

    >>> from tempfile import TemporaryDirectory
    >>> from rars.data.shop import make_shop
    >>> with TemporaryDirectory() as home:
    ...     make_shop(Path(home) / "shop", size="tiny")
    ...     shop = Dataset.load(Path(home) / "shop")
    ...     tree = PrefixTree.build(np.arange(shop.n_items)[:, None] // [20, 1] % 20)
    ...     index = EvidenceIndex.build(shop, tree)
    ...     evidence = index.compatibility("black bottle 0.75 l")
    ...     evidence.of([2, 3]).round(3).tolist()
    ...     [(found.kind, found.text, found.matched) for found in evidence.explain(2)[:2]]
    [1.0, -0.2]
    [('color', 'black', True), ('measure', '0.75 l', True)]
    """

    ancestry: Ancestry
    words: Words
    keys: Dictionary
    extractors: tuple[Extractor, ...]

    @classmethod
    def build(
        cls,
        dataset: Dataset,
        tree: PrefixTree,
        *,
        extractors: Sequence[Extractor] | None = None,
        advance: Advance | None = None,
    ) -> EvidenceIndex:
        """Read a catalogue once; ``tree`` must be of its items, in catalogue order."""
        chosen = default_extractors() if extractors is None else tuple(extractors)
        words, keys = build_postings(dataset, tree, chosen, advance)
        return cls(Ancestry.of(tree), words, keys, chosen)

    def changed(
        self,
        dataset: Dataset,
        tree: PrefixTree,
        origin: npt.ArrayLike,
        *,
        advance: Advance | None = None,
    ) -> EvidenceIndex:
        """The index of a changed catalogue, equal to one built anew, but only new items are read.

        ``origin`` (items,) is the row that each item had in the old catalogue, or -1 for an item that is
        new or has changed.
        """
        old = Old(self.tree, self.words, self.keys)
        words, keys = carry_postings(
            old, np.asarray(origin), dataset, tree, self.extractors, advance
        )
        return replace(self, ancestry=Ancestry.of(tree), words=words, keys=keys)

    @property
    def tree(self) -> PrefixTree:
        """The tree whose sorted items the postings are about."""
        return self.ancestry.tree

    # -- queries ---------------------------------------------------------------------------------

    def read(self, text: str, weights: Weights = PAPER, *, language: str | None = None) -> Asked:
        """A(q) and K(q) of a query text; a denied mention is no constraint.

        With a ``language`` (en, es or ja) only its words for colours, units and denial are known.
        """
        folded = fold(text)
        found = tokens(folded)
        known = Known(self.keys, self.words.postings, language)
        said = [m for e in self.extractors for m in mentions(e, folded, found, known)]
        said = affirmed(folded, without_overlaps(said), language)
        # A(q) is a set: what is said twice counts once.
        constraints = {
            c.keys: c for mention in reversed(said) for c in reversed(mention.constraints)
        }
        rare = self.words.rarest(found, weights.words, weights.least, weights.most)
        return Asked(tuple(reversed(constraints.values())), tuple(rare))

    def compatibility(
        self, text: str, weights: Weights = PAPER, *, language: str | None = None
    ) -> Evidence:
        """f(q, d) of every item: f_attr + eta f_lex."""
        return self.compatibility_sum(text, weights, language=language).whole()

    def compatibility_sum(
        self, text: str, weights: Weights = PAPER, *, language: str | None = None
    ) -> PostingSum:
        """The same, not added up yet."""
        return self.sum_of(self.read(text, weights, language=language), weights)

    def sum_of(self, asked: Asked, weights: Weights = PAPER) -> PostingSum:
        """The same for a query that was already read."""
        baseline, terms = 0.0, []
        for constraint in asked.constraints:
            gamma = weights.gamma(constraint)
            baseline -= gamma / len(asked.constraints)
            value = (1 + gamma) / len(asked.constraints)
            lists = tuple(one for key in constraint.keys if (one := self.keys.find(key)))
            terms.append(Term.worth(constraint.kind, constraint.text, lists, value))
        total = sum(rare.idf for rare in asked.words)
        for rare in asked.words:
            value = weights.lexical * rare.idf / total
            terms.append(Term.worth("word", rare.word, (rare.listed,), value))
        return PostingSum(self.ancestry, tuple(terms), baseline)

    def bm25(self, text: str, *, k1: float = 1.2, b: float = 0.75) -> Evidence:
        """BM25 of every item, divided by its maximum for the query."""
        return self.bm25_sum(text, k1=k1, b=b).whole()

    def bm25_sum(self, text: str, *, k1: float = 1.2, b: float = 0.75) -> PostingSum:
        """The same, not added up yet."""
        return self.words.bm25(self.ancestry, words(text), k1, b)

    def dense(self, scores: npt.ArrayLike) -> Evidence:
        """Any score of every item, given in catalogue order (a similarity of vectors, say)."""
        return Evidence.from_dense(self.ancestry, np.asarray(scores)[self.tree.order])

    # -- disk ------------------------------------------------------------------------------------

    def save(self, folder: Path, before: Path | None = None) -> None:
        """Write the arrays and their digests, all or nothing.

        ``before`` is the folder of the index that this one was ``changed`` from: what they share is linked.
        """
        with artifacts.writing(folder, kind=KIND) as draft:
            draft.meta.update(described(self.tree, self.extractors))
            named = {"words": self.words.postings, "keys": self.keys}
            save_dictionaries(draft, named, before)
            draft.save_array("lengths", self.words.lengths)

    @classmethod
    def load(
        cls,
        folder: Path,
        tree: PrefixTree,
        *,
        extractors: Sequence[Extractor] | None = None,
        mmap: bool = True,
        verify: bool = True,
    ) -> EvidenceIndex:
        """Open a saved index of this tree's items, memory-mapped unless ``mmap`` is off."""
        artifact = artifacts.opening(folder, kind=KIND, verify=verify)
        if artifact.meta["order"] != _digest(tree):
            raise RarsError(f"{folder} was made for other identifiers; build it again.")
        chosen = _chosen(artifact, extractors)
        words, keys = load_dictionaries(artifact, ("words", "keys"), tree.n_items, mmap=mmap)
        lengths = artifact.array("lengths", mmap=mmap)
        return cls(Ancestry.of(tree), Words(words, lengths), keys, chosen)

    def fits(self) -> bool:
        """Whether what was stored speaks of the tree's items."""
        items, lengths = self.tree.n_items, self.words.lengths
        return (
            lengths.shape == (items,)
            and lengths.dtype.kind == "i"
            and int(lengths.min()) >= 0
            and self.words.postings.fits(items)
            and self.keys.fits(items)
        )


def described(tree: PrefixTree, extractors: Sequence[Extractor]) -> dict[str, Any]:
    """What a stored index says of itself."""
    return {
        "items": tree.n_items,
        "order": _digest(tree),
        "extractors": [extractor.name for extractor in extractors],
    }


def _chosen(
    artifact: artifacts.Artifact, given: Sequence[Extractor] | None
) -> tuple[Extractor, ...]:
    """The extractors an index was built with: those given, or the known ones of these names."""
    names = [str(name) for name in artifact.meta["extractors"]]
    if given is None:
        unknown = [name for name in names if name not in EXTRACTORS]
        if unknown:
            raise RarsError(
                f"{artifact.folder} needs the extractor {unknown[0]!r}; give it by hand."
            )
        return tuple(EXTRACTORS[name]() for name in names)
    if [extractor.name for extractor in given] != names:
        raise RarsError(f"{artifact.folder} was built with the extractors {', '.join(names)}.")
    return tuple(given)


def _digest(tree: PrefixTree) -> str:
    return hashlib.sha256(np.ascontiguousarray(tree.order).tobytes()).hexdigest()
