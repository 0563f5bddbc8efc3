"""The same of a module that brings torch with it."""

from __future__ import annotations

import torch


def threads_of_torch() -> int:
    """How many threads torch has, here and now."""
    return torch.get_num_threads()
