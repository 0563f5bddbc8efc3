"""Comparison systems as runs: made, kept and opened like any other.

Owns: the part ``model/`` of such a run folder (what was learned, if anything, and from what), and the face
that commands expect of a run: search, ranking, shown items. Ignores how the systems work.

The catalogue is that of the dataset: BM25 is indexed when the run is opened, vectors come from the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rars import artifacts
from rars.artifacts import Artifact
from rars.baselines.learning import Facts, learn, open_searcher, source_digest
from rars.baselines.ranked import Advance, Floats, Ints, Ranked, Searcher, check_k
from rars.baselines.tuning import Held
from rars.config import Recipe
from rars.data import Dataset
from rars.errors import RarsError
from rars.runs import Run
from rars.search.reading import checked
from rars.search.retriever import RULE, Hit, Retriever
from rars.search.store import SHOWN, ItemStore

KIND = "baseline"
PLAIN = "plain"
"""The one rule of a system that does not go down a tree."""


@dataclass(frozen=True, eq=False)
class Catalogue:
    """What is searched: the items of the dataset."""

    folder: Path
    items: ItemStore
    name: str = "dataset"


@dataclass(frozen=True, eq=False)
class Baseline:
    """A comparison system's run, opened for search."""

    run: Run
    system: str
    searcher: Searcher
    index: Catalogue
    digest: str
    """Of what the system was made from and what it learned."""

    @classmethod
    def load(
        cls, folder: str | Path, *, verify: bool = True, advance: Advance | None = None
    ) -> Baseline:
        """Open a run folder; a damaged part or a changed dataset is one sentence."""
        run = Run.open(folder)
        recipe = run.recipe()
        dataset = run.dataset()
        part = artifacts.opening(run.folder / "model", kind=KIND, verify=verify)
        if part.meta["source"] != source_digest(recipe, dataset):
            raise RarsError(f"{run.folder} was made from another recipe; train it again.")
        searcher = open_searcher(recipe, dataset, part.folder, part.meta["facts"], advance=advance)
        items = ItemStore(dataset.items(SHOWN).combine_chunks())
        index = Catalogue(dataset.folder, items)
        return cls(run, recipe.system, searcher, index, _digest(part))

    def __len__(self) -> int:
        return len(self.index.items)

    def search(self, text: str, k: int = 10, **options: Any) -> list[Hit]:
        """The best ``k`` items of a text; fewer where fewer are found."""
        [found] = self.search_many([text], k, **options)
        return found

    def search_many(
        self,
        texts: Sequence[str],
        k: int = 10,
        *,
        rule: str = PLAIN,
        advance: Advance | None = None,
        **options: Any,
    ) -> list[list[Hit]]:
        """The same for many texts; an option of a generative search that asks for something is refused."""
        self._refuse("rule", rule not in (PLAIN, RULE))
        for name, value in options.items():
            self._refuse(name, value not in (None, False, "auto"))
        found = self._ranked(texts, k, advance)
        return [self._hits(*found.row(row)) for row in range(len(found))]

    def rank_many(
        self,
        texts: Sequence[str],
        k: int = 100,
        *,
        rule: str = PLAIN,
        advance: Advance | None = None,
    ) -> list[tuple[Ints, Floats]]:
        """Catalogue rows and scores alone, best first: what evaluation needs."""
        found = self._ranked(texts, k, advance)
        return [found.row(row) for row in range(len(found))]

    def _ranked(self, texts: Sequence[str], k: int, advance: Advance | None) -> Ranked:
        return self.searcher.search(checked(texts), check_k(k), advance=advance)

    def _refuse(self, option: str, given: bool) -> None:
        if given:
            what = "does not explain its results" if option == "explain" else "has no use for it"
            raise RarsError(f"--{option}: {self.run.folder} is a {self.system} system and {what}.")

    def _hits(self, rows: Ints, scores: Floats) -> list[Hit]:
        return [
            Hit(
                item_id=shown["id"],
                score=float(score),
                title=shown["title"],
                brand=shown["brand"],
                color=shown["color"],
                category=tuple(shown["category"] or ()),
            )
            for shown, score in zip(self.index.items.take(rows), scores, strict=True)
        ]


def open_system(folder: str | Path) -> Retriever | Baseline:
    """Any trained run, opened for search."""
    if is_baseline(folder):
        return Baseline.load(folder)
    return Retriever.load(folder)


def is_baseline(folder: str | Path) -> bool:
    """Whether a run folder is that of a comparison system."""
    return Run.open(folder).recipe().system != "generative"


def made(run: Run, recipe: Recipe, dataset: Dataset) -> Facts | None:
    """What the run's system learned, if it is the one of this recipe; None where it must be made."""
    folder = run.folder / "model"
    artifacts.settle(folder)
    if not folder.exists():
        return None
    part = artifacts.opening(folder, kind=KIND)
    if part.meta["source"] != source_digest(recipe, dataset):
        return None
    facts: Facts = part.meta["facts"]
    return facts


def make(
    run: Run,
    recipe: Recipe,
    dataset: Dataset,
    held: Held | None,
    *,
    advance: Advance | None = None,
) -> Facts:
    """Learn a system into its run folder, whole or not at all."""
    with artifacts.writing(run.folder / "model", kind=KIND) as draft:
        _, facts = learn(recipe, dataset, draft.folder, held, advance=advance)
        draft.meta.update(source=source_digest(recipe, dataset), recipe=recipe.name, facts=facts)
    return facts


def _digest(part: Artifact) -> str:
    return artifacts.digest_json([part.digest, part.meta["source"], part.meta["facts"]])
