"""Tensors of modules and optimisers as files, without pickle.

Owns: the names that an optimiser's state goes by, writing and reading named tensors, and their digest.
Ignores who keeps them, and where.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.torch
import torch

Named = Mapping[str, torch.Tensor]


def write(path: Path, tensors: Named) -> None:
    """One file of safetensors; a tensor of several names (tied weights) is written once."""
    kept: dict[str, torch.Tensor] = {}
    same: dict[str, str] = {}
    for name, first in _firsts(tensors).items():
        if name == first:
            kept[name] = tensors[name].detach().contiguous().cpu()
        else:
            same[name] = first
    safetensors.torch.save_file(kept, path, metadata=same or None)


def read(path: Path) -> dict[str, torch.Tensor]:
    """What ``write`` wrote, under all its names."""
    with safetensors.safe_open(path, "pt") as stream:
        same: dict[str, str] = stream.metadata() or {}
    found = safetensors.torch.load_file(path)
    return found | {name: found[first] for name, first in same.items() if first in found}


def copied(tensors: Named) -> dict[str, torch.Tensor]:
    """As they are now, whatever becomes of them; what was one tensor stays one."""
    made: dict[str, torch.Tensor] = {}
    for name, first in _firsts(tensors).items():
        made[name] = made[first] if first in made else tensors[name].detach().clone()
    return made


def _firsts(tensors: Named) -> dict[str, str]:
    """For each name the first one of the same tensor: most often itself."""
    seen: dict[tuple[object, ...], str] = {}
    found = {}
    for name, value in tensors.items():
        place = (value.device, value.data_ptr(), value.shape, value.stride(), value.dtype)
        found[name] = seen.setdefault(place, name) if value.numel() else name
    return found


def digest(tensors: Named) -> str:
    """SHA-256 of names and values."""
    found = hashlib.sha256()
    for name, value in sorted(tensors.items()):
        found.update(name.encode())
        found.update(np.ascontiguousarray(value.detach().cpu().numpy()).data)
    return found.hexdigest()


def of_optimizer(optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """An optimiser's state as named tensors: ``parameter-index.name``."""
    state: dict[int, dict[str, Any]] = optimizer.state_dict()["state"]
    return {
        f"{index}.{name}": torch.as_tensor(value)
        for index, values in state.items()
        for name, value in values.items()
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Named) -> None:
    """Put the state back that ``of_optimizer`` named."""
    saved = optimizer.state_dict()
    state: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict(saved | {"state": state})


def of_random() -> dict[str, torch.Tensor]:
    """Where torch's generators stand."""
    found = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        found["cuda"] = torch.cuda.get_rng_state()
    return found


def restore_random(tensors: Named) -> None:
    """Put the generators back where they stood."""
    torch.set_rng_state(tensors["cpu"])
    if "cuda" in tensors and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensors["cuda"])
