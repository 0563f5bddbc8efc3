"""The learners of identifiers on one catalogue: seconds, against the plain RQ-VAE's, and memory.

``python -m benchmarks.learners 10000`` measures one size; without a number, 10,000 and 300,000 items. Vectors
of 512 numbers that cluster at three scales, twelve judged items for every fourth item. An RQ-VAE has four
epochs here, of which the middle ones are timed by themselves (processor seconds), so that their number does
not matter; with ``--epochs 1`` only memory is worth a look. Each learner has a process of its own, which
shares the catalogue and nothing that another learner left behind. Asks for: an epoch of no system's RQ-VAE
more than six times the plain one, because none encodes more than three further items for each item of a
batch.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.measure import peak_megabytes, report, resident_megabytes
from rars.config import IdentifierSettings, Recipe
from rars.data import Dataset
from rars.identifiers import LEARNERS, Scene
from rars.identifiers.policies import Crowd, resolve
from rars.tree.categories import CategoryTree

SIZES = (10_000, 300_000)
DIM = 512
EPOCHS = 4
PLAIN = "RQ-VAE 4 x 256"
LEARNED = {
    "residual k-means": ("base", ()),
    PLAIN: ("base", ("identifiers.learner=rqvae",)),
    "random digits": ("dsi-naive", ()),
    "recursive k-means": ("dsi-semantic", ()),
    "category clusters": ("hi-gen", ()),
    "TIGER": ("tiger", ()),
    "MERGE": ("merge", ()),
    "CAT-ID2": ("cat-id2", ()),
    "FORGE": ("forge", ()),
    "HG-Rec": ("hgrec", ()),
}


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Vectors in families, categories that follow them, and queries that ask for one family each."""

    dataset: Dataset
    vectors: npt.NDArray[np.float32]
    categories: CategoryTree

    @classmethod
    def of(cls, count: int) -> Catalogue:
        """Made alike for the same number of items."""
        rng = np.random.default_rng(0)
        member = [rng.integers(groups, size=count) for groups in (20, 400, count // 20)]
        vectors = 0.3 * rng.standard_normal((count, DIM), dtype=np.float32)
        for groups, spread in zip(member, (1.0, 0.7, 0.5), strict=True):
            centres = rng.standard_normal((int(groups.max()) + 1, DIM), dtype=np.float32)
            vectors += np.float32(spread) * centres[groups]
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        queries = count // 4
        family = np.argsort(member[2], kind="stable")
        first = rng.integers(count - 12, size=queries)
        item = family[first[:, None] + np.arange(12)].ravel()
        names = np.array([f"i{at}" for at in range(count)])
        asked = np.array([f"q{at}" for at in range(queries)])
        dataset = Dataset.of(
            pa.table({"id": names, "title": names}),
            pa.table({"id": asked, "text": asked, "split": ["train"] * queries}),
            pa.table(
                {
                    "query_id": asked[np.repeat(np.arange(queries), 12)],
                    "item_id": names[item],
                    "grade": pa.array(1.0 + rng.integers(3, size=len(item)), pa.float32()),
                }
            ),
        )
        codes = np.stack([member[0], member[1], member[2] % 50], axis=1).astype(np.int32)
        return cls(dataset, vectors, CategoryTree.of_codes(codes))

    def learn(self, settings: IdentifierSettings) -> tuple[float, float]:
        """Fit, encode and resolve; processor seconds, and those of a middle epoch (0 where there is none)."""
        start = time.process_time()
        ends: list[float] = []
        scene = Scene(
            self.dataset,
            self.vectors,
            self.categories,
            settings.sizes,
            settings.seed,
            advance=lambda done, total: ends.append(time.process_time()),
        )
        fitted = LEARNERS[settings.learner].fit(scene, settings.own)
        quantizer, codes = fitted if isinstance(fitted, tuple) else (fitted, None)
        if quantizer.takes_vectors:
            found = quantizer.encode(self.vectors) if codes is None else codes
            resolve(
                Crowd(
                    found,
                    quantizer.sizes,
                    lambda rows: quantizer.last_distances(self.vectors[rows], found[rows]),
                    settings,
                    self.dataset,
                )
            )
        middle = ends[:-1] if settings.learner == "rqvae" else []
        epoch = (middle[-1] - middle[0]) / (len(middle) - 1) if len(middle) > 1 else 0.0
        return time.process_time() - start, epoch


def settings_of(recipe: str, changes: tuple[str, ...], epochs: int) -> IdentifierSettings:
    """The identifiers of a recipe at size tiny, an RQ-VAE cut to so many epochs."""
    listed = [*changes, f"identifiers.rqvae.epochs={epochs}"]
    return Recipe.resolve(recipe, size="tiny", changes=listed).identifiers


@dataclass(frozen=True)
class Seen:
    """What one learning took: processor seconds, those of a middle epoch, and the peak of memory in MB."""

    seconds: float
    epoch: float
    megabytes: float


def _seen(catalogue: Catalogue, settings: IdentifierSettings) -> Seen:
    before = resident_megabytes()
    times: list[tuple[float, float]] = []
    peak = peak_megabytes(lambda: times.append(catalogue.learn(settings)))
    [(seconds, epoch)] = times
    return Seen(seconds, epoch, max(0.0, peak - before))


def alone(catalogue: Catalogue, settings: IdentifierSettings) -> Seen | None:
    """The same in a process of its own, which sees the catalogue as it is now; None where it fails."""
    fork = multiprocessing.get_context("fork")
    mine, theirs = fork.Pipe(duplex=False)
    process = fork.Process(target=lambda: theirs.send(_seen(catalogue, settings)))
    process.start()
    theirs.close()
    try:
        found: Seen = mine.recv()
    except EOFError:
        return None
    finally:
        process.join()
    return found


def measured(count: int, epochs: int) -> list[dict[str, object]]:
    """One row a learner."""
    catalogue = Catalogue.of(count)
    rows: list[dict[str, object]] = []
    plain = 0.0
    for label, (recipe, changes) in LEARNED.items():
        found = alone(catalogue, settings_of(recipe, changes, epochs))
        print(label, found, file=sys.stderr, flush=True)
        if found is None:
            continue
        row: dict[str, object] = {"learner": label, "items": count, "seconds": found.seconds}
        if found.epoch:
            plain = found.epoch if label == PLAIN else plain
            row |= {"of which an epoch": found.epoch, "times a plain epoch": found.epoch / plain}
        rows.append(row | {"MB above the vectors": found.megabytes})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("items", type=int, nargs="*", default=SIZES)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    options = parser.parse_args()
    for count in options.items:
        report(
            f"learners {count}: seconds and memory",
            measured(count, options.epochs),
            f"an RQ-VAE with {options.epochs} epochs; k-means, encoding and collisions are in its seconds",
        )


if __name__ == "__main__":
    main()
