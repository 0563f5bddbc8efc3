"""The embedder itself, fine-tuned on the training judgments (``identifiers.tune``).

Owns: what it is taught, and keeping it. The same model, dataset and settings are tuned once: what came of it
lies in the cache, as vectors do, and identifiers take it along into their folder. Ignores the loop and the
loss (``towers``).

An epoch has one relevant item of every query, drawn by its share of the relevance, against the other items of
its batch and one that was judged irrelevant, where there is one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rars import artifacts, disk, locks, replacing
from rars.arrays import Ints
from rars.config import IdentifierSettings
from rars.data import Dataset
from rars.errors import RarsError
from rars.identifiers.choosing import embedding_seconds, seconds_an_item
from rars.identifiers.embedders import embedder_kind, open_embedder
from rars.identifiers.encoder_tuning import FOLDER, SentenceEncoder
from rars.identifiers.fitting import learnable
from rars.identifiers.sentences import PREFIX, SentenceTransformersEmbedder
from rars.identifiers.towers import READ, Lessons, tune
from rars.places import cache_folder
from rars.progress import SILENT, Tell
from rars.scale.threads import at_a_time
from rars.unfinished import Unfinished

KIND = "tuned embedder"
_HALVES = 0.65
"""Time of bf16 against float32 where the processor knows it, about."""


def tuned_embedder(
    dataset: Dataset,
    identifiers: IdentifierSettings,
    *,
    cache: Path | None = None,
    device: str = "cpu",
    tell: Tell = SILENT,
) -> Path | None:
    """The folder of the fine-tuned model; None where there is nothing to learn from, which ``tell`` says."""
    settings, name, seed = identifiers.tune, identifiers.embedder, identifiers.seed
    assert settings is not None
    held = learnable(dataset, tell)
    if held is None:
        return None
    _, source = embedder_kind(name)
    folder = _place(dataset, identifiers, cache, device)
    with locks.held(folder, wait=True):
        try:
            return artifacts.opening(folder, kind=KIND).folder / FOLDER
        except RarsError:  # absent, or damaged: tuned again
            pass
        tell.say(f"Fine-tuning {name} on the training judgments.")
        towers = SentenceEncoder.of(dataset, source, max_tokens=settings.max_tokens, device=device)
        towers.precision = settings.precision
        lessons = Lessons(drawn=True, hard=refused(dataset, seed))
        with Unfinished.of(KIND, folder.name, cache=cache) as kept:
            with tell.stage("fine-tuning") as advance:
                report = tune(
                    towers,
                    dataset,
                    settings,
                    held,
                    lessons=lessons,
                    pool=READ,
                    seed=seed,
                    kept=kept,
                    advance=advance,
                )
            before, after = report["quality"][0], max(report["quality"])
            tell.say(f"nDCG@100 on validation queries: {before:.1%} before, {after:.1%} after.")
            with artifacts.writing(folder, kind=KIND) as draft:
                towers.save(draft.folder)
                draft.meta.update(report)
    return artifacts.opening(folder, kind=KIND, verify=False).folder / FOLDER


def _place(
    dataset: Dataset, identifiers: IdentifierSettings, cache: Path | None, device: str
) -> Path:
    assert identifiers.tune is not None
    start = open_embedder(identifiers.embedder, device=device)
    options = identifiers.tune.model_dump(mode="json", exclude_none=True)
    made_of = [KIND, 2, dataset.digest, start.digest, options, identifiers.seed]
    return (cache or cache_folder()) / "tuned" / disk.digest_json(made_of)[:32]


class Seconds(NamedTuple):
    """How long it takes to tune an embedder, and to embed the items with it then."""

    tuning: float
    embedding: float


def tuning_seconds(
    dataset: Dataset,
    identifiers: IdentifierSettings,
    *,
    cache: Path | None = None,
    device: str = "cpu",
) -> Seconds:
    """What a tuned embedder would cost, about: a few texts say it. What is there already costs nothing."""
    settings = identifiers.tune
    assert settings is not None
    known = _place(dataset, identifiers, cache, device)
    if known.exists():
        name = f"{PREFIX}{replacing.current(known) / FOLDER}"
        return Seconds(0.0, embedding_seconds(dataset, name, cache=cache, device=device))
    _, source = embedder_kind(identifiers.embedder)
    cut = SentenceTransformersEmbedder(source, device, max_tokens=settings.max_tokens)
    pairs = settings.epochs * len(np.unique(dataset.positives("train")[0]))
    pool = min(dataset.n_items, READ)
    # Two items a query, forwards and (twice as long) backwards; validation before and after every epoch.
    texts = 2 * 3 * pairs + (1 + settings.epochs) * pool
    faster = _HALVES if settings.precision == "bf16" else 1.0
    each = seconds_an_item(dataset, cut)
    return Seconds(each * faster * texts, each * dataset.n_items / at_a_time(device))


def halves_are_fast() -> bool:
    """Whether this processor multiplies bf16 faster than float32."""
    import torch

    known: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(known.get("avx512_bf16") or known.get("amx_bf16"))


def refused(dataset: Dataset, seed: int) -> Ints:
    """Of every training query one item judged irrelevant, drawn: row numbers (queries, 1), -1 for none."""
    judged = dataset.judged("train")
    wrong = np.flatnonzero(judged.grade <= 0)
    drawn = np.random.default_rng([seed, 14]).permutation(wrong)
    made = np.full((dataset.n_queries, 1), -1, dtype=np.int64)
    made[judged.query[drawn], 0] = judged.item[drawn]
    return made
