"""A large catalogue from nothing to a rollback, by the commands a person would type.

Vectors are drawn, not computed (``rars data embed --vectors --trust``), and the model takes one step: what is
measured is how making, identifying, indexing, opening, searching and changing grow with the catalogue, not
how good the search is. Each command runs in a process of its own; minutes and peak memory are the operating
system's count of it. A second run in the same folder goes on with what is there: the shop, or the run, whose
index is made anew.

    python -m benchmarks.large --items 10000000 --folder /big/disk
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.measure import report

DIM = 64
_ROWS = 100_000
_SEARCHES = 100
_ADDED = 1_000

SEARCH = """
import sys, time, json, resource
import numpy as np, torch
torch.set_num_threads(1)
from rars import Dataset, Retriever
start = time.perf_counter(); retriever = Retriever.load(sys.argv[1]); opened = time.perf_counter() - start
data = Dataset.load(sys.argv[2])
texts = data.query_texts.to_pylist()[: int(sys.argv[3])]
for text in texts[:10]: retriever.search(text, k=100)
spent = []
for text in texts:
    start = time.process_time(); retriever.search(text, k=100); spent.append(time.process_time() - start)
print(json.dumps({"opened": opened, "p50": float(np.median(spent)) * 1e3}))
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where all of it is made and left")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        run(options.items, options.folder or Path(scratch))


def run(items: int, home: Path) -> None:
    shop, out, model = home / "shop", home / "run", home / "model"
    steps = _Steps(home)
    if not model.exists():
        save_model(model)
    if (out / "index").exists():
        steps.rars("index anew", "index", out, "--force")
        change(steps, home)
        report(f"large-{items}: {items:,} items, {_ADDED:,} added", steps.rows)
        return
    if not shop.exists():
        steps.rars("make the shop", "data", "shop", shop, "--size", items)
    vectors = home / "vectors.npy"
    if not vectors.exists():
        draw_vectors(vectors, shop / "items.parquet")
    embedder = f"t5:{model}"
    steps.rars(
        *("take over vectors", "data", "embed", shop, "--embedder", embedder),
        *("--vectors", vectors, "--trust"),
    )
    settings = (
        f"identifiers.embedder={embedder}",
        "identifiers.fit=false",
        "search.vectors=float16",
        "training.epochs=1",
        "training.steps=1",
        "training.evaluations=1",
        "training.pseudo.share=0",
    )
    changed = [word for one in settings for word in ("--set", one)]
    steps.rars(
        "identify", "identify", "--recipe", "practical", "--data", shop, "--out", out, *changed
    )
    steps.rars("one step, index", "train", "practical", "--data", shop, "--out", out, *changed)
    change(steps, home)
    steps.rars("index anew", "index", out, "--force")
    report(f"large-{items}: {items:,} items, {_ADDED:,} added", steps.rows)


def change(steps: _Steps, home: Path) -> None:
    """Search, add items twice, and go back once."""
    shop, out = home / "shop", home / "run"
    steps.search("search", out, shop)
    steps.search("search, opened again", out, shop)
    steps.rars("add", "catalog", "add", out, new_items(home / "new.jsonl", "N"))
    steps.search("search after it", out, shop)
    steps.rars("add again", "catalog", "add", out, new_items(home / "more.jsonl", "M"))
    steps.rars("roll back", "catalog", "rollback", out)


class _Steps:
    """Commands in turn, and what each took."""

    def __init__(self, home: Path) -> None:
        self.rows: list[dict[str, Any]] = []
        cache = {"RARS_CACHE": str(home / "cache"), "OMP_NUM_THREADS": "1"}
        self._environment = os.environ | cache

    def rars(self, name: str, *words: object) -> None:
        self._run(name, [sys.executable, "-m", "rars", *map(str, words)])

    def search(self, name: str, run: Path, shop: Path) -> None:
        said = self._run(name, [sys.executable, "-c", SEARCH, str(run), str(shop), str(_SEARCHES)])
        found = json.loads(said.splitlines()[-1])
        self.rows[-1] |= {"opened, s": found["opened"], "p50, ms": found["p50"]}

    def _run(self, name: str, line: list[str]) -> str:
        print(f"{time.strftime('%H:%M:%S')} {name}", file=sys.stderr, flush=True)
        start = time.perf_counter()
        read, write = os.pipe()
        child = os.posix_spawn(
            line[0], line, self._environment, file_actions=[(os.POSIX_SPAWN_DUP2, write, 1)]
        )
        os.close(write)
        with os.fdopen(read) as stream:
            said = stream.read()
        _, status, used = os.wait4(child, 0)
        if status:
            sys.exit(f"{name}: exit {os.waitstatus_to_exitcode(status)}")
        row = {
            "step": name,
            "seconds": round(time.perf_counter() - start, 1),
            "of the processor": round(used.ru_utime + used.ru_stime, 1),
            "peak MB": round(used.ru_maxrss / 1024),
        }
        print(row, file=sys.stderr, flush=True)  # what follows may fail
        self.rows.append(row)
        return said


def save_model(folder: Path) -> None:
    """A small T5 with drawn weights: it gives queries and new items vectors as wide as the drawn ones."""
    import tokenizers
    import torch
    import transformers

    torch.manual_seed(0)
    words = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<pad>", "</s>", "<unk>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words.train_from_iterator([], trainer)
    tokens = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    config = transformers.T5Config(
        vocab_size=300, d_model=DIM, d_kv=16, d_ff=128, num_layers=1, num_heads=4
    )
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    tokens.save_pretrained(folder)


def draw_vectors(path: Path, items: Path) -> None:
    """Vectors of unit length around a few thousand centres, one an item, and its ids beside it."""
    count = pq.read_metadata(items).num_rows
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(4_096, DIM)).astype(np.float32)
    stored = np.lib.format.open_memmap(path, "w+", np.float32, (count, DIM))
    for start in range(0, count, _ROWS):
        part = stored[start : start + _ROWS]
        drawn = centres[rng.integers(0, len(centres), len(part))]
        drawn += 0.5 * rng.normal(size=part.shape).astype(np.float32)
        part[:] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    stored.flush()
    with path.with_suffix(".ids.txt").open("w") as listed:
        for batch in pq.ParquetFile(items).iter_batches(_ROWS, columns=["id"]):
            listed.write("".join(f"{one}\n" for one in batch["id"].to_pylist()))


def new_items(path: Path, start: str) -> Path:
    """Items that the catalogue does not have."""
    rows = ({"id": f"{start}{n}", "title": f"Zyxquor lamp {n} W"} for n in range(_ADDED))
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


if __name__ == "__main__":
    main()
