"""Comparison systems as runs: made, kept, and opened like any other.

Owns: the part ``model/`` of such a run folder (what was learned, if anything, and from what), its face as a
``rars.systems.System``, and opening a run of any kind. Ignores how the systems work.

The catalogue is that of the dataset: BM25 is indexed when the run is opened, vectors come from the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rars import artifacts, disk
from rars.arrays import Bools
from rars.artifacts import Artifact
from rars.baselines.learning import learn, open_searcher, source_digest
from rars.baselines.parts import Facts
from rars.config import Recipe
from rars.data import Dataset
from rars.errors import RarsError
from rars.progress import Advance
from rars.runs import Run
from rars.search.restrictions import Narrow, kept
from rars.search.store import SHOWN, ItemStore
from rars.systems import (
    PLAIN,
    Answer,
    Hits,
    Query,
    Searcher,
    check_k,
    checked,
    refuse,
    search,
    search_many,
)

if TYPE_CHECKING:
    from rars.identifiers.towers import Held

KIND = "baseline"
RECIPE = "recipe.toml"


@dataclass(frozen=True, eq=False)
class Baseline:
    """A comparison system's run, opened for search; a ``rars.systems.System``.

    ``digest``  of what the system was made from and what it learned
    """

    run: Run
    system: str
    searcher: Searcher
    catalogue: ItemStore
    digest: str
    rules: tuple[str, ...] = (PLAIN,)

    @classmethod
    def load(
        cls, folder: str | Path, *, verify: bool = True, advance: Advance | None = None
    ) -> Baseline:
        """Open a run folder; a damaged part or a changed dataset is one sentence."""
        run = Run.open(folder)
        dataset = run.dataset()
        part = artifacts.opening(run.folder / "model", kind=KIND, verify=verify)
        # Its own: while another one is being made, or after a kill, the run's may be of what comes next.
        if not (part.folder / RECIPE).exists():
            raise RarsError(
                f"{run.folder} was made by an earlier version, which kept no {part.folder / RECIPE}; "
                f"train it again: rars train {run.recipe().name} --data {dataset.where} --out {run.folder}"
            )
        recipe = Recipe.read(part.folder / RECIPE)
        if part.meta["source"] != source_digest(recipe, dataset):
            raise RarsError(f"{run.folder} was made from other data; train it again.")
        searcher = open_searcher(recipe, dataset, part.folder, part.meta["facts"], advance=advance)
        items = ItemStore(dataset.items(SHOWN).combine_chunks(), dataset.item_store)
        return cls(run, recipe.system, searcher, items, _digest(part))

    def __len__(self) -> int:
        return len(self.catalogue)

    def check(self, queries: Sequence[Query]) -> None:
        """Refuse the first query that could not be answered; nothing is searched."""
        self._texts(queries)
        for query in queries:
            check_k(query.k)
            self._left(Narrow.of(query))

    def answer(self, queries: Sequence[Query], *, advance: Advance | None = None) -> list[Answer]:
        """The answer of each query; an option that asks for what only a tree can do is refused."""
        texts = self._texts(queries)
        # How scores are put on one scale may depend on k: those of different k are searched apart.
        groups: dict[tuple[int, Narrow], list[int]] = {}
        for row, query in enumerate(queries):
            groups.setdefault((check_k(query.k), Narrow.of(query)), []).append(row)
        left = [self._left(narrow) for _, narrow in groups]
        answers: list[Answer | None] = [None] * len(queries)
        for ((k, _), rows), among in zip(groups.items(), left, strict=True):
            only = advance if len(groups) == 1 else None
            # Only a narrowed search says so: a searcher that knows nothing of it serves the others.
            narrowed = {} if among is None else {"among": among}
            found = self.searcher.search([texts[row] for row in rows], k, advance=only, **narrowed)
            for place, row in enumerate(rows):
                answers[row] = Answer(*found.row(place))
        return [one for one in answers if one is not None]

    def _texts(self, queries: Sequence[Query]) -> list[str]:
        who = f"{self.run.folder} is a {self.system} system"
        refuse(queries, who, rules=self.rules, heeds=("filter", "category", "allow", "deny"))
        return checked([query.text for query in queries])

    @cached_property
    def _left(self) -> Callable[[Narrow], Bools | None]:
        """What a restriction leaves (items,), kept for the latest ones."""
        catalogue = self.catalogue
        return lru_cache(maxsize=kept(len(self)))(lambda narrow: narrow.items(catalogue))

    def reads(self, locale: str) -> bool:
        """No query may name a locale: it would not be read differently."""
        return False

    def facts(self, rule: str | None = None) -> dict[str, Any]:
        """Which system, and the digest of what it was made from and learned."""
        return {"rule": PLAIN, "system": self.system, "model": self.digest}

    def search(self, text: str, k: int = 10, **options: Any) -> Hits:
        """The best ``k`` items of a text; fewer where fewer are found."""
        return search(self, text, k, **options)

    def search_many(
        self, texts: Sequence[str], k: int = 10, *, advance: Advance | None = None, **options: Any
    ) -> list[Hits]:
        """The same for many texts."""
        return search_many(self, texts, k, advance=advance, **options)


def made(run: Run, recipe: Recipe, dataset: Dataset) -> Facts | None:
    """What the run's system learned, if it is the one of this recipe; None where it must be made."""
    folder = run.folder / "model"
    if not folder.exists():
        return None
    part = artifacts.opening(folder, kind=KIND)
    whole = (part.folder / RECIPE).exists()  # earlier versions kept none
    if not whole or part.meta["source"] != source_digest(recipe, dataset):
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
        facts = learn(recipe, dataset, draft.folder, held, advance=advance)
        disk.write_text(draft.folder / RECIPE, recipe.to_toml())
        draft.meta.update(source=source_digest(recipe, dataset), recipe=recipe.name, facts=facts)
        Run.start(run.folder, recipe, dataset)  # nothing can be refused any more
    return facts


def _digest(part: Artifact) -> str:
    return disk.digest_json([part.digest, part.meta["source"], part.meta["facts"]])
