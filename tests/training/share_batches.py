"""Trains a small model in as many processes as the launcher started; the first keeps the weights."""

from __future__ import annotations

import sys
from pathlib import Path

import safetensors.torch
import torch

from rars.config import TrainingSettings
from rars.training import loop, packing
from rars.training.sampler import QueryRange
from tests.model.small import Example, retriever, terms


def main(out: str, batching: str, patience: str = "0") -> None:
    torch.set_default_dtype(torch.float64)
    packing._PART = 7  # several parts a batch, and not equally many in both processes
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    example = Example(queries=40)
    model = loop.TrainingModel(
        retriever(example.vocabulary.slots, "t5", example.categories, dropout_rate=0.0),
        terms("full-sid", "category-class", "category-contrast", "tree", rank=8, n_siblings=2),
    )
    given = {"evaluations": 5, "epochs": 5} if patience != "0" else {"epochs": 3}
    settings = TrainingSettings(
        pairs=40, learning_rate=1e-3, batching=batching, patience=int(patience), **given
    )
    taken = (QueryRange(0, 40),)
    plan = loop.Plan(example.data(), taken, settings, settings, folder, source="test")
    accelerator = loop.make_accelerator(settings)
    # Processes that measure different things: the first one's word counts.
    seen = iter([0.3, 0.2, 0.1] if accelerator.is_main_process else [0.1, 0.2, 0.3, 0.4, 0.5])
    validate = (lambda found: {"validation": next(seen)}) if patience != "0" else None
    loop.train(model, plan, accelerator=accelerator, validate=validate)
    if accelerator.is_main_process:
        safetensors.torch.save_file(dict(model.state_dict()), folder / "final.safetensors")
    accelerator.wait_for_everyone()
    accelerator.end_training()  # a group that is left to the end of its process may abort it


if __name__ == "__main__":
    main(*sys.argv[1:])
