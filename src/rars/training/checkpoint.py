"""Checkpoints that resume exactly: weights, optimiser state and position, without pickle.

Owns: the folders ``checkpoints/step-N``, written whole or not at all, and finding the newest usable one.
Randomness needs no saving: every step seeds its own from (seed, step).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from rars import artifacts, disk, tensors
from rars.errors import RarsError
from rars.model.saving import check_finite

KIND = "checkpoint"
OTHER = (
    "{} belongs to another recipe or other data; train into a new --out folder, or change the settings "
    "back."
)


@dataclass(frozen=True)
class Position:
    """Where training stands: ``step`` updates done, of which ``batch`` in the current epoch.

    ``best``, ``best_step``  the highest validation so far, and when it was
    ``since``                validations after it, none of them better
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    best: float | None = None
    best_step: int = 0
    since: int = 0


def save(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, at: Position, source: str
) -> Path:
    """Write ``step-N``; ``source`` is the digest of data and recipe that it belongs to."""
    path = folder / f"step-{at.step:09d}"
    weights = dict(model.state_dict())
    check_finite(weights, f"step {at.step:,} is not kept")
    with artifacts.writing(path, kind=KIND) as draft:
        draft.meta.update(vars(at), source=source)
        tensors.write(draft.folder / "model.safetensors", weights)
        tensors.write(draft.folder / "optimizer.safetensors", tensors.of_optimizer(optimizer))
    return path


def newest(folder: Path, source: str) -> tuple[Path, Position] | None:
    """The newest whole checkpoint; one of other data or another recipe is an error."""
    for path in sorted(folder.glob("step-*"), reverse=True):
        try:
            artifact = artifacts.opening(path, kind=KIND)
        except RarsError:
            continue  # the disk failed under it; an older one is still good
        meta = dict(artifact.meta)
        if meta.pop("source") != source:
            raise RarsError(OTHER.format(path))
        return artifact.folder, Position(**meta)
    return None


def check_source(folder: Path, source: str) -> None:
    """Refuse to go on from checkpoints of other data or another recipe; nothing but facts is read."""
    for path in sorted(folder.glob("step-*"), reverse=True):
        try:
            found = artifacts.opening(path, kind=KIND, verify=False).meta["source"]
        except RarsError:
            continue
        if found != source:
            raise RarsError(OTHER.format(path))
        return


def load(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Put weights and optimiser state back."""
    model.load_state_dict(tensors.read(path / "model.safetensors"))
    tensors.restore_optimizer(optimizer, tensors.read(path / "optimizer.safetensors"))


def load_weights(path: Path, model: nn.Module) -> None:
    """Put the weights of a checked checkpoint back, and nothing else."""
    artifact = artifacts.opening(path, kind=KIND)
    model.load_state_dict(tensors.read(artifact.folder / "model.safetensors"))


def prune(folder: Path, kept: int) -> None:
    """Remove all but the newest checkpoints, and what killed processes left of others."""
    for path in sorted(folder.glob("step-*"))[:-kept]:
        disk.discard(path)
    disk.sweep(folder, "step-")
